/**
 * The cryptography of the running task: the real one, or the model of core/crypto/model/, which protects nothing. The actors run
 * unchanged with either. Every primitive that the model replaces is a `Variant`: its module reads `current` at every use and
 * never stores the value. Caches between uses (verified signatures, say) are variants too, so that a result under one
 * cryptography never counts under the other.
 */

export type Cryptography = 'real' | 'model';

let chosen: Cryptography = 'real';
const variants: Variant<unknown>[] = [];

/** A value with one instance for each of the two cryptographies. Only for the top level of modules: it is never freed. */
export class Variant<T> {
  /** The instance in use. Read it at every use: it changes when the cryptography is chosen. */
  current: T;
  readonly #real: T;
  #model: T | undefined;

  constructor(real: T, model?: T) {
    this.current = real;
    this.#real = real;
    this.#model = model;
    variants.push(this);
  }

  /** Sets the instance that the model uses in place of real cryptography. */
  standIn(model: T): void {
    this.#model = model;
    if (chosen === 'model') this.current = model;
  }

  /** Throws an Error when the model has no instance. */
  choose(cryptography: Cryptography): void {
    const next = cryptography === 'real' ? this.#real : this.#model;
    if (next === undefined) throw new Error('the model of cryptography lacks a primitive');
    this.current = next;
  }
}

/** The cryptography in use. */
export function cryptography(): Cryptography {
  return chosen;
}

/** Only for core/crypto/model/switch.ts. */
export function chooseCryptography(next: Cryptography): void {
  chosen = next;
  for (const variant of variants) variant.choose(next);
}
