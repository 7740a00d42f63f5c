/**
 * The actor "closing/<tenant>/<key>": closes the key of an archived wallet, so that it never signs again.
 *
 * First it marks the key as closed in the store; from then on no session of the key begins, resumes, or completes (the scripts
 * of wallets/store/ refuse that). Then every session that is still open is ended through its own actor, which answers once its end is
 * durable. Last, it asks every node, with the gateway's order, to delete its share and its record of the key's generation. The
 * answer names the nodes that have not confirmed; the gateway repeats the call until there are none. A crash in between leaves
 * open sessions that cannot sign; the repeated call finishes the work.
 *
 * The actor "revoking/<tenant>/<key>" does the second part alone, for clients' sessions: their wallet was frozen or became
 * stricter. The key stays open, and the wallet service's sessions continue.
 */
import type { Address, Behaviour, Context, Step } from '../core/actors/contract.ts';
import { macFor } from '../proto/call-orders.ts';
import type { WireMessage } from '../proto/wire.ts';
import {
  type CloseCall,
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
  type LocalMessage,
  nodeAddress,
  openSessionsKey,
  receivedBody,
  signingAddress,
  wire,
} from './contract/messages.ts';
import { outcomeEffect, unavailableEffect } from './session/replies.ts';

/** The interval and number of repeated searches for sessions that have not answered; then the caller must repeat the call. */
const patienceMs = 1_000;
const roundsMax = 5;
/** How often one call asks nodes to delete a key. The answer names nodes that stay unreachable. */
const deletionRoundsMax = 3;

interface FinalizingState {
  /** All waiting callers; they are answered together. */
  readonly calls: readonly CloseCall[];
  /** Sessions that have not yet confirmed their end. */
  readonly waiting: ReadonlySet<string>;
  /** Sessions that were found open. */
  readonly found: number;
  readonly rounds: number;
  /** Nodes that have not confirmed the deletion, once they were asked. */
  readonly deleting: ReadonlySet<number> | undefined;
}

type FinalizingStep = Step<FinalizingState, CoordinatorMessage, CoordinatorWrite>;

const idle: FinalizingState = { calls: [], waiting: new Set(), found: 0, rounds: 0, deleting: undefined };

export function keyClosingBehaviour(
  prefix: 'closing' | 'revoking',
  nodesTotal: number,
): Behaviour<FinalizingState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix,
    mailboxMax: 1024,
    durableKey: () => undefined,
    start: () => ({ state: idle, effects: [] }),
    receive: (state, input, context) => receive(state, input, context, nodesTotal),
  };
}

function receive(
  state: FinalizingState,
  input: CoordinatorInput,
  context: Context,
  nodesTotal: number,
): FinalizingStep {
  switch (input.kind) {
    case 'message':
      return isLocal(input.message)
        ? message(state, input.message, context, nodesTotal)
        : keyDeleted(state, input.message, input.from);
    case 'loaded':
      return loaded(state, input.record, context.self, nodesTotal);
    case 'timer':
      return state.deleting ? askAgain(state, state.deleting, context.self) : again(state, context.self);
    case 'undelivered':
      // Its mailbox is full: the timer comes back to it.
      return { state, effects: [] };
    case 'persistRefused':
    case 'loadFailed':
      return abandon(state);
  }
}

function message(state: FinalizingState, said: LocalMessage, context: Context, nodesTotal: number): FinalizingStep {
  // Late messages start this actor again.
  if (state.calls.length === 0 && said.kind !== 'closeCall') return { state, effects: [{ kind: 'stop' }] };
  const { tenant, keyId } = nameOf(context.self);
  switch (said.kind) {
    case 'closeCall': {
      const next = { ...state, calls: [...state.calls, said.call] };
      // A node may have made a share after its confirmation, so this call asks all nodes again.
      if (state.calls.length > 0 && state.deleting) return sessionsEnded(next, context.self, nodesTotal);
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
      const next = { ...state, waiting };
      return waiting.size > 0 ? { state: next, effects: [] } : sessionsEnded(next, context.self, nodesTotal);
    }
    default:
      return { state, effects: [] };
  }
}

function loaded(
  state: FinalizingState,
  record: CoordinatorRecord | undefined,
  self: Address,
  nodesTotal: number,
): FinalizingStep {
  // An answer to an unnecessary repetition: the sessions have ended already.
  if (state.deleting) return { state, effects: [] };
  const sessionIds = record?.kind === 'openSessions' ? record.sessionIds : [];
  const found = Math.max(state.found, sessionIds.length);
  if (sessionIds.length === 0) return sessionsEnded({ ...state, found }, self, nodesTotal);
  const { tenant } = nameOf(self);
  const effects = sessionIds.map((id): CoordinatorEffect => {
    return { kind: 'send', to: signingAddress(tenant, id), message: { kind: 'revoke', clientsOnly: isRevoking(self) } };
  });
  return {
    state: { ...state, waiting: new Set(sessionIds), found, rounds: state.rounds + 1 },
    effects: [...effects, { kind: 'startTimer', name: 'patience', afterMs: patienceMs }],
  };
}

function again(state: FinalizingState, self: Address): FinalizingStep {
  if (state.rounds >= roundsMax) return abandon(state);
  const { tenant, keyId } = nameOf(self);
  return { state, effects: [{ kind: 'load', key: openSessionsKey(tenant, keyId) }] };
}

/** No session of the key is open. For a closed key, delete the shares; for an open key, the work is done. */
function sessionsEnded(state: FinalizingState, self: Address, nodesTotal: number): FinalizingStep {
  if (isRevoking(self)) return finish(state);
  const deleting = new Set(Array.from({ length: nodesTotal }, (_, index) => index + 1));
  return askNodes({ ...state, rounds: 0, deleting }, deleting, self);
}

function askNodes(state: FinalizingState, deleting: ReadonlySet<number>, self: Address): FinalizingStep {
  const { tenant, keyId } = nameOf(self);
  // All orders for one key are equal, so any call's will do.
  const macs = state.calls[0]?.deletionMacs ?? new Uint8Array();
  const effects = [...deleting].map((nodeId): CoordinatorEffect => {
    const value = { keySession: keyId, mac: macFor(nodeId, macs) };
    return { kind: 'send', to: nodeAddress(nodeId), message: wire({ tenant }, { case: 'deleteKey', value }) };
  });
  return {
    state: { ...state, rounds: state.rounds + 1 },
    effects: [...effects, { kind: 'startTimer', name: 'patience', afterMs: patienceMs }],
  };
}

function askAgain(state: FinalizingState, deleting: ReadonlySet<number>, self: Address): FinalizingStep {
  return state.rounds >= deletionRoundsMax ? finish(state) : askNodes(state, deleting, self);
}

/** A node's confirmation counts only for that node. */
function keyDeleted(state: FinalizingState, said: WireMessage, from: Address): FinalizingStep {
  // Late messages start this actor again.
  if (state.calls.length === 0) return { state, effects: [{ kind: 'stop' }] };
  const deleting = new Set(state.deleting);
  if (receivedBody(said).case !== 'keyDeleted' || !deleting.delete(Number(from.split('/')[1]))) {
    return { state, effects: [] };
  }
  const next = { ...state, deleting };
  return deleting.size === 0 ? finish(next) : { state: next, effects: [] };
}

function finish({ calls, found, deleting = new Set() }: FinalizingState): FinalizingStep {
  const pendingNodes = [...deleting].sort((a, b) => a - b);
  const outcome = { case: 'closeKey', value: { sessions: found, pendingNodes } } as const;
  return { state: idle, effects: [...calls.map((call) => outcomeEffect(call, outcome)), { kind: 'stop' }] };
}

/** The key may be closed already; the caller repeats the call until that is confirmed. */
function abandon({ calls }: FinalizingState): FinalizingStep {
  return { state: idle, effects: [...calls.map((call) => unavailableEffect(call)), { kind: 'stop' }] };
}

function isRevoking(self: Address): boolean {
  return self.startsWith('revoking/');
}

function nameOf(self: Address): { readonly tenant: string; readonly keyId: string } {
  const [, tenant, keyId] = self.split('/');
  return { tenant: tenant!, keyId: keyId! };
}
