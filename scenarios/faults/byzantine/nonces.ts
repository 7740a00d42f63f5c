/** Unusable precomputed nonces: well-formed on the wire, with invalid content. */
import type { RandomSource } from '../../../core/crypto/bytes.ts';
import { type DealtNonce, type NoncesDealt, Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody } from '../../../proto/wire.ts';
import type { FaultOf } from '../vocabulary/fault.ts';

type How = FaultOf<'bad_nonces'>['how'];
type Parts = Pick<DealtNonce, 'hiding' | 'binding' | 'mockNonce'>;

/** A point of order 8 on edwards25519: on the curve, and outside the group (RFC 8032 has no name for it). */
const ed25519SmallOrder = 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a';
/** No point of secp256k1 has the abscissa 5. */
const secp256k1NoPoint = `02${'00'.repeat(31)}05`;

/** The batch with bad nonces in it. Undefined: no nonce of it supports this fault. */
export function badNonces(how: How, dealt: NoncesDealt, random: RandomSource): WireBody | undefined {
  const { nonces, scheme } = dealt;
  const [first] = nonces;
  if (first === undefined) return undefined;
  const parts = how === 'duplicate' ? duplicates(first, nonces) : nonces.map((nonce) => spoilt(how, scheme, nonce));
  if (parts === undefined) return undefined;
  // The coordinator must also detect one bad nonce among good ones.
  const [chosen = 0] = random(1);
  const at = how === 'duplicate' ? -1 : chosen % nonces.length;
  const spoiled = nonces.map((nonce, index) => (at < 0 || index === at ? { ...nonce, ...parts[index]! } : nonce));
  return { case: 'noncesDealt', value: { ...dealt, nonces: spoiled } };
}

/** The first one's commitments, or mock nonce, under every number. */
function duplicates({ hiding, binding, mockNonce }: DealtNonce, nonces: readonly DealtNonce[]): Parts[] | undefined {
  return nonces.length < 2 ? undefined : nonces.map(() => ({ hiding, binding, mockNonce }));
}

function spoilt(how: Exclude<How, 'duplicate'>, scheme: Scheme, nonce: DealtNonce): Parts {
  const { hiding, binding, mockNonce } = nonce;
  if (how === 'malformed') return { hiding: hiding.slice(1), binding, mockNonce: mockNonce.slice(1) };
  if (scheme === Scheme.MOCK_ECDSA) {
    // Zero has no inverse; 2^256 − 1 is above the order.
    return { hiding, binding, mockNonce: new Uint8Array(32).fill(how === 'identity' ? 0 : 0xff) };
  }
  return { hiding: badPoint(how, scheme), binding, mockNonce };
}

function badPoint(how: 'identity' | 'invalid', scheme: Scheme): Uint8Array<ArrayBuffer> {
  if (scheme !== Scheme.FROST_ED25519) return how === 'identity' ? new Uint8Array(33) : bytesOf(secp256k1NoPoint);
  return how === 'identity' ? Uint8Array.of(1, ...new Uint8Array(31)) : bytesOf(ed25519SmallOrder);
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}
