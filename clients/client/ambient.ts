/** The ports of this process: the only module of the client that reads a clock or draws a random number. */
import type { ClientPorts } from './contract.ts';

export const ambientPorts: ClientPorts = {
  // Looked up at each call, so that a later replacement of the global is used too.
  fetch: (input, init) => globalThis.fetch(input, init),
  nowMs: () => Date.now(),
  startTimer(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  uuid: () => globalThis.crypto.randomUUID(),
};
