/** The parts of `signmesh up` that the commands use. */
export { detach } from './detach.ts';
export { logs } from './logs.ts';
export { status } from './status.ts';
export { stop } from './stop.ts';
export { up } from './up.ts';
