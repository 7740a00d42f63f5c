/**
 * The signer cluster as vaults use it: keys named by their ids, and signatures named by their purpose. Both may be repeated:
 * the same id gives the same key, the same purpose the same session and signature.
 */
import type { KeyScheme } from '../../proto/key-schemes.ts';
import type { Sharing } from '../../proto/roster.ts';
import type { CallMeta } from '../../providers/port/port.ts';
import type { Curve, KeystoreName } from './record.ts';

export interface KeyOrder {
  readonly keyId: string;
  readonly keystoreType: KeystoreName;
  readonly curve: Curve;
  readonly threshold: number;
  readonly totalNodes: number;
}

export interface MadeKey {
  readonly scheme: KeyScheme;
  /** Compressed point, 33 or 32 bytes; empty where every node has a key of its own. */
  readonly publicKey: Uint8Array;
  /** 32 bytes. */
  readonly chainCode: Uint8Array;
  /** Where every node has a key of its own: these keys, by participant. */
  readonly ownerKeys: readonly Uint8Array[];
  /** Ascending. */
  readonly participants: readonly number[];
}

export interface MessageOrder {
  readonly keyId: string;
  readonly keystoreType: KeystoreName;
  /** One purpose gets one signature, ever. */
  readonly purpose: string;
  /** A digest of 32 bytes on secp256k1, the message itself on ed25519. */
  readonly message: Uint8Array;
  readonly derivationPath: string;
  readonly needsHuman: boolean;
  /** Empty: none yet. */
  readonly witness: Uint8Array;
  readonly policyReceipt: string;
}

export interface MessageSignature {
  readonly sessionId: string;
  readonly status: 'completed' | 'pending_human_approval' | 'accepted';
  /** Empty unless it is completed. */
  readonly signature: Uint8Array;
  /** Of mock ECDSA. */
  readonly recoveryId: number | undefined;
  /** DiagnosticReceipt and SessionCheckpoint of the signing API, as its JSON. The checkpoint may hold a resume token: secret. */
  readonly receipt: object;
  readonly checkpoint: object;
}

/** Throws ProviderUnavailable when the same call may be repeated later, ProviderRejected when it never helps. */
export interface VaultCluster {
  /** Of a key that asks for neither; undefined: 3 of 5. */
  readonly usualSharing?: Sharing;
  makeKey(meta: CallMeta, order: KeyOrder): Promise<MadeKey>;
  sign(meta: CallMeta, order: MessageOrder): Promise<MessageSignature>;
  /** Ends what is open with the key and deletes every node's share. Throws until all nodes have confirmed it. */
  closeKey(meta: CallMeta, keyId: string): Promise<void>;
}
