/**
 * The actor "node/<id>/dkg/<tenant>/<session>": the node side of one DKG session (proto/signmesh/wire/v1/dkg.proto).
 *
 * It checks a request in the order below, lets dealing.ts, verifying.ts and confirming.ts decide, and turns the outcome into
 * effects: it persists every change before the answer leaves.
 *
 * Theory of operation
 * 1. The frame must name the session that the address names, and an attempt from 1 on: else REQUEST_INVALID.
 * 2. A lower attempt than the one known is STALE_ATTEMPT. A higher one can only be opened or discarded.
 * 3. Every request may be repeated and gets the same answer, from the record, also from an actor rebuilt after a crash. The
 *    exceptions: a broken or discarded attempt is not opened again, and a final one no longer seals (ALREADY_FINAL), since its
 *    polynomial is deleted; it still answers DkgOpen, DkgVerify and DkgConfirm.
 * 4. A session that has been quiet for `idleMs` stops its actor; the record stays.
 */
import type { Address, Context } from '../../core/actors/contract.ts';
import type { WireBody, WireBodyInit } from '../../proto/wire.ts';
import { decodeKeyRecord, encodeKeyRecord } from '../records/key-record.ts';
import type { NodeBehaviour, NodeEffect, NodeInput, NodeMessageInput, NodeStep } from '../records/messages.ts';
import { isLocal, receivedBody } from '../records/messages.ts';
import { dkgRecordKey, isRecordName, keyRecordKey, type NodeWrite } from '../records/records.ts';
import { alreadyFinal, confirm } from './confirming.ts';
import { open, sealShares } from './dealing.ts';
import { type DkgParty, type DkgWorld, isReadyMade, type PartyOutcome, refused } from './party.ts';
import { decodeDkgRecord, encodeDkgRecord } from './record.ts';
import { attemptOf, type DkgRequestCase, type DkgState, dkgTransitions } from './state.ts';
import { complainAgain, verifyShares, wireResult } from './verifying.ts';

/** How long an actor without requests stays in memory. */
export const dkgIdleMs = 60_000;
const idleTimer = 'idle';
/** Requests waiting for one session. The coordinator has one actor a session, which waits for answers. */
const dkgMailboxMax = 256;

/** `asked`: a DkgOpen that waits for the record of its key. Only in memory. */
export type DkgActorState = DkgState & { readonly asked?: NodeMessageInput };

export function dkgBehaviour(party: DkgParty): NodeBehaviour<DkgActorState> {
  return {
    prefix: `node/${party.nodeId}/dkg`,
    mailboxMax: dkgMailboxMax,
    durableKey(self) {
      const name = sessionOf(self);
      return name === undefined ? undefined : dkgRecordKey(name.tenant, name.session);
    },
    start: (record) => ({
      state: record === undefined ? { phase: 'unopened' } : decodeDkgRecord(record),
      effects: [{ kind: 'startTimer', name: idleTimer, afterMs: dkgIdleMs }],
    }),
    receive: (state, input, context) => receive(party, state, input, context),
  };
}

/** Tenant and session of an actor's address, or undefined for an address that names none. */
export function sessionOf(self: Address): { readonly tenant: string; readonly session: string } | undefined {
  const [, , , tenant, session, ...more] = self.split('/');
  if (tenant === undefined || session === undefined || more.length > 0) return undefined;
  return isRecordName(tenant, session) ? { tenant, session } : undefined;
}

function receive(party: DkgParty, state: DkgActorState, input: NodeInput, context: Context): NodeStep<DkgActorState> {
  switch (input.kind) {
    case 'message': {
      const { message } = input;
      if (!isLocal(message)) return handle(party, state, { ...input, message }, context);
      // The signer speaks to itself alone.
      if (message.kind !== 'hsmAnswered') return { state, effects: [] };
      const { about, outcome: token } = message;
      return handle(party, state, { kind: 'message', ...about }, context, { token });
    }
    case 'timer':
      return { state, effects: [{ kind: 'stop' }] };
    case 'persistRefused':
      // The outcome of the write is unknown. Do not answer, and start from the record when the request is repeated.
      return { state, effects: [event('dkg.write.failed', 'error', context, {}), { kind: 'stop' }] };
    case 'loaded': {
      const { asked, ...known } = state;
      const stored = input.record && decodeKeyRecord(input.record);
      return asked ? handle(party, known, asked, context, { key: { stored } }) : { state, effects: [] };
    }
    case 'loadFailed':
    case 'undelivered':
      // The answer could not be delivered: the coordinator repeats its request.
      return { state, effects: [] };
  }
}

/** `found`: what this request waited for. */
function handle(
  party: DkgParty,
  state: DkgActorState,
  input: NodeMessageInput,
  context: Context,
  found: Pick<DkgWorld, 'token' | 'key'> = {},
): NodeStep<DkgActorState> {
  const { tenant, session, attempt } = input.message;
  const body = receivedBody(input.message);
  const idle: NodeEffect = { kind: 'startTimer', name: idleTimer, afterMs: dkgIdleMs };
  const answered = (answer: WireBodyInit) => ({
    to: input.from,
    trace: input.trace,
    message: { tenant, session, attempt, body: answerTo(body, answer) },
  });
  const reply = (answer: WireBodyInit): NodeEffect => ({ kind: 'send', ...answered(answer) });
  /** Of a request that has replaced the record of the key: its answer waits for the signer, which has read the one of before. */
  const replyOnceReplaced = (answer: WireBodyInit, keyId: string): NodeEffect => ({
    kind: 'send',
    to: `node/${party.nodeId}`,
    message: { kind: 'keyReplaced', recordKey: keyRecordKey(tenant, keyId), answer: answered(answer) },
  });

  const world = { party, random: context.random, nowMs: context.nowMs, ...found };
  const outcome = decide(state, input, world, context.self);
  switch (outcome.kind) {
    case 'waits': {
      const { from, trace, message } = input;
      const asked = { kind: 'hsmAsked' as const, request: outcome.request, about: { from, trace, message } };
      return { state, effects: [idle, { kind: 'send', to: outcome.to, message: asked }] };
    }
    case 'reads':
      return { state: { ...state, asked: input }, effects: [idle, { kind: 'load', key: outcome.recordKey }] };
    case 'ignored':
      return { state, effects: [idle] };
    case 'answered': {
      const refresh = state.phase === 'final' ? state.terms.refresh : undefined;
      return { state, effects: [idle, refresh ? replyOnceReplaced(outcome.body, refresh.keyId) : reply(outcome.body)] };
    }
    case 'refused': {
      const { code, message, culprits, results = [] } = outcome;
      const value = { nodeId: party.nodeId, code, message, culprits: [...culprits], results: results.map(wireResult) };
      const refused = event('dkg.request.refused', 'warn', context, { attempt, request: body.case, code });
      return { state, effects: [idle, reply({ case: 'dkgRefused', value }), refused] };
    }
    case 'advanced': {
      const next = outcome.state;
      const allowed = dkgTransitions[state.phase][body.case as DkgRequestCase];
      if (!allowed?.includes(next.phase)) throw new Error(`no transition ${state.phase} -${body.case}-> ${next.phase}`);
      const puts = [{ key: dkgRecordKey(tenant, session), record: encodeDkgRecord(next) }];
      const { finalKey } = outcome;
      const refresh = 'terms' in next ? next.terms?.refresh : undefined;
      if (finalKey !== undefined) {
        const keyId = refresh?.keyId ?? session;
        puts.push({ key: keyRecordKey(tenant, keyId), record: encodeKeyRecord(finalKey) });
      }
      // The record of the session holds the node's part of the secret until then.
      const erased = refresh && next.phase === 'final' ? puts.map(({ key }) => key) : undefined;
      const write: NodeWrite = { puts, deletes: [], ...(erased && { erased }) };
      const effects: NodeEffect[] = [{ kind: 'persist', write }, idle];
      if (outcome.body !== undefined) {
        effects.push(refresh && finalKey ? replyOnceReplaced(outcome.body, refresh.keyId) : reply(outcome.body));
      }
      effects.push(event(`dkg.${next.phase}`, next.phase === 'broken' ? 'warn' : 'info', context, { attempt }));
      // A key that is made is seldom asked for again; the record answers them.
      if (next.phase === 'final') effects.push({ kind: 'stop' });
      return { state: next, effects };
    }
  }
}

/** The answer with the number of its request, by which the coordinator recognises answers. 0: the body is no request of a DKG. */
function answerTo(asked: WireBody, answer: WireBodyInit): WireBodyInit {
  const request = 'request' in asked.value && typeof asked.value.request === 'number' ? asked.value.request : 0;
  return { ...answer, value: { ...answer.value, request } } as WireBodyInit;
}

/** The checks in order: first the frame, then the request and its phase. */
function decide(state: DkgState, input: NodeMessageInput, world: DkgWorld, self: Address): PartyOutcome {
  const { tenant, session, attempt } = input.message;
  const body = receivedBody(input.message);
  const name = sessionOf(self);
  if (name === undefined || name.tenant !== tenant || name.session !== session) {
    return refused('REQUEST_INVALID', 'the frame names another session than the address');
  }
  if (attempt < 1) return refused('REQUEST_INVALID', 'the frame names no attempt');
  const known = attemptOf(state);
  if (attempt < known) return refused('STALE_ATTEMPT', `attempt ${known}`);

  if (body.case === 'dkgOpen') return open(state, { tenant, session, attempt }, body.value, world);
  if (body.case === 'dkgDiscard') return discard(state, attempt, isReadyMade(world.party, tenant, session));
  if (body.case !== 'dkgSeal' && body.case !== 'dkgVerify' && body.case !== 'dkgConfirm') {
    return refused('REQUEST_INVALID', `a DKG session takes no ${body.case}`);
  }
  if (attempt > known) return refused('NOT_OPEN');

  switch (state.phase) {
    case 'unopened':
      return refused('NOT_OPEN');
    case 'discarded':
      return refused('ATTEMPT_DISCARDED');
    case 'broken':
      return body.case === 'dkgVerify' ? complainAgain(state, world.party) : refused('ATTEMPT_BROKEN');
    case 'dealing':
      if (body.case === 'dkgConfirm') return refused('NOT_FINISHED');
      break;
    case 'final':
      if (body.case === 'dkgSeal') return alreadyFinal(state);
      if (body.case === 'dkgConfirm') return confirm(state, body.value, world.party);
      return verifyShares(state, body.value, world.party);
    case 'provisional':
      if (body.case === 'dkgConfirm') return confirm(state, body.value, world.party);
      break;
  }
  return body.case === 'dkgSeal' ? sealShares(state, body.value, world) : verifyShares(state, body.value, world.party);
}

/** A tombstone remains, so that a late or repeated DkgOpen does not deal the attempt again. */
function discard(state: DkgState, attempt: number, keepsTerms: boolean): PartyOutcome {
  if (state.phase === 'final') return alreadyFinal(state);
  if (state.phase === 'provisional' && state.terms.refresh) return refused('RESULT_SIGNED');
  if (state.phase === 'discarded' && state.attempt === attempt) return { kind: 'ignored' };
  const terms = keepsTerms && 'terms' in state ? state.terms : undefined;
  return { kind: 'advanced', state: { phase: 'discarded', attempt, ...(terms && { terms }) }, body: undefined };
}

type EventFields = Readonly<Record<string, string | number>>;

function event(
  type: string,
  level: 'info' | 'warn' | 'error',
  context: Context,
  fields: EventFields,
): Extract<NodeEffect, { kind: 'emit' }> {
  // Added one by one: two objects spread into one take many times as long.
  const all: Record<string, string | number> = { ...fields };
  const name = sessionOf(context.self);
  if (name !== undefined) {
    all.tenant = name.tenant;
    all.session = name.session;
  }
  return { kind: 'emit', event: { type, level, fields: all } };
}
