/** The faults of an engine: which there are, when the next of them begins or ends by itself, and which look at a frame. */
import type { FaultStatus, FrameInTransit } from '../engine-contract.ts';
import type { Fault } from '../fault.ts';
import { type ArmedFault, looksAt, statusOf } from './armed.ts';
import { FaultError } from './options.ts';

/** What is over stays listed for so long, and so many of them. */
const listedForMs = 600_000;
const listedMax = 200;

export class Roll {
  /** By id, in the order of arming. */
  readonly #faults = new Map<string, ArmedFault>();
  /** By peer and point; forgotten when a fault's phase changes. */
  readonly #looking = new Map<string, Map<string, readonly ArmedFault[]>>();
  #live: readonly ArmedFault[] = [];
  #nextChangeMs = Number.POSITIVE_INFINITY;
  #named = 0;

  /** Those that are not over. */
  get live(): readonly ArmedFault[] {
    return this.#live;
  }

  /** When one of them begins or ends by itself; Infinity: none does. */
  get nextChangeMs(): number {
    return this.#nextChangeMs;
  }

  get(id: string): ArmedFault | undefined {
    return this.#faults.get(id);
  }

  /** In the place of one of its id that is over. */
  add(armed: ArmedFault): void {
    this.#faults.delete(armed.id);
    this.#faults.set(armed.id, armed);
    this.changed();
  }

  /** To be called whenever the phase or the times of a fault changed. */
  changed(): void {
    this.#live = [...this.#faults.values()].filter(({ phase }) => phase !== 'over');
    this.#nextChangeMs = this.#live.reduce((next, one) => Math.min(next, changesAt(one)), Number.POSITIVE_INFINITY);
    this.#looking.clear();
  }

  /** The first in the order of arming that begins or ends at `nextChangeMs`. */
  nextToChange(): ArmedFault {
    return this.#live.find((one) => changesAt(one) === this.#nextChangeMs)!;
  }

  /** Asked of every frame: a frame that nothing looks at costs two look-ups. */
  lookingAt({ peer, direction, point }: FrameInTransit): readonly ArmedFault[] {
    let byPoint = this.#looking.get(peer);
    if (byPoint === undefined) {
      byPoint = new Map();
      this.#looking.set(peer, byPoint);
    }
    // A point has one direction.
    let looking = byPoint.get(point);
    if (looking === undefined) {
      looking = this.#live.filter((armed) => looksAt(armed, peer, direction, point));
      byPoint.set(point, looking);
    }
    return looking;
  }

  list(nowMs: number): readonly FaultStatus[] {
    this.#prune(nowMs);
    return [...this.#faults.values()].map(statusOf);
  }

  /** The fault's own id, or a new one. Throws FaultError when it is in use. */
  idFor({ id }: Fault): string {
    const known = id === undefined ? undefined : this.#faults.get(id);
    if (known !== undefined && known.phase !== 'over') throw new FaultError('id', `there is a fault ${id} already`);
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
