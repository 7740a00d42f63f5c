/** The service under load: its health, its processes, its keys. Few calls, none of them measured. */
import type { Health } from '../../client/generated-api.ts';
import { type Client, createClient } from '../../client/index.ts';
import { byProcess, type Pids } from '../measure/processes.ts';
import type { SigningCaller, SigningCurve } from './signing-caller.ts';

const keyWithinMs = 60_000;
const clockSlackMs = 60_000;
/** Of questions that repeat by themselves. */
const once = { attemptsMax: 1 };

export class Service {
  readonly client: Client;
  readonly #isLocal: boolean;
  /** Keys of this run are newer. The service's clock may be behind this one. */
  readonly #openedAt = new Date(Date.now() - clockSlackMs).toISOString();

  constructor(url: string, token: string) {
    this.client = createClient({ baseUrl: url, token });
    this.#isLocal = isLoopback(url);
  }

  /** undefined: no readable answer. */
  async health(): Promise<Health | undefined> {
    try {
      return await this.client.service.health(once);
    } catch {
      return undefined;
    }
  }

  /** So that a page of the sandbox can show it; null: no rate is intended. What is no sandbox takes none. */
  async reportLoad(load: string, stage: string, rate: number | null): Promise<void> {
    await this.client.sandbox.reportLoad({ load, stage, rate }, once).catch(() => undefined);
  }

  /** Processes of the service by name; empty: it runs on another machine, or the token is not one of its sandbox. */
  async pids(): Promise<Pids> {
    if (!this.#isLocal) return {};
    try {
      const nodes = await this.client.sandbox.nodes(once).toArray();
      return byProcess(
        nodes.flatMap(({ process, pid }) => (pid === null ? [] : [{ name: process.replace('/', '-'), pid }])),
      );
    } catch {
      return {};
    }
  }

  /** Makes a key for this run, and reads its public key. Throws when the service does not make it. */
  async makeKey(door: SigningCaller, curve: SigningCurve, sessionId: string): Promise<Uint8Array> {
    const begun = await door.initiateDkg(sessionId, curve);
    if (begun.reasonCode !== 'SESSION_ACCEPTED') throw new Error(`a key for the load: InitiateDkg ${begun.reasonCode}`);
    const made = await door.exchangeShares(sessionId);
    if (made.reasonCode !== 'DKG_COMPLETED')
      throw new Error(`a key for the load: ExchangeDkgShares ${made.reasonCode}`);
    return this.publicKey(sessionId);
  }

  /** Compressed, as the event of the key's completion shows it. */
  async publicKey(sessionId: string): Promise<Uint8Array> {
    const query = { resource_id: sessionId, type: 'dkg.session.completed', created_after: this.#openedAt };
    const read = () => this.client.events.list(query).toArray(1);
    const [event] = await this.client.waitUntil(read, ({ length }) => length > 0, { deadlineMs: keyWithinMs });
    if (event?.type !== 'dkg.session.completed') throw new Error(`${sessionId}: its event is of another type`);
    return Buffer.from(event.data.object.public_key ?? '', 'hex');
  }
}

/** Of a URL, or of an address such as 127.0.0.1:50051. */
export function isLoopback(place: string): boolean {
  const host = /^(?:https?:\/\/)?(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+)/.exec(place)?.[1] ?? '';
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
