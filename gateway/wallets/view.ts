/** Wallets as the API and its events show them: snake_case, times as RFC 3339, balances as decimal strings. */
import { formatAmount } from '../registry/amounts.ts';
import { assetOf } from '../registry/assets.ts';
import type { NetworkId } from '../registry/networks.ts';
import type { MetadataValue } from '../rest/metadata.ts';
import type { Balance, Balances } from '../store/contract.ts';
import type { WalletRecord } from './record.ts';

export interface AssetView {
  readonly symbol: string;
  /** What the wallet owns: available and pending. */
  readonly balance: string;
  /** What a new transfer may take. */
  readonly available: string;
  /** Set aside for transfers that are under way. */
  readonly pending: string;
  readonly network: NetworkId;
}

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

/** Assets that hold nothing are shown with zeros. */
export function walletView(wallet: WalletRecord, balances: Balances): WalletView {
  return {
    id: wallet.id,
    name: wallet.name,
    provider: wallet.provider,
    provider_connection_id: wallet.connectionId,
    provider_wallet_id: wallet.providerWalletId,
    status: wallet.status,
    environment: wallet.environment,
    network: wallet.network,
    addresses: wallet.addresses,
    public_key: wallet.publicKey,
    assets: wallet.assets.map((symbol) => assetView(symbol, balances.get(symbol))),
    approval_mode: wallet.approvalMode,
    signing_api: wallet.signingApi,
    policy: wallet.policy,
    external_id: wallet.externalId,
    metadata: wallet.metadata,
    version: wallet.version,
    created_at: timestamp(wallet.createdAtMs),
    updated_at: timestamp(wallet.updatedAtMs),
    archived_at: wallet.archivedAtMs === null ? null : timestamp(wallet.archivedAtMs),
    archive_reason: wallet.archiveReason,
  };
}

function assetView(symbol: string, balance: Balance | undefined): AssetView {
  const asset = assetOf(symbol);
  if (asset === undefined) throw new Error(`asset ${symbol} is not registered`);
  const { network, decimals } = asset;
  if (balance === undefined) return { symbol, balance: '0', available: '0', pending: '0', network };
  const available = formatAmount(balance.available, decimals);
  if (balance.reserved === 0n) return { symbol, balance: available, available, pending: '0', network };
  return {
    symbol,
    balance: formatAmount(balance.available + balance.reserved, decimals),
    available,
    pending: formatAmount(balance.reserved, decimals),
    network,
  };
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
