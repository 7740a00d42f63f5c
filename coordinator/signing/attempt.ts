/**
 * One attempt at a signature: the nonces drawn for it, the partials that came in, and the mathematics of its scheme.
 *
 * Mock ECDSA binds the nonce, not the signer set: any `threshold` partials give the signature. FROST (RFC 9591) binds
 * the set: exactly the drawn signers must answer, and another set needs another attempt.
 *
 * Nonces live here, in memory, and nowhere else; an attempt is never written down or resumed. Its values are never changed
 * in place: round.ts makes the next attempt from it.
 */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { type DerivedKey, deriveTweak, tweakPoint } from '../../crypto/derivation.ts';
import { type FrostContext, frostContext } from '../../crypto/frost/context.ts';
import { frostAggregate, verifyFrostPartial, verifySchnorr } from '../../crypto/frost/frost.ts';
import type { Group } from '../../crypto/group.ts';
import { groupOf } from '../../crypto/group.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  type MockNonce,
  verifyEcdsa,
  verifyMockEcdsaPartial,
} from '../../crypto/mock-ecdsa.ts';
import { placeOf } from '../../crypto/participants.ts';
import type { PartialRequestSchema } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { type KeyScheme, wireScheme } from '../../proto/key-schemes.ts';
import type { DrawnNonce } from '../contract/messages.ts';
import type { KeyRecord, SigningRecord } from '../contract/record.ts';
import { nodeOrder } from './orders.ts';

/** What is signed, and with which key; the same in every attempt of a session. */
export interface SigningTask {
  readonly scheme: Scheme;
  readonly key: KeyRecord;
  readonly message: Uint8Array;
  readonly derived: DerivedKey;
}

/** A partial signature that is in. */
export interface HeldPartial {
  readonly value: bigint;
  readonly origin: 'node' | 'caller';
  /** Checked on its own already. */
  readonly verified: boolean;
}

export interface Attempt {
  readonly number: number;
  readonly tag: bigint;
  readonly coordinatorBoot: string;
  /** Ascending by node id. */
  readonly nonces: readonly DrawnNonce[];
  readonly mock: MockNonce | undefined;
  readonly frost: FrostContext | undefined;
  readonly partials: ReadonlyMap<number, HeldPartial>;
  /** Mock ECDSA: nodes that restarted since they dealt; they sign without their part in the nonce. */
  readonly nonceless: ReadonlySet<number>;
}

export function signingTask(
  key: KeyRecord,
  scheme: KeyScheme,
  path: readonly number[],
  message: Uint8Array,
): SigningTask {
  const derived = deriveTweak({
    curve: key.curve,
    publicKey: Buffer.from(key.publicKey, 'hex'),
    chainCode: Buffer.from(key.chainCode, 'hex'),
    path,
  });
  return { scheme: wireScheme(scheme), key, message, derived };
}

/** Throws CryptoError if the nonces do not make a round (only a node that lies about them can cause it). */
export function openAttempt(
  task: SigningTask,
  number: number,
  nonces: readonly DrawnNonce[],
  coordinatorBoot: string,
  tag: bigint,
): Attempt {
  const isMock = task.scheme === Scheme.MOCK_ECDSA;
  const group = groupOf('secp256k1');
  return {
    number,
    tag,
    coordinatorBoot,
    nonces,
    mock: isMock ? combineMockNonces(nonces.map((nonce) => group.decodeScalar(nonce.mockNonce))) : undefined,
    frost: isMock
      ? undefined
      : frostContext({
          suite: suiteOf(task.scheme),
          groupPublicKey: task.derived.publicKey,
          message: task.message,
          commitments: nonces,
        }),
    partials: new Map(),
    nonceless: new Set(),
  };
}

/** Whether only the drawn signers can answer. */
export function bindsSigners(attempt: Attempt): boolean {
  return attempt.frost !== undefined;
}

export function isSigner(attempt: Attempt, nodeId: number): boolean {
  return attempt.nonces.some((nonce) => nonce.nodeId === nodeId);
}

/** What to ask a node, for a session of this ceremony. */
export function partialRequest(
  task: SigningTask,
  attempt: Attempt,
  nodeId: number,
  ceremony: SigningRecord,
): MessageInitShape<typeof PartialRequestSchema> {
  const own = attempt.nonces.find((entry) => entry.nodeId === nodeId);
  const nonce = attempt.nonceless.has(nodeId) ? undefined : own;
  const { mock } = attempt;
  const order = nodeOrder(ceremony, nodeId);
  return {
    scheme: task.scheme,
    keySession: task.key.keyId,
    derivationPath: ceremony.facts.derivationPath,
    message: task.message,
    nonceNumber: nonce?.number ?? 0n,
    nodeBoot: nonce?.nodeBoot ?? '',
    coordinatorBoot: attempt.coordinatorBoot,
    signers: mock ? [] : attempt.nonces.map(({ nodeId, hiding, binding }) => ({ nodeId, hiding, binding })),
    noncePoint: mock?.R ?? new Uint8Array(),
    mockNonceInverse: mock ? groupOf('secp256k1').encodeScalar(mock.kInverse) : new Uint8Array(),
    attemptTag: attempt.tag,
    ...(order && { order }),
  };
}

/** The scalar of a partial, or undefined when it is none (wrong length, or not below the order). */
export function readPartial(task: SigningTask, bytes: Uint8Array): bigint | undefined {
  const group: Group = groupOf(task.key.curve);
  try {
    return group.decodeScalar(bytes);
  } catch {
    return undefined;
  }
}

/** Whether a partial is right, by public values alone: what decides blame. */
export function verifyPartial(task: SigningTask, attempt: Attempt, nodeId: number, partial: bigint): boolean {
  const { key, derived, message } = task;
  const share = Buffer.from(key.verificationShares[placeOf(key, nodeId)]!, 'hex');
  const verificationShare = tweakPoint(key.curve, share, derived.tweak);
  if (attempt.mock) {
    const { R, r } = attempt.mock;
    return verifyMockEcdsaPartial({ R, r, digest: message, verificationShare, partial });
  }
  if (!isSigner(attempt, nodeId)) return false;
  return verifyFrostPartial({
    suite: suiteOf(task.scheme),
    groupPublicKey: derived.publicKey,
    message,
    commitments: attempt.nonces,
    context: attempt.frost,
    nodeId,
    verificationShare,
    partial,
  });
}

export interface FullSignature {
  /** 64 bytes. */
  readonly signature: Uint8Array;
  /** Mock ECDSA: 0..3; otherwise -1. */
  readonly recoveryId: number;
}

/**
 * The signature from the partials that are in (exactly `threshold` of them), checked under the derived public key.
 * Undefined: it does not verify, so at least one partial is wrong.
 */
export function aggregate(task: SigningTask, attempt: Attempt): FullSignature | undefined {
  const partials = [...attempt.partials]
    .sort(([a], [b]) => a - b)
    .map(([nodeId, { value }]) => ({ nodeId, partial: value }));
  const { message, derived } = task;
  try {
    if (attempt.mock) {
      const { R, r } = attempt.mock;
      const made = aggregateMockEcdsa({ R, r, partials });
      const holds = verifyEcdsa({ signature: made.signature, digest: message, publicKey: derived.publicKey });
      return holds ? made : undefined;
    }
    const signature = frostAggregate({
      suite: suiteOf(task.scheme),
      groupPublicKey: derived.publicKey,
      message,
      commitments: attempt.nonces,
      context: attempt.frost,
      partials,
    });
    const holds = verifySchnorr(suiteOf(task.scheme), signature, message, derived.publicKey);
    return holds ? { signature, recoveryId: -1 } : undefined;
  } catch {
    // A sum that degenerates (zero, the identity) is a wrong partial too.
    return undefined;
  }
}

/** R, compressed. */
export function noncePointOf(attempt: Attempt): Uint8Array {
  return attempt.mock?.R ?? attempt.frost!.groupCommitment;
}

/** The bytes of a partial. */
export function writePartial(task: SigningTask, value: bigint): Uint8Array {
  return groupOf(task.key.curve).encodeScalar(value);
}

/** Whether bytes name this attempt's R: the compressed point, or for BIP-340 its x coordinate. */
export function isNoncePoint(attempt: Attempt, bytes: Uint8Array): boolean {
  const R = noncePointOf(attempt);
  const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
  return same(R, bytes) || (R.length === 33 && bytes.length === 32 && same(R.subarray(1), bytes));
}

function suiteOf(scheme: Scheme): 'FROST-ED25519-SHA512-v1' | 'FROST-secp256k1-SHA256-TR-v1' {
  return scheme === Scheme.FROST_ED25519 ? 'FROST-ED25519-SHA512-v1' : 'FROST-secp256k1-SHA256-TR-v1';
}
