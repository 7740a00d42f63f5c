/** What goes wrong in a run at present: armed faults, processes that do not run, missing links. Without any the run is calm. */
import type { Observation } from '../cluster/observation.ts';

/** Before a fault has triggered it has no effect. Those of a store report no trigger before their first use. */
export function isPresent({ fault, what }: Extract<Observation, { kind: 'fault' }>): boolean {
  return what !== 'armed' || /^store_(lost|unanswered|slow|failing)$/.test(fault);
}

export class Troubles {
  readonly #nodesTotal: number;
  readonly #present = new Set<string>(['links']);
  readonly #linked = new Set<string>();
  /** The time of the latest change. */
  sinceMs = 0;
  /** No fault was armed, and no process has ended: no work is left from before the calm. */
  isUntouched = true;

  constructor(nodesTotal: number) {
    this.#nodesTotal = nodesTotal;
  }

  get isCalm(): boolean {
    return this.#present.size === 0;
  }

  /** Call it with every observation; returns whether something began or ended. */
  take(observation: Observation): boolean {
    const { atMs } = observation;
    switch (observation.kind) {
      case 'link':
        if (observation.what === 'linkUp') this.#linked.add(observation.peer);
        else this.#linked.delete(observation.peer);
        return this.#note('links', this.#linked.size < this.#nodesTotal + 1, atMs);
      case 'process': {
        const { process, what } = observation;
        if (what === 'down' && process === 'coordinator') {
          this.#linked.clear();
          this.#note('links', true, atMs);
        }
        if (process === 'worker' || process === 'receiver') return false;
        if (what === 'down' || what === 'paused') this.isUntouched = false;
        return this.#note(process, what === 'down' || what === 'paused', atMs);
      }
      case 'fault':
        if (/^(receiver_|worker_|double_|poison_)/.test(observation.fault)) return false;
        if (!isPresent(observation)) return false;
        this.isUntouched = false;
        return this.#note(observation.id, observation.what !== 'ended', atMs);
      case 'clock':
        this.sinceMs = atMs;
        return true;
      case 'healed':
        if (this.#present.size > 0) this.sinceMs = atMs;
        this.#present.clear();
        this.#note('links', this.#linked.size < this.#nodesTotal + 1, atMs);
        return true;
      default:
        return false;
    }
  }

  #note(name: string, is: boolean, atMs: number): boolean {
    if (is === this.#present.has(name) && !is) return false;
    this.sinceMs = atMs;
    if (is) this.#present.add(name);
    else this.#present.delete(name);
    return true;
  }
}
