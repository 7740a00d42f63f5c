/** Refuses options that do not exist: JavaScript would ignore a misspelt one silently. */
import type { CallOptions } from './contract.ts';
import { InvalidOptionError } from './errors.ts';

/** Every name once: the compiler reports a missing one. */
export type Names<T> = Readonly<Record<keyof T, true>>;

export const callOptionNames: Names<CallOptions> = {
  idempotencyKey: true,
  signal: true,
  deadlineMs: true,
  attemptsMax: true,
  requestId: true,
  traceparent: true,
};

/** `of`: the function that takes the options. Throws InvalidOptionError. Quotes no value: it may be a token. */
export function needKnown<T extends object>(of: string, given: T, names: Names<T>): void {
  const listed = Object.keys(names).join(', ');
  if (typeof given !== 'object' || given === null) {
    throw new InvalidOptionError('options', `of ${of} must be an object with ${listed}`);
  }
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(names, name));
  if (unknown !== undefined) throw new InvalidOptionError(unknown, `is no option of ${of}: it takes ${listed}`);
}
