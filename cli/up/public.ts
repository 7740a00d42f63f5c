/** What the commands use of `signmesh up`. */
export { listenFailure } from './ports.ts';
export { readyMessage } from './supervisor.ts';
export { up } from './up.ts';
