/**
 * Compliance lists as stored and as indexed. A version's entries never change; a process indexes them once, so a screening is a
 * few set lookups for lists of any length.
 */
import type { NetworkId } from '../../networks/networks.ts';
import type { RecordType } from '../../store/contract.ts';
import { addressKey } from '../rules/address-key.ts';
import { versionKey } from '../rules/catalog.ts';
import { type ReplaceableVersion, replacedIndices } from '../rules/retained-versions.ts';
import { nameKey } from './name-key.ts';

export const listKinds = ['sanctions', 'deny', 'allow', 'watch'] as const;
export type ListKind = (typeof listKinds)[number];

/** An address (of one network, or of any) or a name. */
export interface ListedEntry {
  readonly address: string | null;
  readonly network: NetworkId | null;
  readonly name: string | null;
  readonly note: string | null;
}

/** One version of a list. */
export interface ListVersionRecord extends ReplaceableVersion {
  readonly listId: string;
  readonly listVersion: number;
  readonly name: string;
  readonly kind: ListKind;
  readonly entries: readonly ListedEntry[];
  readonly createdAtMs: number;
}

export const listVersionType: RecordType<ListVersionRecord> = {
  name: 'compliance_list',
  status: () => '',
  indices: (record) => replacedIndices(record.listId, record),
};

export function listVersionId(listId: string, version: number): string {
  return versionKey(listId, version);
}

/** A list as it is searched. */
export interface IndexedList {
  readonly listId: string;
  readonly listVersion: number;
  readonly name: string;
  readonly kind: ListKind;
  readonly entryCount: number;
  /** The listed entries, by their search key. */
  readonly byAddress: ReadonlyMap<string, string>;
  readonly byName: ReadonlyMap<string, string>;
}

export function indexList(list: ListVersionRecord): IndexedList {
  const byAddress = new Map<string, string>();
  const byName = new Map<string, string>();
  for (const { address, network, name } of list.entries) {
    if (address !== null) byAddress.set(addressIndexKey(network ?? anyNetwork, address), address);
    if (name !== null) byName.set(nameKey(name), name);
  }
  const { listId, listVersion, name, kind, entries } = list;
  return { listId, listVersion, name, kind, entryCount: entries.length, byAddress, byName };
}

export const anyNetwork = '*';

export function addressIndexKey(network: string, address: string): string {
  return `${network} ${addressKey(address)}`;
}
