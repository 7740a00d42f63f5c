/**
 * The actors "reading": each answers one read of sessions and is gone. It reads what is stored, which is what clients were told:
 * every answer waits for its write. The work in hand of a session (partials of the current attempt) is not in it.
 */
import type { Behaviour } from '../core/actors/contract.ts';
import { CallErrorCode } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { ReadSessionsRequest } from '../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import { sessionIdPattern, sessionsPageMax } from '../proto/limits.ts';
import type { SessionPageQuery } from '../proto/session-list.ts';
import {
  type CallFacts,
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
  type ReadCall,
  readingAddress,
  sessionKey,
  sessionPageKey,
} from './contract/messages.ts';
import type { SessionRecord } from './contract/record.ts';
import { errorEffect, outcomeEffect } from './session/replies.ts';
import { sessionView } from './session/view.ts';

/** To an actor of its own. A fault in it is a bug of its gateway: clients' queries are checked there. */
export function routeRead(facts: CallFacts, request: ReadSessionsRequest): CoordinatorEffect {
  const { sessionId, kind, states, limit, afterEpochMs, afterId } = request;
  const toActor = (reads: ReadCall['reads']): CoordinatorEffect => {
    const message = { kind: 'readCall', call: { ...facts, reads } } as const;
    return { kind: 'send', to: readingAddress(facts), message, fresh: true };
  };
  if (sessionId !== '')
    return sessionIdPattern.test(sessionId) ? toActor({ sessionId }) : answered(facts, [], undefined);
  if (!isKind(kind) || limit < 1 || limit > sessionsPageMax) {
    const text = `a page of sessions takes a kind, and a limit from 1 to ${sessionsPageMax}`;
    return errorEffect(facts, CallErrorCode.MALFORMED, text);
  }
  const after = afterId === '' ? undefined : { atMs: Number(afterEpochMs), id: afterId };
  return toActor({ page: { kind, states, limit, after } });
}

export function readingBehaviour(): Behaviour<
  ReadCall | undefined,
  CoordinatorMessage,
  CoordinatorWrite,
  CoordinatorRecord
> {
  return {
    prefix: 'reading',
    mailboxMax: 8,
    durableKey: () => undefined,
    start: () => ({ state: undefined, effects: [] }),
    receive: (call, input) => {
      if (call !== undefined) return { state: call, effects: finish(call, input) };
      if (input.kind !== 'message' || !isLocal(input.message) || input.message.kind !== 'readCall') {
        return { state: undefined, effects: [] };
      }
      const asked = input.message.call;
      return { state: asked, effects: [{ kind: 'load', key: keyOf(asked) }] };
    },
  };
}

function keyOf({ tenant, reads }: ReadCall): string {
  return 'page' in reads ? sessionPageKey(tenant, reads.page) : sessionKey(tenant, reads.sessionId);
}

function finish(call: ReadCall, input: CoordinatorInput): CoordinatorEffect[] {
  if (input.kind === 'loadFailed') {
    const text = 'the session store does not answer: repeat the call';
    return [errorEffect(call, CallErrorCode.UNAVAILABLE, text), { kind: 'stop' }];
  }
  if (input.kind !== 'loaded') return [];
  const { record } = input;
  switch (record?.kind) {
    case 'session':
      return [answered(call, [record.session], undefined), { kind: 'stop' }];
    case 'page':
      return [answered(call, record.sessions, record.next), { kind: 'stop' }];
    case 'tampered':
      return [outcomeEffect(call, { case: 'readSessions', value: { tampered: true } }), { kind: 'stop' }];
    default:
      return [answered(call, [], undefined), { kind: 'stop' }];
  }
}

function answered(
  call: CallFacts,
  sessions: readonly SessionRecord[],
  next: SessionPageQuery['after'],
): CoordinatorEffect {
  const value = {
    sessions: sessions.map(sessionView),
    ...(next && { nextEpochMs: BigInt(next.atMs), nextId: next.id }),
  };
  return outcomeEffect(call, { case: 'readSessions', value });
}

function isKind(text: string): text is SessionPageQuery['kind'] {
  return text === '' || text === 'dkg' || text === 'signing';
}
