/**
 * One attempt of a signing round: nonces of `threshold` nodes, and the received partials. The key's keystore adds them up, and
 * finds the wrong ones (../keystores/port.ts).
 *
 * Mock ECDSA and owner keys accept partials of any nodes. FROST binds the set of signers: only they can answer, and a change
 * among them needs a new attempt. Nonces are only in memory, and each signs at most once.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { PartialRequestSchema } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { DrawnNonce } from '../contract/messages.ts';
import type { SigningRecord } from '../contract/record.ts';
import type { AttemptBackend, FullSignature, SigningTask } from '../keystores/public.ts';
import { keystoreFor } from '../keystores/public.ts';
import { nodeOrder } from './order-relay.ts';

/** A received partial signature. */
export interface HeldPartial {
  readonly value: Uint8Array;
  /** R, as the node sent it with its partial; empty or undefined: it sent none. */
  readonly noncePoint?: Uint8Array | undefined;
  readonly origin: 'node' | 'caller';
  /** Already checked by itself. */
  readonly verified: boolean;
}

export interface Attempt {
  readonly number: number;
  readonly tag: bigint;
  readonly coordinatorBoot: string;
  /** Ascending by node id. */
  readonly nonces: readonly DrawnNonce[];
  readonly bindsSigners: boolean;
  readonly backend: AttemptBackend;
  readonly partials: ReadonlyMap<number, HeldPartial>;
  /** The time of the last request to nodes, and of the last partial since then. */
  readonly askedMs: number;
  readonly heardMs: number | undefined;
  /** Mock ECDSA: nodes that restarted since they made their nonces; they sign without their part in the nonce. */
  readonly nonceless: ReadonlySet<number>;
}

/** Throws CryptoError if the nonces do not form a round (only a byzantine node can cause it). */
export function openAttempt(
  task: SigningTask,
  number: number,
  nonces: readonly DrawnNonce[],
  coordinatorBoot: string,
  tag: bigint,
): Attempt {
  const keystore = keystoreFor(task.scheme);
  return {
    number,
    tag,
    coordinatorBoot,
    nonces,
    bindsSigners: keystore.bindsSigners,
    backend: keystore.open(task, nonces),
    partials: new Map(),
    askedMs: 0,
    heardMs: undefined,
    nonceless: new Set(),
  };
}

/** Field by field, since every answer changes the attempt: objects built by spreading have different hidden classes. */
export function changedAttempt(
  held: Attempt,
  { partials, askedMs, heardMs }: Pick<Attempt, 'partials' | 'askedMs' | 'heardMs'>,
): Attempt {
  return {
    number: held.number,
    tag: held.tag,
    coordinatorBoot: held.coordinatorBoot,
    nonces: held.nonces,
    bindsSigners: held.bindsSigners,
    backend: held.backend,
    partials,
    askedMs,
    heardMs,
    nonceless: held.nonceless,
  };
}

/** Whether only the drawn signers can answer. */
export function bindsSigners(attempt: Attempt): boolean {
  return attempt.bindsSigners;
}

export function isSigner(attempt: Attempt, nodeId: number): boolean {
  return attempt.nonces.some((nonce) => nonce.nodeId === nodeId);
}

/** The shortest wait for the last node, and its multiple of the time of all others, for that node to count as slow. */
const slowLeastMs = 500;
const slowTimes = 4;

/** Whether the last awaited partial arrived much later than the other nodes' partials. */
export function cameSlowly({ askedMs, heardMs }: Attempt, nowMs: number): boolean {
  return heardMs !== undefined && nowMs - heardMs >= Math.max(slowLeastMs, slowTimes * (heardMs - askedMs));
}

/** The request to a node, for a session of this ceremony. */
export function partialRequest(
  task: SigningTask,
  attempt: Attempt,
  nodeId: number,
  ceremony: SigningRecord,
): MessageInitShape<typeof PartialRequestSchema> {
  const own = attempt.nonces.find((entry) => entry.nodeId === nodeId);
  const nonce = attempt.nonceless.has(nodeId) ? undefined : own;
  const { signers, noncePoint, mockNonceInverse } = attempt.backend.request;
  const order = nodeOrder(ceremony, nodeId);
  return {
    scheme: task.scheme,
    keySession: task.key.keyId,
    derivationPath: ceremony.facts.derivationPath,
    message: task.message,
    nonceNumber: nonce?.number ?? 0n,
    nodeBoot: nonce?.nodeBoot ?? '',
    coordinatorBoot: attempt.coordinatorBoot,
    signers,
    noncePoint,
    mockNonceInverse,
    attemptTag: attempt.tag,
    keyVersion: task.key.version ?? 0,
    ...(order && { order }),
  };
}

/** The bytes of a partial, or undefined if they are no partial (wrong length, or not below the order). */
export function readPartial(task: SigningTask, bytes: Uint8Array): Uint8Array | undefined {
  // A copy, because the received bytes are a view of a whole message.
  return keystoreFor(task.scheme).isPartial(bytes) ? bytes.slice() : undefined;
}

/** Whether a partial is valid, from public values only: the evidence for blame. */
export function verifyPartial(attempt: Attempt, nodeId: number, partial: Uint8Array): boolean {
  return attempt.backend.verifyPartial({ nodeId, partial });
}

/**
 * The signature from the received partials (exactly `threshold` of them), verified. Undefined: it does not verify, so at
 * least one partial is wrong.
 */
export function aggregate(attempt: Attempt): FullSignature | undefined {
  const partials = [...attempt.partials].sort(([a], [b]) => a - b);
  return attempt.backend.aggregate(
    partials.map(([nodeId, { value, noncePoint }]) => ({ nodeId, partial: value, noncePoint })),
  );
}

/** Whether bytes name this attempt's R: the compressed point, or for BIP-340 its x coordinate. */
export function isNoncePoint({ backend: { noncePoint: R } }: Attempt, bytes: Uint8Array): boolean {
  const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
  return same(R, bytes) || (R.length === 33 && bytes.length === 32 && same(R.subarray(1), bytes));
}
