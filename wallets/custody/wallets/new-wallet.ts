/**
 * New wallets: the first version of a record from the provider's answer, and the change that writes it with its balances and
 * its event. Used by the routes, and for the test wallets of a connection.
 */

import type { Reporter } from '../../../gateway/api/event.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { NewBalance, ProviderWallet } from '../../providers/port/port.ts';
import { create } from '../../store/changes.ts';
import type { Balances, Change, LedgerEntry } from '../../store/contract.ts';
import type { ConnectionRecord } from '../connections/public.ts';
import { walletEvent } from './change.ts';
import { type SigningApiMode, type WalletApprovalMode, type WalletRecord, walletType } from './record.ts';
import { walletView } from './view.ts';

export interface NewWallet {
  /** wal_… */
  readonly id: string;
  readonly name: string;
  readonly connection: Pick<ConnectionRecord, 'id' | 'provider' | 'environment'>;
  readonly network: NetworkId;
  /** The answer of the adapter's createWallet. */
  readonly made: ProviderWallet;
  readonly nowMs: number;
  /** Name of a policy; by default null, the tenant's default. */
  readonly policy?: string | null | undefined;
  /** Default: unspecified. */
  readonly approvalMode?: WalletApprovalMode | undefined;
  readonly signingApi: SigningApiMode;
  readonly externalId?: string | null | undefined;
  readonly metadata?: MetadataValue | undefined;
}

/** Of a wallet whose maker does not say: in production the signing API is no way round its policy. */
export function defaultSigningApi(installation: ClusterEnvironment): SigningApiMode {
  return installation === 'production' ? 'intents_only' : 'allowed';
}

export function walletFrom(order: NewWallet): WalletRecord {
  const { connection, made, nowMs } = order;
  return {
    id: order.id,
    version: 1,
    name: order.name,
    provider: connection.provider,
    connectionId: connection.id,
    providerWalletId: made.providerWalletId,
    status: 'active',
    environment: connection.environment,
    network: order.network,
    addresses: made.addresses,
    publicKey: made.publicKey,
    assets: made.balances.map(({ asset }) => asset),
    approvalMode: order.approvalMode ?? 'unspecified',
    signingApi: order.signingApi,
    policy: order.policy ?? null,
    externalId: order.externalId ?? null,
    metadata: order.metadata ?? {},
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    archivedAtMs: null,
    archiveReason: null,
  };
}

const opening = { kind: 'opening', of: null, txId: null, counterparty: null } as const;

/** What a new wallet holds; assets with nothing have no entry. */
export function initialLedger(walletId: string, balances: readonly NewBalance[]): LedgerEntry[] {
  return balances
    .filter(({ units }) => units !== 0n)
    .map(({ asset, units }) => ({ walletId, asset, available: units, reserved: 0n, movement: opening }));
}

/** The balances that a wallet begins with. */
export function balancesOf(balances: readonly NewBalance[]): Balances {
  return new Map(balances.map(({ asset, units }) => [asset, { available: units, reserved: 0n }]));
}

/** Writes a new wallet with its balances and `wallet.created`. Its addresses must stand in the address book already. */
export function walletCreatedChange(reporter: Reporter, wallet: WalletRecord, balances: readonly NewBalance[]): Change {
  return {
    puts: [create(walletType, wallet)],
    ledger: initialLedger(wallet.id, balances),
    events: [walletEvent(reporter, 'created', wallet, walletView(wallet, balancesOf(balances)))],
  };
}
