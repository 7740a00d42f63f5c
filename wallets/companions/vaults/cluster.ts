/**
 * The port of vaults to the signer cluster: keys named by their ids, and signatures by their purpose. Calls may be repeated:
 * the same id gives the same key, the same purpose the same session and signature.
 */
import type { KeyScheme } from '../../../proto/key-schemes.ts';
import type { Sharing } from '../../../proto/roster.ts';
import type { CallMeta } from '../../providers/port/port.ts';
import type { KeystoreName, VaultCurve } from './record.ts';

export interface KeyOrder {
  readonly keyId: string;
  readonly keystoreType: KeystoreName;
  readonly curve: VaultCurve;
  readonly threshold: number;
  readonly totalNodes: number;
}

export interface MadeKey {
  readonly scheme: KeyScheme;
  /** Compressed point, 33 or 32 bytes; empty if every node has its own key. */
  readonly publicKey: Uint8Array;
  /** 32 bytes. */
  readonly chainCode: Uint8Array;
  /** If every node has its own key: these keys, by participant. */
  readonly ownerKeys: readonly Uint8Array[];
  /** Ascending. */
  readonly participants: readonly number[];
}

export interface MessageOrder {
  readonly keyId: string;
  readonly keystoreType: KeystoreName;
  /** Each purpose only ever gets one signature. */
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
  /** For mock ECDSA. */
  readonly recoveryId: number | undefined;
  /** DiagnosticReceipt and SessionCheckpoint of the signing API, as its JSON. The checkpoint may hold a resume token: secret. */
  readonly receipt: object;
  readonly checkpoint: object;
}

/** Throws ProviderUnavailable when the same call may be repeated later, ProviderRejected when it never helps. */
export interface VaultCluster {
  /** The default sharing of a key; undefined: 3 of 5. */
  readonly usualSharing?: Sharing;
  makeKey(meta: CallMeta, order: KeyOrder): Promise<MadeKey>;
  sign(meta: CallMeta, order: MessageOrder): Promise<MessageSignature>;
  /** Ends the key's open sessions and deletes every node's share. Throws until all nodes have confirmed it. */
  closeKey(meta: CallMeta, keyId: string): Promise<void>;
}
