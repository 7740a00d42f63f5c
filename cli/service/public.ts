/** The actions of the commands for a running service. */
export { type Action, type ActionFlags, type ActionResult, serviceActions, timeMs } from './actions.ts';
