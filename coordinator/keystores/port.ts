/**
 * What a signing session asks of a kind of key: one implementation a scheme (registry.ts). All of them are pure, and the session
 * treats them alike: it draws signers, asks nodes for partials, takes callers' partials in their place, finds the node whose
 * partial is wrong, and completes with one signature. docs/keystores.md says what each of these means for each type.
 */
import type { DerivedKey } from '../../crypto/derivation.ts';
import type { PartialRequest, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { DrawnNonce } from '../contract/messages.ts';
import type { KeyRecord } from '../contract/record.ts';

/** What is signed, and with which key; the same in every attempt of a session. */
export interface SigningTask {
  readonly scheme: Scheme;
  readonly key: KeyRecord;
  readonly message: Uint8Array;
  /** The key at the session's path; undefined where keys have no children. */
  readonly derived: DerivedKey | undefined;
}

/** A partial signature of a node, as bytes that `isPartial` took. */
export interface NodePartial {
  readonly nodeId: number;
  readonly partial: Uint8Array;
  /** R, as the node says it; it need not be true. */
  readonly noncePoint?: Uint8Array | undefined;
}

export interface FullSignature {
  /** 64 bytes; of an EVM multisig 65 for each signer. */
  readonly signature: Uint8Array;
  /** 0..3 where one signature recovers to one key; otherwise -1. */
  readonly recoveryId: number;
  /** How it was verified, for the receipt: names what it verifies under. */
  readonly verified: string;
}

/** The arithmetic of one attempt: task and nonces are fixed. */
export interface AttemptBackend {
  /** R, compressed; empty where signers share none. */
  readonly noncePoint: Uint8Array;
  /** What of a PartialRequest depends on the nonces of all signers. */
  readonly request: Pick<PartialRequest, 'noncePoint' | 'mockNonceInverse'> & {
    readonly signers: { readonly nodeId: number; readonly hiding: Uint8Array; readonly binding: Uint8Array }[];
  };
  /** Those whose nonces make no round. Then neither a refusal nor a partial says anything of the other nodes. */
  readonly dealersAtFault?: readonly number[];
  /** Whether a partial is right, by public values alone: what decides blame. False while dealers are at fault. */
  verifyPartial(one: NodePartial): boolean;
  /**
   * The signature from exactly `threshold` partials, ascending by node, verified. Undefined: it does not verify, so that at
   * least one partial is wrong, or a dealer at fault.
   */
  aggregate(partials: readonly NodePartial[]): FullSignature | undefined;
}

export interface Keystore {
  /** Only the drawn signers can answer: the signature covers the set of them. */
  readonly bindsSigners: boolean;
  /** All signers of an attempt share one nonce point. */
  readonly sharesNonce: boolean;
  /** Bytes of one partial. */
  readonly partialBytes: number;
  /** Whether bytes can be a partial at all. */
  isPartial(bytes: Uint8Array): boolean;
  /** Throws CryptoError if the nonces do not make a round (only a node that lies about them can cause it). */
  open(task: SigningTask, nonces: readonly DrawnNonce[]): AttemptBackend;
}

/** For a PartialRequest that names no other signer. */
export const aloneRequest: AttemptBackend['request'] = {
  signers: [],
  noncePoint: new Uint8Array(),
  mockNonceInverse: new Uint8Array(),
};
