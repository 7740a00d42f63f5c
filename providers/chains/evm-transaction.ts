/**
 * EIP-1559 transactions that move a coin or an ERC-20 token: builds and parses them; the caller signs. Pure.
 *
 * The envelope is 0x02 ‖ rlp([chain_id, nonce, max_priority_fee_per_gas, max_fee_per_gas, gas_limit, destination, amount,
 * data, access_list, signature_y_parity, signature_r, signature_s]); what is signed is the Keccak-256 of the same without
 * the signature (EIP-2718, EIP-1559). High s is refused (EIP-2).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { RLP } from 'micro-eth-signer/core/rlp.js';
import { fromHex, toHex } from '../../crypto/bytes.ts';
import { recoverEcdsa } from '../../crypto/mock-ecdsa.ts';
import { evmAccount } from '../../networks/addresses.ts';
import { assetsOn } from '../../networks/assets.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { ChainRejected } from './chain.ts';

/** Wei a unit of gas, the same for ever: 1 gwei is burned, 1 gwei is the tip. */
export const baseFeePerGas = 1_000_000_000n;
export const priorityFeePerGas = 1_000_000_000n;
/** Twice the base fee and the tip, as wallets commonly set it. */
export const maxFeePerGas = 2n * baseFeePerGas + priorityFeePerGas;
/** What a transfer uses, and its limit. */
export const coinGas = 21_000n;
export const tokenGas = 65_000n;

/** transfer(address,uint256) */
const transferSelector = 'a9059cbb';
const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

export interface EvmTransfer {
  readonly network: NetworkId;
  readonly nonce: bigint;
  /** Symbol of the network's coin or of one of its tokens. */
  readonly asset: string;
  readonly units: bigint;
  /** 0x and 40 hex digits of any case. */
  readonly to: string;
}

export interface UnsignedEvm {
  /** The first nine fields. */
  readonly fields: readonly Field[];
  /** What is to be signed: 32 bytes. */
  readonly digest: Uint8Array;
}

type Field = Uint8Array | bigint | Field[];

/** The same transfer is always the same transaction: fees and gas are fixed. */
export function unsignedEvm({ network, nonce, asset, units, to }: EvmTransfer): UnsignedEvm {
  const known = assetsOn(network).find(({ symbol }) => symbol === asset);
  if (known === undefined) throw new Error(`${asset} is no asset of ${network}`);
  const { contract } = known;
  const target = fromHex(to.slice(2));
  const fields: readonly Field[] = [
    chainIdOf(network),
    nonce,
    priorityFeePerGas,
    maxFeePerGas,
    contract === null ? coinGas : tokenGas,
    contract === null ? target : fromHex(contract.slice(2)),
    contract === null ? units : 0n,
    contract === null ? new Uint8Array(0) : transferCall(target, units),
    [],
  ];
  return { fields, digest: keccak_256(envelope(fields)) };
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
  /** Lower-case accounts. */
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
  readonly nonce: number;
  /** What the sender must hold of the coin: value and the largest possible fee. */
  readonly coinNeeded: bigint;
  /** What the gas costs in the end. */
  readonly fee: bigint;
}

/** Reads a raw transaction and recovers its sender. Throws ChainRejected. */
export function decodeEvm(network: NetworkId, raw: Uint8Array): DecodedEvm {
  const fields = parse(raw);
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
  if (target.length !== 20) throw new ChainRejected('unsupported_transaction', 'only transfers, no contract creation');
  if (!Array.isArray(fields[8]) || fields[8].length !== 0) {
    throw new ChainRejected('unsupported_transaction', 'only an empty access list');
  }
  const account = `0x${toHex(target)}`;
  const moved = movement(network, account, value, data);
  if (gasLimit < moved.gas)
    throw new ChainRejected('gas_too_low', `a transfer of ${moved.asset} needs ${moved.gas} gas`);
  if (maxFee < baseFeePerGas) throw new ChainRejected('fee_too_low', `the base fee is ${baseFeePerGas} wei`);
  if (tip > maxFee) throw new ChainRejected('invalid_transaction', 'the tip is above the largest fee');
  const price = maxFee < baseFeePerGas + tip ? maxFee : baseFeePerGas + tip;
  return {
    hash: evmHash(raw),
    from: senderOf(fields),
    to: moved.to,
    asset: moved.asset,
    units: moved.units,
    nonce: Number(nonce),
    coinNeeded: value + gasLimit * maxFee,
    fee: moved.gas * price,
  };
}

function movement(network: NetworkId, target: string, value: bigint, data: Uint8Array) {
  const token = assetsOn(network).find(({ contract }) => contract?.toLowerCase() === target);
  if (token === undefined) {
    if (data.length !== 0) throw new ChainRejected('unsupported_transaction', 'only transfers: no call data');
    return { asset: networkOf(network).nativeAsset, to: target, units: value, gas: coinGas };
  }
  const call = toHex(data);
  // Selector, 12 zero bytes, the address, and the amount.
  const isTransfer = data.length === 68 && call.startsWith(transferSelector + '0'.repeat(24));
  if (!isTransfer || value !== 0n) {
    throw new ChainRejected('unsupported_transaction', `${token.symbol} takes transfer(address,uint256) alone`);
  }
  return { asset: token.symbol, to: `0x${call.slice(32, 72)}`, units: BigInt(`0x${call.slice(72)}`), gas: tokenGas };
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

function parse(raw: Uint8Array): readonly Field[] {
  let fields: unknown;
  try {
    fields = raw[0] === 2 ? RLP.decode(raw.subarray(1)) : undefined;
  } catch {
    // Falls through: whatever is not RLP is no transaction.
  }
  if (!Array.isArray(fields) || fields.length !== 12) {
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

function transferCall(to: Uint8Array, units: bigint): Uint8Array {
  return fromHex(transferSelector + toHex(to).padStart(64, '0') + units.toString(16).padStart(64, '0'));
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
