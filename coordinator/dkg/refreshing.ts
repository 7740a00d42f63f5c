/**
 * RefreshKey: the session in which the nodes of a key replace their shares. Its name follows from the key and the version of the new
 * shares, so that every caller continues the same one. The key's record is read first, and the session keeps it.
 *
 * Prepared: every node holds its new share durably next to the present one, which still signs, and all signed results are equal.
 * Committed: session and key are written in one step, with every node's signature (round.ts, `finishRound`); from now on the new
 * shares sign. Retired: a node that is shown the signatures replaces its share. Before the commit every failure leaves the present
 * shares, and no failure brings them back after it.
 */
import type { Context } from '../../core/actors/contract.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import type { SigningOrder } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { isSharedKey, keyBinding } from '../../proto/key-schemes.ts';
import { orderLifetimeMs } from '../../proto/limits.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import type { SessionConfig } from '../contract/config.ts';
import { type CoordinatorInput, type CoordinatorMessage, isLocal, keyRecordKey } from '../contract/messages.ts';
import { type KeyRecord, type RefreshRecord, versionOf } from '../contract/record.ts';
import { nodeList, quote } from '../session/message-text.ts';
import { proofOf } from '../session/receipts.ts';
import { replyEffect, unavailableEffect } from '../session/replies.ts';
import { callsWaitingMax, tampered, tooManyWaiting } from '../session/turn.ts';
import { keystoreAtMaking, openSession } from './initiation.ts';
import type { DkgCeremonyState, DkgStep, RefreshCall } from './state.ts';

type KeyLoading = Extract<DkgCeremonyState, { phase: 'keyLoading' }>;

export function loadRefreshedKey(call: RefreshCall): DkgStep {
  const key = keyRecordKey(call.tenant, call.request.keyId);
  return { state: { phase: 'keyLoading', call, later: [] }, effects: [{ kind: 'load', key }] };
}

/** Every input until the key is loaded. */
export function continueLoading(
  state: KeyLoading,
  input: CoordinatorInput,
  context: Context,
  config: SessionConfig,
): DkgStep {
  if (input.kind === 'message') return callLater(state, input.message, config);
  if (input.kind !== 'loaded' && input.kind !== 'loadFailed') return { state, effects: [] };
  const step = keyLoaded(state.call, input, context, config);
  const later = state.later.map((message) => ({ kind: 'send', to: context.self, message }) as const);
  return { ...step, effects: [...step.effects, ...later] };
}

/** Other messages than calls are about a session that exists. */
function callLater(state: KeyLoading, message: CoordinatorMessage, config: SessionConfig): DkgStep {
  const isCall = isLocal(message) && (message.kind === 'clientCall' || message.kind === 'inspectCall');
  if (!isCall) return { state, effects: [] };
  if (state.later.length >= callsWaitingMax(config)) return { state, effects: [tooManyWaiting(message.call)] };
  return { state: { ...state, later: [...state.later, message] }, effects: [] };
}

function keyLoaded(
  call: RefreshCall,
  input: Extract<CoordinatorInput, { kind: 'loaded' | 'loadFailed' }>,
  context: Context,
  config: SessionConfig,
): DkgStep {
  const state = { phase: 'keyLoading', call, later: [] } as const;
  if (input.kind === 'loadFailed') return { state, effects: [unavailableEffect(call), { kind: 'stop' }] };
  if (input.record?.kind === 'tampered') {
    return { state, effects: [tampered(call, context, config), { kind: 'stop' }] };
  }
  const key = input.record?.kind === 'key' ? input.record.key : undefined;
  const fault = keyFault(call, key);
  if (fault) {
    const proof = proofOf(call, fault, undefined, config.resumeKey, context);
    return { state, effects: [replyEffect(call, proof), { kind: 'stop' }] };
  }
  return begin(call, key!, context);
}

/** The reason why the key gets no such shares. */
function keyFault({ request }: RefreshCall, key: KeyRecord | undefined): CallAnswer | undefined {
  const { keyId, version, scheme } = request;
  if (key === undefined) return answer('WALLET_KEY_NOT_FOUND', `there is no key ${quote(keyId)}`);
  if (key.scheme === '' || key.scheme !== keyBinding(scheme) || !isSharedKey(key.scheme)) {
    const text = `scheme: the key ${quote(keyId)} signs with ${key.scheme || 'nothing yet'}; its nodes must share it`;
    return answer('KEYSTORE_MISMATCH', text);
  }
  const present = versionOf(key);
  if (version === present + 1) return undefined;
  return answer('INVALID_REQUEST', `version: the key ${quote(keyId)} has version ${present}: ask for ${present + 1}`);
}

function begin(call: RefreshCall, key: KeyRecord, context: Context): DkgStep {
  const { curve, threshold, totalNodes, account, scheme, keyId } = key;
  const participants = participantsOf(key);
  return openSession(call, context, {
    message: `The session is open: ${nodeList(participants)} make version ${versionOf(key) + 1} of ${keyId}.`,
    expiresMs: context.nowMs + orderLifetimeMs,
    keystoreType: keystoreAtMaking(key),
    ceremony: {
      ...{ curve, threshold, totalNodes, account, scheme, participants, networkId: '' },
      // A session that signs with mock ECDSA may mark the key as exposed at any time.
      refreshes: { key: { ...key, exposed: key.exposed || scheme === 'mock_ecdsa' }, order: orderOf(call.order) },
    },
  });
}

/** A gateway's order as the session stores it. */
export function orderOf(order: SigningOrder | undefined): RefreshRecord['order'] {
  const { expiresEpochMs = 0n, macs = new Uint8Array() } = order ?? {};
  return { expiresMs: Number(expiresEpochMs), macs: Buffer.from(macs).toString('base64') };
}
