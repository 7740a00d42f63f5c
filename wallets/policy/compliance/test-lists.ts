/**
 * The lists that every sandbox tenant starts with: valid addresses without known keys, one per network and list.
 * A tenant that makes a list of the same name replaces it. docs/wallet-api.md shows them among the test triggers.
 *
 * They are version 1 of these lists, and reports name it: their entries must not change.
 */

import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { NetworkId } from '../../networks/networks.ts';
import { builtInId } from '../rules/catalog.ts';
import { type ListKind, type ListVersionRecord, listVersionId } from './list.ts';

export interface TestList {
  readonly name: string;
  readonly kind: ListKind;
  /** The result of a transfer to one of its addresses. */
  readonly effect: string;
  readonly addresses: readonly { readonly network: NetworkId; readonly address: string }[];
  readonly names: readonly string[];
}

export const testLists: readonly TestList[] = [
  {
    name: 'test_sanctions',
    kind: 'sanctions',
    effect: 'screening `blocked`: the intent is denied by every policy',
    addresses: [
      { network: 'eip155:11155111', address: '0x000000000000000000000000000000000000dEaD' },
      {
        network: 'bip122:000000000933ea01ad0ee984209779ba',
        address: 'tb1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqph4dfmk6ln',
      },
      { network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', address: '111111111111111111111111111111Hwr' },
    ],
    names: ['Sanctioned Test Person'],
  },
  {
    name: 'test_watch',
    kind: 'watch',
    effect: 'screening `review`: the default policy asks for one approval',
    addresses: [
      { network: 'eip155:11155111', address: '0x000000000000000000000000000000000000bEEF' },
      {
        network: 'bip122:000000000933ea01ad0ee984209779ba',
        address: 'tb1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqp0h0a5wf26',
      },
      { network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', address: '111111111111111111111111111111FXk' },
    ],
    names: ['Watched Test Person'],
  },
];

/** Version 1 of each. A production tenant starts with no list. */
export function builtInLists(tenant: string, environment: ClusterEnvironment): readonly ListVersionRecord[] {
  if (environment !== 'sandbox') return [];
  return testLists.map(({ name, kind, addresses, names }) => {
    const listId = builtInId('lst', tenant, name);
    return {
      id: listVersionId(listId, 1),
      version: 1,
      listId,
      listVersion: 1,
      name,
      kind,
      entries: [
        ...addresses.map(({ network, address }) => ({ address, network, name: null, note: 'test value' })),
        ...names.map((listed) => ({ address: null, network: null, name: listed, note: 'test value' })),
      ],
      createdAtMs: 0,
    };
  });
}
