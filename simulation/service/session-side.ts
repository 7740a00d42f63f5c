/** The coordinators' sessions in the Redis of the world, beside the control plane's data. */
import { type CoordinatorRecord, type CoordinatorWrite, sessionKey } from '../../coordinator/contract/messages.ts';
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { SessionStore } from '../../coordinator/store/session-store.ts';
import type { SimClusters } from '../cluster/clusters.ts';
import type { ExternalProcesses } from '../cluster/external-processes.ts';
import type { CalledStore } from '../cluster/store-side.ts';
import type { MemoryRedis } from '../redis/memory-redis.ts';
import type { RunLoop } from './run-loop.ts';

export class StoredSessions {
  readonly #memory: MemoryRedis;
  readonly #loop: RunLoop;
  readonly #clusters: () => SimClusters;
  /** By cluster: of its coordinator's last start. */
  readonly #stores: SessionStore[] = [];

  constructor(memory: MemoryRedis, loop: RunLoop, clusters: () => SimClusters) {
    this.#memory = memory;
    this.#loop = loop;
    this.#clusters = clusters;
  }

  /** It answers in the same turn: the cluster models latency and faults. */
  readonly of: NonNullable<ExternalProcesses['sessions']> = (cluster, fence, named) => {
    const { time, each } = this.#clusters();
    const store = new SessionStore(this.#memory.client(), fence, {
      ...named,
      cluster,
      clock: { nowMs: () => each[cluster - 1]!.nowMs('coordinator') },
      elapsedMs: () => time.nowMs() - time.beganMs,
      onTampered: (key) => this.#loop.failed(new Error(`what Redis has at ${key} is not as a coordinator wrote it`)),
      // The conflict reports it; the world ends a simulated coordinator that is fenced.
      onFenced: () => undefined,
    });
    this.#stores[cluster - 1] = store;
    const answered = <T>(work: Promise<T>, tell: (value: T) => void): void => {
      time.woken();
      work.then(tell).catch((error: unknown) => this.#loop.failed(error));
    };
    return {
      load: (key, found) => answered(store.load(key), (record) => found({ record })),
      write: (write, written) => answered(store.write(write), written),
    } satisfies CalledStore<CoordinatorWrite, CoordinatorRecord>;
  };

  /** The durable record of a session; undefined: there is none. */
  async find(tenant: string, sessionId: string): Promise<SessionRecord | undefined> {
    for (const store of this.#stores) {
      const record = await store.load(sessionKey(tenant, sessionId));
      if (record?.kind === 'session') return record.session;
    }
    return undefined;
  }
}
