/**
 * Every destination that a transfer may name can be paid: addresses are judged as each network's own library judges them, and the
 * service's transaction to an accepted one pays what that library reads from it.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { base58, bech32, bech32m, createBase58check } from '@scure/base';
import { getAddressDecoder, getProgramDerivedAddress, isAddress as isSolanaAddress } from '@solana/kit';
import { address as bitcoinAddress, networks as bitcoinNetworks, initEccLib, Transaction } from 'bitcoinjs-lib';
import { Transaction as EvmTransaction, getAddress } from 'ethers';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { destinationIssues, usableDestination } from '../../../wallets/custody/intents/evaluation.ts';
import { addressOfKey, canonicalAddress } from '../../../wallets/networks/addresses.ts';
import { type NetworkId, networkIds } from '../../../wallets/networks/networks.ts';
import { signedBitcoin, unsignedBitcoin } from '../../../wallets/providers/chains/bitcoin-transaction.ts';
import { signedEvm, unsignedEvm } from '../../../wallets/providers/chains/evm-transaction.ts';
import { evmLevel, evmLimits } from '../../../wallets/providers/chains/fees.ts';
import { decodeSolana, signedSolana, solanaMessage } from '../../../wallets/providers/chains/solana-transaction.ts';
import { runs } from '../../support/thorough.ts';

const [sepolia, testnet, devnet] = networkIds as unknown as [NetworkId, NetworkId, NetworkId];
const secret = new Uint8Array(32).fill(7);
const publicKey = secp256k1.getPublicKey(secret, true);
const sats = 50_000n;

const lifted = (x: Uint8Array) => schnorr.utils.lift_x(BigInt(`0x${Buffer.from(x).toString('hex')}`));
const isXOnlyPoint = (x: Uint8Array): boolean => {
  try {
    lifted(x);
    return true;
  } catch {
    return false;
  }
};
initEccLib({
  isXOnlyPoint,
  xOnlyPointAddTweak(x, tweak) {
    const scalar = BigInt(`0x${Buffer.from(tweak).toString('hex')}`);
    const sum = lifted(x).add(secp256k1.Point.BASE.multiply(scalar));
    if (sum.is0()) return null;
    return { parity: sum.y % 2n === 0n ? 0 : 1, xOnlyPubkey: schnorr.utils.pointToBytes(sum) };
  },
});
// It warns of witness programs that have no rule yet.
beforeAll(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterAll(() => void vi.restoreAllMocks());

/** What the service says of a destination: 400 with its issue, 422, or the address that it pays. */
function judged(network: NetworkId, text: string): { readonly issue: string } | { readonly pays: string } {
  const [issue] = destinationIssues(network, text);
  if (issue !== undefined) return { issue: issue.issue };
  try {
    return { pays: usableDestination(network, text) };
  } catch (error) {
    const { kind, details } = error as { kind: string; details: { issue: string }[] };
    expect(kind).toBe('providerRejected');
    return { issue: details[0]!.issue };
  }
}

/** The output script of a signed payment to this address, as bitcoinjs-lib reads it. */
function bitcoinScript(to: string): string {
  const coins = [{ txid: '11'.repeat(32), index: 0, sats: 1_000_000n }];
  const unsigned = unsignedBitcoin(publicKey, coins, { to, sats }, 2n);
  const signatures = unsigned.digests.map((digest) => secp256k1.sign(digest, secret, { prehash: false }));
  const paid = Transaction.fromBuffer(Buffer.from(signedBitcoin(unsigned, signatures))).outs[0]!;
  expect(paid.value).toBe(sats);
  return Buffer.from(paid.script).toString('hex');
}

/** undefined: bitcoinjs-lib refuses it. Its classic form of future versions is left out: the service pays none. */
function bitcoinReference(text: string): string | undefined {
  try {
    return Buffer.from(bitcoinAddress.toOutputScript(text, bitcoinNetworks.testnet)).toString('hex');
  } catch {
    return undefined;
  }
}

const bytes = (min: number, max = min) => fc.uint8Array({ minLength: min, maxLength: max });
/** A character in the place of another one, in between, left out, or all in another case. */
function nearly(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const spoil = fc.tuple(fc.nat(200), fc.constantFrom(...'0Ol1qpzQ2x -=\n\u0663'), fc.nat(5));
  return fc.tuple(texts, spoil).map(([text, [place, character, how]]) => {
    const at = place % (text.length + 1);
    const [head, tail] = [text.slice(0, at), text.slice(at)];
    return [
      text,
      head + character + tail.slice(1),
      head + character + tail,
      head + tail.slice(1),
      text.toUpperCase(),
      `${text} `,
    ][how]!;
  });
}

describe('on Bitcoin', () => {
  const segwit = fc
    .record({
      prefix: fc.constantFrom('tb', 'tb', 'tb', 'bc', 'bcrt'),
      version: fc.constantFrom(0, 0, 1, 1, 2, 16),
      program: fc.oneof(bytes(20), bytes(32), bytes(2, 40)),
      isSwapped: fc.boolean(),
    })
    .map(({ prefix, version, program, isSwapped }) => {
      const form = (version === 0) === isSwapped ? bech32m : bech32;
      return form.encode(prefix, [version, ...form.toWords(program)]);
    });
  const base58Check = fc
    .record({ version: fc.constantFrom(0x6f, 0xc4, 0x00, 0x05, 0x80), hash: fc.oneof(bytes(20), bytes(19, 33)) })
    .map(({ version, hash }) => createBase58check(sha256).encode(Uint8Array.of(version, ...hash)));
  const taproot = bytes(32).map((x) => bech32m.encode('tb', [1, ...bech32m.toWords(x)]));

  it('an accepted address is paid as bitcoinjs-lib pays it, and no known form of its own is refused', () => {
    const seen = { paid: 0, noPoint: 0, refused: 0 };
    fc.assert(
      fc.property(nearly(fc.oneof(segwit, base58Check, taproot)), (text) => {
        const said = judged(testnet, text);
        const reference = bitcoinReference(text);
        if ('pays' in said) {
          expect(bitcoinScript(said.pays)).toBe(reference);
          seen.paid += 1;
        } else if (said.issue === 'unsupported_destination') {
          expect(reference).toBeUndefined();
          seen.noPoint += 1;
        } else {
          // Only witness programs that have no rule of spending yet.
          const future = /^(5[2-9a-f]|60)|^51(?!20)/.test(reference ?? '60');
          expect([text, future]).toEqual([text, true]);
          seen.refused += 1;
        }
      }),
      { numRuns: runs(600, 10_000) },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
  });

  it.each([
    // A key that is no point: the issue's, and with x = 0 and x = p.
    'tb1pllllllllllllllllllllllllllllllllllllllllllllllllllls5k48qr',
    bech32m.encode('tb', [1, ...bech32m.toWords(new Uint8Array(32))]),
    bech32m.encode('tb', [1, ...bech32m.toWords(Buffer.from(`${'ff'.repeat(27)}fefffffc2f`, 'hex'))]),
  ])('a taproot key that is no point of the curve is an unsupported destination: %s', (text) => {
    expect(judged(testnet, text)).toEqual({ issue: 'unsupported_destination' });
    expect(judged(testnet, text.toUpperCase())).toEqual({ issue: 'unsupported_destination' });
    expect(() => bitcoinScript(text)).toThrow();
  });
});

describe('on an EVM network', () => {
  const addresses = bytes(20).map((each) => getAddress(`0x${Buffer.from(each).toString('hex')}`));
  const cased = fc
    .tuple(addresses, fc.nat(3))
    .map(([text, how]) => [text, text.toLowerCase(), `0x${text.slice(2).toUpperCase()}`, text.slice(2)][how]!);

  it('an accepted address is paid as ethers reads it', () => {
    let paid = 0;
    fc.assert(
      fc.property(nearly(cased), (text) => {
        const said = judged(sepolia, text);
        if ('issue' in said && said.issue === 'unsupported_destination') {
          expect(text).toMatch(/^0x0{40}$/);
          return;
        }
        let reference: string | undefined;
        try {
          reference = getAddress(text);
        } catch {}
        // ethers also takes addresses without 0x, and ICAP.
        if (!('pays' in said)) {
          expect([text, text.startsWith('0x') && reference !== undefined]).toEqual([text, false]);
          return;
        }
        const unsigned = unsignedEvm({
          action: { kind: 'coin', units: 5n, to: said.pays },
          nonce: 0n,
          network: sepolia,
          fees: evmLevel('medium', evmLimits.initial),
        });
        const recovered = secp256k1.sign(unsigned.digest, secret, { prehash: false, format: 'recovered' });
        const raw = signedEvm(unsigned, recovered.slice(1), recovered[0]!);
        expect(EvmTransaction.from(`0x${Buffer.from(raw).toString('hex')}`).to).toBe(reference);
        paid += 1;
      }),
      { numRuns: runs(300, 3_000) },
    );
    expect(paid).toBeGreaterThan(0);
  });

  it.each([
    ['0x0000000000000000000000000000000000000000', { issue: 'unsupported_destination' }],
    ['0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', { issue: 'unsupported_destination' }],
    ['0x1c7d4b196cb0c7b01d743fbc6116a902379c7238', { issue: 'unsupported_destination' }],
    // A precompiled contract is an account like any other.
    ['0x0000000000000000000000000000000000000001', { pays: '0x0000000000000000000000000000000000000001' }],
  ])('%s is judged %j', (text, said) => {
    expect(judged(sepolia, text)).toEqual(said);
  });
});

describe('on Solana', () => {
  const from = addressOfKey(devnet, ed25519.getPublicKey(secret));
  const paidTo = (to: string): string => {
    const message = solanaMessage({ from, to, lamports: 5n, purpose: 'txi_1' });
    return decodeSolana(signedSolana(message, ed25519.sign(message, secret))).to;
  };

  it('an accepted address is what @solana/kit takes, on the curve or not, and is paid', () => {
    let paid = 0;
    fc.assert(
      fc.property(nearly(bytes(31, 33).map((each) => base58.encode(each))), (text) => {
        const said = judged(devnet, text);
        if ('issue' in said && said.issue === 'unsupported_destination') {
          expect(text).toBe('1'.repeat(32));
          return;
        }
        expect('pays' in said).toBe(isSolanaAddress(text));
        if (!('pays' in said)) return;
        expect(paidTo(said.pays)).toBe(getAddressDecoder().decode(base58.decode(text)));
        paid += 1;
      }),
      { numRuns: runs(300, 3_000) },
    );
    expect(paid).toBeGreaterThan(0);
  });

  it('an address derived by a program, which no key has, is paid', async () => {
    const programAddress = getAddressDecoder().decode(new Uint8Array(32).fill(9));
    const [derived] = await getProgramDerivedAddress({ programAddress, seeds: ['vault'] });
    expect(judged(devnet, derived)).toEqual({ pays: derived });
    expect(paidTo(derived)).toBe(derived);
    expect(judged(devnet, '1'.repeat(32))).toEqual({ issue: 'unsupported_destination' });
  });
});

it('an address of one network is refused on each other one', () => {
  const own = networkIds.map((id) => addressOfKey(id, id === devnet ? ed25519.getPublicKey(secret) : publicKey));
  for (const [at, text] of own.entries()) {
    for (const [other, id] of networkIds.entries()) {
      const said = judged(id, text);
      expect(said).toEqual(other === at ? { pays: canonicalAddress(id, text) } : { issue: 'wrong_network' });
    }
  }
});
