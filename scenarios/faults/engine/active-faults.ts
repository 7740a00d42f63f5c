/** The faults of an engine: their list, the time of the next beginning or end, and the faults that apply to a frame. */
import type { FaultStatus, FrameInTransit } from '../vocabulary/engine-contract.ts';
import type { Fault } from '../vocabulary/fault.ts';
import { FaultError } from '../vocabulary/options.ts';
import { type ArmedFault, statusOf } from './armed-fault.ts';
import { appliesTo } from './trigger.ts';

/** Faults that are over stay listed for this time, and at most this many. */
const listedForMs = 600_000;
const listedMax = 200;

/** By peer and point. */
type Applicable = Map<string, Map<string, readonly ArmedFault[]>>;

export class ActiveFaults {
  /** By id, in the order of arming. */
  readonly #faults = new Map<string, ArmedFault>();
  /** By direction; cleared when a fault's phase changes. */
  readonly #applicable: Readonly<Record<'in' | 'out', Applicable>> = { in: new Map(), out: new Map() };
  #live: readonly ArmedFault[] = [];
  #nextChangeMs = Number.POSITIVE_INFINITY;
  #named = 0;

  /** The faults that are not over. */
  get live(): readonly ArmedFault[] {
    return this.#live;
  }

  /** When the next fault begins or ends by its own time; Infinity: none does. */
  get nextChangeMs(): number {
    return this.#nextChangeMs;
  }

  get(id: string): ArmedFault | undefined {
    return this.#faults.get(id);
  }

  /** Adds a fault; it replaces one of the same id that is over. */
  add(armed: ArmedFault): void {
    this.#faults.delete(armed.id);
    this.#faults.set(armed.id, armed);
    this.changed();
  }

  /** Call it whenever the phase or the times of a fault change. */
  changed(): void {
    this.#live = [...this.#faults.values()].filter(({ phase }) => phase !== 'over');
    this.#nextChangeMs = this.#live.reduce((next, one) => Math.min(next, changesAt(one)), Number.POSITIVE_INFINITY);
    this.#applicable.in.clear();
    this.#applicable.out.clear();
  }

  /** The first in the order of arming that begins or ends at `nextChangeMs`. */
  nextToChange(): ArmedFault {
    return this.#live.find((one) => changesAt(one) === this.#nextChangeMs)!;
  }

  /** The faults that apply to this frame. Runs for every frame: one without faults costs two map reads. */
  applicableTo({ peer, direction, point }: FrameInTransit): readonly ArmedFault[] {
    // A point has one direction, but some frames of either have no point: those of a key's deletion.
    const byPeer = this.#applicable[direction];
    let byPoint = byPeer.get(peer);
    if (byPoint === undefined) {
      byPoint = new Map();
      byPeer.set(peer, byPoint);
    }
    let applicable = byPoint.get(point);
    if (applicable === undefined) {
      applicable = this.#live.filter((armed) => appliesTo(armed, peer, direction, point));
      byPoint.set(point, applicable);
    }
    return applicable;
  }

  list(nowMs: number): readonly FaultStatus[] {
    this.#prune(nowMs);
    return [...this.#faults.values()].map(statusOf);
  }

  /** The fault's own id, or a new one. Throws FaultError when it is in use. */
  idFor({ id }: Fault): string {
    const known = id === undefined ? undefined : this.#faults.get(id);
    if (known !== undefined && known.phase !== 'over')
      throw new FaultError('id', `a fault ${id} exists already: choose another id, or remove that fault`);
    if (id !== undefined) return id;
    do this.#named += 1;
    while (this.#faults.has(`flt_${this.#named}`));
    return `flt_${this.#named}`;
  }

  #prune(nowMs: number): void {
    const over = [...this.#faults.values()].filter(({ phase }) => phase === 'over');
    over.sort((a, b) => a.overMs - b.overMs);
    for (const [index, { id, overMs }] of over.entries()) {
      if (overMs + listedForMs <= nowMs || index < over.length - listedMax) this.#faults.delete(id);
    }
  }
}

function changesAt({ phase, beginsMs, endsMs }: ArmedFault): number {
  if (phase === 'waiting') return beginsMs;
  return phase === 'holding' ? endsMs : Number.POSITIVE_INFINITY;
}
