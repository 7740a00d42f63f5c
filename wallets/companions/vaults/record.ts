/**
 * Vaults, their keys and their orders to sign, as stored. Every key of a vault has the vault's keystore type, curve and scheme;
 * its id names the DKG session that made it, in a namespace of ids that clients cannot use.
 *
 * | Key | To |
 * |---|---|
 * | active | closing, when its vault is archived: it signs nothing from then on |
 * | closing | deleted, when every node has confirmed that its share is gone |
 */
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { becoming, unchangedIn } from '../../../gateway/api/state-changes.ts';
import type { KeyScheme } from '../../../proto/key-schemes.ts';
import { answerLifetimeMs } from '../../store/commit-argument.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';

export const keystoreTypes = [
  'mock_threshold',
  'mpc_frost',
  'multisig_evm_wallet',
  'mpc_vendor',
  'hsm_pkcs11',
] as const;
export type KeystoreName = (typeof keystoreTypes)[number];
export const curves = ['secp256k1', 'ed25519'] as const;
export type VaultCurve = (typeof curves)[number];
export const approvalModes = ['unspecified', 'direct_allowed', 'human_required'] as const;
export const vaultStatuses = ['active', 'archived'] as const;
type VaultStatus = (typeof vaultStatuses)[number];

/** By operation; an archiving that is repeated changes nothing. */
export const vaultStates = {
  use: unchangedIn<VaultStatus>('active'),
  archive: becoming<VaultStatus>('archived', ...vaultStatuses),
};
export const keyStatuses = ['active', 'closing', 'deleted'] as const;

/** The most keys of a vault. */
export const keysMax = 50;

export interface VaultRecord extends Versioned {
  readonly name: string;
  readonly status: VaultStatus;
  readonly keystoreType: KeystoreName;
  readonly curve: VaultCurve;
  readonly threshold: number;
  readonly totalNodes: number;
  readonly approvalMode: (typeof approvalModes)[number];
  /** Name of a policy, or null: only the tenant's default. */
  readonly policy: string | null;
  readonly metadata: MetadataValue;
  readonly primaryKeyId: string;
  readonly keyCount: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly archivedAtMs: number | null;
  readonly archiveReason: string | null;
}

export interface VaultKeyRecord extends Versioned {
  readonly vaultId: string;
  readonly name: string | null;
  readonly status: (typeof keyStatuses)[number];
  readonly curve: VaultCurve;
  readonly keystoreType: KeystoreName;
  readonly scheme: KeyScheme;
  /** Compressed point, lowercase hex; empty if every node has its own key. */
  readonly publicKey: string;
  /** 32 bytes, lowercase hex. */
  readonly chainCode: string;
  /** If every node has its own key: these keys, by participant, compressed, lowercase hex. */
  readonly ownerKeys: readonly string[];
  /** The nodes that hold a share, ascending. */
  readonly participants: readonly number[];
  readonly createdAtMs: number;
  readonly deletedAtMs: number | null;
}

/**
 * An order to sign a message, with the policies' decision about it. Committed before the request to the cluster, under the id
 * of the signature, and never changed: a repeat signs under this decision, whatever the policies decide later.
 */
export interface SignatureOrder extends Versioned {
  /** Whether a human must approve. A message that a policy denies has no order. */
  readonly needsHuman: boolean;
  /** dec_…, and its outcome. */
  readonly decisionId: string;
  readonly reason: string;
  /** A compact JWS of purpose `vault_signature`. */
  readonly receipt: string;
  readonly createdAtMs: number;
}

/** The lifetime of an idempotency key, plus an hour. */
export const signatureOrderLifetimeMs = answerLifetimeMs + 3_600_000;

export const signatureOrderType: RecordType<SignatureOrder> = {
  name: 'vault_signature_order',
  status: () => '',
  indices: () => [],
};

export const vaultType: RecordType<VaultRecord> = {
  name: 'vault',
  status: ({ status }) => status,
  indices: ({ status }) => ['vaults', ...(status === 'archived' ? [] : ['vaults:live']), `vaults:status:${status}`],
};

export const vaultKeyType: RecordType<VaultKeyRecord> = {
  name: 'vault_key',
  status: ({ status }) => status,
  indices: ({ vaultId }) => [keysIndex(vaultId)],
};

export function keysIndex(vaultId: string): string {
  return `vaults:keys:${vaultId}`;
}
