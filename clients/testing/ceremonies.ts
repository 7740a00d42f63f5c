/** Keys and signatures, as tests get them. */
import { type DiagnosticReceipt, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { checkNames, type OptionNames } from './option-names.ts';

export interface Key {
  /** The DKG session; wallet_id of signing calls. */
  readonly id: string;
  readonly curve: 'secp256k1' | 'ed25519';
  /** Compressed: 33 bytes, or 32 for ed25519. */
  readonly publicKey: Uint8Array;
}

export interface Signature {
  /** 64 bytes: r and s, or R and z. */
  readonly signature: Uint8Array;
  /** Mock ECDSA: one byte; else empty. */
  readonly recoveryId: Uint8Array;
  /** The signed bytes: for secp256k1 the SHA-256 digest of the message, for ed25519 the message. */
  readonly signed: Uint8Array;
  readonly sessionId: string;
}

export interface MakeKeyOptions {
  /** A new one by default. */
  readonly session?: string;
  readonly curve?: Key['curve'];
  readonly threshold?: number;
  readonly totalNodes?: number;
}

export const makeKeyNames: OptionNames<MakeKeyOptions> = {
  session: true,
  curve: true,
  threshold: true,
  totalNodes: true,
};

export interface SignOptions {
  /** The transaction intent; a new one by default. */
  readonly intent?: string;
  /**
   * With secp256k1 keys `MOCK_THRESHOLD` gives ECDSA signatures, `MPC_FROST` BIP-340 ones. The first signature of a key binds the
   * key to its scheme: mock ECDSA if it names none.
   */
  readonly keystore?: 'MOCK_THRESHOLD' | 'MPC_FROST';
  /** BIP-32 path below the key. */
  readonly path?: string;
}

const signNames: OptionNames<SignOptions> = { intent: true, keystore: true, path: true };
const keystores: readonly unknown[] = ['MOCK_THRESHOLD', 'MPC_FROST', undefined] satisfies SignOptions['keystore'][];

/** Callers in JavaScript have no types. Throws a TypeError that names the argument; a view of another realm (Jest's) is bytes too. */
export function checkSigning(key: Key, message: string | Uint8Array, options: SignOptions): void {
  if (typeof key?.id !== 'string' || !['secp256k1', 'ed25519'].includes(key.curve)) {
    throw new TypeError('key takes a key as makeKey gives it: an object with id and curve');
  }
  if (typeof message !== 'string' && !ArrayBuffer.isView(message)) {
    throw new TypeError('message takes a text or bytes (Uint8Array)');
  }
  checkNames('sign', options, signNames);
  if (!keystores.includes(options.keystore)) throw new TypeError('keystore takes MOCK_THRESHOLD or MPC_FROST');
}

/** A ceremony that did not complete; its receipt holds the reason. */
export class CeremonyFailed extends Error {
  override readonly name = 'CeremonyFailed';
  readonly receipt: DiagnosticReceipt;
  constructor(receipt: DiagnosticReceipt) {
    super(`${ReceiptState[receipt.state]} ${receipt.reasonCode}: ${receipt.message}`);
    this.receipt = receipt;
  }
}
