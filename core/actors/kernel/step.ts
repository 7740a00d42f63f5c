/**
 * Checks the contract's rules for a step before it takes effect: at most one `persist`, and a `reply` only while handling a
 * message. A step that breaks the contract is a bug of its actor; the kernel treats it like a throw.
 */
import type { Effect, Input, Refusal, Step } from '../contract.ts';

export type PersistEffect<W> = Extract<Effect<never, W>, { kind: 'persist' }>;

/**
 * Returns the step's persist effect, or undefined. `hasSender`: whether a message is being handled (its refused write
 * included). Throws an Error that names the broken rule.
 */
export function persistOf<S, M, W>(step: Step<S, M, W>, hasSender: boolean): PersistEffect<W> | undefined {
  let persist: PersistEffect<W> | undefined;
  for (const effect of step.effects) {
    if (effect.kind === 'persist') {
      if (persist !== undefined) throw new Error('a step with two persist effects');
      persist = effect;
    } else if (effect.kind === 'reply' && !hasSender) {
      throw new Error('a reply while no message is handled');
    }
  }
  return persist;
}

/** The input that follows a refused write of the step that handled `input`. */
export function refusedInput<M, W, R>(input: Input<M, W, R>, write: W, refusal: Refusal<R>): Input<M, W, R> {
  return { kind: 'persistRefused', write, refusal, input: input.kind === 'persistRefused' ? input.input : input };
}
