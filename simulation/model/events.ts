/**
 * The reference model of a session's events: the fields of the event of a change. Written from docs/webhooks.md and the schemas
 * of events; `events-complete` checks that each change has one event.
 */
import type { KeyRecord, SessionRecord } from '../../coordinator/contract/record.ts';
import {
  ApprovalModeSchema,
  KeystoreTypeSchema,
  ReceiptState,
  ReceiptStateSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import { isSigning, type SessionChange } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { type History, holdersOf } from './history.ts';

const textMax = 256;

export function eventsAsModelled(history: History): Checker {
  return {
    invariant: 'event-as-modelled',
    observe(observation: Observation) {
      if (observation.kind !== 'written') return undefined;
      for (const change of history.changes) {
        const wrong = changed(change);
        if (wrong) return wrong;
      }
      return undefined;
    },
  };
}

function changed({ record, event, key }: SessionChange): string | undefined {
  if (event === undefined) return undefined;
  const about = `the event ${event.type} of session ${record.sessionId}`;
  if (event.atMs !== record.checkpointMs) return `${about} is of another time`;
  if (event.correlationId !== record.correlationId) return `${about} has another correlation`;
  if (event.type === 'key.version.committed') {
    const wrong = differs(event.object, committed(key));
    const { id, type, version } = event.resource;
    const isNamed = type === 'key' && id === key?.keyId && version === key.version;
    return isNamed && wrong === undefined ? undefined : `${about}: ${wrong ?? 'it is about something else'}`;
  }
  if (event.resource.type !== `${record.ceremony.kind}_session`) return `${about} is about a ${event.resource.type}`;
  const wrong = differs(event.object, { ...common(record), ...ceremonial(record) });
  return wrong && `${about} says ${wrong}`;
}

function differs(object: object, expected: Readonly<Record<string, unknown>>): string | undefined {
  const told = object as Readonly<Record<string, unknown>>;
  for (const [field, value] of Object.entries(expected)) {
    if (JSON.stringify(told[field]) !== JSON.stringify(value))
      return `${field} ${JSON.stringify(told[field])}, expected ${JSON.stringify(value)}`;
  }
  return undefined;
}

/** Of new shares that sign from now on. */
function committed(key: KeyRecord | undefined): Readonly<Record<string, unknown>> {
  if (key === undefined) return {};
  const { keyId, version = 1, curve, scheme, publicKey, threshold, totalNodes } = key;
  const names = { key_id: keyId, session_id: refreshSessionId(keyId, version), key_scheme: scheme };
  const sharing = { threshold, total_nodes: totalNodes, participants: holdersOf(key) };
  return { ...names, ...sharing, version, curve, public_key: publicKey };
}

function common(record: SessionRecord): Readonly<Record<string, unknown>> {
  return {
    kind: record.ceremony.kind,
    state: ReceiptStateSchema.value[record.state]?.name,
    reason_code: record.reasonCode,
    message: record.message,
    checkpoint_id: record.checkpointId,
    keystore_type: KeystoreTypeSchema.value[record.keystoreType]?.name,
    approval_mode: ApprovalModeSchema.value[record.approvalMode]?.name,
    attempt: record.ceremony.attempt,
    correlation_id: record.correlationId,
    created_at: new Date(record.createdMs).toISOString(),
    expires_at: new Date(record.expiresMs).toISOString(),
  };
}

function ceremonial(record: SessionRecord): Readonly<Record<string, unknown>> {
  if (isSigning(record)) {
    const { facts, curve, excluded, policyApprovalTokenSha256, witnessSha256 } = record.ceremony;
    return {
      transaction_intent_id: facts.intentId.slice(0, textMax),
      wallet_id: facts.keyId.slice(0, textMax),
      network_id: facts.networkId.slice(0, textMax),
      curve: curve || null,
      culprits: excluded,
      policy_approval_token_sha256: policyApprovalTokenSha256 || null,
      human_approval_witness_sha256: witnessSha256 || null,
    };
  }
  const { ceremony, state, reasonCode } = record;
  if (ceremony.kind !== 'dkg') return {};
  const { curve, threshold, totalNodes, networkId, publicKey, chainCode, played, stalledBy, culprits } = ceremony;
  const isFailed = state === ReceiptState.BACKEND_FAILED;
  return {
    curve,
    threshold,
    total_nodes: totalNodes,
    participants: holdersOf(ceremony),
    network_id: networkId,
    public_key: publicKey || null,
    // A key of one device or vendor does not derive.
    chain_code: publicKey && !/^(hsm|vendor)/.test(ceremony.scheme ?? '') ? chainCode : null,
    client_supplied_dealers: Object.keys(played).map(Number),
    stalled_by: isFailed ? (stalledBy ?? []) : [],
    culprits: isFailed && reasonCode === 'DEALER_MISBEHAVED' ? culprits : [],
  };
}
