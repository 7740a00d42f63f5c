/**
 * The port of the wallet control plane to the signer cluster: keys named by their wallet, and signatures by their purpose.
 * Calls may be repeated: the same wallet id gives the same key, the same purpose the same signature.
 */
import type { CallMeta } from '../port/port.ts';

export type SignerCurve = 'secp256k1' | 'ed25519';

export interface SigningOrder {
  /** The wallet, whose id is its key's. */
  readonly walletId: string;
  /** transaction_intent_id of the signing session: each purpose only ever gets one signature. */
  readonly purpose: string;
  /** 32 bytes for secp256k1; the message itself for ed25519. */
  readonly message: Uint8Array;
  readonly networkId: string;
  /** Of a child of the key, BIP-32 below it; absent: the key itself. */
  readonly path?: string;
  /** The policy receipt, sent to the signing API as policy_approval_token. */
  readonly policyReceipt: string;
}

export interface ClusterSignature {
  readonly sessionId: string;
  /** 64 bytes: r‖s (low s), or R‖S. */
  readonly signature: Uint8Array;
  /** 0..3 with mock ECDSA; undefined otherwise. */
  readonly recoveryId: number | undefined;
}

export interface ClusterSigner {
  /** Runs a DKG once. Public key: compressed, 33 or 32 bytes. Throws ProviderUnavailable or ProviderRejected. */
  createKey(meta: CallMeta, walletId: string, curve: SignerCurve, networkId: string): Promise<Uint8Array>;
  /** The public key of a child of a secp256k1 key, compressed. Throws ProviderUnavailable or ProviderRejected. */
  childKey(meta: CallMeta, walletId: string, networkId: string, path: string): Promise<Uint8Array>;
  /** Throws ProviderUnavailable if the order may be repeated later, ProviderRejected if the cluster will never sign it. */
  sign(meta: CallMeta, order: SigningOrder): Promise<ClusterSignature>;
  /** Revokes the open sessions of a key and closes the key permanently. Idempotent. */
  closeKey(meta: CallMeta, walletId: string): Promise<void>;
  /** Revokes the sessions of a key that clients have open now; those of `sign` continue, and new ones may begin. Idempotent. */
  revokeSessions(meta: CallMeta, walletId: string): Promise<void>;
}
