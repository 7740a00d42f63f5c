/** A process by itself, for trials: its actors may keep themselves busy for ever, and the trial must still end. */
import { expect, test } from 'vitest';
import type { Behaviour } from '../../../core/actors/contract.ts';
import { ProcessCopy } from '../../../simulation/cluster/process-copy.ts';

/** Answers each message by one to itself, `left` times. */
const busy: Behaviour<null, { readonly left: number }, never, never> = {
  prefix: 'busy',
  mailboxMax: 10,
  durableKey: () => undefined,
  start: () => ({ state: null, effects: [] }),
  receive: (state, input) => {
    const left = input.kind === 'message' ? input.message.left : 0;
    return { state, effects: left > 0 ? [{ kind: 'send', to: 'busy', message: { left: left - 1 } }] : [] };
  },
};

class BusyProcess extends ProcessCopy<{ readonly left: number }, never, never> {
  constructor() {
    super('busy', 0, (length) => new Uint8Array(length));
    this.start();
  }

  protected behaviours() {
    return [busy];
  }

  protected outcomeOf(): never {
    throw new Error('it writes nothing');
  }

  protected read(): never {
    throw new Error('it reads nothing');
  }
}

test('an actor that keeps itself busy for ever is a bug, and its process starts again', () => {
  const process = new BusyProcess();
  const { boot } = process;
  process.tell('busy', { left: 1_000 });
  expect([process.bugs, process.boot]).toEqual([[], boot]);
  process.tell('busy', { left: Number.POSITIVE_INFINITY });
  expect(process.bugs).toEqual(['its actors loop']);
  expect(process.boot).not.toBe(boot);
  process.tell('busy', { left: 1_000 });
  expect(process.bugs).toHaveLength(1);
});
