/** The actions of the commands for a running service. */
export { type Action, type ActionFlags, type ActionResult, durationMs, serviceActions } from './actions.ts';
