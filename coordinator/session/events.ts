/**
 * The events of a session's changes. Never a secret: no share, nonce, token or witness (only a hash of it); no signature either.
 *
 * - An observation of every change, also of a step within a state, for logs and checkers.
 * - An event of every change of state, for the tenant's event log, where clients read it. It is written in the same step
 *   as the change; its object is the session as it then was.
 * - An event of the new shares of a key, written in the step that commits them.
 */
import { encodeXpub } from '../../core/crypto/derivation.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import {
  ApprovalModeSchema,
  KeystoreTypeSchema,
  ReceiptState,
  ReceiptStateSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from '../../proto/ids.ts';
import { schemeFacts } from '../../proto/key-schemes.ts';
import { identifierCharsMax } from '../../proto/limits.ts';
import { timestamp } from '../../proto/timestamps.ts';
import type { CallFacts, CoordinatorEffect } from '../contract/messages.ts';
import {
  clientSuppliedDealers,
  type DkgRecord,
  type KeyRecord,
  type Moment,
  type SessionRecord,
  versionOf,
} from '../contract/record.ts';
import type { SessionState } from '../contract/transitions.ts';

const names: Readonly<Record<SessionState, string>> = {
  [ReceiptState.ACCEPTED]: 'accepted',
  [ReceiptState.PENDING_HUMAN_APPROVAL]: 'pending',
  [ReceiptState.RESUMED]: 'resumed',
  [ReceiptState.BACKEND_COMPLETED]: 'completed',
  [ReceiptState.BACKEND_FAILED]: 'failed',
  [ReceiptState.DENIED]: 'denied',
  [ReceiptState.EXPIRED]: 'expired',
  [ReceiptState.REVOKED]: 'revoked',
};

/**
 * The observation of a record that has just been written. `before`: its earlier state, to distinguish a step within a state
 * from a new state. `culprits`: the nodes that this change blames; a signing session also names earlier ones.
 */
export function observation(
  record: SessionRecord,
  before: SessionState | undefined,
  culprits: readonly number[] = [],
): CoordinatorEffect {
  const { tenant, sessionId, state, reasonCode, epoch, ceremony } = record;
  return {
    kind: 'emit',
    event: {
      type: `${ceremony.kind}.session.${state === before ? 'progressed' : names[state]}`,
      level: culprits.length > 0 ? 'error' : 'debug',
      fields: {
        tenant,
        session: sessionId,
        reason: reasonCode,
        epoch,
        attempt: ceremony.attempt,
        network: ceremony.kind === 'dkg' ? ceremony.networkId : ceremony.facts.networkId,
        culprits: culpritsOf(record, culprits),
      },
    },
  };
}

/** The fields of the answered call in an event. */
export type Cause = Pick<CallFacts, 'receiptId' | 'traceparent' | 'clientName' | 'clientVersion'>;

/**
 * The event of a session that has just entered its state. `cause`: the call that the change answers, with the receipt of this
 * id; one of them if several waited; undefined if none did. `culprits` as above.
 */
export function changeEvent(
  record: SessionRecord,
  moment: Moment,
  cause?: Cause,
  culprits: readonly number[] = [],
): LoggedEvent {
  const { sessionId, state, epoch, checkpointMs, correlationId, ceremony } = record;
  return {
    id: newId('evt', moment.nowMs, moment.random),
    type: `${ceremony.kind}.session.${names[state]}`,
    atMs: checkpointMs,
    resource: { type: `${ceremony.kind}_session`, id: sessionId, version: epoch },
    correlationId,
    provider: null,
    connectionId: null,
    object: view(record, cause, culprits),
  };
}

/** The event of new shares that sign from now on. */
export function sharesEvent(record: SessionRecord, key: KeyRecord, moment: Moment): LoggedEvent {
  const { keyId, curve, scheme, threshold, totalNodes, publicKey } = key;
  const version = versionOf(key);
  return {
    id: newId('evt', moment.nowMs, moment.random),
    type: 'key.version.committed',
    atMs: record.checkpointMs,
    resource: { type: 'key', id: keyId, version },
    correlationId: record.correlationId,
    provider: null,
    connectionId: null,
    object: {
      key_id: keyId,
      version,
      session_id: record.sessionId,
      curve,
      key_scheme: scheme,
      public_key: publicKey,
      threshold,
      total_nodes: totalNodes,
      participants: participantsOf(key),
    },
  };
}

/**
 * The session as its event shows it. Small, since every signature writes two of them. Enums by their names in the
 * contract, as in the signing API's JSON. It does not contain the signature: a reader of events must not be able to
 * send the transaction, and the session gives the signature to every caller that may sign.
 */
function view(record: SessionRecord, cause: Cause | undefined, culprits: readonly number[]): object {
  const { ceremony } = record;
  return {
    session_id: record.sessionId,
    kind: ceremony.kind,
    state: ReceiptStateSchema.value[record.state]!.name,
    reason_code: record.reasonCode,
    message: record.message,
    epoch: record.epoch,
    checkpoint_id: record.checkpointId,
    receipt_id: cause?.receiptId ?? null,
    traceparent: cause?.traceparent || null,
    client_name: cause?.clientName || null,
    client_version: cause?.clientVersion || null,
    ...(ceremony.kind === 'dkg'
      ? {
          curve: ceremony.curve,
          threshold: ceremony.threshold,
          total_nodes: ceremony.totalNodes,
          participants: participantsOf(ceremony),
          network_id: ceremony.networkId,
          public_key: ceremony.publicKey === '' ? null : ceremony.publicKey,
          ...exported(ceremony),
          client_supplied_dealers: clientSuppliedDealers(ceremony),
          stalled_by: record.state === ReceiptState.BACKEND_FAILED ? (ceremony.stalledBy ?? []) : [],
        }
      : {
          transaction_intent_id: bounded(ceremony.facts.intentId),
          wallet_id: bounded(ceremony.facts.keyId),
          curve: ceremony.curve === '' ? null : ceremony.curve,
          network_id: bounded(ceremony.facts.networkId),
          policy_approval_token_sha256: ceremony.policyApprovalTokenSha256 || null,
          human_approval_witness_sha256: ceremony.witnessSha256 || null,
        }),
    keystore_type: KeystoreTypeSchema.value[record.keystoreType]?.name ?? null,
    approval_mode: ApprovalModeSchema.value[record.approvalMode]?.name ?? null,
    attempt: ceremony.attempt,
    culprits: culpritsOf(record, culprits),
    correlation_id: record.correlationId,
    created_at: timestamp(record.createdMs),
    expires_at: timestamp(record.expiresMs),
  };
}

/** What gives all derived keys, beside the public key, of a key that is made and derives: for secp256k1 also as BIP-32 has it. */
function exported({ publicKey, chainCode, curve, scheme = '' }: DkgRecord): object {
  const derives = scheme === '' || schemeFacts(scheme).derives;
  if (publicKey === '' || chainCode === undefined || !derives) return { chain_code: null, xpub: null };
  const key = { publicKey: Buffer.from(publicKey, 'hex'), chainCode: Buffer.from(chainCode, 'hex') };
  return { chain_code: chainCode, xpub: curve === 'secp256k1' ? encodeXpub(key) : null };
}

function culpritsOf({ ceremony }: SessionRecord, culprits: readonly number[]): readonly number[] {
  return ceremony.kind === 'dkg' ? culprits : ceremony.excluded;
}

/** Mock directives are handled before the check of the caller's texts. */
function bounded(text: string): string {
  return text.slice(0, identifierCharsMax);
}
