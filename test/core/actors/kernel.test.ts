/** The laws of the kernel, over both of its hosts: the live runtime, and a simulated process. */
import { afterEach, describe, expect, it } from 'vitest';
import { type Effect, noTrace } from '../../../core/actors/contract.ts';
import type { Cell, Timer } from '../../../core/actors/kernel/cell.ts';
import type { KernelHost, PendingLoad, PendingWrite } from '../../../core/actors/kernel/host.ts';
import { Kernel } from '../../../core/actors/kernel/kernel.ts';
import {
  type Host,
  type HostOptions,
  liveHost,
  persist,
  scripted,
  simulatedHost,
  tell,
  texts,
  type Write,
} from './support/kernel-hosts.ts';

describe.each([
  { world: 'live', open: liveHost },
  { world: 'simulated', open: simulatedHost },
])('the kernel in the $world world', ({ open }) => {
  const hosts: Host[] = [];
  const host = (options: HostOptions): Host => {
    const opened = open(options);
    hosts.push(opened);
    return opened;
  };
  afterEach(async () => {
    for (const opened of hosts.splice(0)) {
      const stopping = opened.stop();
      for (const { answer } of opened.writes) answer({ kind: 'written' });
      await stopping;
    }
  });

  describe('the law of durability', () => {
    const durable = () => {
      const actor = scripted((input, state) => {
        if (input.kind === 'message' && input.message === 'write') {
          return {
            state: 'written',
            effects: [
              { kind: 'send', to: 'far', message: 'first' },
              persist,
              { kind: 'reply', message: 'done' },
              { kind: 'emit', event: { type: 'wrote', level: 'info', fields: {} } },
            ],
          };
        }
        if (input.kind === 'persistRefused') return [{ kind: 'reply', message: `refused in ${state}` }];
        return [{ kind: 'reply', message: `${state}` }];
      });
      return { ...host({ behaviours: [actor.behaviour] }), ...actor };
    };

    it('lets nothing of a step out before its write is durable, and no other input in', async () => {
      const { deliver, settle, writes, sent, emitted, seen } = durable();
      deliver(tell('write'));
      deliver(tell('next'));
      await settle();
      expect(writes).toHaveLength(1);
      expect([sent, emitted]).toEqual([[], []]);
      expect(texts(seen)).toEqual(['write']);
      writes[0]!.answer({ kind: 'written' });
      await settle();
      // The step's own effects in order, then the next input, in the new state.
      expect(sent.map(({ to, message }) => `${to}:${message}`)).toEqual(['far:first', 'caller:done', 'caller:written']);
      expect(emitted.map(({ type }) => type)).toEqual(['wrote']);
      expect(sent[1]!.trace.correlationId).toBe('c-write');
    });

    it('gives a refused write back in the old state, and drops the step', async () => {
      const { deliver, settle, writes, sent, emitted, seen } = durable();
      deliver(tell('write'));
      deliver(tell('next'));
      await settle();
      writes[0]!.answer({ kind: 'conflict', code: 'EPOCH', current: 'other' });
      await settle();
      expect(seen[1]!.input).toEqual({
        kind: 'persistRefused',
        write: { key: 'k', value: 'v' },
        refusal: { kind: 'conflict', code: 'EPOCH', current: 'other' },
        input: seen[0]!.input,
      });
      expect(sent.map(({ to, message }) => `${to}:${message}`)).toEqual(['caller:refused in new', 'caller:new']);
      expect(emitted).toEqual([]);
    });

    it('names the first input when the step that handles a refusal is refused, too', async () => {
      const actor = scripted((input, state) => {
        const isFirst = input.kind === 'persistRefused' && input.refusal.kind === 'conflict';
        return { state: `${state}+`, effects: input.kind === 'message' || isFirst ? [persist] : [] };
      });
      const { deliver, settle, writes } = host({ behaviours: [actor.behaviour] });
      deliver(tell('write'));
      await settle();
      writes[0]!.answer({ kind: 'conflict', code: 'EPOCH', current: 'other' });
      await settle();
      writes[1]!.answer({ kind: 'unavailable', message: 'connection lost' });
      await settle();
      expect(actor.seen.map(({ input, state }) => `${input.kind} in ${state}`)).toEqual([
        'message in new',
        'persistRefused in new',
        'persistRefused in new',
      ]);
      expect(actor.seen[2]!.input).toMatchObject({ refusal: { kind: 'unavailable' }, input: actor.seen[0]!.input });
    });

    it('tells a store that cannot be reached from a conflict', async () => {
      const { deliver, settle, writes, seen } = durable();
      deliver(tell('write'));
      await settle();
      writes[0]!.answer({ kind: 'unavailable', message: 'connection lost' });
      await settle();
      expect(seen[1]!.input).toMatchObject({
        kind: 'persistRefused',
        refusal: { kind: 'unavailable', message: expect.stringContaining('connection lost') },
      });
    });

    it('starts anew from the record when the write of a start step is refused', async () => {
      const actor = scripted(() => undefined, {
        durableKey: () => 'k',
        start: (record) => ({ state: record ?? 'new', effects: record === undefined ? [persist] : [] }),
      });
      const { deliver, settle, writes, loads } = host({ behaviours: [actor.behaviour] });
      deliver(tell('hello'));
      loads[0]!.answer({ record: undefined });
      await settle();
      writes[0]!.answer({ kind: 'conflict', code: 'EXISTS', current: 'there' });
      await settle();
      loads[1]!.answer({ record: 'there' });
      await settle();
      expect(actor.seen).toMatchObject([{ state: 'there', input: { message: 'hello' } }]);
    });

    it('holds for an actor that throws over a refused write: it starts from its record', async () => {
      const actor = scripted(
        (input) => {
          if (input.kind === 'persistRefused') throw new Error('no plan for this');
          return input.kind === 'message' && input.message === 'write'
            ? [persist, { kind: 'reply', message: 'done' }]
            : [];
        },
        { durableKey: () => 'k' },
      );
      const { deliver, settle, writes, loads, sent, letters } = host({ behaviours: [actor.behaviour] });
      deliver(tell('write'), true);
      await settle();
      writes[0]!.answer({ kind: 'conflict', code: 'EPOCH', current: 'other' });
      await settle();
      deliver(tell('after'));
      loads[0]!.answer({ record: 'other' });
      await settle();
      expect(letters.map(({ letter }) => `${letter.cause} ${letter.inputKind}`)).toEqual(['bug persistRefused']);
      expect(actor.seen.at(-1)).toMatchObject({ state: 'other', input: { message: 'after' } });
      expect(sent).toEqual([]);
    });
  });

  describe('starting', () => {
    it('reads the durable record first, while inputs wait', async () => {
      const actor = scripted(() => undefined, { durableKey: (self) => `record:${self}` });
      const { deliver, settle, loads } = host({ behaviours: [actor.behaviour] });
      deliver(tell('one'));
      deliver(tell('two'));
      await settle();
      expect(loads.map(({ key }) => key)).toEqual(['record:a/1']);
      expect(actor.seen).toEqual([]);
      loads[0]!.answer({ record: 'kept' });
      await settle();
      expect(actor.seen.map(({ state }) => state)).toEqual(['kept', 'kept']);
      expect(texts(actor.seen)).toEqual(['one', 'two']);
    });

    it('reads nothing for a fresh actor', async () => {
      const actor = scripted(() => undefined, { durableKey: () => 'k' });
      const { deliver, settle, loads } = host({ behaviours: [actor.behaviour] });
      deliver(tell('one'), true);
      await settle();
      expect(loads).toEqual([]);
      expect(texts(actor.seen)).toEqual(['one']);
    });

    it('gives waiting messages up when the record cannot be read, and serves those that come later', async () => {
      const actor = scripted(() => undefined, { durableKey: () => 'k' });
      const { deliver, settle, until, loads, letters } = host({ behaviours: [actor.behaviour] });
      deliver(tell('one'));
      for (let read = 0; read < 4; read += 1) {
        await until(() => loads.length > read, 'the record was asked for again');
        loads[read]!.answer({ kind: 'unavailable', message: 'down' });
      }
      await settle();
      expect(letters).toMatchObject([{ letter: { cause: 'unavailable', inputKind: 'message' }, message: 'one' }]);
      deliver(tell('two'));
      await until(() => loads.length > 4, 'the record was asked for anew');
      loads[4]!.answer({ record: undefined });
      await settle();
      expect(texts(actor.seen)).toEqual(['two']);
    });

    it('picks the behaviour with the longest prefix, by whole segments', async () => {
      const short = scripted(() => undefined, { prefix: 'node/3' });
      const long = scripted(() => undefined, { prefix: 'node/3/dkg' });
      const { deliver, settle } = host({ behaviours: [short.behaviour, long.behaviour] });
      for (const to of ['node/3', 'node/3/dkgx', 'node/3/dkg', 'node/3/dkg/t/s']) deliver(tell(to, to));
      await settle();
      expect(texts(short.seen)).toEqual(['node/3', 'node/3/dkgx']);
      expect(texts(long.seen)).toEqual(['node/3/dkg', 'node/3/dkg/t/s']);
      expect(deliver(tell('x', 'node/31'))).toBe('noRoute');
    });

    it('answers loads, and says when one failed', async () => {
      const actor = scripted((input) =>
        input.kind === 'message'
          ? [
              { kind: 'load', key: 'x' },
              { kind: 'load', key: 'y' },
            ]
          : undefined,
      );
      const { deliver, settle, loads } = host({ behaviours: [actor.behaviour] });
      deliver(tell('go'));
      await settle();
      loads[1]!.answer({ record: 'Y' });
      await settle();
      loads[0]!.answer({ kind: 'unavailable', message: 'down' });
      await settle();
      expect(actor.seen.slice(1).map(({ input }) => input)).toEqual([
        { kind: 'loaded', key: 'y', record: 'Y' },
        { kind: 'loadFailed', key: 'x', message: expect.stringContaining('down') },
      ]);
    });
  });

  describe('mailboxes', () => {
    it('refuse beyond their bound, to a caller outside and to a sending actor', async () => {
      const slow = scripted((input) => (input.kind === 'message' ? [persist] : undefined), {
        prefix: 'slow',
        mailboxMax: 2,
      });
      const sender = scripted((input) =>
        input.kind === 'message' ? [{ kind: 'send', to: 'slow', message: input.message }] : undefined,
      );
      const { deliver, settle, writes } = host({ behaviours: [slow.behaviour, sender.behaviour] });
      deliver(tell('running', 'slow'));
      await settle();
      expect(deliver(tell('waits 1', 'slow'))).toBeUndefined();
      expect(deliver(tell('waits 2', 'slow'))).toBeUndefined();
      expect(deliver(tell('too many', 'slow'))).toBe('mailboxFull');
      deliver(tell('too many'));
      await settle();
      const refused = { kind: 'undelivered', to: 'slow', message: 'too many', reason: 'mailboxFull' };
      expect(sender.seen[1]!.input).toEqual(refused);
      writes[0]!.answer({ kind: 'written' });
      await settle();
      expect(texts(slow.seen)).toEqual(['running', 'waits 1']);
    });

    it('never refuse what an actor sends itself', async () => {
      const actor = scripted(
        (input) =>
          input.kind === 'message' && input.message === 'first'
            ? [persist, { kind: 'send', to: 'full', message: 'own' }]
            : undefined,
        { prefix: 'full', mailboxMax: 2 },
      );
      const { deliver, settle, writes } = host({ behaviours: [actor.behaviour] });
      deliver(tell('first', 'full'));
      await settle();
      for (const message of ['second', 'third']) expect(deliver(tell(message, 'full'))).toBeUndefined();
      expect(deliver(tell('fourth', 'full'))).toBe('mailboxFull');
      writes[0]!.answer({ kind: 'written' });
      await settle();
      expect(texts(actor.seen)).toEqual(['first', 'second', 'third', 'own']);
    });

    it('return what has no route, or whose link is full', async () => {
      const actor = scripted((input) =>
        input.kind === 'message' ? [{ kind: 'send', to: input.message, message: 'hi' }] : undefined,
      );
      const send = ({ to }: { to: string }) => (to === 'nowhere' ? 'noRoute' : 'linkFull');
      const { deliver, settle } = host({ behaviours: [actor.behaviour], send });
      deliver(tell('nowhere'));
      deliver(tell('far'));
      await settle();
      const undelivered = actor.seen.flatMap(({ input }) => (input.kind === 'undelivered' ? [input] : []));
      expect(undelivered.map(({ to, reason }) => `${to} ${reason}`)).toEqual(['nowhere noRoute', 'far linkFull']);
    });

    it('let no input in between the effects of a step, even when an observer delivers one', async () => {
      const actor = scripted((input) =>
        input.kind === 'message'
          ? [
              { kind: 'emit', event: { type: input.message, level: 'info', fields: {} } },
              { kind: 'reply', message: `after ${input.message}` },
            ]
          : undefined,
      );
      const { deliver, settle, sent } = host({
        behaviours: [actor.behaviour],
        onEvent: ({ type }, opened) => {
          if (type === 'outer') opened.deliver(tell('inner'));
        },
      });
      deliver(tell('outer'));
      await settle();
      expect(sent.map(({ message }) => message)).toEqual(['after outer', 'after inner']);
    });

    it('pass the trace of the message in hand on, unless the step names one', async () => {
      const actor = scripted(() => [
        { kind: 'send', to: 'far', message: 'inherits' },
        { kind: 'send', to: 'far', message: 'own', trace: { ...noTrace, correlationId: 'mine' } },
      ]);
      const { deliver, settle, sent } = host({ behaviours: [actor.behaviour] });
      deliver(tell('go'));
      await settle();
      expect(sent.map(({ trace }) => trace.correlationId)).toEqual(['c-go', 'mine']);
    });

    it('take turns: one input each', async () => {
      const sender = scripted((input) =>
        input.kind === 'message' && input.message === 'go'
          ? ['b/1', 'b/1', 'b/2', 'b/1', 'b/2'].map((to, index) => ({ kind: 'send', to, message: `${to} ${index}` }))
          : undefined,
      );
      const receiver = scripted(() => undefined, { prefix: 'b' });
      const { deliver, settle } = host({ behaviours: [sender.behaviour, receiver.behaviour] });
      deliver(tell('go'));
      await settle();
      expect(texts(receiver.seen)).toEqual(['b/1 0', 'b/2 2', 'b/1 1', 'b/2 4', 'b/1 3']);
    });

    it('keep the order of thousands that wait', async () => {
      const actor = scripted(() => undefined, { durableKey: () => 'k', mailboxMax: 5_000 });
      const { deliver, settle, loads, until } = host({ behaviours: [actor.behaviour] });
      const messages = Array.from({ length: 5_000 }, (_, index) => String(index));
      expect(messages.filter((message) => deliver(tell(message)) !== undefined)).toEqual([]);
      expect(deliver(tell('one more'))).toBe('mailboxFull');
      loads[0]!.answer({ record: undefined });
      await settle();
      await until(() => actor.seen.length >= messages.length, 'all were handled');
      expect(texts(actor.seen)).toEqual(messages);
    });
  });

  describe('timers', () => {
    it('fire by name; starting one again moves it, cancelling stops it', async () => {
      const actor = scripted((input) => {
        if (input.kind !== 'message') return undefined;
        return [
          { kind: 'startTimer', name: 'moved', afterMs: 1 },
          { kind: 'startTimer', name: 'moved', afterMs: 40 },
          { kind: 'startTimer', name: 'soon', afterMs: 10 },
          { kind: 'startTimer', name: 'cancelled', afterMs: 1 },
          { kind: 'cancelTimer', name: 'cancelled' },
          // Beyond the reach of one setTimeout, which would fire at once.
          { kind: 'startTimer', name: 'far away', afterMs: 30 * 24 * 3_600_000 },
        ];
      });
      const { deliver, until } = host({ behaviours: [actor.behaviour] });
      deliver(tell('go'));
      await until(() => actor.seen.length === 3, 'two timers fired');
      expect(actor.seen.slice(1).map(({ input }) => input)).toEqual([
        { kind: 'timer', name: 'soon' },
        { kind: 'timer', name: 'moved' },
      ]);
    });

    it('take back an input that fired but was cancelled before the actor got it', async () => {
      const actor = scripted((input) => {
        if (input.kind !== 'message') return undefined;
        const timers = (['first', 'second'] as const).map(
          (name) => ({ kind: 'startTimer', name, afterMs: 1 }) as const,
        );
        return input.message === 'arm' ? timers : [persist, { kind: 'cancelTimer', name: 'first' }];
      });
      const clock = scripted(
        (input) => (input.kind === 'message' ? [{ kind: 'startTimer', name: 'later', afterMs: 5 }] : undefined),
        { prefix: 'b' },
      );
      const { deliver, settle, until, writes } = host({ behaviours: [actor.behaviour, clock.behaviour] });
      deliver(tell('arm'));
      deliver(tell('cancel'));
      await settle();
      deliver(tell('go', 'b'));
      await until(() => clock.seen.length === 2, 'a later timer fired');
      writes[0]!.answer({ kind: 'written' });
      await settle();
      expect(actor.seen.slice(2).map(({ input }) => input)).toEqual([{ kind: 'timer', name: 'second' }]);
    });

    it('die with their actor', async () => {
      const actor = scripted((input, state) => {
        if (input.kind !== 'message') return undefined;
        if (input.message === 'throw') throw new Error('bug');
        const timer = { kind: 'startTimer', name: 't', afterMs: 1 } as const;
        return input.message === 'stop' ? { state, effects: [timer, { kind: 'stop' }] } : [timer];
      });
      const clock = scripted(
        (input) => (input.kind === 'message' ? [{ kind: 'startTimer', name: 'later', afterMs: 20 }] : undefined),
        { prefix: 'b' },
      );
      const { deliver, until } = host({ behaviours: [actor.behaviour, clock.behaviour] });
      deliver(tell('stop'));
      deliver(tell('arm', 'a/2'));
      deliver(tell('throw', 'a/2'));
      deliver(tell('go', 'b'));
      await until(() => clock.seen.length === 2, 'a later timer fired');
      expect(texts(actor.seen).filter((text) => text === 'timer')).toEqual([]);
    });
  });

  describe('an actor that throws', () => {
    const poisoned = (parts: Parameters<typeof scripted>[1] = {}) =>
      scripted((input) => {
        if (input.kind === 'message' && input.message.startsWith('poison')) throw new Error(`over ${secret}`);
        return { state: 'changed', effects: [] };
      }, parts);
    const secret = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

    it('restarts from its record; its message is a dead letter, of which only metadata is kept', async () => {
      const actor = poisoned({ durableKey: () => 'k' });
      const { deliver, settle, loads, letters } = host({ behaviours: [actor.behaviour] });
      deliver(tell('good'), true);
      deliver(tell(`poison ${secret}`));
      deliver(tell('after'));
      await settle();
      expect(loads).toHaveLength(1);
      loads[0]!.answer({ record: 'from the record' });
      await settle();
      expect(actor.seen.map(({ state }) => state)).toEqual(['new', 'changed', 'from the record']);
      const [{ letter, message } = {}] = letters;
      expect(letter).toMatchObject({
        address: 'a/1',
        from: 'caller',
        inputKind: 'message',
        cause: 'bug',
        error: 'Error: over …',
      });
      expect(JSON.stringify(letter)).not.toContain(secret);
      // The envelope is for the caller's answer.
      expect(message).toBe(`poison ${secret}`);
      expect(letters).toHaveLength(1);
    });

    it('restarts though nothing waits for it, for the sake of its timers', async () => {
      const actor = poisoned({
        start: () => ({ state: 'new', effects: [{ kind: 'startTimer', name: 'due', afterMs: 5 }] }),
      });
      const { deliver, until } = host({ behaviours: [actor.behaviour] });
      deliver(tell('poison'));
      await until(() => actor.seen.length === 2, 'the timer of the second life fired');
      expect(texts(actor.seen)).toEqual(['poison', 'timer']);
    });

    it('gets no answer that an earlier life asked for', async () => {
      const actor = scripted((input) => {
        if (input.kind !== 'message') return undefined;
        if (input.message === 'poison') throw new Error('bug');
        return [{ kind: 'load', key: 'x' }];
      });
      const { deliver, settle, loads } = host({ behaviours: [actor.behaviour] });
      deliver(tell('ask'));
      deliver(tell('poison'));
      await settle();
      loads[0]!.answer({ record: 'X' });
      await settle();
      expect(texts(actor.seen)).toEqual(['ask', 'poison']);
    });

    it('gets no input that only an earlier life asked for, though it waits already', async () => {
      const actor = scripted((input) => {
        if (input.kind !== 'message') return undefined;
        if (input.message === 'poison') throw new Error('bug');
        return input.message === 'write' ? [persist] : [{ kind: 'load', key: 'x' }];
      });
      const { deliver, settle, loads, writes } = host({ behaviours: [actor.behaviour] });
      for (const message of ['ask', 'write', 'poison']) deliver(tell(message));
      await settle();
      loads[0]!.answer({ record: 'X' });
      await settle();
      deliver(tell('ask again'));
      writes[0]!.answer({ kind: 'written' });
      await settle();
      expect(texts(actor.seen)).toEqual(['ask', 'write', 'poison', 'ask again']);
    });

    it('is one whose step breaks the contract', async () => {
      const actor = scripted((input) => {
        if (input.kind === 'timer') return [{ kind: 'reply', message: 'reply without a caller' }];
        return input.kind === 'message' && input.message === 'twice'
          ? [persist, persist]
          : [{ kind: 'startTimer', name: 't', afterMs: 1 }];
      });
      const { deliver, until, letters } = host({ behaviours: [actor.behaviour] });
      deliver(tell('twice'));
      deliver(tell('timer'));
      await until(() => letters.length === 2, 'both were found');
      expect(letters.map(({ letter }) => letter.error)).toEqual([
        'Error: a step with two persist effects',
        'Error: a reply while no message is handled',
      ]);
    });

    it('that fails repeatedly is restarted at a bounded pace, and keeps what came meanwhile', async () => {
      let starts = 0;
      const actor = poisoned({
        start: () => {
          starts += 1;
          return { state: '', effects: [] };
        },
      });
      const { deliver, settle, until } = host({ behaviours: [actor.behaviour] });
      for (let index = 0; index < 4; index += 1) deliver(tell('poison'));
      deliver(tell('after'));
      await settle();
      // The fourth restart waits.
      expect(starts).toBe(4);
      expect(texts(actor.seen)).toEqual(['poison', 'poison', 'poison', 'poison']);
      await until(() => actor.seen.length === 5, 'the actor came back');
      expect(texts(actor.seen).at(-1)).toBe('after');
      expect(starts).toBe(5);
    });

    it('at its start gives up what waits, and starts again for a later message', async () => {
      let starts = 0;
      const actor = scripted(() => undefined, {
        durableKey: () => 'k',
        start: () => {
          starts += 1;
          if (starts === 1) throw new Error('a record it cannot read');
          return { state: 'new', effects: [] };
        },
      });
      const { deliver, until, loads, letters } = host({ behaviours: [actor.behaviour] });
      deliver(tell('one'));
      deliver(tell('two'));
      loads[0]!.answer({ record: 'odd' });
      await until(() => letters.length === 2, 'both were given up');
      deliver(tell('three'));
      await until(() => loads.length === 2, 'the record was asked for again');
      loads[1]!.answer({ record: undefined });
      await until(() => actor.seen.length === 1, 'the actor started');
      expect(texts(actor.seen)).toEqual(['three']);
      expect(starts).toBe(2);
    });
  });

  describe('stopping', () => {
    it('forgets the actor; what waited starts it anew', async () => {
      const actor = scripted(
        (input, state) =>
          input.kind === 'message' && input.message === 'bye'
            ? { state, effects: [persist, { kind: 'stop' }] }
            : { state: 'used', effects: [] },
        { durableKey: () => 'k' },
      );
      const { deliver, settle, writes, loads } = host({ behaviours: [actor.behaviour] });
      deliver(tell('one'), true);
      deliver(tell('bye'));
      deliver(tell('two'));
      await settle();
      writes[0]!.answer({ kind: 'written' });
      await settle();
      loads[0]!.answer({ record: 'again' });
      await settle();
      expect(actor.seen.map(({ state }) => state)).toEqual(['new', 'used', 'again']);
    });
  });
});

/** Does nothing with the orders of a kernel. */
const quietHost: KernelHost<string, Write, string> = {
  nowMs: () => 0,
  random: (length) => new Uint8Array(length),
  ready: () => undefined,
  write: () => undefined,
  load: () => undefined,
  startTimer: () => undefined,
  cancelTimer: () => undefined,
  send: () => undefined,
  emit: () => undefined,
  describe: () => '',
  threw: (_address, error) => {
    throw error;
  },
  deadLetter: () => undefined,
  stepped: undefined,
};

it('a timer that is cancelled, started again, or whose actor stops is cancelled at the host', () => {
  const ready: Cell<string, Write, string>[] = [];
  const running = new Set<string>();
  let started = 0;
  const effects: Record<string, readonly Effect<string, Write>[]> = {
    start: [
      { kind: 'startTimer', name: 'a', afterMs: 1 },
      { kind: 'startTimer', name: 'b', afterMs: 1 },
      { kind: 'startTimer', name: 'a', afterMs: 2 },
    ],
    cancel: [{ kind: 'cancelTimer', name: 'b' }],
    stop: [{ kind: 'stop' }],
  };
  const actor = scripted((input) => effects[texts([{ input }])[0]!]);
  const kernel = new Kernel<string, Write, string>(
    {
      ...quietHost,
      ready: (cell) => ready.push(cell),
      startTimer: (timer, afterMs) => {
        started += 1;
        running.add(`${timer.name} ${afterMs}`);
        timer.handle = `${timer.name} ${afterMs}`;
      },
      cancelTimer: (timer) => running.delete(String(timer.handle)),
    },
    [actor.behaviour],
  );
  const tellAll = (message: string): string[] => {
    kernel.deliver(tell(message), true);
    while (ready.length > 0) kernel.turn(ready.shift()!);
    return [...running].sort();
  };
  expect(tellAll('start')).toEqual(['a 2', 'b 1']);
  expect(tellAll('cancel')).toEqual(['a 2']);
  expect(tellAll('stop')).toEqual([]);
  expect(started).toBe(3);
});

it('pauses between reads of a record, and before an actor starts again that could not start', () => {
  const ready: Cell<string, Write, string>[] = [];
  const loads: PendingLoad<string, Write, string>[] = [];
  const pauses: { readonly timer: Timer<string, Write, string>; readonly afterMs: number }[] = [];
  const letters: string[] = [];
  let starts = 0;
  const actor = scripted(
    () => {
      throw new Error('a bug');
    },
    {
      durableKey: () => 'k',
      start: () => {
        starts += 1;
        if (starts === 1) throw new Error('cannot start');
        return { state: 'started', effects: [] };
      },
    },
  );
  const kernel = new Kernel<string, Write, string>(
    {
      ...quietHost,
      threw: () => undefined,
      ready: (cell) => ready.push(cell),
      load: (pending) => loads.push(pending),
      startTimer: (timer, afterMs) => pauses.push({ timer, afterMs }),
      deadLetter: ({ cause }) => letters.push(cause),
    },
    [actor.behaviour],
  );
  const turns = () => {
    while (ready.length > 0) kernel.turn(ready.shift()!);
  };
  /** The read that runs fails; answers how long the kernel then waits for another one. */
  const fail = (): number | undefined => {
    const before = pauses.length;
    kernel.found(loads.at(-1)!, { kind: 'unavailable', message: 'down' });
    const pause = pauses[before];
    if (pause !== undefined) kernel.fired(pause.timer);
    return pause?.afterMs;
  };
  kernel.deliver(tell('one'));
  expect([1, 2, 3, 4].map(fail)).toEqual([50, 100, 200, undefined]);
  expect(letters).toEqual(['unavailable']);

  // It cannot start: its message is lost, and the next one waits until the pause is over.
  kernel.deliver(tell('two'));
  kernel.found(loads.at(-1)!, { record: undefined });
  turns();
  kernel.deliver(tell('three'));
  expect([loads.length, pauses.at(-1)!.afterMs, letters]).toEqual([5, 100, ['unavailable', 'bug']]);
  kernel.fired(pauses.at(-1)!.timer);
  kernel.found(loads.at(-1)!, { record: undefined });
  turns();
  // It had started: it must start again, without a message and however long that takes.
  expect(letters).toEqual(['unavailable', 'bug', 'bug']);
  expect(Array.from({ length: 9 }, fail)).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
});

it('a record that could be read ends the count of failures; an actor that nothing needs is not read again', () => {
  const ready: Cell<string, Write, string>[] = [];
  const loads: PendingLoad<string, Write, string>[] = [];
  const pauses: Timer<string, Write, string>[] = [];
  const letters: string[] = [];
  const actor = scripted(
    (input) => {
      if (texts([{ input }])[0] === 'harm') throw new Error('a bug');
      return [];
    },
    {
      durableKey: () => 'k',
      start: (record) => {
        if (record === 'odd') throw new Error('cannot start');
        return { state: 'started', effects: [] };
      },
    },
  );
  const kernel = new Kernel<string, Write, string>(
    {
      ...quietHost,
      threw: () => undefined,
      ready: (cell) => ready.push(cell),
      load: (pending) => loads.push(pending),
      startTimer: (timer) => pauses.push(timer),
      deadLetter: ({ cause }) => letters.push(cause),
    },
    [actor.behaviour],
  );
  const found = (record?: string) => {
    kernel.found(loads.at(-1)!, { record });
    while (ready.length > 0) kernel.turn(ready.shift()!);
  };
  const fail = () => {
    kernel.found(loads.at(-1)!, { kind: 'unavailable', message: 'down' });
    kernel.fired(pauses.at(-1)!);
  };
  kernel.deliver(tell('harm'));
  for (let failures = 0; failures < 3; failures += 1) fail();
  found();
  kernel.deliver(tell('later'));
  fail();
  // An old pause that fires late begins no second read.
  const reads = loads.length;
  kernel.fired(pauses[0]!);
  expect(loads).toHaveLength(reads);
  found();
  expect([letters, texts(actor.seen)]).toEqual([['bug'], ['harm', 'later']]);

  const cannot = { ...tell('never'), to: 'a/2' };
  kernel.deliver(cannot);
  found('odd');
  expect(letters).toEqual(['bug', 'bug']);
  const read = loads.length;
  kernel.fired(pauses.at(-1)!);
  expect(loads).toHaveLength(read);
});

it('an ended kernel does nothing, whatever its host still reports', () => {
  const ready: Cell<string, Write, string>[] = [];
  const writes: PendingWrite<string, Write, string>[] = [];
  const loads: PendingLoad<string, Write, string>[] = [];
  const timers: Timer<string, Write, string>[] = [];
  const sent: string[] = [];
  const actor = scripted((input) => [
    { kind: 'send', to: 'far', message: input.kind },
    ...(texts([{ input }])[0] === 'write'
      ? [persist]
      : ([
          { kind: 'load', key: 'x' },
          { kind: 'startTimer', name: 't', afterMs: 1 },
        ] as const)),
  ]);
  const kernel = new Kernel<string, Write, string>(
    {
      ...quietHost,
      ready: (cell) => ready.push(cell),
      write: (pending) => writes.push(pending),
      load: (pending) => loads.push(pending),
      startTimer: (timer) => timers.push(timer),
      send: ({ message }) => void sent.push(message),
    },
    [actor.behaviour],
  );
  for (const message of ['ask', 'write', 'never']) kernel.deliver(tell(message), true);
  while (ready.length > 0) kernel.turn(ready.shift()!);
  expect([sent, writes.length, loads.length, timers.length]).toEqual([['message'], 1, 1, 1]);
  kernel.end();
  kernel.written(writes[0]!, { kind: 'written' });
  kernel.found(loads[0]!, { record: 'X' });
  kernel.fired(timers[0]!);
  expect(kernel.deliver(tell('late'))).toBe('noRoute');
  expect([sent, ready, texts(actor.seen)]).toEqual([['message'], [], ['ask', 'write']]);
});
