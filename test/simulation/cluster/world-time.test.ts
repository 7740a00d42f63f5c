/** Virtual time, and one simulated process: what falls due, in which order, and what a pause or a bug does to it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VirtualTime } from '../../../simulation/cluster/virtual-time.ts';
import { persist, scripted, simulatedHost, tell, texts } from '../../core/actors/support/kernel-hosts.ts';

describe('virtual time', () => {
  test('runs tasks in the order of their time, then of their making', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 60 }), fc.array(fc.nat(59), { maxLength: 10 }), (delays, off) => {
        const time = new VirtualTime();
        const ran: number[] = [];
        const cancels = delays.map((delayMs, index) => time.after(delayMs, () => ran.push(index)));
        for (const index of off) cancels[index]?.();
        expect(time.runUntil(() => false)).toBe(false);
        const expected = delays
          .map((delayMs, index) => ({ delayMs, index }))
          .filter(({ index }) => !off.includes(index))
          .sort((a, b) => a.delayMs - b.delayMs || a.index - b.index);
        expect(ran).toEqual(expected.map(({ index }) => index));
        expect(time.isIdle).toBe(true);
      }),
    );
  });

  test('what is made without a delay comes after what was made earlier for the same moment', () => {
    const time = new VirtualTime();
    const ran: string[] = [];
    time.after(5, () => {
      ran.push('first');
      time.after(0, () => ran.push('made by the first'));
    });
    time.after(5, () => ran.push('second'));
    time.advance(10);
    expect(ran).toEqual(['first', 'second', 'made by the first']);
  });

  test('comes to rest though something ticks for ever, and ticks on while something else continues', () => {
    const time = new VirtualTime();
    let ticks = 0;
    const tick = () => {
      ticks += 1;
      time.after(10, tick, true);
    };
    time.after(10, tick, true);
    expect(time.runUntil(() => false)).toBe(false);
    expect(ticks).toBe(0);
    time.advance(95);
    expect(ticks).toBe(9);
  });

  test('says when there is no end', () => {
    const time = new VirtualTime();
    const again = () => void time.after(1, again);
    again();
    expect(() => time.runUntil(() => false, 100)).toThrow('no end after 100 tasks');
  });
});

/** What a process adds to the kernel's laws (test/core/actors/kernel.test.ts). "write" makes the actor write. */
function running() {
  const actor = scripted((input) => {
    if (input.kind !== 'message') return undefined;
    if (input.message === 'write') return [persist];
    return input.message === 'timer' ? [{ kind: 'startTimer', name: 'due', afterMs: 10 }] : undefined;
  });
  return { ...simulatedHost({ behaviours: [actor.behaviour] }), heard: () => texts(actor.seen) };
}

describe('a simulated process', () => {
  test('that stands still does nothing, and then what fell due meanwhile, in order', () => {
    const { time, machine, deliver, heard } = running();
    deliver(tell('timer'));
    time.advance(5);
    machine.pause();
    deliver(tell('one'));
    time.advance(20);
    expect(heard()).toEqual(['timer']);
    machine.resume();
    time.advance(1);
    expect(heard()).toEqual(['timer', 'one', 'timer']);
  });

  test('that stands still has the answer of its store when it continues', () => {
    const { time, machine, deliver, writes, heard } = running();
    deliver(tell('write'));
    time.advance(5);
    machine.pause();
    writes[0]!.answer({ kind: 'written' });
    deliver(tell('after'));
    time.advance(5);
    expect(heard()).toEqual(['write']);
    machine.resume();
    time.advance(1);
    expect(heard()).toEqual(['write', 'after']);
  });

  test('a timer that is started again while its time came in a pause is due once', () => {
    const { time, machine, deliver, heard } = running();
    deliver(tell('timer'));
    deliver(tell('timer', 'a/1'));
    time.advance(5);
    machine.pause();
    deliver(tell('timer'));
    time.advance(30);
    machine.resume();
    time.advance(30);
    expect(heard()).toEqual(['timer', 'timer', 'timer', 'timer']);
  });

  test('whose actor throws throws through the world, unless bugs are recorded', () => {
    const actor = scripted(() => {
      throw new Error('a planted bug');
    });
    const recording = simulatedHost({ behaviours: [actor.behaviour] });
    recording.deliver(tell('go'));
    recording.time.advance(5);
    expect(recording.bugs).toEqual(['a/1: Error: a planted bug']);
    const throwing = simulatedHost({ behaviours: [actor.behaviour], onBug: 'throw' });
    throwing.deliver(tell('go'));
    expect(() => throwing.time.advance(5)).toThrow('a planted bug');
  });

  test('that crashed does nothing any more, whatever the store answers', () => {
    const { time, machine, deliver, writes, heard } = running();
    deliver(tell('timer'));
    deliver(tell('write'));
    time.advance(5);
    machine.crash();
    writes[0]!.answer({ kind: 'written' });
    time.advance(50);
    expect(deliver(tell('one'))).toBe('noRoute');
    expect(heard()).toEqual(['timer', 'write']);
  });

  test('that crashes at one effect of a step performs none of those behind it', () => {
    const actor = scripted(() => [
      { kind: 'send', to: 'far', message: 'first' },
      { kind: 'emit', event: { type: 'crash', level: 'info', fields: {} } },
      { kind: 'send', to: 'far', message: 'second' },
      { kind: 'stop' },
    ]);
    const onEvent = () => machine.crash();
    const { time, machine, deliver, sent } = simulatedHost({ behaviours: [actor.behaviour], onEvent });
    deliver(tell('go'));
    time.advance(5);
    expect(sent.map(({ message }) => message)).toEqual(['first']);
  });
});
