/**
 * The operations of a signing session on a kind of key: one implementation per scheme (registry.ts). All are pure, and the
 * session treats them alike: it draws signers, asks nodes for partials, accepts callers' partials instead, finds the node of a
 * wrong partial, and completes with one signature. docs/keystores.md explains each operation for each type.
 */
import type { DerivedKey } from '../../core/crypto/derivation.ts';
import type { PartialRequest, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { DrawnNonce } from '../contract/messages.ts';
import type { KeyRecord } from '../contract/record.ts';

/** The message and the key; the same in every attempt of a session. */
export interface SigningTask {
  readonly scheme: Scheme;
  readonly key: KeyRecord;
  readonly message: Uint8Array;
  /** The key at the session's path; undefined if keys have no children. */
  readonly derived: DerivedKey | undefined;
}

/** A partial signature of a node, as bytes that passed `isPartial`. */
export interface NodePartial {
  readonly nodeId: number;
  readonly partial: Uint8Array;
  /** R, as the node claims it; it may be false. */
  readonly noncePoint?: Uint8Array | undefined;
}

export interface FullSignature {
  /** 64 bytes; for an EVM multisig 65 per signer. */
  readonly signature: Uint8Array;
  /** 0..3 if one signature recovers to one key; otherwise -1. */
  readonly recoveryId: number;
  /** The verification, for the receipt: names the key or keys. */
  readonly verified: string;
}

/** The arithmetic of one attempt: task and nonces are fixed. */
export interface AttemptBackend {
  /** R, compressed; empty if signers share none. */
  readonly noncePoint: Uint8Array;
  /** The fields of a PartialRequest that depend on the nonces of all signers. */
  readonly request: Pick<PartialRequest, 'noncePoint' | 'mockNonceInverse'> & {
    readonly signers: { readonly nodeId: number; readonly hiding: Uint8Array; readonly binding: Uint8Array }[];
  };
  /** Whether a partial is valid, from public values only: the evidence for blame. */
  verifyPartial(one: NodePartial): boolean;
  /**
   * The signature from exactly `threshold` partials, ascending by node, verified. Undefined: it does not verify, so that at
   * least one partial is wrong.
   */
  aggregate(partials: readonly NodePartial[]): FullSignature | undefined;
}

export interface Keystore {
  /** Only the drawn signers can answer: the signature covers their set. */
  readonly bindsSigners: boolean;
  /** All signers of an attempt share one nonce point. */
  readonly sharesNonce: boolean;
  /** Bytes of one partial. */
  readonly partialBytes: number;
  /** Whether bytes can be a partial at all. */
  isPartial(bytes: Uint8Array): boolean;
  /** Throws CryptoError if the nonces do not form a round (only a byzantine node can cause it). */
  open(task: SigningTask, nonces: readonly DrawnNonce[]): AttemptBackend;
}

/** For a PartialRequest that names no other signer. */
export const aloneRequest: AttemptBackend['request'] = {
  signers: [],
  noncePoint: new Uint8Array(),
  mockNonceInverse: new Uint8Array(),
};
