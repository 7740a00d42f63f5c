import { describe, expect, it } from 'vitest';
import type { Context, Effect, Envelope, Input, Step, Store, WriteOutcome } from '../../actors/contract.ts';
import { noTrace } from '../../actors/contract.ts';
import type { AnyBehaviour } from '../../actors/live/cell.ts';
import { LiveSystem } from '../../actors/live/system.ts';
import type { LiveSystemOptions } from '../../actors/live/system-options.ts';
import { behaviour, recordingLog, until } from './harness.ts';

type Write = { readonly key: string; readonly value: string };
type In = Input<string, Write, string>;
type Fx = Effect<string, Write>;

/** A Store whose answers the test gives by hand. */
function heldStore() {
  const writes: { write: Write; answer: (outcome: WriteOutcome<string>) => void; fail: (error: Error) => void }[] = [];
  const loads: { key: string; answer: (record: string | undefined) => void; fail: (error: Error) => void }[] = [];
  const store: Store<Write, string> = {
    write: (write) => new Promise((answer, fail) => writes.push({ write, answer, fail })),
    load: (key) => new Promise((answer, fail) => loads.push({ key, answer, fail })),
  };
  return { store, writes, loads };
}

/** Sends what it is given elsewhere into a list. */
function outbox() {
  const sent: Envelope<string>[] = [];
  return {
    sent,
    transport: {
      send: (envelope: Envelope<string>) => {
        sent.push(envelope);
        return undefined;
      },
    },
  };
}

/** An actor that notes every input and answers with what `react` says. */
function scripted(
  react: (input: In, state: string, context: Context) => Step<string, string, Write> | readonly Fx[] | undefined,
  parts: Partial<AnyBehaviour<string, Write, string>> = {},
) {
  const seen: { input: In; state: string }[] = [];
  const made = behaviour<string, string, Write, string>({
    prefix: 'a',
    start: (record) => ({ state: record ?? 'new', effects: [] }),
    receive: (state, input, context) => {
      seen.push({ input, state });
      const answer = react(input, state, context);
      if (answer === undefined) return { state, effects: [] };
      return 'effects' in answer ? answer : { state, effects: answer };
    },
    ...parts,
  });
  return { seen, behaviour: made };
}

function system(options: LiveSystemOptions<string, Write, string>) {
  return new LiveSystem<string, Write, string>(options);
}

const tell = (message: string, to = 'a/1', from = 'caller'): Envelope<string> => ({
  from,
  to,
  message,
  trace: { ...noTrace, correlationId: `c-${message}` },
});
const texts = (seen: readonly { input: In }[]) =>
  seen.map(({ input }) => (input.kind === 'message' ? input.message : input.kind));
/** Lets settled promises reach their listeners. */
const settle = () => new Promise((resolve) => setImmediate(resolve));
const persist: Fx = { kind: 'persist', write: { key: 'k', value: 'v' } };

describe('the law of durability', () => {
  const durable = () => {
    const store = heldStore();
    const out = outbox();
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
    const live = system({ behaviours: [actor.behaviour], store: store.store, transport: out.transport });
    return { ...store, ...out, ...actor, live };
  };

  it('lets nothing of a step out before its write is durable, and no other input in', async () => {
    const { live, writes, sent, seen } = durable();
    live.deliver(tell('write'));
    live.deliver(tell('next'));
    await settle();
    expect(writes).toHaveLength(1);
    expect(sent).toEqual([]);
    expect(live.stats().events.size).toBe(0);
    expect(texts(seen)).toEqual(['write']);
    writes[0]?.answer({ kind: 'written' });
    await settle();
    // The step's own effects in order, then the next input, in the new state.
    expect(sent.map(({ to, message }) => `${to}:${message}`)).toEqual(['far:first', 'caller:done', 'caller:written']);
    expect(live.stats().events.get('wrote')).toBe(1);
    expect(sent[1]?.trace.correlationId).toBe('c-write');
  });

  it('gives a refused write back in the old state, and drops the step', async () => {
    const { live, writes, sent, seen } = durable();
    live.deliver(tell('write'));
    live.deliver(tell('next'));
    writes[0]?.answer({ kind: 'conflict', code: 'EPOCH', current: 'other' });
    await settle();
    expect(seen[1]?.input).toEqual({
      kind: 'persistRefused',
      write: { key: 'k', value: 'v' },
      refusal: { kind: 'conflict', code: 'EPOCH', current: 'other' },
      input: seen[0]?.input,
    });
    expect(sent.map(({ message }) => message)).toEqual(['refused in new', 'new']);
    expect(live.stats()).toMatchObject({ persistsRefused: 1, persistsRunning: 0 });
    expect(live.stats().events.size).toBe(0);
  });

  it('names the first input when the step that handles a refusal is refused, too', async () => {
    const store = heldStore();
    const actor = scripted((input, state) => {
      const isFirst = input.kind === 'persistRefused' && input.refusal.kind === 'conflict';
      return { state: `${state}+`, effects: input.kind === 'message' || isFirst ? [persist] : [] };
    });
    const live = system({ behaviours: [actor.behaviour], store: store.store });
    live.deliver(tell('write'));
    store.writes[0]?.answer({ kind: 'conflict', code: 'EPOCH', current: 'other' });
    await settle();
    store.writes[1]?.fail(new Error('connection lost'));
    await settle();
    expect(actor.seen.map(({ input, state }) => `${input.kind} in ${state}`)).toEqual([
      'message in new',
      'persistRefused in new',
      'persistRefused in new',
    ]);
    expect(actor.seen[2]?.input).toMatchObject({ refusal: { kind: 'unavailable' }, input: actor.seen[0]?.input });
  });

  it('tells a store that cannot be reached from a conflict', async () => {
    const { live, writes, seen } = durable();
    live.deliver(tell('write'));
    writes[0]?.fail(new Error('connection lost'));
    await settle();
    expect(seen[1]?.input).toMatchObject({
      kind: 'persistRefused',
      refusal: { kind: 'unavailable', message: 'Error: connection lost' },
    });
  });

  it('starts anew from the record when the write of a start step is refused', async () => {
    const { store, writes, loads } = heldStore();
    const actor = scripted(() => undefined, {
      durableKey: () => 'k',
      start: (record: string | undefined) => ({
        state: record ?? 'new',
        effects: record === undefined ? [persist] : [],
      }),
    });
    const live = system({ behaviours: [actor.behaviour], store });
    live.deliver(tell('hello'));
    loads[0]?.answer(undefined);
    await settle();
    writes[0]?.answer({ kind: 'conflict', code: 'EXISTS', current: 'there' });
    await settle();
    loads[1]?.answer('there');
    await settle();
    expect(actor.seen).toMatchObject([{ state: 'there', input: { message: 'hello' } }]);
  });
});

describe('starting', () => {
  it('reads the durable record first, while inputs wait', async () => {
    const { store, loads } = heldStore();
    const actor = scripted(() => undefined, { durableKey: (self: string) => `record:${self}` });
    const live = system({ behaviours: [actor.behaviour], store });
    live.deliver(tell('one'));
    live.deliver(tell('two'));
    expect(loads.map(({ key }) => key)).toEqual(['record:a/1']);
    loads[0]?.answer('kept');
    await settle();
    expect(actor.seen.map(({ state }) => state)).toEqual(['kept', 'kept']);
    expect(texts(actor.seen)).toEqual(['one', 'two']);
  });

  it('reads nothing for a fresh actor', () => {
    const { store, loads } = heldStore();
    const actor = scripted(() => undefined, { durableKey: () => 'k' });
    system({ behaviours: [actor.behaviour], store }).deliver(tell('one'), true);
    expect(loads).toEqual([]);
    expect(texts(actor.seen)).toEqual(['one']);
  });

  it('gives waiting messages up as unavailable when the record cannot be read', async () => {
    const letters: string[] = [];
    const actor = scripted(() => undefined, { durableKey: () => 'k' });
    const live = system({
      behaviours: [actor.behaviour],
      store: { load: () => Promise.reject(new Error('down')), write: () => Promise.reject(new Error('down')) },
      onDeadLetter: (letter, envelope) => letters.push(`${letter.cause} ${envelope?.message}`),
    });
    live.deliver(tell('one'));
    await until(() => letters.length > 0, 'the message was given up');
    expect(letters).toEqual(['unavailable one']);
    expect(live.has('a/1')).toBe(false);
    expect(actor.seen).toEqual([]);
  });

  it('picks the behaviour with the longest prefix, by whole segments', () => {
    const short = scripted(() => undefined, { prefix: 'node/3' });
    const long = scripted(() => undefined, { prefix: 'node/3/dkg' });
    const live = system({ behaviours: [short.behaviour, long.behaviour] });
    for (const to of ['node/3', 'node/3/dkgx', 'node/3/dkg', 'node/3/dkg/t/s']) live.deliver(tell(to, to));
    expect(texts(short.seen)).toEqual(['node/3', 'node/3/dkgx']);
    expect(texts(long.seen)).toEqual(['node/3/dkg', 'node/3/dkg/t/s']);
    expect(live.deliver(tell('x', 'node/31'))).toBe('noRoute');
  });

  it('answers loads, and says when one failed', async () => {
    const { store, loads } = heldStore();
    const actor = scripted((input) =>
      input.kind === 'message'
        ? [
            { kind: 'load', key: 'x' },
            { kind: 'load', key: 'y' },
          ]
        : undefined,
    );
    const live = system({ behaviours: [actor.behaviour], store });
    live.deliver(tell('go'));
    loads[1]?.answer('Y');
    loads[0]?.fail(new Error('down'));
    await settle();
    expect(actor.seen.slice(1).map(({ input }) => input)).toEqual([
      { kind: 'loaded', key: 'y', record: 'Y' },
      { kind: 'loadFailed', key: 'x', message: 'Error: down' },
    ]);
    live.deliver(tell('go'));
  });
});

describe('mailboxes', () => {
  it('refuse beyond their bound, to a caller outside and to a sending actor', async () => {
    const { store, writes } = heldStore();
    const slow = scripted((input) => (input.kind === 'message' ? [persist] : undefined), {
      prefix: 'slow',
      mailboxMax: 2,
    });
    const sender = scripted((input) =>
      input.kind === 'message' ? [{ kind: 'send', to: 'slow', message: input.message }] : undefined,
    );
    const live = system({ behaviours: [slow.behaviour, sender.behaviour], store });
    for (const message of ['running', 'waits 1', 'waits 2'])
      expect(live.deliver(tell(message, 'slow'))).toBeUndefined();
    expect(live.deliver(tell('too many', 'slow'))).toBe('mailboxFull');
    live.deliver(tell('too many'));
    expect(sender.seen[1]?.input).toEqual({
      kind: 'undelivered',
      to: 'slow',
      message: 'too many',
      reason: 'mailboxFull',
    });
    expect(live.mailboxDepth('slow')).toBe(2);
    expect(live.stats()).toMatchObject({ mailboxRefusals: 2, undelivered: 1, mailboxDepthMax: 2 });
    writes[0]?.answer({ kind: 'written' });
    await settle();
    expect(texts(slow.seen)).toEqual(['running', 'waits 1']);
  });

  it('return what has no route, or whose link is full', () => {
    const actor = scripted((input) =>
      input.kind === 'message' ? [{ kind: 'send', to: input.message, message: 'hi' }] : undefined,
    );
    const live = system({ behaviours: [actor.behaviour] });
    live.deliver(tell('nowhere'));
    live.connect({ send: () => 'linkFull' });
    live.deliver(tell('far'));
    live.connect({
      send: () => {
        throw new Error('a transport with a bug');
      },
    });
    live.deliver(tell('broken'));
    expect(actor.seen.filter(({ input }) => input.kind === 'undelivered').map(({ input }) => input)).toMatchObject([
      { to: 'nowhere', reason: 'noRoute' },
      { to: 'far', reason: 'linkFull' },
      { to: 'broken', reason: 'noRoute' },
    ]);
  });

  it('handle one input at a time, without recursion, and leave the event loop its turn', async () => {
    let depth = 0;
    let deepest = 0;
    const rallies = 20_000;
    const player = scripted(
      (input, _state, context) => {
        depth += 1;
        deepest = Math.max(deepest, depth);
        depth -= 1;
        if (input.kind !== 'message' || Number(input.message) >= rallies) return undefined;
        const to = context.self === 'a/1' ? 'a/2' : 'a/1';
        return [{ kind: 'send', to, message: String(Number(input.message) + 1) }];
      },
      { mailboxMax: 1 },
    );
    const live = system({ behaviours: [player.behaviour], turnInputsMax: 100 });
    live.deliver(tell('0'));
    expect(player.seen.length).toBeLessThanOrEqual(100);
    await until(() => player.seen.length === rallies + 1, 'the rally ended');
    expect(deepest).toBe(1);
  });

  it('let no input in between the effects of a step, even when an observer delivers one', () => {
    const out = outbox();
    const actor = scripted((input) =>
      input.kind === 'message'
        ? [
            { kind: 'emit', event: { type: input.message, level: 'info', fields: {} } },
            { kind: 'reply', message: `after ${input.message}` },
          ]
        : undefined,
    );
    const live = system({
      behaviours: [actor.behaviour],
      transport: out.transport,
      onEvent: (_address, { type }) => {
        if (type === 'outer') live.deliver(tell('inner'));
      },
    });
    live.deliver(tell('outer'));
    expect(out.sent.map(({ message }) => message)).toEqual(['after outer', 'after inner']);
  });

  it('pass the trace of the message in hand on, unless the step names one', () => {
    const out = outbox();
    const actor = scripted(() => [
      { kind: 'send', to: 'far', message: 'inherits' },
      { kind: 'send', to: 'far', message: 'own', trace: { ...noTrace, correlationId: 'mine' } },
    ]);
    system({ behaviours: [actor.behaviour], transport: out.transport }).deliver(tell('go'));
    expect(out.sent.map(({ trace }) => trace.correlationId)).toEqual(['c-go', 'mine']);
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
    const live = system({ behaviours: [actor.behaviour] });
    live.deliver(tell('go'));
    await until(() => actor.seen.length === 3, 'two timers fired');
    expect(actor.seen.slice(1).map(({ input }) => input)).toEqual([
      { kind: 'timer', name: 'soon' },
      { kind: 'timer', name: 'moved' },
    ]);
    await live.stop();
  });

  it('take back an input that fired but was cancelled before the actor got it', async () => {
    const { store, writes } = heldStore();
    const actor = scripted((input) => {
      if (input.kind !== 'message') return undefined;
      if (input.message === 'arm') return [{ kind: 'startTimer', name: 't', afterMs: 1 }];
      return [persist, { kind: 'cancelTimer', name: 't' }];
    });
    const live = system({ behaviours: [actor.behaviour], store });
    live.deliver(tell('arm'));
    live.deliver(tell('cancel'));
    await until(() => live.mailboxDepth('a/1') === 1, 'the timer fired into the mailbox');
    writes[0]?.answer({ kind: 'written' });
    await settle();
    expect(texts(actor.seen)).toEqual(['arm', 'cancel']);
    expect(live.mailboxDepth('a/1')).toBe(0);
  });

  it('die with their actor', async () => {
    const actor = scripted((input, state) => {
      if (input.kind !== 'message') return undefined;
      return { state, effects: [{ kind: 'startTimer', name: 't', afterMs: 1 }, { kind: 'stop' }] };
    });
    const sentinel = scripted(
      (input) => (input.kind === 'message' ? [{ kind: 'startTimer', name: 'later', afterMs: 20 }] : undefined),
      { prefix: 'b' },
    );
    const live = system({ behaviours: [actor.behaviour, sentinel.behaviour] });
    live.deliver(tell('go'));
    live.deliver(tell('go', 'b'));
    expect(live.has('a/1')).toBe(false);
    await until(() => sentinel.seen.length === 2, 'a later timer fired');
    expect(texts(actor.seen)).toEqual(['go']);
  });
});

describe('supervision', () => {
  const secret = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

  it('restarts an actor that throws from its record, and keeps nothing of the message but its case', async () => {
    const log = recordingLog();
    const told: string[] = [];
    const { store, loads } = heldStore();
    const actor = scripted(
      (input) => {
        if (input.kind === 'message' && input.message.startsWith('poison')) throw new Error(`bad value ${secret}`);
        return { state: 'changed', effects: [] };
      },
      { durableKey: () => 'k' },
    );
    const live = system({
      behaviours: [actor.behaviour],
      store,
      log,
      describe: (message) => message.split(' ')[0] ?? '',
      onDeadLetter: (letter, envelope) => told.push(`${letter.cause} ${envelope?.from} ${envelope?.message}`),
    });
    live.deliver(tell('good'), true);
    live.deliver(tell(`poison ${secret}`));
    live.deliver(tell('after'));
    expect(loads).toHaveLength(1);
    loads[0]?.answer('from the record');
    await settle();
    expect(actor.seen.map(({ state }) => state)).toEqual(['new', 'changed', 'from the record']);
    expect(live.deadLetters()).toMatchObject([
      { address: 'a/1', from: 'caller', inputKind: 'message', messageCase: 'poison', cause: 'bug' },
    ]);
    expect(live.deadLetters()[0]?.error).toBe('Error: bad value …');
    expect(told).toEqual([`bug caller poison ${secret}`]);
    expect(JSON.stringify([live.deadLetters(), log.lines])).not.toContain(secret);
    expect(log.lines.filter(({ level }) => level === 'error')).not.toHaveLength(0);
    expect(live.stats()).toMatchObject({ deadLetters: 1, restarts: 1 });
  });

  it('treats a step that breaks the contract like a throw', () => {
    const actor = scripted((input) => {
      if (input.kind !== 'message') return undefined;
      return input.message === 'twice' ? [persist, persist] : [];
    });
    const live = system({ behaviours: [actor.behaviour] });
    live.deliver(tell('twice'));
    expect(live.deadLetters()).toMatchObject([{ error: 'Error: a step with two persist effects' }]);
  });

  it('restarts at a bounded pace, keeping what came meanwhile', async () => {
    let starts = 0;
    const actor = scripted(
      (input) => {
        if (input.kind === 'message' && input.message === 'poison') throw new Error('bug');
        return undefined;
      },
      {
        start: () => {
          starts += 1;
          return { state: '', effects: [] };
        },
      },
    );
    const live = system({
      behaviours: [actor.behaviour],
      restartPolicy: { windowMs: 60_000, immediateMax: 2, backOffMinMs: 20, backOffMaxMs: 50 },
    });
    for (let index = 0; index < 3; index += 1) live.deliver(tell('poison'));
    live.deliver(tell('after'));
    // The third restart waits.
    expect(starts).toBe(3);
    expect(texts(actor.seen)).toEqual(['poison', 'poison', 'poison']);
    await until(() => actor.seen.length === 4, 'the actor came back');
    expect(texts(actor.seen)).toEqual(['poison', 'poison', 'poison', 'after']);
    expect(starts).toBe(4);
  });

  it('buries what waits for an actor that cannot start, and forgets the actor', async () => {
    const actor = scripted(() => undefined, {
      start: () => {
        throw new Error('a record it cannot read');
      },
    });
    const live = system({ behaviours: [actor.behaviour], deadLettersMax: 2 });
    for (let index = 0; index < 3; index += 1) {
      live.deliver(tell('hello'));
      await until(() => !live.has('a/1'), 'it was forgotten');
    }
    expect(live.stats().deadLetters).toBe(3);
    expect(live.deadLetters()).toHaveLength(2);
  });

  it('is not disturbed by observers that throw', () => {
    const actor = scripted(() => [{ kind: 'emit', event: { type: 'seen', level: 'info', fields: {} } }]);
    const live = system({
      behaviours: [actor.behaviour],
      onEvent: () => {
        throw new Error('an observer with a bug');
      },
    });
    live.deliver(tell('one'));
    live.deliver(tell('two'));
    expect(live.stats().events.get('seen')).toBe(2);
    expect(live.deadLetters()).toEqual([]);
  });
});

describe('stopping', () => {
  it('forgets an actor that stops; what waited starts it anew', async () => {
    const { store, writes, loads } = heldStore();
    const actor = scripted(
      (input, state) =>
        input.kind === 'message' && input.message === 'bye'
          ? { state, effects: [persist, { kind: 'stop' }] }
          : { state: 'used', effects: [] },
      { durableKey: () => 'k' },
    );
    const live = system({ behaviours: [actor.behaviour], store });
    live.deliver(tell('one'), true);
    live.deliver(tell('bye'));
    live.deliver(tell('two'));
    writes[0]?.answer({ kind: 'written' });
    await settle();
    loads[0]?.answer('again');
    await settle();
    expect(actor.seen.map(({ state }) => state)).toEqual(['new', 'used', 'again']);
  });

  it('waits for running writes, lets their answers out, and takes nothing more', async () => {
    const { store, writes } = heldStore();
    const out = outbox();
    const actor = scripted((input) =>
      input.kind === 'message' ? [persist, { kind: 'reply', message: `did ${input.message}` }] : undefined,
    );
    const live = system({ behaviours: [actor.behaviour], store, transport: out.transport });
    live.deliver(tell('one'));
    live.deliver(tell('two'));
    let stopped = false;
    const stopping = live.stop().then(() => {
      stopped = true;
    });
    await settle();
    expect(stopped).toBe(false);
    expect(live.deliver(tell('late'))).toBe('noRoute');
    writes[0]?.answer({ kind: 'written' });
    await stopping;
    expect(out.sent.map(({ message }) => message)).toEqual(['did one']);
    expect(texts(actor.seen)).toEqual(['one']);
    expect(live.stats().actors).toBe(0);
    await live.stop();
  });
});
