/**
 * Signatures of MULTISIG_EVM_WALLET keys before the contract that they are for: Safe's own published bytecode (1.4.1) in an
 * EVM. The hash is the contract's own, `checkSignatures` and `execTransaction` are the contract's own judgement.
 */
import { createRequire } from 'node:module';
import { Common, Hardfork, Mainnet } from '@ethereumjs/common';
import { createEVM, type EVM } from '@ethereumjs/evm';
import { createAddressFromString } from '@ethereumjs/util';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { AbiCoder, Interface, type InterfaceAbi } from 'ethers';
import { beforeAll, describe, expect, test } from 'vitest';
import { evmAddressOf } from '../../core/crypto/evm-address.ts';
import { wireScheme } from '../../proto/key-schemes.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, codeOf, tenant } from './support/world.ts';

interface Artifact {
  readonly abi: InterfaceAbi;
  readonly bytecode: string;
}

const load = createRequire(import.meta.url);
const artifact = (path: string): Artifact =>
  load(`@safe-global/safe-contracts/build/artifacts/contracts/${path}.json`) as Artifact;
const safeArtifact = artifact('Safe.sol/Safe');
const proxyArtifact = artifact('proxies/SafeProxy.sol/SafeProxy');
const safeAbi = new Interface(safeArtifact.abi);

const zero = `0x${'00'.repeat(20)}`;
const sender = createAddressFromString(`0x${'5e'.repeat(20)}`);
const keyId = 'wal_safe';
const threshold = 3;
const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`;
const bytes = (text: string) => Buffer.from(text.slice(2), 'hex');

let evm: EVM;
let cluster: SimCluster;
/** The proxy: what a user calls their Safe. */
let safe: string;

async function deploy(code: string): Promise<string> {
  const { createdAddress, execResult } = await evm.runCall({
    caller: sender,
    data: bytes(code),
    gasLimit: 30_000_000n,
  });
  if (execResult.exceptionError || !createdAddress)
    throw new Error(`deployment failed: ${execResult.exceptionError?.error}`);
  return createdAddress.toString();
}

/** The answer ('done' where there is none), or the text of the contract's `require`. Throws for any other failure. */
async function call(to: string, method: string, values: readonly unknown[]): Promise<unknown> {
  const { execResult } = await evm.runCall({
    caller: sender,
    to: createAddressFromString(to),
    data: bytes(safeAbi.encodeFunctionData(method, values)),
    gasLimit: 30_000_000n,
  });
  const returned = hex(execResult.returnValue);
  if (execResult.exceptionError) return safeAbi.parseError(returned)!.args[0];
  return returned === '0x' ? 'done' : safeAbi.decodeFunctionResult(method, returned)[0];
}

const transfer = (nonce: number) => [`0x${'77'.repeat(20)}`, 0n, '0x', 0, 0n, 0n, 0n, zero, zero, nonce] as const;
const hashOf = async (nonce: number) => bytes((await call(safe, 'getTransactionHash', transfer(nonce))) as string);
const check = (hash: Uint8Array, signature: Uint8Array) =>
  call(safe, 'checkSignatures', [hash, new Uint8Array(), signature]);

function signed(intent: string, messageHash: Uint8Array): Uint8Array {
  const { signingSessionId } = begin(cluster, intent, { walletId: keyId, messageHash });
  const done = cluster.submitSignatureShare({ signingSessionId }).result();
  expect(codeOf(done)).toBe('SIGNATURE_COMPLETED');
  return done.fullSignature;
}

/** The signatures of single owners, in the order in which they stand. */
const parts = (signature: Uint8Array) =>
  Array.from({ length: signature.length / 65 }, (_, index) => signature.subarray(index * 65, index * 65 + 65));

beforeAll(async () => {
  cluster = new SimCluster({ seed: 'safe' });
  const request = { sessionId: keyId, threshold, totalNodes: 5 };
  const caller = { walletService: true, keyScheme: wireScheme('owner_ecdsa') };
  const made = cluster.makeKey(request, tenant, caller).result();
  expect(codeOf(made)).toBe('DKG_COMPLETED');
  const owners = made.ownerKeys.map((key) => hex(evmAddressOf(key)));
  for (const owner of owners) expect(made.receipt!.message).toContain(owner);

  evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork: Hardfork.Cancun }) });
  const singleton = await deploy(safeArtifact.bytecode);
  safe = await deploy(proxyArtifact.bytecode + AbiCoder.defaultAbiCoder().encode(['address'], [singleton]).slice(2));
  expect(await call(safe, 'setup', [owners, threshold, zero, '0x', zero, zero, 0n, zero])).toBe('done');
  expect(await call(safe, 'getThreshold', [])).toBe(BigInt(threshold));
  expect([...((await call(safe, 'getOwners', [])) as string[])].map((one) => one.toLowerCase())).toEqual(owners);
});

describe('Safe’s own contract', () => {
  test('takes the signature as it is, and executes the transaction', async () => {
    const signature = signed('t', await hashOf(0));
    expect(signature).toHaveLength(threshold * 65);
    expect(await check(await hashOf(0), signature)).toBe('done');
    expect(await call(safe, 'execTransaction', [...transfer(0).slice(0, 9), signature])).toBe(true);
    expect(await call(safe, 'nonce', [])).toBe(1n);
    // The same signature again: the nonce is in the hash.
    expect(await call(safe, 'execTransaction', [...transfer(0).slice(0, 9), signature])).toBe('GS026');
  });

  test.each([1, 2, 3, 4])('takes the owners in any choice of nodes (without node %s)', async (absent) => {
    cluster.crash(`node/${absent}`);
    const hash = await hashOf(10 + absent);
    const signature = signed(`without ${absent}`, hash);
    cluster.start(`node/${absent}`);
    expect(await check(hash, signature)).toBe('done');
  });

  test('refuses a wrong order, an owner twice, a foreign owner and a missing one with its own codes', async () => {
    const hash = await hashOf(20);
    const [first, second, third] = parts(signed('order', hash));
    const foreign = secp256k1.sign(hash, new Uint8Array(32).fill(9), { prehash: false, format: 'recovered' });
    const stranger = Buffer.concat([foreign.subarray(1), Uint8Array.of(27 + foreign[0]!)]);
    expect(await check(hash, Buffer.concat([first!, second!, third!]))).toBe('done');
    expect(await check(hash, Buffer.concat([second!, first!, third!]))).toBe('GS026');
    expect(await check(hash, Buffer.concat([first!, first!, third!]))).toBe('GS026');
    for (const at of [0, 1, 2]) {
      const own = [first!, second!, third!];
      own[at] = stranger;
      expect(await check(hash, Buffer.concat(own))).toBe('GS026');
    }
    expect(await check(hash, Buffer.concat([first!, second!]))).toBe('GS020');
    expect(await check(await hashOf(21), Buffer.concat([first!, second!, third!]))).toBe('GS026');
  });
});
