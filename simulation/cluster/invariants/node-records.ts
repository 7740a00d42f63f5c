/**
 * Parses the records that nodes store: JSON text, as nodes/records/key-record.ts and nodes/dkg/record.ts write it. It parses each
 * record once, for all checkers. Secret.
 */
import type { NodeRecord, NodeWrite } from '../../../nodes/records/records.ts';

export interface KeyRecordJson {
  readonly curve: string;
  readonly threshold: number;
  readonly total_nodes: number;
  readonly participants?: readonly number[];
  readonly node_id: number;
  readonly signing_share: string;
  readonly public_key: string;
  readonly verification_shares: readonly string[];
  readonly chain_code: string;
  /** The scheme of the key; empty: none yet. */
  readonly scheme?: string;
  /** Of the share; absent: 1. */
  readonly version?: number;
}

/** The present fields depend on the phase. */
export interface DkgRecordJson {
  readonly phase: string;
  readonly attempt?: number;
  /** `refresh`: the key whose shares the session replaces, and the version of the new ones. */
  readonly terms?: { readonly attempt: number; readonly refresh?: { readonly key: string; readonly version: number } };
  readonly opening?: { readonly signature: string };
  readonly dealing?: {
    readonly polynomial: readonly string[];
    readonly sealing_seed: string;
    readonly box_seed: string;
    readonly opening: { readonly signature: string };
  };
  readonly dealers?: readonly { readonly dealer: number; readonly played?: boolean; readonly share?: string }[];
  readonly key_package?: { readonly signing_share: string };
}

const read = new WeakMap<NodeRecord, unknown>();

export function keyRecordsIn(write: NodeWrite): { readonly name: string; readonly key: KeyRecordJson }[] {
  return recordsIn<KeyRecordJson>(write, 'key/').map(({ name, json }) => ({ name, key: json }));
}

export function dkgRecordsIn(write: NodeWrite): { readonly name: string; readonly dkg: DkgRecordJson }[] {
  return recordsIn<DkgRecordJson>(write, 'dkg/').map(({ name, json }) => ({ name, dkg: json }));
}

/** `name`: "tenant/session". */
function recordsIn<T>({ puts }: NodeWrite, prefix: string): { readonly name: string; readonly json: T }[] {
  const found: { name: string; json: T }[] = [];
  for (const { key, record } of puts) {
    if (!key.startsWith(prefix)) continue;
    let json = read.get(record);
    if (json === undefined) {
      json = JSON.parse(Buffer.from(record.buffer, record.byteOffset, record.length).toString());
      read.set(record, json);
    }
    found.push({ name: key.slice(prefix.length), json: json as T });
  }
  return found;
}
