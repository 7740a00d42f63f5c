/**
 * EIP-1559 transactions that move a coin, deploy the token contract, or call it (token-contract.ts): builds and parses them; the caller
 * signs. Pure.
 *
 * The envelope is 0x02 ‖ rlp([chain_id, nonce, max_priority_fee_per_gas, max_fee_per_gas, gas_limit, destination, amount,
 * data, access_list, signature_y_parity, signature_r, signature_s]); the signed digest is the Keccak-256 of the same without
 * the signature (EIP-2718, EIP-1559). The chain refuses a high s (EIP-2).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { RLP } from 'micro-eth-signer/core/rlp.js';
import { fromHex, toHex } from '../../../core/crypto/bytes.ts';
import { recoverEcdsa } from '../../../core/crypto/mock-ecdsa.ts';
import { evmAccount } from '../../networks/addresses.ts';
import type { NetworkId } from '../../networks/networks.ts';
import { callableText, callData, parseCall, type TokenCall } from '../../networks/token-calls.ts';
import { ChainRejected } from './chain.ts';
import { type EvmFees, evmLimits } from './fees.ts';
import { contractAddress, creationData, parseCreation, type TokenConstructor } from './token-contract.ts';

/** The gas of each action, also its limit unless another one is chosen. */
export const coinGas = 21_000n;
export const tokenGas = 65_000n;
export const deployGas = 1_200_000n;
/** No transaction may have a higher limit (EIP-7825). */
export const gasMax = 2n ** 24n;

const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** The effect of a transaction. Addresses: 0x and 40 hex digits; of any case when it is built, lower case when it is parsed. */
export type EvmAction =
  | { readonly kind: 'coin'; readonly to: string; readonly units: bigint }
  | { readonly kind: 'call'; readonly contract: string; readonly call: TokenCall }
  | { readonly kind: 'deploy'; readonly token: TokenConstructor };

export interface EvmOrder {
  readonly network: NetworkId;
  readonly nonce: bigint;
  readonly action: EvmAction;
  readonly fees: EvmFees;
  /** Default: what the action needs. */
  readonly gasLimit?: bigint | undefined;
}

export interface UnsignedEvm {
  /** The first nine fields. */
  readonly fields: readonly Field[];
  /** They in their envelope. */
  readonly bytes: Uint8Array;
  /** The digest to sign, of `bytes`: 32 bytes. */
  readonly digest: Uint8Array;
}

type Field = Uint8Array | bigint | Field[];

const unsignedFields = 9;

/** The same order always gives the same transaction. */
export function unsignedEvm({ network, nonce, action, fees, gasLimit = gasOf(action) }: EvmOrder): UnsignedEvm {
  const { target, value, data } = partsOf(action);
  const parts: readonly Field[] = [
    chainIdOf(network),
    nonce,
    fees.maxPriorityFeePerGas,
    fees.maxFeePerGas,
    gasLimit,
    target,
    value,
    data,
    [],
  ];
  const bytes = envelope(parts);
  return { fields: parts, bytes, digest: keccak_256(bytes) };
}

export function gasOf({ kind }: Pick<EvmAction, 'kind'>): bigint {
  return { coin: coinGas, call: tokenGas, deploy: deployGas }[kind];
}

/** Below it nodes refuse the transaction: what it costs before anything runs (yellow paper, EIP-2028, EIP-3860). */
export function intrinsicGas(action: EvmAction): bigint {
  const { data, target } = partsOf(action);
  const bytes = data.reduce((gas, byte) => gas + (byte === 0 ? 4 : 16), 0);
  const creation = target.length > 0 ? 0 : 32_000 + 2 * Math.ceil(data.length / 32);
  return coinGas + BigInt(bytes + creation);
}

function partsOf(action: EvmAction): {
  readonly target: Uint8Array;
  readonly value: bigint;
  readonly data: Uint8Array;
} {
  const nothing = new Uint8Array(0);
  switch (action.kind) {
    case 'coin':
      return { target: fromHex(action.to.slice(2)), value: action.units, data: nothing };
    case 'call':
      return { target: fromHex(action.contract.slice(2)), value: 0n, data: callData(action.call) };
    case 'deploy':
      return { target: nothing, value: 0n, data: creationData(action.token) };
  }
}

/** `signature`: r ‖ s, 64 bytes, of the digest; `recoveryId` 0 or 1. */
export function signedEvm(unsigned: UnsignedEvm, signature: Uint8Array, recoveryId: number): Uint8Array {
  const r = BigInt(`0x${toHex(signature.subarray(0, 32))}`);
  const s = BigInt(`0x${toHex(signature.subarray(32))}`);
  return envelope([...unsigned.fields, BigInt(recoveryId), r, s]);
}

/** The transaction's hash, 0x…: Keccak-256 over the signed envelope. */
export function evmHash(raw: Uint8Array): string {
  return `0x${toHex(keccak_256(raw))}`;
}

export interface DecodedEvm {
  readonly hash: string;
  /** Lower case. */
  readonly from: string;
  readonly action: EvmAction;
  /** The contract that it deploys or calls, lower case. */
  readonly contract: string | undefined;
  readonly nonce: number;
  /** The amount of the coin that the sender must have: value and the largest possible fee. */
  readonly coinNeeded: bigint;
  /** What it uses of its limit. */
  readonly gas: bigint;
  /** The limit is too low: it uses all of it, and has no effect. */
  readonly outOfGas: boolean;
  readonly fees: EvmFees;
}

/** What a transaction does, and the most that it costs. `bytes`: of `unsignedEvm`. Throws ChainRejected. */
export function readUnsignedEvm(
  network: NetworkId,
  bytes: Uint8Array,
): { readonly action: EvmAction; readonly feeMax: bigint } {
  const { action, feeMax } = termsOf(network, parse(bytes, unsignedFields));
  return { action, feeMax };
}

/** Reads a raw transaction and recovers its sender. Throws ChainRejected. */
export function decodeEvm(network: NetworkId, raw: Uint8Array): DecodedEvm {
  const parts = parse(raw, unsignedFields + 3);
  const { action, nonce, value, feeMax, fees, gasLimit } = termsOf(network, parts);
  const needed = gasOf(action);
  const outOfGas = gasLimit < needed;
  const from = senderOf(parts);
  return {
    hash: evmHash(raw),
    from,
    action,
    contract:
      action.kind === 'deploy' ? contractAddress(from, nonce) : action.kind === 'call' ? action.contract : undefined,
    nonce: Number(nonce),
    coinNeeded: value + feeMax,
    gas: outOfGas ? gasLimit : needed,
    outOfGas,
    fees,
  };
}

function termsOf(network: NetworkId, fields: readonly Field[]) {
  const [chainId, nonce, tip, maxFee, gasLimit] = fields.slice(0, 5).map(integer) as [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  const target = bytes(fields[5]!);
  const value = integer(fields[6]!);
  const data = bytes(fields[7]!);
  if (chainId !== chainIdOf(network)) throw new ChainRejected('wrong_chain', `this is chain ${chainIdOf(network)}`);
  if (nonce > 0xffffffffn) throw new ChainRejected('nonce_too_high', 'the nonce is out of range');
  if (!Array.isArray(fields[8]) || fields[8].length !== 0) {
    throw new ChainRejected('unsupported_transaction', 'only an empty access list');
  }
  const action = actionOf(target, value, data);
  const least = intrinsicGas(action);
  if (gasLimit < least) throw new ChainRejected('gas_too_low', `this transaction costs ${least} gas before it runs`);
  if (gasLimit > gasMax) throw new ChainRejected('gas_too_high', `above ${gasMax} gas`);
  if (maxFee < evmLimits.min) throw new ChainRejected('fee_too_low', `below ${evmLimits.min} wei a unit of gas`);
  if (maxFee > evmLimits.max) throw new ChainRejected('fee_too_high', `above ${evmLimits.max} wei a unit of gas`);
  if (tip > maxFee) throw new ChainRejected('invalid_transaction', 'the tip is above the largest fee');
  const fees: EvmFees = { maxFeePerGas: maxFee, maxPriorityFeePerGas: tip };
  return { action, nonce, value, fees, gasLimit, feeMax: gasLimit * maxFee };
}

/** Only the chain knows whether such a contract exists. */
function actionOf(target: Uint8Array, value: bigint, data: Uint8Array): EvmAction {
  const unsupported = (message: string) => new ChainRejected('unsupported_transaction', message);
  if (target.length === 0) {
    const token = value === 0n ? parseCreation(data) : undefined;
    if (token === undefined) throw unsupported('the only contract here is the token contract');
    return { kind: 'deploy', token };
  }
  if (target.length !== 20) throw new ChainRejected('invalid_transaction', 'a destination has 20 bytes');
  const account = `0x${toHex(target)}`;
  if (data.length === 0) return { kind: 'coin', to: account, units: value };
  const call = value === 0n ? parseCall(data) : undefined;
  if (call === undefined) {
    throw unsupported(`tokens take ${callableText}, mint(address,uint256) and burn(uint256) alone`);
  }
  return { kind: 'call', contract: account, call };
}

function senderOf(fields: readonly Field[]): string {
  const parity = integer(fields[9]!);
  const r = bytes(fields[10]!);
  const s = bytes(fields[11]!);
  const invalid = () => new ChainRejected('invalid_signature', 'the signature gives no sender');
  if (parity > 1n || r.length > 32 || s.length > 32 || integer(s) > halfOrder) throw invalid();
  const signature = new Uint8Array(64);
  signature.set(r, 32 - r.length);
  signature.set(s, 64 - s.length);
  const publicKey = recoverEcdsa({
    signature,
    recoveryId: Number(parity),
    digest: keccak_256(envelope(fields.slice(0, 9))),
  });
  if (publicKey === undefined) throw invalid();
  return evmAccount(publicKey);
}

function parse(raw: Uint8Array, count: number): readonly Field[] {
  let fields: unknown;
  try {
    fields = raw[0] === 2 ? RLP.decode(raw.subarray(1)) : undefined;
  } catch {
    // Falls through: bytes that are not RLP are no transaction.
  }
  if (!Array.isArray(fields) || fields.length !== count) {
    throw new ChainRejected('invalid_transaction', 'not a signed EIP-1559 transaction');
  }
  return fields as Field[];
}

function bytes(field: Field): Uint8Array {
  if (!(field instanceof Uint8Array)) throw new ChainRejected('invalid_transaction', 'a list where bytes belong');
  return field;
}

function integer(field: Field): bigint {
  const digits = bytes(field);
  if (digits.length > 32 || digits[0] === 0) throw new ChainRejected('invalid_transaction', 'not a canonical integer');
  return digits.length === 0 ? 0n : BigInt(`0x${toHex(digits)}`);
}

function envelope(fields: readonly Field[]): Uint8Array {
  const encoded = RLP.encode(fields as Field[]);
  const raw = new Uint8Array(1 + encoded.length);
  raw[0] = 2;
  raw.set(encoded, 1);
  return raw;
}

/** CAIP-2: eip155:<chain id>. */
function chainIdOf(network: NetworkId): bigint {
  return BigInt(network.slice('eip155:'.length));
}
