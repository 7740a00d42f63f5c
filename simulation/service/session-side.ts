/** The coordinator's sessions in the Redis of the world, beside the control plane's data. */
import type { CoordinatorRecord, CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import { SessionStore, type SessionStoreOptions } from '../../coordinator/store/session-store.ts';
import type { CalledStore } from '../cluster/store-side.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';
import type { MemoryRedis } from '../redis/memory-redis.ts';
import type { RunLoop } from './run-loop.ts';

/** It answers in the same turn: the cluster models latency and faults. */
export function sessionSide(
  memory: MemoryRedis,
  { time, loop }: { readonly time: VirtualTime; readonly loop: RunLoop },
  fence: number,
  of: Pick<SessionStoreOptions, 'clusterId' | 'cluster' | 'clock' | 'resumeKey' | 'elapsedMs'>,
): CalledStore<CoordinatorWrite, CoordinatorRecord> {
  const store = new SessionStore(memory.client(), fence, {
    ...of,
    onTampered: (key) => loop.failed(new Error(`what Redis has at ${key} is not as a coordinator wrote it`)),
    // The conflict reports it; the world ends a simulated coordinator that is fenced.
    onFenced: () => undefined,
  });
  const answered = <T>(work: Promise<T>, tell: (value: T) => void): void => {
    time.woken();
    work.then(tell).catch((error: unknown) => loop.failed(error));
  };
  return {
    load: (key, found) => answered(store.load(key), (record) => found({ record })),
    write: (write, written) => answered(store.write(write), written),
  };
}
