/** The exact words and times of the simulated custodians: what each is sent, and what it says of an order until its end. */
import { describe, expect, it } from 'vitest';
import { MemoryRedis } from '../../../simulation/redis/memory-redis.ts';
import { providerAdapters } from '../../../wallets/providers/adapters.ts';
import { openChains } from '../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../wallets/providers/chains/redis-ledgers.ts';
import { type ProviderKind, providerKinds } from '../../../wallets/providers/port/kinds.ts';
import type { ProviderAdapter, TransferProgress } from '../../../wallets/providers/port/port.ts';
import { makeSelfHosted } from '../../../wallets/providers/self-hosted/adapter.ts';
import { openingBalances } from '../../../wallets/providers/simulated/economy.ts';
import { RedisCustodianBooks } from '../../../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../../../wallets/providers/simulated/redis-custodian-records.ts';
import {
  connection,
  devnet,
  fakeSigner,
  intentOf,
  makeWallet,
  metaAt,
  sepolia,
  startMs,
  testnet,
} from './self-hosted/support.ts';

const destinations = {
  ETH: '0x000000000000000000000000000000000000dEaD',
  USDC: '0x000000000000000000000000000000000000dEaD',
  BTC: 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx',
  SOL: '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM',
} as const;
const networksOf = { ETH: sepolia, USDC: sepolia, BTC: testnet, SOL: devnet } as const;
const symbols = ['ETH', 'USDC', 'BTC', 'SOL'] as const;

function open() {
  const redis = new MemoryRedis({ nowMs: () => startMs }).client();
  const chains = openChains({ ledgers: redisLedgers(redis) });
  const adapters = providerAdapters({
    selfHosted: makeSelfHosted({ signer: fakeSigner(), chains }),
    records: (kind) => new RedisCustodianRecords(redis, kind),
    books: (kind) => new RedisCustodianBooks(redis, kind),
    sleep: async () => {},
  });
  return { redis, adapterOf: (kind: ProviderKind) => adapters.get(kind)! };
}

/** What the provider says of a transfer, and when, until it is over. */
async function follow(
  adapter: ProviderAdapter,
  asset: (typeof symbols)[number],
  amount: string,
): Promise<readonly TransferProgress[]> {
  const wallet = await makeWallet(adapter, 'wal_1', networksOf[asset]);
  const intent = intentOf(wallet, { id: 'txi_1', asset, amount, to: destinations[asset] });
  const said: TransferProgress[] = [];
  for (let nowMs = startMs; ; ) {
    const { submission = null } = (said.at(-1) ?? {}) as { readonly submission?: unknown };
    const progress = await adapter.advance(metaAt(nowMs), {
      intent: { ...intent, submission },
      wallet,
      number: undefined,
    });
    said.push(progress);
    if (progress.stage === 'completed' || progress.stage === 'failed') return said;
    nowMs = progress.againAtMs;
  }
}

/** Each news with its milliseconds after the order. */
const words = (said: readonly TransferProgress[]) => {
  let atMs = 0;
  return said.map((progress) => {
    const heard = [atMs, progress.providerStatus, progress.stage];
    if (progress.stage === 'completed' || progress.stage === 'failed') return heard;
    atMs = progress.againAtMs - startMs;
    return [...heard, progress.subStatus];
  });
};

const custodians = [
  {
    kind: 'fireblocks',
    family: 'tx',
    said: [
      [0, 'SUBMITTED', 'signing', null],
      [150, 'PENDING_AML_SCREENING', 'signing', 'SCREENING_AT_PROVIDER'],
      [400, 'QUEUED', 'signing', 'QUEUED_AT_PROVIDER'],
      [600, 'PENDING_SIGNATURE', 'signing', null],
      [1_000, 'BROADCASTING', 'broadcasting', null],
      [1_300, 'CONFIRMING', 'confirming', 'AWAITING_CONFIRMATIONS'],
      [3_000, 'COMPLETED', 'completed'],
    ],
    failure: { providerStatus: 'FAILED', error: { code: 'SMART_CONTRACT_EXECUTION_FAILED' } },
    sent: {
      ETH: { assetId: 'ETH_TEST5', amount: '1.5' },
      USDC: { assetId: 'USDC_ETH_TEST5_0GER', amount: '1.5' },
      BTC: { assetId: 'BTC_TEST', amount: '1.5' },
      SOL: { assetId: 'SOL_TEST', amount: '1.5' },
    },
  },
  {
    kind: 'bitgo',
    family: 'transfer',
    said: [
      [0, 'initialized', 'signing', null],
      [300, 'pendingApproval', 'signing', 'QUEUED_AT_PROVIDER'],
      [900, 'signed', 'broadcasting', null],
      [1_200, 'unconfirmed', 'confirming', 'AWAITING_CONFIRMATIONS'],
      [4_000, 'confirmed', 'completed'],
    ],
    failure: { providerStatus: 'failed' },
    sent: {
      ETH: { coin: 'hteth', amount: '1500000000000000000', decimalAmount: '1.5' },
      USDC: { coin: 'hteth:usdc', amount: '1500000', decimalAmount: '1.5' },
      BTC: { coin: 'tbtc', amount: '150000000', decimalAmount: '1.5' },
      SOL: { coin: 'tsol', amount: '1500000000', decimalAmount: '1.5' },
    },
  },
  {
    kind: 'copper',
    family: 'order',
    said: [
      [0, 'new', 'signing', null],
      [100, 'queued', 'signing', 'QUEUED_AT_PROVIDER'],
      [350, 'reserved', 'signing', null],
      [600, 'waiting-approve', 'signing', 'APPROVAL_AT_PROVIDER'],
      [1_100, 'approved', 'signing', null],
      [1_400, 'full-signed-tx-added', 'broadcasting', null],
      [1_700, 'processing', 'confirming', 'AWAITING_CONFIRMATIONS'],
      [5_000, 'executed', 'completed'],
    ],
    failure: { providerStatus: 'error', error: { code: 'blockchain-transaction-failed' } },
    sent: {
      ETH: { baseCurrency: 'ETH', mainCurrency: 'ETH', amount: '1.5' },
      USDC: { baseCurrency: 'USDC', mainCurrency: 'ETH', amount: '1.5' },
      BTC: { baseCurrency: 'BTC', mainCurrency: 'BTC', amount: '1.5' },
      SOL: { baseCurrency: 'SOL', mainCurrency: 'SOL', amount: '1.5' },
    },
  },
] as const;

describe.each(custodians)('$kind', ({ kind, family, said, failure, sent }) => {
  it('says of an order what it does at each time', async () => {
    expect(words(await follow(open().adapterOf(kind), 'ETH', '1.5'))).toEqual(said);
    const failed = words(await follow(open().adapterOf(kind), 'ETH', '0.00441'));
    expect(failed.slice(0, -1)).toEqual(said.slice(0, -1));
    expect(failed.at(-1)).toEqual([said.at(-1)![0], failure.providerStatus, 'failed']);
    expect((await follow(open().adapterOf(kind), 'ETH', '0.00441')).at(-1)).toMatchObject({
      ...failure,
      subStatus: 'FAILED_ON_CHAIN',
      feePaid: { asset: 'ETH', units: 42_000_000_000_000n },
    });
  });

  it.each(symbols)('is sent %s in its own name and unit', async (asset) => {
    const { redis, adapterOf } = open();
    await follow(adapterOf(kind), asset, '1.5');
    const stored = JSON.parse((await redis.hget(`sm:{t:acme}:cust:${kind}:${family}:txi_1`, 'd'))!) as object;
    expect(stored).toMatchObject(sent[asset]);
    expect(Object.values(stored)).toContain(destinations[asset]);
  });
});

it.each(symbols)('wallets of our own cluster begin with the test money of a custodian’s: %s', async (asset) => {
  const { adapterOf } = open();
  const order = { walletId: 'wal_1', name: 'One', network: networksOf[asset] };
  const balances = openingBalances(networksOf[asset], 'sandbox');
  for (const kind of providerKinds) {
    expect(await adapterOf(kind).createWallet(metaAt(startMs), connection(), order)).toMatchObject({ balances });
  }
});
