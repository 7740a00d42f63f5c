/** A gateway that dies at one of its calls: from then on none of its calls returns, or has an effect. */

/** Where a process ends: at its nth call, counted from 1, before or after that took effect. */
export interface Death {
  readonly atCall: number;
  readonly tookEffect: boolean;
}

export class Process {
  calls = 0;
  readonly #death: Death | undefined;

  constructor(death?: Death) {
    this.#death = death;
  }

  get isDead(): boolean {
    return this.#death !== undefined && this.calls >= this.#death.atCall;
  }

  /** The same object, whose methods never return any more once the process is dead. */
  wrap<T extends object>(object: T, names: readonly string[]): T {
    return new Proxy(object, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        if (!names.includes(String(name))) return value.bind(target);
        return (...given: unknown[]) => this.#call(() => value.apply(target, given) as Promise<unknown>);
      },
    });
  }

  async #call(perform: () => Promise<unknown>): Promise<unknown> {
    const forever = new Promise<never>(() => {});
    if (this.isDead) return forever;
    this.calls += 1;
    if (!this.isDead) return perform();
    if (this.#death?.tookEffect === true) await perform();
    return forever;
  }
}

export const storeCalls = ['read', 'readMany', 'numberOf', 'readWithBalances', 'commit', 'sweepDue', 'takeDue'];
