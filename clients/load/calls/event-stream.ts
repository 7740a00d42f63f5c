/**
 * Follows a tenant's events on its stream (server-sent events), so that thousands of open intents need no polls. It reopens a
 * broken stream after the last event, so it misses none.
 */

export interface ServiceEvent {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

const openEveryMs = 200;
const openWithinMs = 20_000;

export class EventStream {
  readonly #ending = new AbortController();
  readonly #url: string;
  readonly #token: string;
  readonly #onEvent: (event: ServiceEvent) => void;
  #last: string | undefined;
  #reading: Promise<void> = Promise.resolve();

  private constructor(url: string, token: string, types: readonly string[], onEvent: (event: ServiceEvent) => void) {
    this.#url = `${url}/v1/events/stream?type=${types.join(',')}`;
    this.#token = token;
    this.#onEvent = onEvent;
  }

  /** Resolves when the stream carries every event from now on. */
  static async open(
    url: string,
    token: string,
    types: readonly string[],
    onEvent: (event: ServiceEvent) => void,
  ): Promise<EventStream> {
    const stream = new EventStream(url, token, types, onEvent);
    const body = await stream.#connect();
    stream.#reading = stream.#follow(body);
    return stream;
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#reading.catch(() => undefined);
  }

  async #connect(): Promise<ReadableStream<Uint8Array>> {
    const response = await fetch(this.#url, {
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(this.#last !== undefined && { 'last-event-id': this.#last }),
      },
      signal: this.#ending.signal,
    });
    if (!response.ok || response.body === null) throw new Error(`the event stream answers ${response.status}`);
    return response.body;
  }

  async #follow(first: ReadableStream<Uint8Array>): Promise<void> {
    let body: ReadableStream<Uint8Array> | undefined = first;
    let brokenMs = 0;
    while (!this.#ending.signal.aborted) {
      if (body !== undefined) {
        await this.#read(body).catch(() => undefined);
        brokenMs = performance.now();
      } else if (performance.now() - brokenMs > openWithinMs) return;
      body = await this.#connect().catch(() => undefined);
      if (body === undefined) await new Promise((resolve) => setTimeout(resolve, openEveryMs));
    }
  }

  /** One field a line, an empty line after each event. */
  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith('id: ')) this.#last = line.slice('id: '.length);
        if (line.startsWith('data: ')) this.#onEvent(JSON.parse(line.slice('data: '.length)) as ServiceEvent);
      }
    }
  }
}
