/** The check of broadcast transactions finds what is planted: another key, another amount, another recipient, another name. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { base58 } from '@scure/base';
import { describe, expect, test } from 'vitest';
import { releasedVerifier } from '../../../simulation/cluster/invariants/verifier.ts';
import {
  type BroadcastIntent,
  checkBroadcast,
  type SigningWallet,
} from '../../../simulation/service/invariants/broadcasts.ts';
import { assetOf } from '../../../wallets/networks/assets.ts';
import {
  evmLevel,
  signedEvm,
  signedSolana,
  solanaMessage,
  unsignedEvm,
} from '../../../wallets/providers/chains/public.ts';

const evm = 'eip155:11155111';
const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const secret = new Uint8Array(32).fill(3);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const wallet: SigningWallet = { network: evm, public_key: hex(secp256k1.getPublicKey(secret)) };

function evmIntent(asset: 'ETH' | 'USDC', amount: string, units: bigint, signer = secret): BroadcastIntent {
  const contract = assetOf(asset)!.contract;
  const action =
    contract === null
      ? ({ kind: 'coin', to, units } as const)
      : ({ kind: 'call', contract, call: { kind: 'transfer', to, units } } as const);
  const unsigned = unsignedEvm({ network: evm, nonce: 4n, action, fees: evmLevel('medium', 10n ** 9n) } as never);
  const signature = secp256k1.sign(unsigned.digest, signer, { prehash: false, format: 'recovered' });
  const raw = signedEvm(unsigned, signature.subarray(1), signature[0]!);
  return {
    ...{ id: 'txi_1', kind: 'transfer', asset, amount, destination: { address: to }, provider_tx_id: null },
    provider_details: { raw_transaction: `0x${hex(raw)}` },
  };
}

const faultsOf = (intent: BroadcastIntent, of = wallet) => checkBroadcast(intent, of, releasedVerifier);
const about = (fault: string) => [`the transaction of intent txi_1 ${fault}`];

describe('on EVM', () => {
  test('a transfer of the coin or of a token passes', () => {
    expect(faultsOf(evmIntent('ETH', '0.5', 5n * 10n ** 17n))).toEqual([]);
    expect(faultsOf(evmIntent('USDC', '12.5', 12_500_000n))).toEqual([]);
  });

  test('a signature of another key is found', () => {
    const other = evmIntent('ETH', '0.5', 5n * 10n ** 17n, new Uint8Array(32).fill(4));
    expect(faultsOf(other)).toEqual(about('is not signed by the key of its wallet'));
  });

  test.each([
    ['ETH', '0.6', 5n * 10n ** 17n],
    ['USDC', '12.6', 12_500_000n],
  ] as const)('another amount of %s is found', (asset, amount, units) => {
    expect(faultsOf(evmIntent(asset, amount, units))).toEqual(about(`does not pay ${amount} ${asset} to ${to}`));
  });

  test('another recipient, another id and another chain are found', () => {
    const intent = evmIntent('ETH', '0.5', 5n * 10n ** 17n);
    const elsewhere = to.replace('7', '8');
    expect(faultsOf({ ...intent, destination: { address: elsewhere } })).toEqual(
      about(`does not pay 0.5 ETH to ${elsewhere}`),
    );
    expect(faultsOf({ ...intent, provider_tx_id: '0x00' })[0]).toMatch(/the intent names 0x00$/);
    expect(faultsOf(intent, { ...wallet, network: 'eip155:1' })[0]).toMatch(/it is of another chain$/);
  });

  test('a changed byte is found, wherever it stands', () => {
    const intent = evmIntent('ETH', '0.5', 5n * 10n ** 17n);
    const raw = Buffer.from(intent.provider_details!.raw_transaction.slice(2), 'hex');
    for (let at = 0; at < raw.length; at += 1) {
      // The parity of the signature says no more than which key is recovered.
      if (at === raw.length - 67) continue;
      const changed = Uint8Array.from(raw);
      changed[at] = changed[at]! ^ 1;
      expect([at, faultsOf({ ...intent, provider_details: { raw_transaction: hex(changed) } }).length]).not.toEqual([
        at,
        0,
      ]);
    }
  });
});

test('on Solana another key, recipient and amount are found', () => {
  const publicKey = ed25519.getPublicKey(secret);
  const from = base58.encode(publicKey);
  const recipient = base58.encode(new Uint8Array(32).fill(9));
  const message = solanaMessage({ from, to: recipient, lamports: 250_000_000n, purpose: 'txi_1' });
  const raw = Buffer.from(signedSolana(message, ed25519.sign(message, secret))).toString('base64');
  const own = { network: 'solana:x', public_key: hex(publicKey), addresses: [{ address: from }] };
  const intent = {
    ...{ id: 'txi_1', kind: 'transfer', asset: 'SOL', amount: '0.25', provider_tx_id: null },
    ...{ destination: { address: recipient }, provider_details: { raw_transaction: raw } },
  };
  expect(faultsOf(intent, own)).toEqual([]);
  expect(faultsOf({ ...intent, amount: '0.26' }, own)).toEqual(about(`does not pay 0.26 SOL to ${recipient}`));
  expect(faultsOf({ ...intent, destination: { address: from } }, own)).toEqual(
    about(`does not pay 0.25 SOL to ${from}`),
  );
  const other = { ...own, public_key: hex(ed25519.getPublicKey(new Uint8Array(32).fill(4))) };
  expect(faultsOf(intent, other).length).toBe(3);
});
