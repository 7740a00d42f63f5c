/** The exports of keystores for sessions: the port, and the keystore of a key. */

export { addressText } from './owner-ecdsa.ts';
export type { AttemptBackend, FullSignature, SigningTask } from './port.ts';
export { keystoreFor, signingTask } from './registry.ts';
