/** The ports of a simulated process: time, its store, links to others, and observers. */
import type { Address } from '../../core/actors/contract.ts';
import type { Found, KernelHost, Written } from '../../core/actors/kernel/host.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A store that answers later, in virtual time; answers to a process that has ended are dropped. */
export interface LaterStore<W, R> {
  load(key: string, answer: (found: Found<R>) => void): void;
  write(write: W, answer: (written: Written<R>) => void): void;
}

/** The machine's ports to the world; `send` takes a message to another machine. */
export interface World<M>
  extends Pick<KernelHost<M, never, never>, 'nowMs' | 'random' | 'send' | 'emit' | 'deadLetter' | 'stepped'> {
  readonly time: VirtualTime;
  /** An actor threw. undefined: the world throws too. */
  readonly bug: ((address: Address, error: unknown) => void) | undefined;
}
