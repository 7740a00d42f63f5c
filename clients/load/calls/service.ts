/** The service under load: its health, its processes, its keys. Few calls, none of them measured. */
import { byProcess, type Pids } from '../measure/processes.ts';
import type { Curve, Door } from './door.ts';
import { answered, type HttpClient, httpClient } from './http.ts';

const connections = 8;
const keyWithinMs = 60_000;
const keyEveryMs = 100;
const clockSlackMs = 60_000;

export interface Health {
  readonly status: string;
  readonly version: string;
  readonly nodes_ready: number;
  readonly nodes_total: number;
}

interface ProcessView {
  readonly process: string;
  readonly pid: number | null;
}

export class Service {
  readonly client: HttpClient;
  readonly #isLocal: boolean;
  /** Keys of this run are newer. The service's clock may be behind this one. */
  readonly #openedAt = new Date(Date.now() - clockSlackMs).toISOString();

  constructor(url: string, token: string) {
    this.client = httpClient(url, token, connections);
    this.#isLocal = isLoopback(url);
  }

  /** undefined: no readable answer. */
  async health(): Promise<Health | undefined> {
    try {
      // 503 carries the same body: it lists the missing parts.
      return JSON.parse((await this.client.send('GET', '/v1/health')).text) as Health;
    } catch {
      return undefined;
    }
  }

  /** Processes of the service by name; empty: it runs on another machine, or the token is not one of its sandbox. */
  async pids(): Promise<Pids> {
    if (!this.#isLocal) return {};
    try {
      const { nodes } = answered<{ nodes: readonly ProcessView[] }>(
        await this.client.send('GET', '/v1/sandbox/nodes'),
        200,
      );
      return byProcess(
        nodes.flatMap(({ process, pid }) => (pid === null ? [] : [{ name: process.replace('/', '-'), pid }])),
      );
    } catch {
      return {};
    }
  }

  /** Makes a key for this run, and reads its public key. Throws when the service does not make it. */
  async makeKey(door: Door, curve: Curve, sessionId: string): Promise<Uint8Array> {
    const begun = await door.initiateDkg(sessionId, curve);
    if (begun.reasonCode !== 'SESSION_ACCEPTED') throw new Error(`a key for the load: InitiateDkg ${begun.reasonCode}`);
    const made = await door.exchangeShares(sessionId);
    if (made.reasonCode !== 'DKG_COMPLETED')
      throw new Error(`a key for the load: ExchangeDkgShares ${made.reasonCode}`);
    return this.publicKey(sessionId);
  }

  /** Compressed, as the event of the key's completion shows it. */
  async publicKey(sessionId: string): Promise<Uint8Array> {
    const deadlineMs = performance.now() + keyWithinMs;
    for (;;) {
      const event = await this.#completion(sessionId);
      if (event !== undefined) return Buffer.from(event.data.object.public_key, 'hex');
      if (performance.now() > deadlineMs) throw new Error(`no event dkg.session.completed of ${sessionId} came`);
      await new Promise((resolve) => setTimeout(resolve, keyEveryMs));
    }
  }

  /** Pages may be empty and still have a next page. */
  async #completion(sessionId: string): Promise<KeyEvent | undefined> {
    const filter = `resource_id=${sessionId}&type=dkg.session.completed&created_after=${this.#openedAt}`;
    for (let cursor = ''; ; ) {
      const answer = await this.client.send('GET', `/v1/events?${filter}${cursor}`);
      const { events, has_more, next_cursor } = answered<EventPage>(answer, 200);
      if (events[0] !== undefined || !has_more) return events[0];
      cursor = `&cursor=${next_cursor}`;
    }
  }
}

interface EventPage {
  readonly events: readonly KeyEvent[];
  readonly has_more: boolean;
  readonly next_cursor: string;
}

interface KeyEvent {
  readonly data: { readonly object: { readonly public_key: string } };
}

/** Of a URL, or of an address such as 127.0.0.1:50051. */
export function isLoopback(place: string): boolean {
  const host = /^(?:https?:\/\/)?(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+)/.exec(place)?.[1] ?? '';
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
