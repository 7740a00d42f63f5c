/** A key for trials of the coordinator, and the arithmetic of its nodes, whom the trial plays. */
import type { KeyRecord } from '../../coordinator/contract/record.ts';
import { deriveTweak, parsePath, tweakShare } from '../../core/crypto/derivation.ts';
import { ciphersuite, type FrostSuite } from '../../core/crypto/frost/ciphersuite.ts';
import { dealFrostNonce, type FrostNonces, frostPartialWithPoint } from '../../core/crypto/frost/frost.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { hsmSignature } from '../../core/crypto/hsm.ts';
import { dealMockNonce, ecdsaChecks, mockEcdsaPartial } from '../../core/crypto/mock-ecdsa.ts';
import { signAsOwner } from '../../core/crypto/owner-ecdsa.ts';
import { evaluate, randomPolynomial } from '../../core/crypto/polynomial.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { type KeyBinding, schemeFacts } from '../../proto/key-schemes.ts';

export interface PlayedNonce {
  readonly number: bigint;
  readonly hiding: Uint8Array;
  readonly binding: Uint8Array;
  readonly mockNonce: Uint8Array;
}

/** The fields of a PartialRequest that a partial depends on. */
export interface PartialAsked {
  readonly scheme: Scheme;
  readonly derivationPath: string;
  readonly message: Uint8Array;
  readonly nonceNumber: bigint;
  readonly signers: readonly { readonly nodeId: number; readonly hiding: Uint8Array; readonly binding: Uint8Array }[];
  readonly noncePoint: Uint8Array;
  readonly mockNonceInverse: Uint8Array;
}

export interface PlayedPartial {
  readonly partial: Uint8Array;
  readonly noncePoint: Uint8Array;
}

const suites: Partial<Record<Scheme, FrostSuite>> = {
  [Scheme.FROST_ED25519]: 'FROST-ED25519-SHA512-v1',
  [Scheme.FROST_BIP340]: 'FROST-secp256k1-SHA256-TR-v1',
};
const none = new Uint8Array();

export interface PlayedKeyOptions {
  readonly tenant: string;
  readonly keyId: string;
  /** Empty: an unbound key on secp256k1. */
  readonly binding: KeyBinding;
  readonly threshold: number;
  /** The nodes with a share, or with a key of their own. */
  readonly ids: readonly number[];
  readonly account: readonly number[];
  readonly nowMs: number;
  readonly random: (length: number) => Uint8Array;
}

export class PlayedKey {
  readonly record: KeyRecord;
  readonly curve: Curve;
  readonly #random: (length: number) => Uint8Array;
  readonly #shares = new Map<number, bigint>();
  readonly #nonces = new Map<string, FrostNonces>();
  readonly #batches = new Map<bigint, number>();
  #numbers = 0n;

  constructor({ binding, ids, random, threshold, tenant, keyId, account, nowMs }: PlayedKeyOptions) {
    const curve = binding === '' ? 'secp256k1' : schemeFacts(binding).curve;
    const isShared = binding === '' || schemeFacts(binding).ownKeys === undefined;
    const group = groupOf(curve);
    const polynomial = isShared ? randomPolynomial(curve, threshold, random) : [];
    for (const id of ids) {
      this.#shares.set(id, isShared ? evaluate(curve, polynomial, id) : group.randomScalar(random));
    }
    const hex = (secret: bigint) => Buffer.from(group.baseMultiply(secret)).toString('hex');
    this.curve = curve;
    this.#random = random;
    this.record = {
      ...{ tenant, keyId, curve, threshold, account, scheme: binding },
      ...{ totalNodes: ids.length, participants: ids },
      publicKey: isShared ? hex(polynomial[0]!) : '',
      chainCode: isShared ? Buffer.from(random(32)).toString('hex') : '',
      verificationShares: ids.map((id) => hex(this.#shares.get(id)!)),
      clientSuppliedDealers: [],
      exposed: false,
      createdMs: nowMs,
    };
  }

  /** What a node deals for this scheme. */
  deal(nodeId: number, scheme: Scheme, count: number): PlayedNonce[] {
    const batch = this.#batches.size;
    return Array.from({ length: count }, () => {
      this.#numbers += 1n;
      const number = this.#numbers;
      this.#batches.set(number, batch);
      const suite = suites[scheme];
      if (suite === undefined) {
        const mockNonce = groupOf('secp256k1').encodeScalar(dealMockNonce(this.#random));
        return { number, hiding: none, binding: none, mockNonce };
      }
      const hedges = { hiding: this.#random(32), binding: this.#random(32) };
      const { nonces, commitments } = dealFrostNonce({ suite, random: this.#random, hedges });
      this.#nonces.set(`${nodeId} ${number}`, nonces);
      return { number, ...commitments, mockNonce: none };
    });
  }

  /** Which nonces were dealt in one message. */
  batchOf(number: bigint): number | undefined {
    return this.#batches.get(number);
  }

  /** The partial of this node, as an honest one makes it. */
  partial(nodeId: number, asked: PartialAsked): PlayedPartial {
    const { scheme, message } = asked;
    const group = groupOf(this.curve);
    const share = this.#shares.get(nodeId)!;
    const suite = suites[scheme];
    if (suite !== undefined) {
      const { signingShare, groupPublicKey } = this.#derived(share, asked.derivationPath);
      const nonces = this.#nonces.get(`${nodeId} ${asked.nonceNumber}`)!;
      const commitments = [...asked.signers];
      const made = frostPartialWithPoint({
        ...{ suite, nodeId, signingShare, groupPublicKey, message, commitments, nonces },
      });
      return { partial: group.encodeScalar(made.partial), noncePoint: made.noncePoint };
    }
    if (scheme === Scheme.MOCK_ECDSA) {
      const { signingShare } = this.#derived(share, asked.derivationPath);
      const kInverse = group.decodeNonZeroScalar(asked.mockNonceInverse);
      const r = BigInt(`0x${Buffer.from(asked.noncePoint.subarray(1)).toString('hex')}`) % group.order;
      return {
        partial: group.encodeScalar(mockEcdsaPartial({ kInverse, r, digest: message, signingShare })),
        noncePoint: none,
      };
    }
    return { partial: this.#alone(share, scheme, message), noncePoint: none };
  }

  /** A partial of the right length that does not verify. */
  wrong(nodeId: number, asked: PartialAsked): PlayedPartial {
    const { partial, noncePoint } = this.partial(nodeId, asked);
    const other = Uint8Array.from(partial);
    // In the lowest byte of a scalar, and inside s of a signature.
    const at = this.curve === 'ed25519' && other.length === 32 ? 0 : other.length === 65 ? 40 : other.length - 1;
    other[at]! ^= 1;
    return { partial: other, noncePoint };
  }

  #derived(share: bigint, derivationPath: string): { signingShare: bigint; groupPublicKey: Uint8Array } {
    const { curve, publicKey, chainCode } = this.record;
    const path = parsePath(derivationPath).normal;
    const derived = deriveTweak({
      ...{ curve, path },
      publicKey: Buffer.from(publicKey, 'hex'),
      chainCode: Buffer.from(chainCode, 'hex'),
    });
    return { signingShare: tweakShare(curve, share, derived.tweak), groupPublicKey: derived.publicKey };
  }

  /** A signature of one party. */
  #alone(secret: bigint, scheme: Scheme, message: Uint8Array): Uint8Array {
    if (scheme === Scheme.OWNER_ECDSA) return signAsOwner(secret, message);
    const group = groupOf(this.curve);
    const publicKey = group.baseMultiply(secret);
    if (this.curve === 'secp256k1') {
      const { signature } = ecdsaChecks.current.sign(group.encodeScalar(secret), message);
      return hsmSignature(this.curve, signature, message, publicKey)!;
    }
    const nonce = group.randomScalar(this.#random);
    const R = group.baseMultiply(nonce);
    const challenge = ciphersuite('FROST-ED25519-SHA512-v1').challenge(R, publicKey, message);
    return Buffer.concat([R, group.encodeScalar((nonce + challenge * secret) % group.order)]);
  }
}
