/** Wallets as the API and its events show them: snake_case, times as RFC 3339, balances as decimal strings. */

import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { type KeyScheme, walletKeySchemes } from '../../../proto/key-schemes.ts';
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import { assetOf } from '../../networks/assets.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { type Balances, shownRecord } from '../../store/contract.ts';
import { type AssetView, assetViews, type ShownAsset } from '../../store/shown-balances.ts';
import type { WalletRecord } from './record.ts';

export interface WalletView {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly provider_connection_id: string;
  readonly provider_wallet_id: string;
  readonly status: string;
  readonly environment: string;
  readonly network: NetworkId;
  readonly addresses: readonly { readonly network: NetworkId; readonly address: string }[];
  readonly public_key: string | null;
  readonly key_scheme: KeyScheme | null;
  readonly key_exposed: boolean;
  readonly assets: readonly AssetView[];
  readonly approval_mode: string;
  readonly signing_api: string;
  readonly policy: string | null;
  readonly external_id: string | null;
  readonly metadata: MetadataValue;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
  readonly archive_reason: string | null;
}

/** Throws StoreTampered. */
export function walletView(wallet: WalletRecord, balances: Balances): WalletView {
  return shownRecord(wallet.id, () => walletViewOf(wallet, balances));
}

function walletViewOf(wallet: WalletRecord, balances: Balances): WalletView {
  const { provider, publicKey, network } = wallet;
  const keyScheme =
    provider === 'self_hosted' && publicKey !== null ? walletKeySchemes[networkOf(network).curve] : null;
  return {
    id: wallet.id,
    name: wallet.name,
    provider,
    provider_connection_id: wallet.connectionId,
    provider_wallet_id: wallet.providerWalletId,
    status: wallet.status,
    environment: wallet.environment,
    network,
    addresses: wallet.addresses,
    public_key: publicKey,
    key_scheme: keyScheme,
    // Its first signature discloses it, so it counts as exposed from the beginning.
    key_exposed: keyScheme === 'mock_ecdsa',
    assets: assetViews(shownAssets(wallet), balances),
    approval_mode: wallet.approvalMode,
    signing_api: wallet.signingApi,
    policy: wallet.policy,
    external_id: wallet.externalId,
    metadata: wallet.metadata,
    version: wallet.version,
    created_at: timestamp(wallet.createdAtMs),
    updated_at: timestamp(wallet.updatedAtMs),
    archived_at: timestampOrNull(wallet.archivedAtMs),
    archive_reason: wallet.archiveReason,
  };
}

/** Throws an Error for an asset that the wallet does not list. */
export function shownAssets({ assets, tokens = [] }: WalletRecord): readonly ShownAsset[] {
  return assets.map((symbol) => {
    const asset = assetOf(symbol) ?? tokens.find((token) => token.symbol === symbol);
    if (asset === undefined) throw new Error(`asset ${symbol} is not registered`);
    return asset;
  });
}
