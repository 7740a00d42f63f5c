/**
 * Policy receipts: compact JWS (RFC 7515) signed with Ed25519 (RFC 8037, `alg` EdDSA), which any holder verifies offline with
 * the published key set. All gateways sign with the same seed. Key ids are RFC 7638 thumbprints of the public key, so that
 * another seed is another key id, and old receipts are never checked with the wrong key.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { recentlyUsed } from '../../../core/actors/recently-used.ts';

/** A public key as RFC 7517 and RFC 8037 §2 have it. */
export interface ReceiptKey {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** 32 bytes, base64url. */
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
}

export interface ReceiptSigner {
  readonly kid: string;
  jwks(): { readonly keys: readonly ReceiptKey[] };
  /** The compact JWS of these claims. JSON values only. */
  sign(claims: object): string;
  /** The claims of a JWS of this key; undefined: it is none. */
  read(receipt: string): unknown;
}

/** Receipts of about 700 bytes each. */
const knownMax = 4_096;

export const receiptMediaType = 'policy-receipt+jwt';

/** PKCS #8 of an Ed25519 key (RFC 8410 §7), up to its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @param seed 32 bytes, secret (RFC 8032 §5.1.5); not kept. */
export function receiptSigner(seed: Uint8Array): ReceiptSigner {
  if (seed.length !== 32) throw new Error('a receipt seed has 32 bytes');
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  const { x } = publicKey.export({ format: 'jwk' });
  if (x === undefined) throw new Error('an Ed25519 key exports its public half');
  // RFC 7638 §3.2: the required members, in lexicographic order, without spaces.
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  const key: ReceiptKey = { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
  const header = encode({ alg: 'EdDSA', typ: receiptMediaType, kid });
  // What this process has signed or checked needs no check again: most orders follow their decision at once.
  const known = recentlyUsed<1>(knownMax);
  return {
    kid,
    jwks: () => ({ keys: [key] }),
    sign: (claims) => {
      const signed = `${header}.${encode(claims)}`;
      const receipt = `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
      known.set(receipt, 1);
      return receipt;
    },
    read: (receipt) => {
      const [head, claims = '', signature = '', ...more] = receipt.split('.');
      if (head !== header || more.length > 0) return undefined;
      if (known.get(receipt) === undefined) {
        const bytes = Buffer.from(signature, 'base64url');
        const isOurs =
          bytes.toString('base64url') === signature && verify(null, Buffer.from(`${head}.${claims}`), publicKey, bytes);
        if (!isOurs) return undefined;
        known.set(receipt, 1);
      }
      return JSON.parse(Buffer.from(claims, 'base64url').toString()) as unknown;
    },
  };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
