/** One transfer of each kind, from the wallet's making to the last confirmation, over a fake clock and a real Redis. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import {
  getAddressDecoder,
  getBase58Encoder,
  getCompiledTransactionMessageDecoder,
  getPublicKeyFromAddress,
  getTransactionDecoder,
  signatureBytes,
  verifySignature,
} from '@solana/kit';
import { Transaction as BitcoinTransaction, crypto, networks, payments, script } from 'bitcoinjs-lib';
import { getBytes, Interface, Transaction } from 'ethers';
import { describe, expect, it, vi } from 'vitest';
import type { NetworkId } from '../../../../wallets/networks/networks.ts';
import { type Chains, openChains } from '../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../wallets/providers/chains/redis-ledgers.ts';
import { makeSelfHosted, type SelfHostedAdapter } from '../../../../wallets/providers/self-hosted/adapter.ts';
import { useDatabase } from '../../../support/redis-database.ts';
import {
  connection,
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

let chains: Chains;
let signer: FakeSigner;
let adapter: SelfHostedAdapter;
useDatabase((redis) => {
  chains = openChains({ ledgers: redisLedgers(redis) });
  signer = fakeSigner();
  adapter = makeSelfHosted({ signer, chains });
});

const kinds = [
  { network: sepolia, asset: 'ETH', amount: '1.25', number: 0, left: 10n ** 18n * 10n - 1_250_000_000_000_000_000n },
  { network: sepolia, asset: 'USDC', amount: '12.5', number: 0, left: 9_987_500_000n },
  { network: testnet, asset: 'BTC', amount: '0.25', number: undefined, left: 75_000_000n },
  { network: devnet, asset: 'SOL', amount: '1.5', number: undefined, left: 98_500_000_000n },
] as const;

describe.each(kinds)('a transfer of $asset', ({ network, asset, amount, number, left }) => {
  it('is signed, confirmed by time, and moves the money', async () => {
    const wallet = await makeWallet(adapter, 'wal_from', network);
    const receiver = await makeWallet(adapter, 'wal_to', network);
    const to = receiver.addresses[0]!.address;
    const from = wallet.addresses[0]!.address;
    const before = (await chains.of(network).balances(to)).get(asset)!;
    const intent = intentOf(wallet, { id: 'txi_1', asset, amount, to });
    const draft = {
      intentId: 'txi_1',
      kind: 'transfer' as const,
      wallet,
      asset,
      amount,
      units: BigInt(intent.units),
      toAddress: to,
    };
    const { fee } = await adapter.quote(metaAt(startMs), draft);

    const first = await adapter.advance(metaAt(startMs), { intent, wallet, number });
    if (first.stage !== 'confirming') throw new Error(JSON.stringify(first));
    expect(first.providerTxId).not.toBeNull();
    expect(first.againAtMs).toBeGreaterThan(startMs);
    const again = { ...intent, submission: first.submission, providerTxId: first.providerTxId };
    const early = await adapter.advance(metaAt(first.againAtMs - 1), { intent: again, wallet, number });
    expect(early).toMatchObject({ stage: 'confirming', providerTxId: first.providerTxId });
    const last = await adapter.advance(metaAt(first.againAtMs), { intent: again, wallet, number });
    if (last.stage !== 'completed') throw new Error(JSON.stringify(last));
    expect(last.providerTxId).toBe(first.providerTxId);
    expect(last.feePaid.asset).toBe(fee.asset);
    expect(last.feePaid.units).toBeGreaterThan(0n);
    expect(last.feePaid.units).toBeLessThanOrEqual(fee.units);

    const balances = await chains.of(network).balances(from);
    expect(balances.get(asset)).toBe(asset === fee.asset ? left - last.feePaid.units : left);
    expect((await chains.of(network).balances(to)).get(asset)).toBe(before + BigInt(intent.units));
  });
});

describe('what goes to the chain', () => {
  /** The raw bytes of one transfer of this asset, and what the adapter said of it. */
  async function sent(network: NetworkId, asset: string, amount: string) {
    const wallet = await makeWallet(adapter, 'wal_from', network);
    const to = (await makeWallet(adapter, 'wal_to', network)).addresses[0]!.address;
    const submit = vi.spyOn(chains.of(network), 'submit');
    const number = adapter.sequenceCounter(wallet) === undefined ? undefined : 0;
    const intent = intentOf(wallet, { id: 'txi_1', asset, amount, to });
    const progress = await adapter.advance(metaAt(startMs), { intent, wallet, number });
    if (progress.stage !== 'confirming') throw new Error(JSON.stringify(progress));
    return {
      raw: submit.mock.calls[0]![0],
      wallet,
      from: wallet.addresses[0]!.address,
      to,
      hash: progress.providerTxId,
    };
  }

  it('is an EIP-1559 transaction whose sender ethers recovers to the wallet’s address', async () => {
    const { raw, from, to, hash } = await sent(sepolia, 'ETH', '1.25');
    const parsed = Transaction.from(`0x${Buffer.from(raw).toString('hex')}`);
    expect(parsed).toMatchObject({ from, to, hash, type: 2, chainId: 11155111n, nonce: 0, data: '0x' });
    expect(parsed.value).toBe(1_250_000_000_000_000_000n);
  });

  it('calls the token’s transfer, as ethers decodes it', async () => {
    const { raw, from, to } = await sent(sepolia, 'USDC', '12.5');
    const parsed = Transaction.from(`0x${Buffer.from(raw).toString('hex')}`);
    expect(parsed).toMatchObject({ from, to: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', value: 0n });
    const erc20 = new Interface(['function transfer(address to, uint256 amount)']);
    expect([...erc20.decodeFunctionData('transfer', getBytes(parsed.data))]).toEqual([to, 12_500_000n]);
  });

  it('is a segwit transaction whose every witness signs under the wallet’s key', async () => {
    const { raw, wallet, to, hash } = await sent(testnet, 'BTC', '0.25');
    const publicKey = Buffer.from(wallet.publicKey!, 'hex');
    const parsed = BitcoinTransaction.fromBuffer(Buffer.from(raw));
    expect(parsed.getId()).toBe(hash);
    expect(parsed.ins).toHaveLength(3);
    const own = payments.p2wpkh({ pubkey: publicKey, network: networks.testnet }).output!;
    const receiver = payments.p2wpkh({ address: to, network: networks.testnet }).output!;
    expect(parsed.outs.map((output) => Buffer.from(output.script))).toEqual(
      [receiver, own].map((output) => Buffer.from(output)),
    );
    expect(parsed.outs[0]!.value).toBe(25_000_000n);
    const code = payments.p2pkh({ hash: crypto.hash160(publicKey), network: networks.testnet }).output!;
    parsed.ins.forEach(({ witness }, index) => {
      const { signature, hashType } = script.signature.decode(witness[0]!);
      const digest = parsed.hashForWitnessV0(index, code, 10_000_000n, hashType);
      expect(Buffer.from(witness[1]!)).toEqual(publicKey);
      expect(secp256k1.verify(signature, digest, publicKey, { prehash: false, lowS: true })).toBe(true);
    });
    expect(signer.orders.map(({ purpose }) => purpose)).toEqual(['txi_1:0', 'txi_1:1', 'txi_1:2']);
  });

  it('is a Solana transaction whose signature verifies, and is its id', async () => {
    const { raw, wallet, from, to, hash } = await sent(devnet, 'SOL', '1.5');
    const parsed = getTransactionDecoder().decode(raw);
    const signature = parsed.signatures[from as keyof typeof parsed.signatures]!;
    expect(Buffer.from(signature)).toEqual(Buffer.from(getBase58Encoder().encode(hash!)));
    const key = await getPublicKeyFromAddress(getAddressDecoder().decode(Buffer.from(wallet.publicKey!, 'hex')));
    expect(await verifySignature(key, signatureBytes(signature), parsed.messageBytes)).toBe(true);
    expect(ed25519.verify(signature, Uint8Array.from(parsed.messageBytes), Buffer.from(wallet.publicKey!, 'hex'))).toBe(
      true,
    );
    const message = getCompiledTransactionMessageDecoder().decode(parsed.messageBytes);
    expect(message).toMatchObject({ version: 'legacy', staticAccounts: [from, to, '1'.repeat(32)] });
    expect(message).toMatchObject({ header: { numSignerAccounts: 1, numReadonlySignerAccounts: 0 } });
    const [transfer] = (message as unknown as { instructions: { accountIndices: number[]; data: Uint8Array }[] })
      .instructions;
    expect(transfer!.accountIndices).toEqual([0, 1]);
    expect(Buffer.from(transfer!.data).toString('hex')).toBe('02000000002f685900000000');
  });

  it('takes the policy receipt to the cluster', async () => {
    await sent(sepolia, 'ETH', '1');
    expect(signer.orders[0]).toMatchObject({ purpose: 'txi_1', policyReceipt: 'receipt', networkId: sepolia });
  });
});

describe('a wallet', () => {
  it.each([sepolia, testnet, devnet])('on %s gets its test money once, however often it is made', async (network) => {
    const first = await makeWallet(adapter, 'wal_1', network, 'production');
    expect(await makeWallet(adapter, 'wal_1', network, 'production')).toEqual(first);
    const order = { walletId: 'wal_1', name: '', network };
    const made = await adapter.createWallet(metaAt(startMs), connection(), order);
    const balances = await chains.of(network).balances(first.addresses[0]!.address);
    expect(balances).toEqual(new Map(made.balances.map(({ asset, units }) => [asset, units])));
    expect(made.balances.every(({ units }) => units > 0n)).toBe(true);
    expect(made.providerWalletId).toBe('wal_1');
  });
});
