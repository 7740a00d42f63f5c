/** The coordinator's store in memory, whose answers a test decides. */
import { type CoordinatorRecord, type CoordinatorWrite, sessionKey } from '../../../coordinator/contract/messages.ts';
import type { SessionRecord } from '../../../coordinator/contract/record.ts';
import type { Found, Written } from '../../../core/actors/kernel/host.ts';
import { memoryCoordinatorStore } from '../../../simulation/cluster/memory-stores.ts';
import type { VirtualTime } from '../../../simulation/cluster/virtual-time.ts';

export const tenant = 'acme';

/** The fate of a write: it is refused so, is `lost`, or takes effect before its answer is lost (`unanswered`). */
export type Fate =
  | 'lost'
  | 'unanswered'
  | { readonly kind: 'conflict'; readonly code: string; readonly current?: CoordinatorRecord };

const noStore = { kind: 'unavailable', message: 'no store' } as const;

export class SteeredStore {
  readonly memory = memoryCoordinatorStore();
  /** Of the next writes; the others succeed. */
  fates: Fate[] = [];
  /** What these keys show in place of their records. */
  readonly shown = new Map<string, CoordinatorRecord>();
  readsFail = false;
  /** Reads and writes wait until `release`, when set. */
  isHeld = false;
  /** Writes that were made, whatever became of them. */
  writes = 0;
  readonly #time: VirtualTime;
  readonly #held: (() => void)[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  load(key: string, answer: (found: Found<CoordinatorRecord>) => void): void {
    this.#soon(() => {
      const record = this.shown.get(key) ?? this.memory.as(1).loadNow(key);
      answer(this.readsFail ? noStore : { record });
    });
  }

  write(write: CoordinatorWrite, answer: (written: Written<CoordinatorRecord>) => void): void {
    this.#soon(() => {
      this.writes += 1;
      const fate = this.fates.shift();
      if (typeof fate === 'object') {
        answer({ current: undefined, ...fate });
        return;
      }
      const outcome = fate === 'lost' ? noStore : this.memory.as(1).writeNow(write);
      answer(fate === 'unanswered' ? noStore : outcome);
    });
  }

  #soon(run: () => void): void {
    this.#time.after(0, () => (this.isHeld ? void this.#held.push(run) : run()));
  }

  /** Releases what has waited longest; the rest waits. */
  releaseOne(): void {
    this.#held.shift()?.();
  }

  release(): void {
    this.isHeld = false;
    for (const run of this.#held.splice(0)) run();
  }

  session(sessionId: string): SessionRecord {
    const record = this.memory.as(1).loadNow(sessionKey(tenant, sessionId));
    if (record?.kind !== 'session') throw new Error(`the session ${sessionId} is not in the store`);
    return record.session;
  }

  /** Another process changes a stored session. */
  change(sessionId: string, changes: Partial<SessionRecord>): void {
    const before = this.session(sessionId);
    const session = { ...before, epoch: before.epoch + 1, checkpointId: `${before.checkpointId}x`, ...changes };
    this.memory.as(1).writeNow({ kind: 'update', session: session as SessionRecord });
  }
}
