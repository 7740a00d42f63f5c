/**
 * Each transaction that a wallet of the cluster has broadcast, as the API shows it (`raw_transaction`): the wallet's key signed
 * it, the key belongs to the wallet's address, and the signed content matches the intent. This file parses encodings again, from
 * their specifications (EIP-1559, BIP-144, Solana's legacy message), and the runner's verifier, @noble/curves by default, checks
 * signatures: it shares no code with the maker of the transaction.
 *
 * On Bitcoin the amounts of spent outputs are not in the transaction, so this does not compute its signature hash: it checks key,
 * recipient and amount, and the simulated chain verifies the signatures.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58, bech32 } from '@scure/base';
import { assetOf } from '../../../wallets/networks/assets.ts';
import type { SignatureVerifier } from '../../cluster/invariants/verifier.ts';

export interface BroadcastIntent {
  readonly id: string;
  readonly kind?: string;
  readonly asset: string;
  readonly amount: string;
  readonly destination?: { readonly address?: string | null } | null;
  readonly provider_tx_id: string | null;
  readonly provider_details?: { readonly raw_transaction: string } | null;
  readonly message?: { readonly text: string | null; readonly hash: string; readonly signature: string | null } | null;
  readonly gap_transaction?: { readonly raw_transaction: string } | null;
}

export interface SigningWallet {
  readonly network?: string;
  readonly public_key?: string | null;
  readonly addresses?: readonly { readonly address: string }[];
}

/** The signed content, and its payment. */
interface Broadcast {
  readonly id: string;
  readonly message: Uint8Array;
  /** 64 bytes; undefined: not checked here. */
  readonly signature: Uint8Array | undefined;
  /** Compressed, as in the transaction itself; undefined: it has none. */
  readonly publicKey: Uint8Array | undefined;
  /** Whether it pays this many smallest units of an asset to an address. */
  pays(to: string, units: bigint, contract: string | null): boolean;
}

/** Every fault of an intent's transactions; empty if the cluster broadcast none. */
export function checkBroadcast(intent: BroadcastIntent, wallet: SigningWallet, verify: SignatureVerifier): string[] {
  const { provider_details: details, gap_transaction: gap, message } = intent;
  return [
    ...(details ? faultsOf(details.raw_transaction, intent, wallet, verify, true) : []),
    ...(gap ? faultsOf(gap.raw_transaction, intent, wallet, verify, false) : []),
    ...(message?.signature ? messageFaults({ ...message, signature: message.signature }, wallet, verify) : []),
  ].map((fault) => `the transaction of intent ${intent.id} ${fault}`);
}

/** EIP-191: 0x19 ‖ "Ethereum Signed Message:\n" ‖ length ‖ text. The hash of typed data is taken as it is shown. */
function messageFaults(
  {
    text,
    hash,
    signature: signatureHex,
  }: { readonly text: string | null; readonly hash: string; readonly signature: string },
  { public_key: keyHex }: SigningWallet,
  verify: SignatureVerifier,
): string[] {
  const bytes = Buffer.from(text ?? '');
  const hashed = keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes]));
  if (text !== null && `0x${hex(hashed)}` !== hash) return ['is of a message with another hash'];
  const signature = bytesOf(signatureHex, 'hex');
  const [publicKey, message] = [bytesOf(keyHex ?? '', 'hex'), bytesOf(hash, 'hex')];
  const isSigned =
    signature.length === 65 && verify({ scheme: 'ecdsa', publicKey, message, signature: signature.subarray(0, 64) });
  return isSigned ? [] : ['is a message that the key of its wallet has not signed'];
}

function faultsOf(
  rawText: string,
  intent: BroadcastIntent,
  { network = '', public_key: keyHex, addresses = [] }: SigningWallet,
  verify: SignatureVerifier,
  isOwn: boolean,
): string[] {
  const [family = '', chain = ''] = network.split(':');
  const raw = bytesOf(rawText, family === 'solana' ? 'base64' : 'hex');
  const read = { eip155: readEvm, bip122: readBitcoin, solana: readSolana }[family];
  if (read === undefined || !keyHex) return ['is of a wallet without a network or a key'];
  let found: Broadcast;
  try {
    found = read(raw, chain);
  } catch (error) {
    return [`cannot be read: ${error instanceof Error ? error.message : error}`];
  }
  const publicKey = bytesOf(keyHex, 'hex');
  const faults: string[] = [];
  const { signature, message } = found;
  const scheme = family === 'solana' ? 'ed25519' : 'ecdsa';
  if (signature !== undefined && !verify({ scheme, publicKey, message, signature })) {
    faults.push('is not signed by the key of its wallet');
  }
  if (found.publicKey !== undefined && hex(publicKey) !== hex(found.publicKey)) faults.push('names another key');
  if (family === 'solana' && base58.encode(publicKey) !== addresses[0]?.address) {
    faults.push('is of a key that is not the address of its wallet');
  }
  if (!isOwn) return faults;
  if (intent.provider_tx_id !== null && intent.provider_tx_id !== found.id) {
    faults.push(`is ${found.id}, the intent names ${intent.provider_tx_id}`);
  }
  const asset = assetOf(intent.asset);
  const to = intent.destination?.address;
  if (!['transfer', 'speed_up', 'cancel'].includes(intent.kind ?? 'transfer') || asset === undefined || !to)
    return faults;
  // On Bitcoin a cancellation returns what it spends, less the fee.
  if (intent.kind === 'cancel' && family === 'bip122') return faults;
  if (!found.pays(to, unitsOf(intent.amount, asset.decimals), asset.contract)) {
    faults.push(`does not pay ${intent.amount} ${intent.asset} to ${to}`);
  }
  return faults;
}

/** A decimal string as smallest units. Throws for one with more digits. */
function unitsOf(amount: string, decimals: number): bigint {
  const [whole = '', part = ''] = amount.split('.');
  if (part.length > decimals) throw new Error(`${amount} has more than ${decimals} digits`);
  return BigInt(whole + part.padEnd(decimals, '0'));
}

// --- EVM: 0x02 ‖ rlp([chain, nonce, tip, fee, gas, to, value, data, [], parity, r, s]) --------------------------------

function readEvm(raw: Uint8Array, chain: string): Broadcast {
  if (raw[0] !== 2) throw new Error('it is no EIP-1559 transaction');
  const { from, end } = rlpHead(raw, 1);
  const items: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  for (let at = from; at < end; ) {
    const item = rlpHead(raw, at);
    if (item.end > end) throw new Error('a field is cut short');
    items.push({ at, bytes: raw.subarray(item.from, item.end) });
    at = item.end;
  }
  if (items.length !== 12 || end !== raw.length) throw new Error('it has not the twelve fields');
  const [chainId, , , , , to, value, data, , , r, s] = items.map(({ bytes }) => bytes);
  if (integer(chainId!) !== BigInt(chain)) throw new Error('it is of another chain');
  const unsigned = raw.subarray(from, items[9]!.at);
  const called = hex(data!);
  return {
    id: `0x${hex(keccak_256(raw))}`,
    message: keccak_256(Buffer.concat([Uint8Array.of(2), rlpListHead(unsigned.length), unsigned])),
    signature: Buffer.from(hex(r!).padStart(64, '0') + hex(s!).padStart(64, '0'), 'hex'),
    publicKey: undefined,
    pays(address, units, contract) {
      const target = `0x${hex(to!)}`;
      const recipient = address.toLowerCase();
      if (contract === null) return target === recipient && integer(value!) === units && called === '';
      // transfer(address,uint256)
      const call = `a9059cbb${recipient.slice(2).padStart(64, '0')}${units.toString(16).padStart(64, '0')}`;
      return target === contract.toLowerCase() && integer(value!) === 0n && called === call;
    },
  };
}

/** The begin and the end of an item's content. */
function rlpHead(raw: Uint8Array, at: number): { readonly from: number; readonly end: number } {
  const first = raw[at]!;
  if (first < 0x80) return { from: at, end: at + 1 };
  const short = first < 0xc0 ? 0x80 : 0xc0;
  if (first <= short + 55) return { from: at + 1, end: at + 1 + first - short };
  const digits = first - short - 55;
  const from = at + 1 + digits;
  return { from, end: from + Number(integer(raw.subarray(at + 1, from))) };
}

function rlpListHead(length: number): Uint8Array {
  if (length <= 55) return Uint8Array.of(0xc0 + length);
  const text = length.toString(16);
  const digits = Buffer.from(text.padStart(text.length + (text.length % 2), '0'), 'hex');
  return Buffer.concat([Uint8Array.of(0xf7 + digits.length), digits]);
}

// --- Bitcoin: version ‖ 00 01 ‖ inputs ‖ outputs ‖ a witness an input ‖ lock time -------------------------------------

function readBitcoin(raw: Uint8Array): Broadcast {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  let at = 6;
  const count = (): number => {
    const first = raw[at]!;
    at += 1;
    if (first < 0xfd) return first;
    at += 2;
    return view.getUint16(at - 2, true);
  };
  const bytes = (): Uint8Array => {
    const length = count();
    at += length;
    return raw.subarray(at - length, at);
  };
  if (raw[4] !== 0 || raw[5] !== 1) throw new Error('it has no witnesses');
  const inputs = count();
  for (let input = 0; input < inputs; input += 1) {
    at += 36;
    bytes();
    at += 4;
  }
  const outputs = Array.from({ length: count() }, () => {
    at += 8;
    return { sats: view.getBigUint64(at - 8, true), script: hex(bytes()) };
  });
  const withoutWitnesses = [raw.subarray(0, 4), raw.subarray(6, at)];
  const keys = Array.from({ length: inputs }, () => Array.from({ length: count() }, () => hex(bytes())).at(-1));
  if (at + 4 !== raw.length) throw new Error('it does not end where it should');
  if (new Set(keys).size !== 1) throw new Error('its inputs are of several keys');
  return {
    ...{
      id: bitcoinId(Buffer.concat([...withoutWitnesses, raw.subarray(at)])),
      message: new Uint8Array(),
      signature: undefined,
    },
    publicKey: Buffer.from(keys[0] ?? '', 'hex'),
    pays: (address, units) =>
      outputs.some(({ sats, script }) => sats === units && script === scriptOf(address, script)),
  };
}

/** The transaction without its witnesses. */
function bitcoinId(bytes: Uint8Array): string {
  return hex(sha256(sha256(bytes)).reverse());
}

/** Of a native SegWit address, version 0; another form passes unchecked: the chain checks it. */
function scriptOf(address: string, found: string): string {
  if (!address.toLowerCase().startsWith('tb1q')) return found;
  const { words } = bech32.decode(address as `tb1${string}`);
  const program = bech32.fromWords(words.slice(1));
  return `00${program.length.toString(16).padStart(2, '0')}${hex(Uint8Array.from(program))}`;
}

// --- Solana: 01 ‖ signature ‖ message; the first key pays and signs -----------------------------------------------------

function readSolana(raw: Uint8Array): Broadcast {
  const [signature, message] = [raw.subarray(1, 65), raw.subarray(65)];
  const keys = Array.from({ length: message[3]! }, (_, index) => message.subarray(4 + 32 * index, 36 + 32 * index));
  const lamports = new DataView(message.buffer, message.byteOffset + message.length - 8, 8).getBigUint64(0, true);
  // The system program stands last; a payment to oneself names one account.
  const recipient = base58.encode(keys.at(-2)!);
  return {
    ...{ id: base58.encode(signature), message, signature, publicKey: keys[0] },
    pays: (address, units) => recipient === address && lamports === units,
  };
}

/** Of the class Uint8Array itself, which some libraries require. */
function bytesOf(text: string, encoding: 'hex' | 'base64'): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replace(/^0x/, ''), encoding));
}

function integer(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${hex(bytes)}`);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
