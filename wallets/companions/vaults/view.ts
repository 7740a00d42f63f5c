/** Vaults, keys and signatures as the API and its events show them: public material only. */
import { encodeXpub } from '../../../core/crypto/derivation.ts';
import { uncompress } from '../../../core/crypto/group.ts';
import { schemeFacts } from '../../../proto/key-schemes.ts';
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import { addressOfKey, evmAddress } from '../../networks/addresses.ts';
import { networks } from '../../networks/networks.ts';
import type { VaultKeyRecord, VaultRecord } from './record.ts';

export function vaultView(vault: VaultRecord): object {
  return {
    id: vault.id,
    name: vault.name,
    status: vault.status,
    keystore_type: vault.keystoreType,
    curve: vault.curve,
    threshold: vault.threshold,
    total_nodes: vault.totalNodes,
    approval_mode: vault.approvalMode,
    policy: vault.policy,
    metadata: vault.metadata,
    primary_key_id: vault.primaryKeyId,
    key_count: vault.keyCount,
    version: vault.version,
    created_at: timestamp(vault.createdAtMs),
    updated_at: timestamp(vault.updatedAtMs),
    archived_at: timestampOrNull(vault.archivedAtMs),
    archive_reason: vault.archiveReason,
  };
}

export function vaultKeyView(key: VaultKeyRecord): object {
  return {
    id: key.id,
    vault_id: key.vaultId,
    name: key.name,
    status: key.status,
    keystore_type: key.keystoreType,
    curve: key.curve,
    key_scheme: key.scheme,
    // Its first signature discloses it, so it counts as exposed from its creation.
    key_exposed: key.scheme === 'mock_ecdsa',
    ...(key.publicKey === '' ? ownersView(key) : sharedKeyView(key)),
    participants: key.participants,
    created_at: timestamp(key.createdAtMs),
    deleted_at: timestampOrNull(key.deletedAtMs),
  };
}

/** For one key that the nodes share. */
function sharedKeyView(key: VaultKeyRecord) {
  const publicKey = Buffer.from(key.publicKey, 'hex');
  const chainCode = Buffer.from(key.chainCode, 'hex');
  const { derives } = schemeFacts(key.scheme);
  // Their transactions use ECDSA and Ed25519, so a BIP-340 key has no address on any of them.
  const served = networks.filter(({ curve }) => curve === key.curve && key.scheme !== 'frost_bip340');
  return {
    public_key: key.publicKey,
    jwk: key.curve === 'ed25519' ? okp(publicKey) : ec(publicKey),
    chain_code: derives ? key.chainCode : null,
    xpub: derives && key.curve === 'secp256k1' ? encodeXpub({ publicKey, chainCode }) : null,
    addresses: served.map(({ id }) => ({ network: id, address: addressOfKey(id, publicKey) })),
    owners: [],
  };
}

/** Every node has its own key: there is no common key, only the owners of a multisig wallet. */
function ownersView({ ownerKeys, participants }: VaultKeyRecord) {
  const owners = ownerKeys.map((key, index) => ({
    node_id: participants[index]!,
    address: evmAddress(Buffer.from(key, 'hex')),
    public_key: key,
  }));
  return { public_key: null, jwk: null, chain_code: null, xpub: null, addresses: [], owners };
}

/** RFC 8037. */
function okp(publicKey: Uint8Array) {
  return { kty: 'OKP', crv: 'Ed25519', x: base64url(publicKey) };
}

/** RFC 8812. */
function ec(publicKey: Uint8Array) {
  const point = uncompress(publicKey);
  return { kty: 'EC', crv: 'secp256k1', x: base64url(point.subarray(1, 33)), y: base64url(point.subarray(33)) };
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
