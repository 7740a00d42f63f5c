/**
 * The layout of sessions and keys in Redis. All keys of a tenant carry its hash tag, so that one script may write them and
 * Redis Cluster can hold them.
 *
 * A session is a hash: fields that scripts compare are separate, the rest is JSON, and a MAC covers both. A
 * key is its MAC and JSON. Every write writes a whole record; no script changes a field of one.
 */
import { macChars, RecordMacs } from '../../core/crypto/record-macs.ts';
import { firstCluster, keyRecordKey, ofCluster, sessionRecordKey } from '../../core/redis/clusters.ts';
import { type EventArguments, eventArguments, type LoggedEvent, tenantPrefix } from '../../core/redis/event-log.ts';
import { closedKeyName } from '../../proto/closed-keys.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { isWalletKey } from '../../proto/limits.ts';
import type { KeyRecord, SessionRecord } from '../contract/record.ts';
import { isOpen, isTerminal } from '../contract/transitions.ts';

/** The MACs of sessions and keys. `resumeKey`: secret, shared by all starts of this cluster's coordinator. */
export function storeMacs(resumeKey: Uint8Array, clusterId: string): RecordMacs {
  return new RecordMacs(resumeKey, 'signmesh/store-mac/v1', clusterId);
}

export const redisKeys = {
  session: sessionRecordKey,
  /** Sorted set: a wallet key's sessions that have not ended, by the end of their lifetime. */
  open: (tenant: string, keyId: string) => `${tenantPrefix(tenant)}open:${keyId}`,
  /** A permanent mark of a wallet's closed key. The gateway sets it too, when it archives the wallet. */
  closed: (tenant: string, keyId: string) => `${tenantPrefix(tenant)}${closedKeyName(keyId)}`,
  /** Sorted set: all sessions of the tenant in this cluster that have not ended, by the end of their lifetime. */
  ending: (tenant: string, cluster: number = firstCluster) => tenantPrefix(tenant) + ofCluster('ending', cluster),
  /** Sorted set: all sessions of the tenant in this cluster, by their start time. */
  list: (tenant: string, cluster: number = firstCluster) => tenantPrefix(tenant) + ofCluster('sessions', cluster),
  key: keyRecordKey,
  /** The highest fence of this cluster that wrote for this tenant. */
  fence: (tenant: string, cluster: number = firstCluster) => tenantPrefix(tenant) + ofCluster('fence', cluster),
  /** Persisted periodically, to check whether Redis accepts writes. */
  probe: 'sm:probe:coordinator',
  /** The counter that gives every coordinator start its fence. */
  fenceCounter: (clusterId: string) => `sm:fence:${clusterId}`,
};

/** A new session's effect on a wallet's key; empty: it has no such key, or it ended at its beginning. */
export function openingOf({ state, ceremony }: SessionRecord): 'checked' | 'listed' | '' {
  if (ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId) || isTerminal(state)) return '';
  // A mock directive comes before any key; the check happens at its resume.
  return ceremony.curve === '' ? 'listed' : 'checked';
}

/** The effect of a session's next epoch on a wallet's key. */
export function changeOf({ state, ceremony }: SessionRecord): 'goesOn' | 'completes' | 'ends' | '' {
  if (ceremony.kind !== 'signing' || !isWalletKey(ceremony.facts.keyId)) return '';
  // Waiting for a vendor prolongs a session's lifetime.
  if (state === ReceiptState.RESUMED || (isOpen(state) && ceremony.vendorOrder)) return 'goesOn';
  if (state === ReceiptState.BACKEND_COMPLETED) return 'completes';
  return isTerminal(state) ? 'ends' : '';
}

/** When the lifetime of a session ends; empty: it has ended already. */
export function endingOf({ state, expiresMs }: SessionRecord): number | '' {
  return isTerminal(state) ? '' : expiresMs;
}

/**
 * The answer of a session that has an intent to another one that wants it: it keeps the intent, yields it with its own end, or has
 * it no more (empty). session-record.lua says the same.
 */
export function holdOf({ state, expiresMs }: SessionRecord, nowMs: number): 'keeps' | 'yields' | '' {
  if (state === ReceiptState.BACKEND_COMPLETED) return 'keeps';
  if (isTerminal(state)) return '';
  return state === ReceiptState.BACKEND_FAILED || nowMs >= expiresMs ? 'yields' : 'keeps';
}

/** One change of a session for write-sessions.lua: the separate fields, the rest as JSON, the MAC. */
export type SessionWriteArguments = Readonly<
  Record<'sessionId' | 'guard' | 'walletKey' | 'keyId' | 'keyRecord' | 'boundScheme', string> &
    Record<'reasonCode' | 'message' | 'checkpointId' | 'data' | 'mac', string> &
    Record<'epoch' | 'state' | 'checkpointMs' | 'expiresMs' | 'cluster' | 'nowMs', number>
> &
  EventArguments & {
    readonly kind: 'create' | 'update' | 'held';
    readonly change: ReturnType<typeof openingOf | typeof changeOf>;
    readonly endsAtMs: number | '';
    readonly counted: '1' | '';
  };

const noEvent: EventArguments = {
  ...{ id: '', type: '', resourceType: '', resourceId: '', correlationId: '', provider: '', connectionId: '' },
  ...{ object: '', atMs: 0, resourceVersion: 0 },
};

/** The context of a write, besides its session. */
export interface WriteFacts {
  readonly kind: SessionWriteArguments['kind'];
  readonly event: LoggedEvent | undefined;
  /** The intent whose guard it takes or holds; empty: none. */
  readonly guardIntent: string;
  readonly change: SessionWriteArguments['change'];
  readonly nowMs: number;
  readonly counted: boolean;
  /** The key to write; `binds`: one that exists, and is bound now. */
  readonly key: KeyRecord | undefined;
  readonly binds: boolean;
}

/** A single literal, since spread properties cost microseconds. */
export function writeArguments(
  session: SessionRecord,
  { kind, event, guardIntent, change, nowMs, counted, key, binds }: WriteFacts,
  macs: RecordMacs,
  cluster: number,
): SessionWriteArguments {
  const { epoch, state, reasonCode, message, checkpointId, checkpointMs, expiresMs, ...rest } = session;
  const data = JSON.stringify(rest);
  const numbers = [String(checkpointMs), String(expiresMs)] as const;
  const texts = [reasonCode, message, checkpointId, ...numbers, data, String(cluster)];
  const mac = macs.of(['session', String(epoch), String(state), ...texts]);
  const { id, type, atMs, resourceType, resourceId, resourceVersion, correlationId, provider, connectionId, object } =
    event ? eventArguments(event) : noEvent;
  return {
    kind,
    sessionId: session.sessionId,
    nowMs,
    guard: guardIntent === '' ? '' : guardName(session, guardIntent),
    walletKey: change !== '' && session.ceremony.kind === 'signing' ? session.ceremony.facts.keyId : '',
    change,
    endsAtMs: endingOf(session),
    counted: counted ? '1' : '',
    keyId: key?.keyId ?? '',
    keyRecord: key ? keyText(key, macs, cluster) : '',
    boundScheme: key && binds ? boundName(key) : '',
    epoch,
    state,
    reasonCode,
    message,
    checkpointId,
    checkpointMs,
    expiresMs,
    data,
    cluster,
    mac,
    id,
    type,
    atMs,
    resourceType,
    resourceId,
    resourceVersion,
    correlationId,
    provider,
    connectionId,
    object,
  };
}

/**
 * What a session that binds a key must find in its place, unless the key is unbound: session-record.lua says the same. With the
 * version of its shares, so that no session writes the key of before over a refreshed one.
 */
export function boundName({ scheme, version }: KeyRecord): string {
  return version === undefined ? scheme : `${scheme}/${version}`;
}

/** Follows the tenant's prefix: all clusters share a guard. The wallet service's intents have a separate namespace. */
export function guardName({ ceremony }: SessionRecord, intentId: string): string {
  return `${ceremony.kind === 'signing' && ceremony.facts.walletService ? 'order' : 'intent'}:${intentId}`;
}

/** The fault of a stored record: no coordinator of this cluster wrote it, or it names another cluster as its own. */
type Strange = 'tampered' | 'elsewhere';

/** From the fields of the hash; undefined when there are none. */
export function readSession(
  fields: Readonly<Record<string, string>>,
  macs: RecordMacs,
  own: number,
): SessionRecord | Strange | undefined {
  if (Object.keys(fields).length === 0) return undefined;
  const { epoch, state, reasonCode, message, checkpointId, checkpointMs, expiresMs, data, cluster } = fields;
  if (isElsewhere(cluster, own)) return 'elsewhere';
  const parts = [epoch, state, reasonCode, message, checkpointId, checkpointMs, expiresMs, data];
  // Records of earlier versions name no cluster; without the name the MAC of any other record fails.
  if (cluster !== undefined) parts.push(cluster);
  if (!parts.every((part) => part !== undefined) || !macs.holds(['session', ...parts], fields.mac)) return 'tampered';
  return {
    ...(JSON.parse(data!) as SessionRecord),
    epoch: Number(epoch),
    state: Number(state) as SessionRecord['state'],
    reasonCode: reasonCode as SessionRecord['reasonCode'],
    message: message!,
    checkpointId: checkpointId!,
    checkpointMs: Number(checkpointMs),
    expiresMs: Number(expiresMs),
  };
}

/** A key as it is stored. */
export function keyText(key: KeyRecord, macs: RecordMacs, cluster: number): string {
  const json = JSON.stringify({ ...key, cluster });
  return macs.of(['key', json]) + json;
}

/** undefined: none exists. */
export function readKey(text: string | null, macs: RecordMacs, own: number): KeyRecord | Strange | undefined {
  if (text === null) return undefined;
  const json = text.slice(macChars);
  if (!macs.holds(['key', json], text.slice(0, macChars))) {
    return isElsewhere(/"cluster":(\d+)}$/.exec(json)?.[1], own) ? 'elsewhere' : 'tampered';
  }
  const { cluster: _, ...key } = JSON.parse(json) as KeyRecord & { readonly cluster?: number };
  return key;
}

/** Whether a record names another cluster (from 1 on), without proof by a MAC: it only decides which cluster to ask. */
function isElsewhere(cluster: string | undefined, own: number): boolean {
  return cluster !== undefined && /^[1-9]\d*$/.test(cluster) && Number(cluster) !== own;
}
