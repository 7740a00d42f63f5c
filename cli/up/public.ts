/** The parts of `signmesh up` that the commands use. */
export { detach } from './detach.ts';
export { reachable } from './gateway-health.ts';
export { type Lock, takeLock } from './lock.ts';
export { logs } from './logs.ts';
export { ListenFailure, lastingPort, listenFailure } from './ports.ts';
export { lockFile, readReady, readyFile, runningCluster } from './running.ts';
export { status } from './status.ts';
export { stop } from './stop.ts';
export { readyMessage } from './supervisor.ts';
export { up } from './up.ts';
