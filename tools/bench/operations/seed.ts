/** Puts many wallets into one tenant, directly through the store: only reads are measured. */
import { systemClock, systemRandom } from '../../../core/actors/live/ports.ts';
import { newId } from '../../../proto/ids.ts';
import { type WalletRecord, walletType } from '../../../wallets/custody/wallets/record.ts';
import { create } from '../../../wallets/store/changes.ts';
import type { MovementCause, TenantStore } from '../../../wallets/store/contract.ts';

const atOnce = 64;

/** Resolves with the id of one of them. */
export async function seedWallets(store: TenantStore, tenant: string, count: number): Promise<string> {
  let left = count;
  let last = '';
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const wallet = sandboxWallet(left);
      last = wallet.id;
      const movement: MovementCause = { kind: 'deposit', of: null, txId: null, counterparty: null };
      await store.commit(tenant, {
        puts: [create(walletType, wallet)],
        ledger: [{ walletId: wallet.id, asset: 'ETH', available: 1_000_000_000_000_000_000n, reserved: 0n, movement }],
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return last;
}

function sandboxWallet(index: number): WalletRecord {
  const nowMs = systemClock.nowMs();
  return {
    id: newId('wal', nowMs, systemRandom),
    version: 1,
    name: `Wallet ${index}`,
    provider: 'sandbox',
    connectionId: 'pcn_00000000-0000-7000-8000-000000000000',
    providerWalletId: `seeded-${index}`,
    status: 'active',
    environment: 'sandbox',
    network: 'eip155:11155111',
    addresses: [{ network: 'eip155:11155111', address: `0x${index.toString(16).padStart(40, '0')}` }],
    publicKey: null,
    assets: ['ETH'],
    approvalMode: 'unspecified',
    signingApi: 'allowed',
    policy: null,
    externalId: null,
    metadata: {},
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    archivedAtMs: null,
    archiveReason: null,
  };
}
