/**
 * Solana's legacy transactions with one SystemProgram transfer: builds and parses them; the caller signs. Pure.
 *
 * Wire: compact array of signatures ‖ message; message: header (signers, read-only signers, read-only others) ‖ account
 * keys ‖ recent blockhash ‖ instructions. The signature covers the message itself. The transfer is instruction 2 of the
 * system program: u32 2 ‖ u64 lamports, little-endian.
 *
 * The blockhash makes each message unique. Here it is a hash of the transfer's purpose, like a durable nonce:
 * the same transfer always gives the same message, and two transfers never do. The simulated chain
 * accepts any blockhash as recent.
 */
import { base58 } from '@scure/base';
import { concatBytes, utf8 } from '../../../core/crypto/bytes.ts';
import { ed25519Check } from '../../../core/crypto/ed25519-check.ts';
import { sha256 } from '../../../core/crypto/hashing.ts';
import { ChainRejected } from './chain.ts';

/** Lamports a signature, constant. */
export const signatureFee = 5_000n;

/**
 * Lamports: an account without data holds nothing, or at least so many (two years of rent for its 128 bytes of bookkeeping at 3,480
 * lamports a byte and year). https://solana.com/docs/core/accounts#rent
 */
export const rentExempt = 890_880n;

const systemProgram = new Uint8Array(32);
const transferInstruction = 2;
const lamportsMax = 0xffff_ffff_ffff_ffffn;

export interface SolanaTransfer {
  /** Base58. */
  readonly from: string;
  readonly to: string;
  readonly lamports: bigint;
  /** The purpose of the transfer; one purpose, one message. */
  readonly purpose: string;
}

/** The message to sign. */
export function solanaMessage({ from, to, lamports, purpose }: SolanaTransfer): Uint8Array {
  if (lamports > lamportsMax) throw new Error('more lamports than an instruction holds');
  const keys = from === to ? [from] : [from, to];
  const data = new DataView(new ArrayBuffer(12));
  data.setUint32(0, transferInstruction, true);
  data.setBigUint64(4, lamports, true);
  return concatBytes(
    // One signer who also pays; only the system program is read-only.
    Uint8Array.of(1, 0, 1, keys.length + 1),
    ...keys.map((key) => base58.decode(key)),
    systemProgram,
    sha256(utf8(`signmesh solana blockhash ${purpose}`)),
    Uint8Array.of(1, keys.length, 2, 0, keys.length - 1, data.byteLength),
    new Uint8Array(data.buffer),
  );
}

/** `signature`: R ‖ S, 64 bytes. */
export function signedSolana(message: Uint8Array, signature: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(1), signature, message);
}

export interface DecodedSolana {
  /** The signature in base58: the transaction's id. */
  readonly id: string;
  readonly message: Uint8Array;
  readonly from: string;
  readonly to: string;
  readonly lamports: bigint;
}

/** Reads a raw transaction and verifies its signature. Throws ChainRejected. */
export function decodeSolana(raw: Uint8Array): DecodedSolana {
  const signature = raw.subarray(1, 65);
  const message = raw.subarray(65);
  if (raw[0] !== 1) throw unsupported();
  const transfer = readSolanaMessage(message);
  if (!ed25519Check.current(base58.decode(transfer.from), message, signature)) {
    throw new ChainRejected('invalid_signature', 'the signature is not of the sender');
  }
  return { id: base58.encode(signature), message, ...transfer };
}

/** The transfer of a message to sign. Throws ChainRejected. */
export function readSolanaMessage(message: Uint8Array): Omit<SolanaTransfer, 'purpose'> {
  const keysCount = message[3];
  if (message[0] !== 1 || message[1] !== 0 || message[2] !== 1) throw unsupported();
  if (keysCount !== 2 && keysCount !== 3) throw unsupported();
  const keys = Array.from({ length: keysCount }, (_, index) => message.subarray(4 + 32 * index, 36 + 32 * index));
  const instruction = message.subarray(4 + 32 * (keysCount + 1));
  const [count, program, accountsCount, source, target, dataLength] = instruction;
  const last = keysCount - 1;
  if (instruction.length !== 18 || count !== 1 || program !== last || accountsCount !== 2) throw unsupported();
  if (source !== 0 || target !== last - 1 || dataLength !== 12) throw unsupported();
  if (keys[last]!.some((byte) => byte !== 0)) throw unsupported();
  const data = new DataView(instruction.buffer, instruction.byteOffset + 6, 12);
  if (data.getUint32(0, true) !== transferInstruction) throw unsupported();
  return {
    from: base58.encode(keys[0]!),
    to: base58.encode(keys[target]!),
    lamports: data.getBigUint64(4, true),
  };
}

function unsupported(): ChainRejected {
  return new ChainRejected('unsupported_transaction', 'not a legacy transaction with one transfer');
}
