import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bech32, bech32m } from '@scure/base';
import { getAddressDecoder } from '@solana/kit';
import { networks as bitcoinNetworks, payments } from 'bitcoinjs-lib';
import { computeAddress, getAddress } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import {
  addressOfKey,
  addressProblem,
  bitcoinTestnetAddress,
  canonicalAddress,
  evmAddress,
  p2wpkh,
  solanaAddress,
} from '../../../wallets/networks/addresses.ts';
import { type NetworkId, networkIds } from '../../../wallets/networks/networks.ts';

const publicKeyOf = (secretKey: string) => secp256k1.getPublicKey(Buffer.from(secretKey, 'hex'), true);
const sepolia: NetworkId = 'eip155:11155111';
const testnet: NetworkId = 'bip122:000000000933ea01ad0ee984209779ba';
const devnet: NetworkId = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

/** The first accounts of "test test … junk", as Hardhat and Anvil print them. */
test.each([
  ['ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
  ['59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
])('the EVM address of a well-known key, checksum included', (secretKey, address) => {
  expect(evmAddress(publicKeyOf(secretKey))).toBe(address);
});

/** BIP-173, "Examples": the public key is the generator, 0279be…1798. */
test('the P2WPKH addresses of BIP-173', () => {
  const generator = publicKeyOf('1'.padStart(64, '0'));
  expect(p2wpkh('bc', generator)).toBe('bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4');
  expect(bitcoinTestnetAddress(generator)).toBe('tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx');
});

/** The system program (32 zero bytes) and the SPL token program, as every Solana explorer shows them. */
test.each([
  ['00'.repeat(32), '11111111111111111111111111111111'],
  ['06ddf6e1d765a193d9cbe146ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'],
])('the Solana address of a well-known key', (publicKey, address) => {
  expect(solanaAddress(Buffer.from(publicKey, 'hex'))).toBe(address);
});

/** Examples of the Bitcoin wiki, and mainnet's of BIP-16. Model cryptography hashes differently; addresses come from other software. */
test.each(['real', 'model'] as const)('Base58Check addresses of other software, with %s cryptography', (which) => {
  const problem = (address: string) => withCryptography(which, () => addressProblem(testnet, address));
  expect(problem('mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn')).toBeUndefined();
  expect(problem('2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc')).toBeUndefined();
  expect(problem('mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfm')).toBe('invalid_checksum');
  expect(problem('3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy')).toBe('wrong_network');
});

const secrets = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .filter((bytes) => secp256k1.utils.isValidSecretKey(bytes));
const network = bitcoinNetworks.testnet;

describe('an address of a key', () => {
  it('is what the networks’ own libraries derive, and is accepted as it stands', () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const publicKey = secp256k1.getPublicKey(secret, true);
        const solanaKey = ed25519.getPublicKey(secret);
        expect(addressOfKey(sepolia, publicKey)).toBe(computeAddress(`0x${Buffer.from(publicKey).toString('hex')}`));
        expect(addressOfKey(testnet, publicKey)).toBe(payments.p2wpkh({ pubkey: publicKey, network }).address);
        expect(addressOfKey(devnet, solanaKey)).toBe(getAddressDecoder().decode(solanaKey));
        for (const id of networkIds) {
          const address = addressOfKey(id, id === devnet ? solanaKey : publicKey);
          expect(addressProblem(id, address)).toBeUndefined();
          expect(canonicalAddress(id, address)).toBe(address);
          for (const other of networkIds) {
            if (other !== id) expect(addressProblem(other, address)).toBe('wrong_network');
          }
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe('EVM addresses', () => {
  const checksummed = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
  const lower = checksummed.toLowerCase();
  const upper = `0x${checksummed.slice(2).toUpperCase()}`;

  it.each([checksummed, lower, upper, `0x${'0'.repeat(40)}`])('takes %s', (text) => {
    expect(addressProblem(sepolia, text)).toBeUndefined();
    expect(canonicalAddress(sepolia, text)).toBe(getAddress(text));
  });

  it.each([
    ['0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'invalid_checksum'],
    ['0xf39fd6e51aad88F6F4ce6aB8827279cffFb92266', 'invalid_checksum'],
    ['0Xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'invalid_format'],
    ['f39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'invalid_format'],
    ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb9226', 'invalid_format'],
    ['0xg39fd6e51aad88f6f4ce6ab8827279cfffb92266', 'invalid_format'],
    ['', 'invalid_format'],
    ['vitalik.eth', 'invalid_format'],
  ])('refuses %j as %s', (text, problem) => {
    expect(addressProblem(sepolia, text)).toBe(problem);
  });
});

describe('Bitcoin addresses', () => {
  const key = publicKeyOf('1'.padStart(64, '0'));
  const hash = new Uint8Array(32).fill(7);
  const mainnet = bitcoinNetworks.bitcoin;
  const segwit = bitcoinTestnetAddress(key);
  const p2pkh = payments.p2pkh({ pubkey: key, network }).address!;
  const p2wsh = payments.p2wsh({ hash, network }).address!;
  const p2sh = payments.p2sh({ hash: hash.subarray(0, 20), network }).address!;
  const taproot = bech32m.encode('tb', [1, ...bech32m.toWords(key.subarray(1))]);

  it.each([segwit, p2wsh, p2pkh, p2sh, taproot])('takes %s', (text) => {
    expect(addressProblem(testnet, text)).toBeUndefined();
    expect(canonicalAddress(testnet, text)).toBe(text);
  });

  it('takes bech32 in upper case and stores it in lower case', () => {
    expect(addressProblem(testnet, segwit.toUpperCase())).toBeUndefined();
    expect(canonicalAddress(testnet, segwit.toUpperCase())).toBe(segwit);
  });

  it.each([
    payments.p2wpkh({ pubkey: key, network: mainnet }).address!,
    payments.p2pkh({ pubkey: key, network: mainnet }).address!,
    payments.p2sh({ hash: hash.subarray(0, 20), network: mainnet }).address!,
    payments.p2wsh({ hash, network: bitcoinNetworks.regtest }).address!,
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
  ])('refuses %s, which is of another network', (text) => {
    for (const id of networkIds) expect(addressProblem(id, text)).toBe('wrong_network');
  });

  it.each([
    [`${segwit.slice(0, -1)}q`, 'invalid_checksum'],
    [`${p2pkh.slice(0, -1)}1`, 'invalid_checksum'],
    // BIP-350: version 1 asks for bech32m, version 0 for bech32.
    [bech32.encode('tb', [1, ...bech32.toWords(hash)]), 'invalid_checksum'],
    [bech32m.encode('tb', [0, ...bech32m.toWords(hash)]), 'invalid_checksum'],
    [bech32m.encode('tb', [2, ...bech32m.toWords(hash)]), 'invalid_format'],
    [bech32m.encode('tb', [1, ...bech32m.toWords(hash.subarray(0, 20))]), 'invalid_format'],
    [bech32.encode('tb', [0, ...bech32.toWords(hash.subarray(0, 21))]), 'invalid_format'],
    [`TB1${segwit.slice(3)}`, 'invalid_format'],
    ['tb1', 'invalid_format'],
    ['tb1!', 'invalid_format'],
    ['0OIl', 'invalid_format'],
    ['1'.repeat(25), 'invalid_checksum'],
    [`tb1${'q'.repeat(5_000)}`, 'invalid_format'],
  ])('refuses %s as %s', (text, problem) => {
    expect(addressProblem(testnet, text)).toBe(problem);
  });
});

describe('Solana addresses', () => {
  it.each([
    ['1'.repeat(32), undefined],
    ['1'.repeat(31), 'invalid_format'],
    ['1'.repeat(33), 'invalid_format'],
    ['0OIl', 'invalid_format'],
    ['', 'invalid_format'],
    ['1'.repeat(100_000), 'invalid_format'],
  ])('judges %.40s as %s', (text, problem) => {
    expect(addressProblem(devnet, text)).toBe(problem);
  });
});

it('judges any text without throwing, and makes canonical only what is an address', () => {
  fc.assert(
    fc.property(fc.constantFrom(...networkIds), fc.string({ maxLength: 120 }), (id, text) => {
      if (addressProblem(id, text) === undefined)
        expect(addressProblem(id, canonicalAddress(id, text))).toBeUndefined();
      else expect(() => canonicalAddress(id, text)).toThrow(/not an address/);
    }),
  );
});
