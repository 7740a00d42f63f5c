/** The exports of signing: its actor, its state for observers of runs, and the validation of a message. */
export { askedOf, attemptOf } from './round.ts';
export { signingBehaviour } from './session.ts';
export type { SigningState } from './state.ts';
export { readPath } from './validation.ts';
