/** The live host of the kernel: what it adds to the kernel's laws (kernel.test.ts). */
import { describe, expect, it } from 'vitest';
import { LiveSystem } from '../../../core/actors/live/system.ts';
import { collectLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { liveHost, persist, scripted, tell, texts, type Write } from './support/kernel-hosts.ts';

describe('delivering', () => {
  it('runs steps without a write within the call', () => {
    const actor = scripted(() => [{ kind: 'reply', message: 'done' }]);
    const { deliver, sent } = liveHost({ behaviours: [actor.behaviour] });
    deliver(tell('go'));
    expect(sent.map(({ message }) => message)).toEqual(['done']);
  });

  it('handles one input at a time, without recursion, and leaves the event loop its turn', async () => {
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
    const system = new LiveSystem<string, Write, string>({ behaviours: [player.behaviour], turnInputsMax: 100 });
    system.deliver(tell('0'));
    expect(player.seen.length).toBeLessThanOrEqual(100);
    await until(() => player.seen.length === rallies + 1, 'the rally ended');
    expect(deepest).toBe(1);
  });

  it('without a transport or a store has no route, and nothing to read', async () => {
    const actor = scripted((input) =>
      input.kind === 'message'
        ? [
            { kind: 'send', to: 'far', message: 'hi' },
            { kind: 'load', key: 'x' },
          ]
        : undefined,
    );
    const system = new LiveSystem<string, Write, string>({ behaviours: [actor.behaviour] });
    system.deliver(tell('go'));
    await until(() => actor.seen.length === 3, 'both came back');
    expect(actor.seen.slice(1).map(({ input }) => input)).toEqual([
      { kind: 'undelivered', to: 'far', message: 'hi', reason: 'noRoute' },
      { kind: 'loadFailed', key: 'x', message: 'Error: this process has no store' },
    ]);
  });
});

describe('a bug', () => {
  const secret = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

  it('of an actor is logged with the case of its message and no more of it', () => {
    const { log, lines } = collectLog();
    const actor = scripted(() => {
      throw new Error(`bad value ${secret}`);
    });
    const { deliver } = liveHost({ behaviours: [actor.behaviour], log });
    deliver(tell(`poison ${secret}`));
    expect(lines).toMatchObject([
      { level: 'error', fields: { address: 'a/1', restarts: 1, error: 'Error: bad value …' } },
      { level: 'error', fields: { from: 'caller', messageCase: 'poison', cause: 'bug' }, message: 'dead letter' },
    ]);
    expect(JSON.stringify(lines)).not.toContain(secret);
  });

  it('of the transport is logged, and its message comes back', () => {
    const { log, lines } = collectLog();
    const actor = scripted((input) =>
      input.kind === 'message' ? [{ kind: 'send', to: 'far', message: 'hi' }] : undefined,
    );
    const send = () => {
      throw new Error('a transport with a bug');
    };
    liveHost({ behaviours: [actor.behaviour], send, log }).deliver(tell('go'));
    expect(actor.seen[1]!.input).toMatchObject({ kind: 'undelivered', reason: 'noRoute' });
    expect(lines.map(({ message }) => message)).toEqual(['the transport threw']);
  });

  it('of an observer is logged, and disturbs no actor', () => {
    const { log, lines } = collectLog();
    const actor = scripted(() => [{ kind: 'emit', event: { type: 'seen', level: 'info', fields: {} } }]);
    const onEvent = () => {
      throw new Error('an observer with a bug');
    };
    const { deliver, letters } = liveHost({ behaviours: [actor.behaviour], onEvent, log });
    deliver(tell('one'));
    deliver(tell('two'));
    expect(texts(actor.seen)).toEqual(['one', 'two']);
    expect(letters).toEqual([]);
    expect(lines).toHaveLength(2);
  });
});

describe('stopping', () => {
  it('waits for running writes, lets their answers out, and takes nothing more', async () => {
    const actor = scripted((input) =>
      input.kind === 'message' ? [persist, { kind: 'reply', message: `did ${input.message}` }] : undefined,
    );
    const { deliver, settle, system, writes, sent } = liveHost({ behaviours: [actor.behaviour] });
    deliver(tell('one'));
    deliver(tell('two'));
    let stopped = false;
    const stopping = system.stop().then(() => {
      stopped = true;
    });
    await settle();
    expect(stopped).toBe(false);
    expect(deliver(tell('late'))).toBe('noRoute');
    writes[0]!.answer({ kind: 'written' });
    await stopping;
    expect(sent.map(({ message }) => message)).toEqual(['did one']);
    expect(texts(actor.seen)).toEqual(['one']);
    await system.stop();
  });

  it('says nothing about a record whose write was refused meanwhile', async () => {
    const actor = scripted(() => [persist, { kind: 'reply', message: 'said' }]);
    const { deliver, system, writes, sent } = liveHost({ behaviours: [actor.behaviour] });
    deliver(tell('one'));
    const stopping = system.stop();
    writes[0]!.answer({ kind: 'conflict', code: 'EPOCH', current: 'other' });
    await stopping;
    expect([texts(actor.seen), sent]).toEqual([['one'], []]);
  });
});
