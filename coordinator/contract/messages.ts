/**
 * All messages of the coordinator's actors: to each other (local messages) and to nodes and gateways (wire messages).
 */
import type { Address, Effect, Input } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type { SigningOrder, WalletTerms } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { KeyBinding } from '../../proto/key-schemes.ts';
import type { SessionPageQuery, SessionPlace } from '../../proto/session-list.ts';
import type { CallCase, RequestOf, WireBody, WireBodyInit, WireMessage } from '../../proto/wire.ts';
import type { CallAnswer } from './call-answer.ts';
import type { KeyRecord, SessionRecord } from './record.ts';

/** Calls that a session answers, by the case of the wire's oneof. */
export type SessionMethod =
  | 'initiateDkg'
  | 'exchangeDkgShares'
  | 'initiateSigning'
  | 'submitSignatureShare'
  | 'resumeSession'
  | 'makeKey'
  | 'refreshKey'
  | 'sign';

export type ClientRequest = {
  [M in SessionMethod]: { readonly method: M; readonly request: RequestOf<M> };
}[SessionMethod];

/** One authenticated call of a client, decoded, on its way to a session; answered straight to its gateway. */
export interface CallFacts {
  readonly callId: bigint;
  /** The method of the call, which determines the kind of its answer. */
  readonly asked: CallCase;
  readonly gateway: Address;
  readonly tenant: string;
  readonly clientName: string;
  readonly clientVersion: string;
  /** Empty: the client gave none. */
  readonly correlationId: string;
  /** W3C traceparent of the call, from its body or else its transport; empty: none. */
  readonly traceparent: string;
  /** The id of the one receipt that answers the call; the event of the resulting change carries it too. */
  readonly receiptId: string;
  /** The wallet control plane makes the call, not a client. */
  readonly walletService: boolean;
  /** For a client's call about a wallet: the wallet's terms. */
  readonly walletTerms: WalletTerms | undefined;
  /** For InitiateSigning, Sign and RefreshKey: the gateway's order to the nodes. */
  readonly order: SigningOrder | undefined;
  /** For a call with a witness: its gateway's order for the witness; else empty. */
  readonly witnessMacs: Uint8Array;
  /** For a key generation: the only scheme of the key; empty: its first session decides. */
  readonly keyScheme: KeyBinding;
  /** Under an idempotency key: names the request, as base64; else empty. */
  readonly requestDigest: string;
  /** The fault that call-router.ts found in the call: its session changes nothing, and adds its checkpoint to the answer. */
  readonly fault: CallAnswer | undefined;
}

/** The wallet service's request to close a key; it has no session. */
export interface CloseCall extends CallFacts {
  readonly keyId: string;
  /** Only clients' sessions end, and the key stays open. */
  readonly revokeOnly: boolean;
  /** The gateway's orders to the nodes, to delete their shares: 16 bytes each, ascending by node id. */
  readonly deletionMacs: Uint8Array;
}

export type ClientCall = CallFacts & ClientRequest;

/** A sandbox's gateway inspects a session. */
export interface InspectCall extends CallFacts {
  readonly sessionId: string;
}

/** A sandbox's gateway asks for the partial that a node would submit to a signing session now. */
export interface PreviewCall extends CallFacts {
  readonly sessionId: string;
  readonly nodeId: number;
}

/** A gateway reads stored sessions: one, or a page of them. */
export interface ReadCall extends CallFacts {
  readonly reads: { readonly sessionId: string } | { readonly page: SessionPageQuery };
}

/** One nonce that a node dealt ahead. */
export interface DrawnNonce {
  readonly nodeId: number;
  readonly nodeBoot: string;
  readonly number: bigint;
  readonly hiding: Uint8Array;
  readonly binding: Uint8Array;
  /** Mock ECDSA only: secret, in memory only. */
  readonly mockNonce: Uint8Array;
}

/** A fault that a session found in a node. */
export type NodeFault = 'silent' | 'slow' | 'bad_partial' | 'bad_nonces';

export type LocalMessage =
  | { readonly kind: 'clientCall'; readonly call: ClientCall }
  | { readonly kind: 'closeCall'; readonly call: CloseCall }
  | { readonly kind: 'inspectCall'; readonly call: InspectCall }
  | { readonly kind: 'previewCall'; readonly call: PreviewCall }
  | { readonly kind: 'readCall'; readonly call: ReadCall }
  /** A sandbox's gateway reads the sizes of the pools of nonces. */
  | { readonly kind: 'poolsCall'; readonly call: CallFacts }
  /**
   * A closed key tells its session to end. With `clientsOnly`: a wallet became stricter, and only sessions begun by clients
   * end.
   */
  | { readonly kind: 'revoke'; readonly clientsOnly: boolean }
  /** Starts a scan for expired sessions. */
  | { readonly kind: 'sweep' }
  /** A signing session tells the session that made its key: this node does not hold it. */
  | { readonly kind: 'keyUnknown'; readonly nodeId: number }
  /** Tells a session past its lifetime to end. */
  | { readonly kind: 'expire' }
  /** A session tells its key that its end is durable. */
  | { readonly kind: 'ended'; readonly sessionId: string }
  /** Session to cluster: draw one nonce each of `count` ready nodes, the preferred ones first. Answered when possible. */
  | {
      readonly kind: 'draw';
      readonly ticket: number;
      readonly scheme: Scheme;
      readonly count: number;
      readonly candidates: readonly number[];
      readonly preferred: readonly number[];
    }
  | { readonly kind: 'drawn'; readonly ticket: number; readonly nonces: readonly DrawnNonce[] }
  | { readonly kind: 'withdraw' }
  /** Session to cluster: this node does not know a nonce that it dealt. */
  | {
      readonly kind: 'nonceForgotten';
      readonly scheme: Scheme;
      readonly nodeId: number;
      readonly nodeBoot: string;
      readonly number: bigint;
    }
  /** Session to cluster: this node was silent for a whole timeout, or slow, or its partial or nonces are wrong. */
  | { readonly kind: 'nodeFault'; readonly nodeId: number; readonly reason: NodeFault }
  /** Session to cluster: subscribe to the list of ready nodes and its changes. */
  | { readonly kind: 'watch' }
  | { readonly kind: 'unwatch' }
  /** `suspects`: nodes that draws select last at this time. */
  | {
      readonly kind: 'nodesChanged';
      readonly ready: readonly number[];
      readonly suspects: readonly number[];
    }
  /** A session tells itself to continue after a write. */
  | { readonly kind: 'continue' }
  /** The runtime to the cluster. */
  | {
      readonly kind: 'peerUp';
      readonly address: Address;
      readonly role: 'node' | 'gateway';
      readonly nodeId: number;
      readonly boot: string;
    }
  | {
      readonly kind: 'peerDown';
      readonly address: Address;
      readonly role: 'node' | 'gateway';
      readonly nodeId: number;
      readonly boot: string;
    }
  | { readonly kind: 'storeStatus'; readonly ready: boolean };

export type CoordinatorMessage = WireMessage | LocalMessage;

/** What the store holds. */
export type CoordinatorRecord =
  | { readonly kind: 'session'; readonly session: SessionRecord }
  | { readonly kind: 'key'; readonly key: KeyRecord }
  /** In place of a session or a key: a record that no coordinator of this cluster wrote. */
  | { readonly kind: 'tampered' }
  /** In place of a session or a key: a record that names another cluster of this store. Only that cluster can use it. */
  | { readonly kind: 'elsewhere'; readonly sessionId: string }
  /** Sessions of a wallet's key that had not ended at their last change. Some may have expired since. */
  | { readonly kind: 'openSessions'; readonly sessionIds: readonly string[] }
  /** Sessions past their lifetime that are not yet EXPIRED; if there are many, some of them. */
  | { readonly kind: 'overdue'; readonly sessions: readonly SessionName[] }
  /** A page of sessions, without those that no coordinator of this cluster wrote. `next`: there may be more after this place. */
  | { readonly kind: 'page'; readonly sessions: readonly SessionRecord[]; readonly next: SessionPlace | undefined };

export interface SessionName {
  readonly tenant: string;
  readonly sessionId: string;
}

export type CoordinatorWrite =
  /**
   * A new session and its event. With `guardIntent` it takes the intent's place: refused INTENT_TAKEN while that place is held
   * by a live or completed session. One that could still be resumed, or whose lifetime is over, ends in the same step:
   * INTENT_HELD names it, unless `ends` is its next epoch, which is then written with its own event. A session of another
   * cluster holds the place until that cluster has ended it: INTENT_ELSEWHERE names it. A closed key opens no session:
   * KEY_CLOSED (mock directives come before any key, and open one). `binds`: the session's key as this session binds it; if the
   * stored key is already bound to another scheme, the store writes nothing: KEY_BOUND, with that key. QUOTA refuses a client's
   * session of a tenant that has reached its quota, OPEN_QUOTA one of a wallet key that has 10,000 sessions which have not ended.
   */
  | {
      readonly kind: 'create';
      readonly session: SessionRecord;
      readonly event: LoggedEvent;
      readonly guardIntent: string;
      readonly nowMs: number;
      /** A client begins it, so the tenant's quota applies; the wallet service's work was admitted before. */
      readonly counted?: boolean;
      readonly ends?: { readonly session: SessionRecord; readonly event: LoggedEvent };
      readonly binds?: KeyRecord;
    }
  /**
   * The next epoch of a session, the event of its new state, and the key it made, if any. Refused unless the stored epoch
   * is one lower. A session of a closed key neither resumes (RESUMED), nor waits for a vendor, nor completes: KEY_CLOSED. `binds`
   * as above.
   */
  | {
      readonly kind: 'update';
      readonly session: SessionRecord;
      /** With every new state, and with new shares of a key; none of another step within a state. */
      readonly event?: LoggedEvent;
      readonly key?: KeyRecord;
      readonly binds?: KeyRecord;
    }
  /** Closes the key of this wallet permanently: it opens no more sessions. */
  | { readonly kind: 'closeKey'; readonly tenant: string; readonly keyId: string };

/** Why a write was refused: codes of a `conflict`. */
export type ConflictCode =
  | 'SESSION_EXISTS'
  | 'INTENT_TAKEN'
  | 'INTENT_HELD'
  | 'INTENT_ELSEWHERE'
  | 'KEY_CLOSED'
  | 'KEY_BOUND'
  | 'QUOTA'
  | 'OPEN_QUOTA'
  | 'EPOCH'
  /** Something else replaced a record by one of another Redis type. */
  | 'WRONG_TYPE'
  /** Something else put what is no number into the tenant's log or counts. */
  | 'TAMPERED'
  | 'FENCED';

export type CoordinatorInput = Input<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>;
export type CoordinatorEffect = Effect<CoordinatorMessage, CoordinatorWrite>;

export function isLocal(message: CoordinatorMessage): message is LocalMessage {
  return 'kind' in message;
}

/** The body of a message that came off the wire: complete, because it was decoded, not written here. */
export function receivedBody(message: WireMessage): WireBody {
  return message.body as WireBody;
}

export function wire(
  about: { readonly tenant?: string; readonly session?: string; readonly attempt?: number },
  body: WireBodyInit,
): WireMessage {
  return { tenant: about.tenant ?? '', session: about.session ?? '', attempt: about.attempt ?? 0, body };
}

export const clusterAddress: Address = 'cluster';
export const frontAddress: Address = 'coordinator';
export const expiryAddress: Address = 'expiry';

/** Whether a frame's sender is a gateway: the links admit no frame of another sender than their peer. */
export function isGateway(sender: Address): boolean {
  return sender.startsWith('gateway/');
}

export function signingAddress(tenant: string, sessionId: string): Address {
  return `signing/${tenant}/${sessionId}`;
}

export function dkgAddress(tenant: string, sessionId: string): Address {
  return `dkg/${tenant}/${sessionId}`;
}

/** The actor of a session of either kind: ids of DKG sessions never begin like this. */
export function sessionAddress(tenant: string, sessionId: string): Address {
  return sessionId.startsWith('sig_') ? signingAddress(tenant, sessionId) : dkgAddress(tenant, sessionId);
}

/** Who answers one read. */
export function readingAddress({ gateway, callId }: CallFacts): Address {
  return `reading/${gateway}/${callId}`;
}

/** The actor that closes a key; or, with `revokeOnly`, ends its clients' sessions. */
export function keyClosingAddress(tenant: string, keyId: string, revokeOnly: boolean): Address {
  return `${revokeOnly ? 'revoking' : 'closing'}/${tenant}/${keyId}`;
}

export function nodeAddress(nodeId: number): Address {
  return `node/${nodeId}`;
}

export function nodeDkgAddress(nodeId: number, tenant: string, sessionId: string): Address {
  return `node/${nodeId}/dkg/${tenant}/${sessionId}`;
}

/** To the cluster: see `nodeFault` above. */
export function nodeFault(nodeId: number, reason: NodeFault): Effect<CoordinatorMessage, CoordinatorWrite> {
  return { kind: 'send', to: clusterAddress, message: { kind: 'nodeFault', nodeId, reason } };
}

/** The actor of an order at the vendor. */
export function vendorOrderAddress(nodeId: number, tenant: string, reference: string): Address {
  return `node/${nodeId}/vendor/${tenant}/${reference}`;
}

/** Store keys as the Store port takes them. */
export function sessionKey(tenant: string, sessionId: string): string {
  return `session/${tenant}/${sessionId}`;
}

/** The index of a wallet key's sessions that have not ended. */
export function openSessionsKey(tenant: string, keyId: string): string {
  return `open/${tenant}/${keyId}`;
}

/** What is past its lifetime at that time. */
export function overdueKey(nowMs: number): string {
  return `overdue/${nowMs}`;
}

export function sessionPageKey(tenant: string, query: SessionPageQuery): string {
  return `page/${tenant}/${JSON.stringify(query)}`;
}

/** What `sessionPageKey` has written behind the tenant. */
export function readSessionPageKey(text: string): SessionPageQuery {
  return JSON.parse(text) as SessionPageQuery;
}

export function keyRecordKey(tenant: string, keyId: string): string {
  return `key/${tenant}/${keyId}`;
}
