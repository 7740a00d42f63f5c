/** Arms a scenario's faults. A fault on a session waits until the session has its real id. */
import type { Fault } from '../faults/vocabulary/fault.ts';
import type { SessionBook } from './sessions.ts';
import type { ScenarioWorld } from './world.ts';

export class FaultArming {
  readonly #world: ScenarioWorld;
  readonly #book: SessionBook;
  /** The world cannot inject this fault. */
  readonly #failed: (cause: string) => void;
  /** The world's ids of the faults that the scenario names. */
  readonly #ids = new Map<string, string>();
  /** Faults on sessions that have no id yet. */
  #waiting: Fault[] = [];

  constructor(world: ScenarioWorld, book: SessionBook, failed: (cause: string) => void) {
    this.#world = world;
    this.#book = book;
    this.#failed = failed;
  }

  /** The world's id of a fault that the scenario names. */
  idOf(id: string): string | undefined {
    return this.#ids.get(id);
  }

  injectAll(faults: readonly Fault[], then: () => void): void {
    const [first, ...rest] = faults;
    if (first === undefined) then();
    else this.inject(first, () => this.injectAll(rest, then));
  }

  inject(fault: Fault, then: () => void): void {
    const name = fault.at?.session;
    const session = name === undefined ? undefined : this.#book.note(name).id;
    if (name !== undefined && session === undefined) {
      this.#waiting.push(fault);
      then();
      return;
    }
    const real: Fault = session === undefined ? fault : ({ ...fault, at: { ...fault.at, session } } as Fault);
    this.#world.ask('inject', { fault: real }, (answer) => {
      if ('failure' in answer) return this.#failed(`the fault ${fault.id ?? fault.fault}: ${answer.failure}`);
      if (fault.id !== undefined) this.#ids.set(fault.id, answer.id);
      then();
    });
  }

  /** Injects the faults that wait for this session, if it has its id by now. */
  sessionNamed(name: string, then: () => void): void {
    const isKnown = this.#book.note(name).id !== undefined;
    const due = isKnown ? this.#waiting.filter(({ at }) => at?.session === name) : [];
    this.#waiting = this.#waiting.filter((fault) => !due.includes(fault));
    this.injectAll(due, then);
  }
}
