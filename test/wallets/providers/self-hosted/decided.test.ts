/**
 * The bytes to be signed are read back and compared with the policy receipt: a record that changes between the check of its receipt
 * and the building of its transaction orders nothing.
 */
import { describe, expect, it } from 'vitest';
import { tokenClaim } from '../../../../wallets/networks/assets.ts';
import { networkOf } from '../../../../wallets/networks/networks.ts';
import { openChains } from '../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../wallets/providers/chains/redis-ledgers.ts';
import { type ApprovedTransfer, NotDecided } from '../../../../wallets/providers/port/port.ts';
import { makeSelfHosted, type SelfHostedAdapter } from '../../../../wallets/providers/self-hosted/adapter.ts';
import { useDatabase } from '../../../support/redis-database.ts';
import {
  type ApprovedIntent,
  devnet,
  type FakeSigner,
  fakeSigner,
  intentOf,
  makeWallet,
  metaAt,
  sepolia,
  startMs,
  testnet,
} from './support.ts';

let signer: FakeSigner;
let adapter: SelfHostedAdapter;
useDatabase((redis) => {
  signer = fakeSigner();
  adapter = makeSelfHosted({ signer, chains: openChains({ ledgers: redisLedgers(redis) }) });
});

const token = { symbol: 'GOLD', name: 'Gold', network: sepolia, decimals: 2, supplyCap: '1000' };
const contract = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';
const thiefContract = '0x2222222222222222222222222222222222222222';
type Altered = Partial<ApprovedTransfer>;
type Decided = NonNullable<ApprovedTransfer['decided']>;

let drawn = 0;

/** A transfer as it was decided, its wallet, and the address of a thief. */
async function decidedTransfer(network: typeof sepolia, asset: string) {
  const wallet = await makeWallet(adapter, 'wal_from', network);
  const to = (await makeWallet(adapter, 'wal_to', network)).addresses[0]!.address;
  const thief = (await makeWallet(adapter, 'wal_thief', network)).addresses[0]!.address;
  const intent = intentOf(wallet, { id: 'txi_1', asset, amount: '0.5', to });
  const number = adapter.sequenceCounter(wallet) === undefined ? undefined : 0;
  const order = (altered: Altered, over: Partial<Decided> = {}, of = wallet) => {
    const decided = { ...intent.decided!, ...over };
    drawn += 1;
    return adapter.advance(metaAt(startMs), {
      intent: { ...intent, id: `txi_${drawn}`, decided, ...altered },
      wallet: of,
      number,
    });
  };
  return { wallet, thief, intent, order };
}

const refused = async (order: Promise<unknown>, what: string) => {
  await expect(order).rejects.toThrow(NotDecided);
  await expect(order).rejects.toThrow(what);
  expect(signer.orders).toEqual([]);
};

describe.each([
  [sepolia, 'ETH'],
  [sepolia, 'USDC'],
  [testnet, 'BTC'],
  [devnet, 'SOL'],
] as const)('on %s, a transfer of %s', (network, asset) => {
  it('is signed as it was decided', async () => {
    const { order } = await decidedTransfer(network, asset);
    expect(await order({})).toMatchObject({ stage: 'confirming' });
    expect(signer.orders.length).toBeGreaterThan(0);
  });

  it('whose record says otherwise when its transaction is built is not signed', async () => {
    const { intent, thief, order } = await decidedTransfer(network, asset);
    await refused(order({ destination: { address: thief } }), 'destination');
    await refused(order({ units: String(BigInt(intent.units) + 1n) }), 'amount');
    await refused(order({ decided: undefined }), 'no policy receipt');
  });

  it('is not signed from another wallet or network, nor for more than the decided fee', async () => {
    const { wallet, order } = await decidedTransfer(network, asset);
    await refused(order({}, {}, { ...wallet, id: 'wal_thief' }), 'wallet');
    await refused(order({}, { network: 'eip155:1' }), 'network');
    const coin = networkOf(network).nativeAsset;
    await refused(order({}, { fee: { asset: coin, limit: '0.000000001' } }), 'fee');
    await refused(order({}, { fee: { asset: 'USD', limit: '1' } }), 'fee');
    const { fee: _, ...without } = intentOf(wallet, { id: 'txi_1', asset, amount: '0.5', to: thiefContract }).decided!;
    await refused(
      order({ decided: { ...without, to: (await decidedTransfer(network, asset)).intent.decided!.to } }),
      'fee',
    );
  });
});

it('coins that a refused transfer had set aside are free again', async () => {
  const { thief, order } = await decidedTransfer(testnet, 'BTC');
  // Each takes more than half of the wallet's coins.
  const altered = { units: '60000000', destination: { address: thief } };
  for (let tries = 0; tries < 3; tries += 1) await refused(order(altered), 'amount');
  expect(await order({})).toMatchObject({ stage: 'confirming' });
});

it('a transfer of another token, or of a coin for a token, is not signed', async () => {
  const { order } = await decidedTransfer(sepolia, 'USDC');
  const forged = { ...token, contract: thiefContract };
  await refused(order({ asset: 'ETH' }), 'asset');
  await refused(order({ token: forged }), 'asset');
  await refused(order({ asset: 'GOLD', token: forged }), 'asset');
  await refused(order({}, { asset: 'ETH' }), 'asset');
  await refused(order({}, { asset: 'NONE' }), 'asset');
});

describe('a tenant’s own token', () => {
  const kinds: readonly ApprovedIntent['kind'][] = ['transfer', 'mint', 'burn', 'deploy'];
  it.each(kinds)('is not signed as %s unless that was decided', async (kind) => {
    const { order } = await decidedTransfer(sepolia, 'USDC');
    const terms = { ...token, contract: kind === 'deploy' ? null : contract };
    const isDeploy = kind === 'deploy';
    const record: Altered = {
      ...{ kind, token: terms, asset: isDeploy ? 'ETH' : 'GOLD' },
      units: isDeploy ? '0' : '50',
    };
    const decided: Partial<Decided> = {
      ...{ kind, asset: isDeploy ? 'ETH' : 'GOLD', amount: isDeploy ? '0' : '0.5' },
      token: tokenClaim(terms),
    };
    const others = kinds.filter((one) => one !== kind);
    for (const other of others) await refused(order(record, { ...decided, kind: other }), 'kind');
    // The record is another token of the same symbol, or the receipt is about no token.
    if (!isDeploy) await refused(order({ ...record, token: { ...terms, contract: thiefContract } }, decided), 'asset');
    for (const other of [{ decimals: 1 }, { supplyCap: '2000' }, { name: 'Silver' }, { symbol: 'SILVER' }]) {
      await refused(order({ ...record, token: { ...terms, ...other } }, decided), 'token');
    }
    const { token: _, ...without } = { ...(await decidedTransfer(sepolia, 'USDC')).intent.decided!, ...decided };
    await refused(order({ ...record, decided: without }), isDeploy ? 'token' : 'asset');
    // The fake signer's key of the sender has no such token: that its bytes are signed is what counts.
    await order(record, decided).catch(() => undefined);
    expect(signer.orders).toHaveLength(1);
  });
});
