/**
 * Keys that only one party holds: those of the simulated vendor, and of the simulated world's tokens. Every key
 * is random and independent of its label. Secret.
 */
import { concatBytes, type RandomSource } from '../../../core/crypto/bytes.ts';
import { ciphersuite } from '../../../core/crypto/frost/ciphersuite.ts';
import { type Curve, groupOf } from '../../../core/crypto/group.ts';
import { ecdsaChecks } from '../../../core/crypto/mock-ecdsa.ts';

interface HeldKey {
  readonly curve: Curve;
  readonly secret: bigint;
}

export class HeldKeys {
  readonly #random: RandomSource;
  readonly #keys = new Map<string, HeldKey>();

  constructor(random: RandomSource) {
    this.#random = random;
  }

  get labels(): string[] {
    return [...this.#keys.keys()];
  }

  has(label: string): boolean {
    return this.#keys.has(label);
  }

  /** The public key, compressed. Each label has one key. */
  make(label: string, curve: Curve): Uint8Array {
    const group = groupOf(curve);
    const { secret } = this.#keys.get(label) ?? { secret: group.randomScalar(this.#random) };
    this.#keys.set(label, { curve, secret });
    return group.baseMultiply(secret);
  }

  delete(label: string): void {
    this.#keys.delete(label);
  }

  /** Secret, as hex; undefined: no such key. */
  secretOf(label: string): string | undefined {
    const key = this.#keys.get(label);
    return key && Buffer.from(groupOf(key.curve).encodeScalar(key.secret)).toString('hex');
  }

  restore(label: string, curve: Curve, secret: string): void {
    this.#keys.set(label, { curve, secret: groupOf(curve).decodeNonZeroScalar(Buffer.from(secret, 'hex')) });
  }

  /** 64 bytes, of a digest (secp256k1) or a message (ed25519); undefined: no such key. */
  sign(label: string, message: Uint8Array): Uint8Array | undefined {
    const key = this.#keys.get(label);
    if (key === undefined) return undefined;
    const { curve, secret } = key;
    const group = groupOf(curve);
    if (curve === 'secp256k1') return ecdsaChecks.current.sign(group.encodeScalar(secret), message).signature;
    // RFC 8032 §5.1.6, with a random nonce.
    const nonce = group.randomScalar(this.#random);
    const R = group.baseMultiply(nonce);
    const c = ciphersuite('FROST-ED25519-SHA512-v1').challenge(R, group.baseMultiply(secret), message);
    return concatBytes(R, group.encodeScalar((nonce + c * secret) % group.order));
  }
}
