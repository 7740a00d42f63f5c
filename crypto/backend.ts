/**
 * Which cryptography the running task computes with: the real one, or the model of crypto/model/, which is none.
 *
 * The actors run unchanged with either. Every primitive that the model replaces is a `Variant`: the module that offers
 * it reads `current` at every use and never keeps what it read. What is remembered between uses (a memo of signatures
 * found good, say) is a variant too, so that nothing found true in one cryptography counts in the other.
 *
 * The real one is the default; only crypto/model/switch.ts selects the model.
 */

export type Cryptography = 'real' | 'model';

let chosen: Cryptography = 'real';
const variants: Variant<unknown>[] = [];

/** One thing that each of the two cryptographies has of its own. For the top level of modules: it is never forgotten. */
export class Variant<T> {
  /** The one in use. Read it at every use: it changes when the cryptography is chosen. */
  current: T;
  readonly #real: T;
  #model: T | undefined;

  constructor(real: T, model?: T) {
    this.current = real;
    this.#real = real;
    this.#model = model;
    variants.push(this);
  }

  /** Names what the model uses in place of real cryptography. */
  standIn(model: T): void {
    this.#model = model;
    if (chosen === 'model') this.current = model;
  }

  /** Throws an Error when the model has nothing to put in its place. */
  choose(cryptography: Cryptography): void {
    const next = cryptography === 'real' ? this.#real : this.#model;
    if (next === undefined) throw new Error('the model of cryptography lacks a primitive');
    this.current = next;
  }
}

/** Which cryptography is in use. */
export function cryptography(): Cryptography {
  return chosen;
}

/** For crypto/model/switch.ts alone. */
export function chooseCryptography(next: Cryptography): void {
  chosen = next;
  for (const variant of variants) variant.choose(next);
}
