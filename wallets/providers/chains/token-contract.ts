/**
 * The one contract of the simulated EVM chain: an ERC-20 token with `mint` for its deployer and `burn` for holders, as
 * other libraries encode and decode it. Pure.
 *
 * The chain runs no bytecode. It knows the contract by its creation code, which on any other chain deploys a contract
 * that refuses every call; the constructor's arguments follow it (string name, string symbol, uint8 decimals,
 * uint256 cap), ABI-encoded: https://docs.soliditylang.org/en/latest/abi-spec.html. Its functions (token-calls.ts) do what their names
 * say; each success logs Transfer(address indexed,address indexed,uint256), from or to the zero address for mint and burn, or
 * Approval(address indexed,address indexed,uint256) (ERC-20).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { RLP } from 'micro-eth-signer/core/rlp.js';
import { concatBytes, fromHex, toHex, utf8 } from '../../../core/crypto/bytes.ts';

export interface TokenConstructor {
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Smallest units. */
  readonly cap: bigint;
}

/**
 * The effect of a transaction of the EVM chain, besides paying its fee; `asset` is the coin or a contract in lower case:
 *
 *   move     `units` of the asset go from `from` to `to`; reverts when `from` holds less
 *   deploy   the contract is created at `asset`, and `from` owns it
 *   mint     the contract makes `units` for `to`; reverts when `from` is not its owner, or above its cap
 *   burn     the contract destroys `units` of `from`; reverts when `from` holds less
 *   approve  `to` may move `allowance` units of `from` from now on, instead of what it might before; it moves none
 *   transferFrom
 *            `units` go from `owner` to `to`; reverts when `owner` holds less or allows `from` less. What `from` may still move gets
 *            less by it, except for an allowance that no account could use up
 */
export type EvmEffect = 'move' | 'deploy' | 'mint' | 'burn' | 'approve' | 'transferFrom';

export interface TokenLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

export const zeroAddress = `0x${'0'.repeat(40)}`;

const topicOf = (event: 'Transfer' | 'Approval') => `0x${toHex(keccak_256(utf8(`${event}(address,address,uint256)`)))}`;

/** INVALID, then the contract's name. */
const runtimeCode = concatBytes(Uint8Array.of(0xfe), utf8('signmesh token v1'));
/** PUSH1 length, DUP1, PUSH1 11, PUSH1 0, CODECOPY, PUSH1 0, RETURN: answers with the runtime code behind it. */
const creationCode = concatBytes(fromHex(`60${byteHex(runtimeCode.length)}80600b6000396000f3`), runtimeCode);
const wordBytes = 32;
const headWords = 4;

/** The data of the transaction that deploys the contract. */
export function creationData({ name, symbol, decimals, cap }: TokenConstructor): Uint8Array {
  const texts = [textTail(name), textTail(symbol)] as const;
  const nameAt = headWords * wordBytes;
  const head = [nameAt, nameAt + texts[0].length, decimals, cap].map((value) => word(BigInt(value)));
  return concatBytes(creationCode, ...head, ...texts);
}

/** undefined: the data deploys another contract, or its arguments are not valid ABI. */
export function parseCreation(data: Uint8Array): TokenConstructor | undefined {
  if (toHex(data.subarray(0, creationCode.length)) !== toHex(creationCode)) return undefined;
  const args = data.subarray(creationCode.length);
  if (args.length < headWords * wordBytes) return undefined;
  const [nameAt, symbolAt, decimals, cap] = [0, 1, 2, 3].map((index) => wordAt(args, index * wordBytes)!);
  const name = textAt(args, nameAt!);
  const symbol = textAt(args, symbolAt!);
  if (name === undefined || symbol === undefined || decimals! > 255n) return undefined;
  const read = { name, symbol, decimals: Number(decimals), cap: cap! };
  return toHex(creationData(read)) === toHex(data) ? read : undefined;
}

/** The address of a new contract: Keccak-256 of rlp([sender, nonce]), the last 20 bytes. Lower case. */
export function contractAddress(sender: string, nonce: bigint): string {
  const encoded = RLP.encode([fromHex(sender.slice(2)), nonce]);
  return `0x${toHex(keccak_256(encoded).subarray(12))}`;
}

/** The contract's log of a movement, or of an allowance. Accounts in lower case. */
export function tokenLog(
  event: 'Transfer' | 'Approval',
  contract: string,
  from: string,
  to: string,
  units: bigint,
): TokenLog {
  const topic = (account: string) => `0x${account.slice(2).padStart(64, '0')}`;
  return { address: contract, topics: [topicOf(event), topic(from), topic(to)], data: `0x${toHex(word(units))}` };
}

function textTail(text: string): Uint8Array {
  const bytes = utf8(text);
  const padded = new Uint8Array(Math.ceil(bytes.length / wordBytes) * wordBytes);
  padded.set(bytes);
  return concatBytes(word(BigInt(bytes.length)), padded);
}

function textAt(args: Uint8Array, at: bigint): string | undefined {
  if (at > BigInt(args.length)) return undefined;
  const start = Number(at) + wordBytes;
  const length = wordAt(args, Number(at));
  if (length === undefined || BigInt(start) + length > BigInt(args.length)) return undefined;
  return new TextDecoder().decode(args.subarray(start, start + Number(length)));
}

function wordAt(bytes: Uint8Array, at: number): bigint | undefined {
  const found = bytes.subarray(at, at + wordBytes);
  return found.length === wordBytes ? BigInt(`0x${toHex(found)}`) : undefined;
}

/** A uint256, big-endian. */
function word(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(2 * wordBytes, '0'));
}

function byteHex(value: number): string {
  return value.toString(16).padStart(2, '0');
}
