/** The actors that read sessions, and a call that its session's full mailbox refuses: message by message. */
import { expect, test } from 'vitest';
import { callRouterBehaviour, type FrontConfig } from '../../coordinator/call-router.ts';
import type {
  CallFacts,
  CoordinatorEffect,
  CoordinatorInput,
  CoordinatorMessage,
  CoordinatorRecord,
  LocalMessage,
} from '../../coordinator/contract/messages.ts';
import { readingBehaviour, routeRead } from '../../coordinator/reading.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { CallErrorCode, type CallReply } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { ReadSessionsRequest } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';

const facts = { callId: 7n, gateway: 'gateway/a', tenant: 'acme' } as unknown as CallFacts;
const context = { self: 'reading/a/7', nowMs: 1_000_000, random: (length: number) => new Uint8Array(length) };
const behaviour = readingBehaviour();
const byId = { kind: 'readCall', call: { ...facts, reads: { sessionId: 'sig_1' } } } as LocalMessage;
const given = (message: LocalMessage): CoordinatorInput => ({
  kind: 'message',
  from: 'coordinator',
  message,
  trace: noTrace,
});

function answerOf(effects: readonly CoordinatorEffect[]) {
  const [reply] = effects.flatMap((effect) => (effect.kind === 'send' ? [effect.message] : []));
  if (reply === undefined || 'kind' in reply || reply.body.case !== 'callReply') return undefined;
  const { callId, outcome } = reply.body.value as CallReply;
  return { callId, ...(outcome.case === 'error' ? { error: CallErrorCode[outcome.value.code] } : outcome) };
}

/** What a read gives when its load ends so. */
function read(input: Partial<CoordinatorInput>) {
  const { state, effects } = behaviour.receive(undefined, given(byId), context);
  expect(effects).toEqual([{ kind: 'load', key: 'session/acme/sig_1' }]);
  const ended = behaviour.receive(state, input as CoordinatorInput, context).effects;
  expect(ended.at(-1)).toEqual({ kind: 'stop' });
  return answerOf(ended);
}

const loaded = (record: CoordinatorRecord | undefined) => ({ kind: 'loaded', key: '', record }) as const;

test('a read says that the store does not answer, that a record was altered, and that there is none', () => {
  expect(read({ kind: 'loadFailed', key: '' })).toEqual({ callId: 7n, error: 'UNAVAILABLE' });
  expect(read(loaded({ kind: 'tampered' }))).toMatchObject({ case: 'readSessions', value: { tampered: true } });
  expect(read(loaded(undefined))).toMatchObject({ case: 'readSessions', value: { sessions: [] } });
});

test('a read waits for its call, and for what it loads', () => {
  expect(behaviour.receive(undefined, given({ kind: 'expire' }), context)).toEqual({ state: undefined, effects: [] });
  const { state } = behaviour.receive(undefined, given(byId), context);
  expect(behaviour.receive(state, given({ kind: 'expire' }), context)).toEqual({ state, effects: [] });
});

test('a name that no session has is read nowhere, and a page of no kind or of no size is refused', () => {
  const route = (request: object) => {
    const whole = { sessionId: '', kind: 'signing', states: [], limit: 1, afterEpochMs: 0n, afterId: '', ...request };
    return routeRead(facts, whole as unknown as ReadSessionsRequest);
  };
  expect(answerOf([route({ sessionId: 'x y' })])).toMatchObject({ case: 'readSessions', value: { sessions: [] } });
  for (const wrong of [{ kind: 'other' }, { limit: 0 }, { limit: 100_000 }]) {
    expect(answerOf([route(wrong)])).toMatchObject({ error: 'MALFORMED' });
  }
  expect(route({ sessionId: 'sig_1' })).toMatchObject({
    fresh: true,
    message: { call: { reads: { sessionId: 'sig_1' } } },
  });
});

test('a call that finds the mailbox of its session full is answered', () => {
  const front = callRouterBehaviour({} as FrontConfig);
  const undelivered = (message: LocalMessage) =>
    front.receive(
      null,
      { kind: 'undelivered', to: 'dkg/acme/k', reason: 'full', message } as unknown as CoordinatorInput,
      context,
    );
  const call = { kind: 'clientCall', call: facts } as unknown as CoordinatorMessage & LocalMessage;
  expect(answerOf(undelivered(call).effects)).toEqual({ callId: 7n, error: 'OVERLOADED' });
  expect(undelivered({ kind: 'expire' }).effects).toEqual([]);
});
