/**
 * The durable record of a session, and its changes. It contains no secret: no share, nonce, token or witness.
 *
 * Invariants: the epoch starts at 1 and rises by one with every change; every epoch has its own checkpoint; a change of
 * state is one of the table in transitions.ts, anything else is a bug and throws.
 */
import type { Curve } from '../../core/crypto/group.ts';
import type { ApprovalMode, KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId, refreshSessionId } from '../../proto/ids.ts';
import type { KeyBinding } from '../../proto/key-schemes.ts';
import type { ReasonCode } from '../../proto/reason-codes.ts';
import { initialStates, mayFollow, type SessionState } from './transitions.ts';

export interface SessionRecord {
  readonly tenant: string;
  readonly sessionId: string;
  readonly state: SessionState;
  /** The reason for this state, for receipts of later calls. */
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly epoch: number;
  readonly checkpointId: string;
  readonly checkpointMs: number;
  readonly createdMs: number;
  /** Past it the session is EXPIRED, by the Clock port. */
  readonly expiresMs: number;
  readonly correlationId: string;
  readonly approvalMode: ApprovalMode;
  readonly keystoreType: KeystoreType;
  /** Epochs whose resume token was used. */
  readonly usedResumeEpochs: readonly number[];
  /**
   * Digests of the keyed requests that changed it, oldest first, `answeredMax` at most: their repeats get its state. Absent:
   * none.
   */
  readonly answered?: readonly string[] | undefined;
  readonly ceremony: DkgRecord | SigningRecord;
}

/** A DKG session. Points as lowercase hex of their compressed form. */
export interface DkgRecord {
  readonly kind: 'dkg';
  readonly curve: Curve;
  readonly threshold: number;
  readonly totalNodes: number;
  /** The nodes of this attempt, ascending. Records of an earlier version have none: nodes 1 to `totalNodes`. */
  readonly participants?: readonly number[] | undefined;
  /** Nodes that made earlier attempts fail: they take part again only if no other node is available. */
  readonly leftOut?: readonly number[];
  /** The account this key stands for: hardened components, or empty. */
  readonly account: readonly number[];
  /** The scheme that the key was bound to when it was made; earlier records have none. */
  readonly scheme?: KeyBinding;
  readonly networkId: string;
  /** Rises when an attempt was discarded. */
  readonly attempt: number;
  /** This attempt has sent no request to a node yet: true from a discarded attempt until the resume. */
  readonly fresh: boolean;
  /** This attempt may have sent requests to confirm: some nodes may hold the final key. Then no other attempt replaces it. */
  readonly mayBeFinal?: boolean;
  /** Commitments of client-supplied dealers; a dealer not named is still open or real. (The stored name.) */
  readonly played: Readonly<Record<number, readonly string[]>>;
  /** Verified ordered pairs as "dealer>recipient", sorted. */
  readonly verified: readonly string[];
  /** It has ended with all pairs verified, and no longer lists them (session/retained.ts). */
  readonly allVerified?: boolean;
  /** Empty until it is complete, and where every node has a key of its own. */
  readonly publicKey: string;
  /** Once it is complete, where every node has a key of its own: these keys, in the order of the participants. */
  readonly ownerKeys?: readonly string[];
  /** Once it is complete, as hex; older records have none. */
  readonly chainCode?: string;
  /** From the first request to confirm: every node's signature of the result. Records of an earlier version have none. */
  readonly confirmation?: KeyConfirmationRecord;
  /**
   * From the first request to confirm until it is complete: the key that every node signed, as hex, so that a resume needs no
   * node's result again. Records of an earlier version have none.
   */
  readonly result?: { readonly publicKey: string; readonly chainCode: string } | undefined;
  /** The nodes that its last failure blamed, until a resume; older records have none. */
  readonly culprits?: readonly number[];
  /**
   * Nodes that stopped its last round by a refusal or by silence, ascending, without proof of a fault. Records of an earlier
   * version have none.
   */
  readonly stalledBy?: readonly number[];
  /** It makes new shares of this key; absent: it makes a key. */
  readonly refreshes?: RefreshRecord | undefined;
}

export interface RefreshRecord {
  /** As it is before: its shares are the ones that the nodes replace. */
  readonly key: KeyRecord;
  /** A gateway's order to the nodes; `macs`: base64, 16 bytes for each node of the roster, ascending. */
  readonly order: { readonly expiresMs: number; readonly macs: string };
}

/** All as hex; with public key and chain code it makes the finish transcript of each node (core/crypto/dkg-transcripts.ts). */
export interface KeyConfirmationRecord {
  readonly verificationShares: readonly string[];
  readonly transcriptDigest: string;
  /** In the order of the participants. */
  readonly signatures: readonly string[];
}

export interface SigningRecord {
  readonly kind: 'signing';
  /**
   * The request of the caller; the message as hex. An ended session stores only the SHA-256 of a message longer than 32 bytes,
   * as hex, in `messageSha256` (session/retained.ts).
   */
  readonly facts: Omit<SigningFacts, 'messageHash'> & { readonly messageHash: string; readonly messageSha256?: string };
  /** The key's curve; empty while the request was not validated against its key. */
  readonly curve: Curve | '';
  /** The session needs a witness and has none yet. */
  readonly witnessMissing: boolean;
  /** SHA-256 of the caller's evidence, lowercase hex; empty: none. The bytes are not stored. */
  readonly policyApprovalTokenSha256: string;
  readonly witnessSha256: string;
  /** The order that nodes require; a completed session drops it. */
  readonly order?: GatewayOrderRecord | undefined;
  /** The highest attempt at the time of the last change. */
  readonly attempt: number;
  /** Nodes whose partial the session has acknowledged to a caller. */
  readonly submitted: readonly number[];
  /** Those of them whose partial a caller supplied: void with the attempt, since no node can make it again. */
  readonly given: readonly number[];
  /** It holds its intent's place. Without it a session never signs: FORCE_BACKEND_FAILED for an intent that was taken. */
  readonly guarded: boolean;
  /** Nodes that gave a wrong partial in this session. */
  readonly excluded: readonly number[];
  /** The order of its node at the key's vendor, once it is open (nodes/vendor/). Records of an earlier version have none. */
  readonly vendorOrder?:
    | { readonly nodeId: number; readonly reference: string; readonly expiresMs: number }
    | undefined;
  /** Hex, once complete. */
  readonly signature: string;
  /** Mock ECDSA: 0..3; otherwise -1. */
  readonly recoveryId: number;
}

/** A gateway's order; the facts hold its content. */
export interface GatewayOrderRecord {
  readonly expiresMs: number;
  readonly needsWitness: boolean;
  /** Base64, 16 bytes for each node of the roster, ascending. */
  readonly macs: string;
  /** The MACs of the gateway that admitted the witness; empty: no witness. */
  readonly witnessMacs: string;
}

/** What InitiateSigning asks for. */
export interface SigningFacts {
  readonly intentId: string;
  /** wallet_id: the DKG session whose key signs. */
  readonly keyId: string;
  /** As the caller wrote it; empty: the key's own. */
  readonly curve: string;
  readonly derivationPath: string;
  readonly networkId: string;
  readonly messageHash: Uint8Array;
  readonly keystoreType: KeystoreType;
  /** The stricter of the request's and the wallet's mode. */
  readonly approvalMode: ApprovalMode;
  /** The wallet signs only for its own intents, and a client made this request. */
  readonly intentsOnly: boolean;
  /** The wallet was archived when its session began: nothing resumes it. */
  readonly archived?: boolean;
  /** The custodian that holds the wallet's key; absent: this cluster does. */
  readonly custodian?: string;
  /** Requested by the wallet control plane. Its intents have a separate namespace, so that no client can take their ids. */
  readonly walletService: boolean;
}

/** A session of the given kind of ceremony. */
export type SessionOf<C extends SessionRecord['ceremony']> = SessionRecord & { readonly ceremony: C };

/** The public side of a key that a DKG made. Hex as above. */
export interface KeyRecord {
  readonly tenant: string;
  readonly keyId: string;
  readonly curve: Curve;
  readonly threshold: number;
  readonly totalNodes: number;
  /** The nodes that hold a share, ascending. Records of an earlier version have none: nodes 1 to `totalNodes`. */
  readonly participants?: readonly number[] | undefined;
  readonly account: readonly number[];
  /** Empty where every node has a key of its own. */
  readonly publicKey: string;
  readonly chainCode: string;
  /** In the order of the participants: of their shares, or of keys of their own. */
  readonly verificationShares: readonly string[];
  /** Dealers whose shares a client supplied, ascending. */
  readonly clientSuppliedDealers: readonly number[];
  /** The only scheme of the key; empty: its first session decides. */
  readonly scheme: KeyBinding;
  /** It has signed with mock ECDSA, which discloses the nonce: it has no threshold security left. */
  readonly exposed: boolean;
  readonly createdMs: number;
  /** Of its shares: rises with each refresh. Absent: 1. */
  readonly version?: number;
}

/** The session in which the nodes made the key's shares. */
export function sessionOfShares(key: KeyRecord): string {
  const version = versionOf(key);
  return version === 1 ? key.keyId : refreshSessionId(key.keyId, version);
}

export function versionOf({ version = 1 }: Pick<KeyRecord, 'version'>): number {
  return version;
}

/** Dealers whose shares a client supplied, ascending. */
export function clientSuppliedDealers({ played }: DkgRecord): number[] {
  return Object.keys(played)
    .map(Number)
    .sort((a, b) => a - b);
}

export interface Moment {
  readonly nowMs: number;
  readonly random: (length: number) => Uint8Array;
}

export interface SessionOutcome {
  readonly state: SessionState;
  readonly reasonCode: ReasonCode;
  readonly message: string;
}

type Fresh = Omit<SessionRecord, 'epoch' | 'checkpointId' | 'checkpointMs' | 'createdMs' | 'usedResumeEpochs'>;

/**
 * A session at epoch 1. The code lists the fields one by one, here and below, so that all records have the same hidden class.
 */
export function openRecord<R extends Fresh>(fresh: R, moment: Moment): SessionOf<R['ceremony']> {
  if (!initialStates.includes(fresh.state)) throw new Error(`a session cannot begin in state ${fresh.state}`);
  return {
    tenant: fresh.tenant,
    sessionId: fresh.sessionId,
    state: fresh.state,
    reasonCode: fresh.reasonCode,
    message: fresh.message,
    expiresMs: fresh.expiresMs,
    correlationId: fresh.correlationId,
    approvalMode: fresh.approvalMode,
    keystoreType: fresh.keystoreType,
    ceremony: fresh.ceremony,
    epoch: 1,
    checkpointId: newId('ckp', moment.nowMs, moment.random),
    checkpointMs: moment.nowMs,
    createdMs: moment.nowMs,
    usedResumeEpochs: [],
    answered: fresh.answered,
  };
}

const answeredMax = 128;

/** The record, which these calls change. */
export function withAnswered<R extends SessionRecord>(
  record: R,
  calls: readonly { readonly requestDigest: string }[],
): R {
  const digests = calls.flatMap(({ requestDigest }) => requestDigest || []);
  if (digests.length === 0) return record;
  return { ...record, answered: [...(record.answered ?? []), ...digests].slice(-answeredMax) };
}

/** Whether the call repeats a keyed request that changed the session. */
export function isRepeat({ answered }: SessionRecord, { requestDigest }: { readonly requestDigest: string }): boolean {
  return requestDigest !== '' && answered !== undefined && answered.includes(requestDigest);
}

/** The next epoch in another state of the table, with changes of the ceremony if any. */
export function advance<C extends SessionRecord['ceremony']>(
  record: SessionOf<C>,
  outcome: SessionOutcome,
  moment: Moment,
  changes: Partial<C> = {},
): SessionOf<C> {
  if (!mayFollow(record.state, outcome.state)) {
    throw new Error(`session state ${outcome.state} may not follow ${record.state}`);
  }
  return next(record, moment, changes, outcome);
}

/** The next epoch in the same state: a step was taken. */
export function progress<C extends SessionRecord['ceremony']>(
  record: SessionOf<C>,
  moment: Moment,
  changes: Partial<C>,
): SessionOf<C> {
  return next(record, moment, changes, {});
}

function next<C extends SessionRecord['ceremony']>(
  record: SessionOf<C>,
  moment: Moment,
  changes: Partial<C>,
  outcome: Partial<SessionOutcome>,
): SessionOf<C> {
  return {
    tenant: record.tenant,
    sessionId: record.sessionId,
    state: outcome.state ?? record.state,
    reasonCode: outcome.reasonCode ?? record.reasonCode,
    message: outcome.message ?? record.message,
    expiresMs: record.expiresMs,
    correlationId: record.correlationId,
    approvalMode: record.approvalMode,
    keystoreType: record.keystoreType,
    ceremony: { ...record.ceremony, ...changes },
    epoch: record.epoch + 1,
    checkpointId: newId('ckp', moment.nowMs, moment.random),
    checkpointMs: moment.nowMs,
    createdMs: record.createdMs,
    usedResumeEpochs: record.usedResumeEpochs,
    answered: record.answered,
  };
}
