/**
 * A key package as a record: the final one under `key/…`, the provisional one inside its DKG record.
 *
 * JSON, `v` 1; a final one also says which scheme the key is bound to. The signing share is secret; everything else may be
 * public.
 */
import { fromHex, toHex, utf8 } from '../../core/crypto/bytes.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import type { KeyPackage } from '../../core/crypto/key-package.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import { bindingAtMaking, type KeyBinding } from '../../proto/key-schemes.ts';
import type { NodeRecord } from './records.ts';

const decoder = new TextDecoder();

/** The record of a final key. */
export interface StoredKey {
  readonly keyPackage: KeyPackage;
  /** The only scheme that this node uses with the key; empty: its first signature decides. */
  readonly scheme: KeyBinding;
  /** Of the share: 1 of the key's generation, one more with each refresh. */
  readonly version: number;
}

/** The JSON form of a key package. */
export interface KeyPackageJson {
  readonly curve: Curve;
  readonly threshold: number;
  readonly total_nodes: number;
  /** Records of an earlier version have none: nodes 1 to `total_nodes`. */
  readonly participants?: readonly number[];
  readonly node_id: number;
  /** Empty: the node's token holds the key. */
  readonly signing_share: string;
  readonly public_key: string;
  readonly verification_shares: readonly string[];
  readonly chain_code: string;
  readonly group_commitments: readonly string[];
}

export function keyPackageToJson(keyPackage: KeyPackage): KeyPackageJson {
  const { signingShare } = keyPackage;
  return {
    curve: keyPackage.curve,
    threshold: keyPackage.threshold,
    total_nodes: keyPackage.totalNodes,
    participants: keyPackage.participants,
    node_id: keyPackage.nodeId,
    signing_share: signingShare === 0n ? '' : toHex(groupOf(keyPackage.curve).encodeScalar(signingShare)),
    public_key: toHex(keyPackage.publicKey),
    verification_shares: keyPackage.verificationShares.map(toHex),
    chain_code: toHex(keyPackage.chainCode),
    group_commitments: keyPackage.groupCommitments.map(toHex),
  };
}

export function keyPackageFromJson(json: KeyPackageJson): KeyPackage {
  return {
    curve: json.curve,
    threshold: json.threshold,
    totalNodes: json.total_nodes,
    participants: participantsOf({ totalNodes: json.total_nodes, participants: json.participants }),
    nodeId: json.node_id,
    signingShare: json.signing_share === '' ? 0n : groupOf(json.curve).decodeNonZeroScalar(fromHex(json.signing_share)),
    publicKey: fromHex(json.public_key),
    verificationShares: json.verification_shares.map(fromHex),
    chainCode: fromHex(json.chain_code),
    groupCommitments: json.group_commitments.map(fromHex),
  };
}

export function encodeKeyRecord({ keyPackage, scheme, version }: StoredKey): NodeRecord {
  return utf8(JSON.stringify({ v: 1, scheme, ...(version > 1 && { version }), ...keyPackageToJson(keyPackage) }));
}

/**
 * Throws on anything that `encodeKeyRecord` did not write; the store has authenticated it, so that would be our bug. A
 * record older than the binding of keys has no scheme: its key is bound as if it were made now.
 */
export function decodeKeyRecord(record: NodeRecord): StoredKey {
  const json = parseRecord(record, 'key') as unknown as KeyPackageJson & {
    readonly scheme?: KeyBinding;
    /** Absent: 1. */
    readonly version?: number;
  };
  const keyPackage = keyPackageFromJson(json);
  const { version = 1 } = json;
  return { keyPackage, scheme: json.scheme ?? bindingAtMaking(keyPackage.curve, '') ?? '', version };
}

/** The JSON object of a record of version 1. The error never quotes the record, since that is secret. */
export function parseRecord(record: NodeRecord, kind: string): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(decoder.decode(record));
  } catch {
    throw new Error(`a ${kind} record is not JSON`);
  }
  if (typeof json !== 'object' || json === null || (json as { v?: unknown }).v !== 1) {
    throw new Error(`a ${kind} record is not of version 1`);
  }
  return json as Record<string, unknown>;
}
