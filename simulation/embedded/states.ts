/**
 * Snapshots and reset of an embedded service, in memory. A restore gives exactly the saved state; every process but the gateway
 * restarts on it, with a new boot, so that no earlier nonce is valid.
 */
import type { RandomBytes } from '../../core/actors/contract.ts';
import { uuidV7 } from '../../proto/ids.ts';
import { ControlError, type SnapshotStatus } from '../../scenarios/faults/control.ts';
import type { SnapshotControl } from '../../scenarios/injection/ports.ts';
import type { WorldSnapshot } from '../service/custody-world.ts';
import { sizeOfState } from './state-file.ts';
import type { WorldNow } from './world-injector.ts';

interface Taken {
  readonly status: SnapshotStatus;
  readonly clockOffsetMs: number;
  readonly state: WorldSnapshot;
}

const snapshotsMax = 20;
/** Access tokens outlive a reset. */
const retained = [/^sm:tok:/, /^sm:\{t:[^}]*\}:tok$/];

export class States implements SnapshotControl {
  readonly #now: WorldNow;
  readonly #random: RandomBytes;
  readonly #taken = new Map<string, Taken>();
  #first: WorldSnapshot | undefined;

  constructor(now: WorldNow, random: RandomBytes) {
    this.#now = now;
    this.#random = random;
  }

  /** The state after a reset: the present one, or that of an earlier run. */
  begin(first: WorldSnapshot = this.#now().snapshot()): WorldSnapshot {
    this.#first = first;
    return first;
  }

  async take(name: string, clockOffsetMs: number): Promise<SnapshotStatus> {
    if (this.#taken.size >= snapshotsMax) {
      throw new ControlError({ code: 'conflict', message: `${snapshotsMax} snapshots exist: delete one first` });
    }
    const world = this.#now();
    const takenMs = Math.floor(world.nowMs);
    const state = world.snapshot();
    const status = { id: `snp_${uuidV7(takenMs, this.#random)}`, name, takenMs, bytes: sizeOfState(state) };
    this.#taken.set(status.id, { status, clockOffsetMs, state });
    return status;
  }

  list(): readonly SnapshotStatus[] {
    return [...this.#taken.values()].map(({ status }) => status);
  }

  clockOffsetMs(id: string): number {
    return this.#find(id).clockOffsetMs;
  }

  async restore(id: string): Promise<SnapshotStatus> {
    const { status, state } = this.#find(id);
    await this.#now().restore(state, true);
    return status;
  }

  delete(id: string): SnapshotStatus {
    const { status } = this.#find(id);
    this.#taken.delete(id);
    return status;
  }

  async reset(): Promise<void> {
    const world = this.#now();
    const isRetained = (key: string) => retained.some((pattern) => pattern.test(key));
    const tokens = world.redis.space.snapshot(isRetained);
    const first = this.#first!;
    const rest = first.redis.filter(({ key }) => !isRetained(key));
    await world.restore({ ...first, redis: [...rest, ...tokens] }, true);
  }

  #find(id: string): Taken {
    const found = this.#taken.get(id);
    if (found === undefined) throw new ControlError({ code: 'not_found', message: `there is no snapshot ${id}` });
    return found;
  }
}
