import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, test } from 'vitest';
import { bitcoinTestnetAddress, evmAddress, p2wpkh, solanaAddress } from '../../../gateway/registry/addresses.ts';

const publicKeyOf = (secretKey: string) => secp256k1.getPublicKey(Buffer.from(secretKey, 'hex'), true);

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
