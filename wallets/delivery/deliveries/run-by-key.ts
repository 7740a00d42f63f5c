/**
 * Runs work for many keys: for each key one run at a time. Requests during a run cause exactly one more run after it, since the
 * inputs of the work may have changed since it read them.
 */
import { ShortLivedMap } from '../../../core/actors/short-lived-map.ts';

export class Keyed<T, R = void> {
  readonly #work: (item: T) => Promise<R>;
  readonly #failed: (error: unknown) => void;
  readonly #runs = new ShortLivedMap<
    string,
    { again: Promise<R | undefined> | undefined; readonly done: Promise<R | undefined> }
  >();

  /** `failed` gets the errors of the work. */
  constructor(work: (item: T) => Promise<R>, failed: (error: unknown) => void) {
    this.#work = work;
    this.#failed = failed;
  }

  /** Resolves when the work was done, from its beginning, after this call; undefined: it failed. Never rejects. */
  run(key: string, item: T): Promise<R | undefined> {
    const running = this.#runs.get(key);
    if (running === undefined) return this.#start(key, item);
    running.again ??= running.done.then(() => this.#start(key, item));
    return running.again;
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all([...this.#runs.values()].map(({ again, done }) => again ?? done));
  }

  #start(key: string, item: T): Promise<R | undefined> {
    const done = this.#work(item)
      .catch((error: unknown) => {
        this.#failed(error);
        return undefined;
      })
      .finally(() => {
        this.#runs.delete(key);
      });
    this.#runs.set(key, { again: undefined, done });
    return done;
  }
}
