/** What others use of key generation: its actor, and its state for those who observe runs. */
export { dkgBehaviour } from './session.ts';
export { boxCount, type DkgCeremonyState } from './state.ts';
