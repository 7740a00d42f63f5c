/**
 * One turn of the event loop. When it resolves, every microtask and every `process.nextTick` that was due before has run,
 * with all that they caused in turn: Node guarantees that before its next phase begins. So it is the exact border
 * between two events of a simulated world, whatever length the chains of promises in between have. A counted chain of
 * promises would have to guess that length.
 *
 * It tells no time and draws no chance: how long a turn takes, and what else the process does meanwhile, no simulated
 * process can notice.
 */
// Node's own, also where a test has replaced the global one.
import { setImmediate } from 'node:timers';

export function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
