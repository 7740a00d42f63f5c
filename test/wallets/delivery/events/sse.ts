/** A reader of server-sent events over a real socket, by the rules of the HTML standard. */
import { type IncomingMessage, request } from 'node:http';
import { until } from '../../../support/until.ts';

export interface Message {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export interface ReaderOptions {
  readonly token: string;
  readonly query?: string;
  readonly lastEventId?: string;
  /** Called for every message; a reader that is paused takes nothing from its socket. */
  readonly onMessage?: (message: Message, reader: Reader) => void;
}

export class Reader {
  readonly messages: Message[] = [];
  /** Ids of blocks without data too: where a reader would go on. */
  lastId = '';
  heartbeats = 0;
  ended = false;
  /** The answer ended as it should, and was not cut. */
  complete = false;
  readonly response: IncomingMessage;
  readonly #options: ReaderOptions;
  #text = '';
  #id = '';

  constructor(response: IncomingMessage, options: ReaderOptions) {
    this.response = response;
    this.#options = options;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
    response.on('error', () => undefined);
    response.on('close', () => {
      this.ended = true;
      this.complete = response.complete;
    });
  }

  sequences(): number[] {
    return this.messages.map(({ id }) => Number(id));
  }

  cut(): void {
    this.response.destroy();
  }

  end(): Promise<unknown> {
    return until(() => this.ended, 'the end of the stream');
  }

  #take(text: string): void {
    this.#text += text;
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      const block = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      this.#dispatch(block.split('\n'));
      // What comes behind the point at which it was cut was never read.
      if (this.response.destroyed) this.#text = '';
    }
  }

  #dispatch(lines: readonly string[]): void {
    let data: string | undefined;
    let event = 'message';
    for (const line of lines) {
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === '') this.heartbeats += 1;
      if (field === 'id') this.#id = value;
      if (field === 'event') event = value;
      if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
    }
    this.lastId = this.#id;
    if (data === undefined) return;
    const message = { id: this.#id, event, data };
    this.messages.push(message);
    this.#options.onMessage?.(message, this);
  }
}

export interface Refusal {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The result of requesting a stream. */
export function ask(baseUrl: string, options: ReaderOptions): Promise<Reader | Refusal> {
  const { token, query = '', lastEventId } = options;
  return new Promise((resolve, reject) => {
    const asked = request(`${baseUrl}/v1/events/stream${query === '' ? '' : `?${query}`}`, {
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
    });
    asked.once('error', reject);
    asked.once('response', (response) => {
      if (response.statusCode === 200) {
        resolve(new Reader(response, options));
        return;
      }
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    asked.end();
  });
}

/** Resolves when the stream stands: with its first block. */
export async function read(baseUrl: string, options: ReaderOptions): Promise<Reader> {
  const reader = await ask(baseUrl, options);
  if (!(reader instanceof Reader)) throw new Error(`${reader.status}: ${reader.body}`);
  await until(() => reader.lastId !== '' || reader.ended, 'the first block');
  return reader;
}
