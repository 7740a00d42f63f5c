/**
 * The actor "closing/<tenant>/<key>": makes the key of an archived wallet sign nothing any more.
 *
 * First the store learns that the key is closed; from then on no session of it begins, goes on, or completes (the scripts
 * of store/ see to that). Then every session that is still open is ended through its own actor, which answers once its end
 * is durable. A crash in between leaves open sessions that cannot sign; the repeated call finishes the work.
 *
 * The actor "revoking/<tenant>/<key>" does the second part alone, for clients' sessions: their wallet was frozen, or asks
 * for more than it did when they began. The key stays open, and the wallet service's sessions go on.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import type { Address, Behaviour, Context, Step } from '../actors/contract.ts';
import { CloseKeyResponseSchema } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  type CloseCall,
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
  openSessionsKey,
  signingAddress,
} from './messages.ts';
import { encodedReplyEffect, unavailableEffect } from './session/replies.ts';

/** A session that has not answered by then is looked for again, this often; then the caller is told to repeat. */
const patienceMs = 1_000;
const roundsMax = 5;

interface ClosingState {
  /** Everybody who asked, answered together. */
  readonly calls: readonly CloseCall[];
  /** Sessions that were told to end and have not answered. */
  readonly waiting: ReadonlySet<string>;
  /** Sessions that were found open. */
  readonly found: number;
  readonly rounds: number;
}

type ClosingStep = Step<ClosingState, CoordinatorMessage, CoordinatorWrite>;

const idle: ClosingState = { calls: [], waiting: new Set(), found: 0, rounds: 0 };

export function closingBehaviour(
  prefix: 'closing' | 'revoking',
): Behaviour<ClosingState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix,
    mailboxMax: 1024,
    durableKey: () => undefined,
    start: () => ({ state: idle, effects: [] }),
    receive,
  };
}

function receive(state: ClosingState, input: CoordinatorInput, context: Context): ClosingStep {
  switch (input.kind) {
    case 'message':
      return message(state, input.message, context);
    case 'loaded':
      return loaded(state, input.record, context.self);
    case 'timer':
      return again(state, context.self);
    case 'undelivered':
      // Its mailbox is full: the timer comes back to it.
      return { state, effects: [] };
    case 'persistRefused':
    case 'loadFailed':
      return giveUp(state);
  }
}

function message(state: ClosingState, said: CoordinatorMessage, context: Context): ClosingStep {
  if (!isLocal(said)) return { state, effects: [] };
  // Words that come late start this actor once more.
  if (state.calls.length === 0 && said.kind !== 'closeCall') return { state, effects: [{ kind: 'stop' }] };
  const { tenant, keyId } = nameOf(context.self);
  switch (said.kind) {
    case 'closeCall': {
      const next = { ...state, calls: [...state.calls, said.call] };
      if (state.calls.length > 0) return { state: next, effects: [] };
      // The write comes with the next input, so that a refused one finds the call in the state.
      return { state: next, effects: [{ kind: 'send', to: context.self, message: { kind: 'continue' } }] };
    }
    case 'continue': {
      const load: CoordinatorEffect = { kind: 'load', key: openSessionsKey(tenant, keyId) };
      if (isRevoking(context.self)) return { state, effects: [load] };
      return { state, effects: [{ kind: 'persist', write: { kind: 'closeKey', tenant, keyId } }, load] };
    }
    case 'ended': {
      const waiting = new Set(state.waiting);
      if (!waiting.delete(said.sessionId)) return { state, effects: [] };
      return waiting.size === 0 ? finish(state) : { state: { ...state, waiting }, effects: [] };
    }
    default:
      return { state, effects: [] };
  }
}

function loaded(state: ClosingState, record: CoordinatorRecord | undefined, self: Address): ClosingStep {
  const sessionIds = record?.kind === 'openSessions' ? record.sessionIds : [];
  const found = Math.max(state.found, sessionIds.length);
  if (sessionIds.length === 0) return finish(state);
  const { tenant } = nameOf(self);
  const effects = sessionIds.map((id): CoordinatorEffect => {
    return { kind: 'send', to: signingAddress(tenant, id), message: { kind: 'revoke', clientsOnly: isRevoking(self) } };
  });
  return {
    state: { ...state, waiting: new Set(sessionIds), found, rounds: state.rounds + 1 },
    effects: [...effects, { kind: 'startTimer', name: 'patience', afterMs: patienceMs }],
  };
}

function again(state: ClosingState, self: Address): ClosingStep {
  if (state.rounds >= roundsMax) return giveUp(state);
  const { tenant, keyId } = nameOf(self);
  return { state, effects: [{ kind: 'load', key: openSessionsKey(tenant, keyId) }] };
}

function finish({ calls, found }: ClosingState): ClosingStep {
  const response = toBinary(CloseKeyResponseSchema, create(CloseKeyResponseSchema, { sessions: found }));
  return { state: idle, effects: [...calls.map((call) => encodedReplyEffect(call, response)), { kind: 'stop' }] };
}

/** The key may be closed already; the call is repeated until it is said so. */
function giveUp({ calls }: ClosingState): ClosingStep {
  return { state: idle, effects: [...calls.map((call) => unavailableEffect(call)), { kind: 'stop' }] };
}

function isRevoking(self: Address): boolean {
  return self.startsWith('revoking/');
}

function nameOf(self: Address): { readonly tenant: string; readonly keyId: string } {
  const [, tenant, keyId] = self.split('/');
  return { tenant: tenant!, keyId: keyId! };
}
