/**
 * One turn of the event loop. When it resolves, every earlier microtask and `process.nextTick` has run, with all their
 * consequences: Node guarantees that before its next phase begins. So it is the exact border between two events of a simulated
 * world, for chains of promises of any length. A counted chain of promises would have to guess that length.
 *
 * It reads no time and no randomness: no simulated process can notice the duration of a turn, or the other work of the process
 * meanwhile.
 */
// Node's own, even where a test has replaced the global one.
import { setImmediate } from 'node:timers';

export function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
