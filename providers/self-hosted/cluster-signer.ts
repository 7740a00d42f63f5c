/**
 * The signer cluster as the wallet control plane uses it: keys named by their wallet, and signatures named by what they
 * are for. Both may be repeated: the same wallet id gives the same key, the same purpose the same signature.
 */
import type { CallMeta } from '../port/port.ts';

export type Curve = 'secp256k1' | 'ed25519';

export interface SigningOrder {
  /** The wallet, whose id is its key's. */
  readonly walletId: string;
  /** transaction_intent_id of the signing session: one purpose gets one signature, ever. */
  readonly purpose: string;
  /** 32 bytes for secp256k1; the message itself for ed25519. */
  readonly message: Uint8Array;
  readonly networkId: string;
  /** The policy receipt, which goes to the signing API as policy_approval_token. */
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
  /** Runs a DKG, or finds the one that ran. Compressed public key, 33 or 32 bytes. Throws ProviderUnavailable or ProviderRejected. */
  createKey(meta: CallMeta, walletId: string, curve: Curve, networkId: string): Promise<Uint8Array>;
  /** Throws ProviderUnavailable when the same order may be repeated later, ProviderRejected when it never will be signed. */
  sign(meta: CallMeta, order: SigningOrder): Promise<ClusterSignature>;
  /** Revokes the open sessions of a key and lets it sign nothing any more. Idempotent. */
  closeKey(meta: CallMeta, walletId: string): Promise<void>;
  /** Revokes the sessions of a key that clients have open now; those of `sign` go on, and new ones may begin. Idempotent. */
  revokeSessions(meta: CallMeta, walletId: string): Promise<void>;
}
