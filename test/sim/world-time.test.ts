/** Virtual time, and one simulated process: what falls due, in which order, and what a pause or a bug does to it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Behaviour, Effect, Input } from '../../actors/contract.ts';
import { Machine } from '../../sim/machine.ts';
import type { DeadCause, LaterStore } from '../../sim/machine-ports.ts';
import { randomStream } from '../../sim/random.ts';
import { VirtualTime } from '../../sim/virtual-time.ts';

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

  test('comes to rest though something ticks for ever, and ticks on while something else goes on', () => {
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

type Word = string;
type Seen = { readonly kind: string; readonly text: string };

/** An actor that notes what it gets; "throw" makes it throw, "write" makes it write, "timer" starts a timer of 10 ms. */
function world(onBug: 'throw' | 'record' = 'record') {
  const time = new VirtualTime();
  const seen: Seen[] = [];
  const bugs: string[] = [];
  const dead: [Word, DeadCause][] = [];
  const records = new Map<string, string>();
  const waiting: (() => void)[] = [];
  let refusesReads = false;
  const behaviour: Behaviour<number, Word, string, string> = {
    prefix: 'a',
    mailboxMax: 3,
    durableKey: () => 'a',
    start: (record) => {
      seen.push({ kind: 'start', text: record ?? '' });
      return { state: 0, effects: [] };
    },
    receive: (state, input: Input<Word, string, string>) => {
      const text = input.kind === 'message' ? input.message : input.kind === 'timer' ? input.name : '';
      if (text === 'throw') throw new Error('a planted bug');
      seen.push({ kind: input.kind, text });
      const effects: Effect<Word, string>[] = [];
      if (text === 'write') effects.push({ kind: 'persist', write: `written ${state}` });
      if (text === 'timer') effects.push({ kind: 'startTimer', name: 'due', afterMs: 10 });
      return { state: state + 1, effects };
    },
  };
  const store: LaterStore<string, string> = {
    load: (key, answer) => {
      const unavailable = { kind: 'unavailable', message: 'away' } as const;
      time.after(1, () => answer(refusesReads ? unavailable : { record: records.get(key) }));
    },
    write: (write, answer) => {
      waiting.push(() => {
        records.set('a', write);
        answer({ kind: 'written' });
      });
    },
  };
  const machine = new Machine<Word, string, string>(
    {
      time,
      nowMs: () => time.nowMs(),
      carry: () => 'noRoute',
      observe: () => undefined,
      stepped: undefined,
      bug: onBug === 'throw' ? undefined : (address, error) => void bugs.push(`${address}: ${error}`),
      deadLetter: ({ message }, cause) => void dead.push([message, cause]),
    },
    { behaviours: [behaviour], store, random: randomStream('machine', 'test') },
  );
  const tell = (message: Word) =>
    machine.deliver({ from: 'b', to: 'a', message, trace: { correlationId: '', traceparent: '', deadlineMs: 0 } });
  const texts = () => seen.map(({ kind, text }) => `${kind} ${text}`.trim());
  return {
    time,
    machine,
    tell,
    texts,
    bugs,
    dead,
    answerWrites: () => {
      for (const answer of waiting.splice(0)) answer();
    },
    refuseReads: (refuses: boolean) => {
      refusesReads = refuses;
    },
  };
}

describe('a simulated process', () => {
  test('that stands still does nothing, and then what fell due meanwhile, in order', () => {
    const { time, machine, tell, texts } = world();
    tell('timer');
    time.advance(5);
    machine.pause();
    tell('one');
    time.advance(20);
    expect(texts()).toEqual(['start', 'message timer']);
    machine.resume();
    time.advance(1);
    expect(texts()).toEqual(['start', 'message timer', 'message one', 'timer due']);
  });

  test('that stands still has the answer of its store when it goes on', () => {
    const { time, machine, tell, texts, answerWrites } = world();
    tell('write');
    time.advance(5);
    machine.pause();
    answerWrites();
    tell('after');
    time.advance(5);
    expect(texts()).toEqual(['start', 'message write']);
    machine.resume();
    time.advance(1);
    expect(texts()).toEqual(['start', 'message write', 'message after']);
  });

  test('a timer that is started again while its time came in a pause is due once', () => {
    const { time, machine, tell, texts } = world();
    tell('timer');
    tell('timer');
    time.advance(5);
    machine.pause();
    time.advance(30);
    machine.resume();
    time.advance(30);
    expect(texts().filter((text) => text === 'timer due')).toHaveLength(1);
  });

  test('an actor that throws starts anew from its record, and its message is a dead letter', () => {
    const { time, tell, texts, bugs, dead, answerWrites } = world();
    tell('write');
    time.advance(5);
    answerWrites();
    tell('throw');
    tell('after');
    time.advance(5);
    expect(bugs).toEqual(['a: Error: a planted bug']);
    expect(dead).toEqual([['throw', 'bug']]);
    expect(texts()).toEqual(['start', 'message write', 'start written 0', 'message after']);
  });

  test('an actor that throws again and again is restarted at a bounded pace', () => {
    const { time, tell, texts } = world();
    for (let count = 0; count < 6; count += 1) {
      tell('throw');
      time.advance(2);
    }
    expect(texts()).toHaveLength(4);
    time.advance(10_000);
    expect(texts().length).toBeGreaterThan(4);
  });

  test('throws through the world unless bugs are recorded', () => {
    const { time, tell } = world('throw');
    tell('throw');
    expect(() => time.advance(5)).toThrow('a planted bug');
  });

  test('gives messages up whose record cannot be read, and serves those that come later', () => {
    const { time, tell, texts, dead, refuseReads } = world();
    refuseReads(true);
    tell('one');
    time.advance(10_000);
    expect(dead).toEqual([['one', 'unavailable']]);
    refuseReads(false);
    tell('two');
    time.advance(10);
    expect(texts()).toEqual(['start', 'message two']);
  });

  test('refuses what is more than its mailbox holds, and what nobody serves', () => {
    const { tell, machine } = world();
    expect([tell('1'), tell('2'), tell('3'), tell('4')]).toEqual([undefined, undefined, undefined, 'mailboxFull']);
    const trace = { correlationId: '', traceparent: '', deadlineMs: 0 };
    expect(machine.deliver({ from: 'b', to: 'c', message: '', trace })).toBe('noRoute');
  });

  test('that crashed does nothing any more', () => {
    const { time, machine, tell, texts } = world();
    tell('timer');
    time.advance(5);
    machine.crash();
    time.advance(50);
    expect(tell('one')).toBe('noRoute');
    expect(texts()).toEqual(['start', 'message timer']);
  });
});
