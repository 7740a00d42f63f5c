/** A stored wallet. The ledger holds its balances. */

import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { becoming, unchangedIn } from '../../../gateway/api/state-changes.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { TokenTerms } from '../../networks/assets.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { ReceiveAddress } from '../../providers/port/port.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';

export const walletStatuses = ['active', 'frozen', 'archived'] as const;
export type WalletStatus = (typeof walletStatuses)[number];

/** By operation; repeated, it changes nothing. */
export const walletStates = {
  update: unchangedIn<WalletStatus>('active', 'frozen'),
  freeze: becoming<WalletStatus>('frozen', 'active', 'frozen'),
  unfreeze: becoming<WalletStatus>('active', 'frozen', 'active'),
  archive: becoming<WalletStatus>('archived', ...walletStatuses),
  transfer: unchangedIn<WalletStatus>('active'),
  receive: unchangedIn<WalletStatus>('active', 'frozen'),
};
export const approvalModes = ['unspecified', 'direct_allowed', 'human_required'] as const;
export type WalletApprovalMode = (typeof approvalModes)[number];
export const signingApiModes = ['allowed', 'intents_only'] as const;
export type SigningApiMode = (typeof signingApiModes)[number];

export interface WalletRecord extends Versioned {
  readonly name: string;
  readonly provider: ProviderKind;
  readonly connectionId: string;
  readonly providerWalletId: string;
  readonly status: WalletStatus;
  readonly environment: ClusterEnvironment;
  readonly network: NetworkId;
  readonly addresses: readonly { readonly network: NetworkId; readonly address: string }[];
  /** Compressed, lowercase hex; null if the provider shows none. */
  readonly publicKey: string | null;
  /** More addresses that receive, by index; absent: none. */
  readonly receive?: readonly ReceiveAddress[];
  /** Symbols of the assets that the wallet holds, in the order they are shown. */
  readonly assets: readonly string[];
  /** Those among them that are tokens of the tenant. */
  readonly tokens?: readonly TokenTerms[];
  readonly approvalMode: WalletApprovalMode;
  readonly signingApi: SigningApiMode;
  /** Name of a policy, or null: the tenant's default. */
  readonly policy: string | null;
  readonly externalId: string | null;
  readonly metadata: MetadataValue;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly archivedAtMs: number | null;
  readonly archiveReason: string | null;
}

export const walletType: RecordType<WalletRecord> = {
  name: 'wallet',
  status: ({ status }) => status,
  indices: ({ provider, connectionId, status, assets, externalId }) => [
    // Archived wallets are listed only when asked for.
    ...(status === 'archived' ? [] : ['wallets:live']),
    'wallets',
    `wallets:status:${status}`,
    `wallets:provider:${provider}`,
    `wallets:connection:${connectionId}`,
    ...assets.map((asset) => `wallets:asset:${asset}`),
    ...(externalId === null ? [] : [`wallets:external:${externalId}`]),
  ],
};

/** While intents of a wallet are open, they stand in this index. */
export function openIntentsIndex(walletId: string): string {
  return `intents:open:${walletId}`;
}
