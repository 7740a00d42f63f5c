/** What others use of signing: its actor, its state for those who observe runs, and how a message is validated. */
export { askedOf, attemptOf } from './round.ts';
export { signingBehaviour } from './session.ts';
export type { SigningState } from './state.ts';
export { readPath } from './validation.ts';
