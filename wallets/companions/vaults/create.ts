/**
 * New vaults and further keys. The cluster makes the key first, in a DKG named by the key's id; then vault, key and
 * events are one change. A repeat with the same idempotency key finds the existing key.
 */
import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { nodesMax, thresholdMin } from '../../../proto/limits.ts';
import { defaultSharing, type Sharing } from '../../../proto/roster.ts';
import { metaOf } from '../../custody/provider-calls/calling.ts';
import { askingProvider } from '../../custody/provider-calls/refusals.ts';
import { assertPolicy } from '../../custody/wallets/public.ts';
import { create, update } from '../../store/changes.ts';
import { keyEvent, vaultEvent } from './change.ts';
import type { VaultCluster } from './cluster.ts';
import { openVault } from './read.ts';
import { keysMax, type VaultKeyRecord, type VaultRecord, vaultKeyType, vaultType } from './record.ts';
import type { CreateKeyBody, CreateVaultBody } from './schemas.ts';
import { vaultKeyView, vaultView } from './view.ts';

export interface CreateDeps {
  readonly cluster: Pick<VaultCluster, 'makeKey' | 'usualSharing'>;
  /** Whether the tenant has a policy of this name. */
  readonly policyExists: (context: RequestContext, name: string) => Promise<boolean>;
}

/** Throws ServiceError: 400, 422 and 503 from the cluster. */
export async function createVault(
  deps: CreateDeps,
  context: RequestContext,
  body: Static<typeof CreateVaultBody>,
): Promise<Answer> {
  const { nowMs } = context;
  await assertPolicy(deps, context, body.policy);
  const { threshold, totalNodes } = sharingOf(body, deps.cluster.usualSharing);
  const keyId = context.newId('vky');
  const vault: VaultRecord = {
    id: context.newId('vlt'),
    version: 1,
    name: body.name,
    status: 'active',
    keystoreType: body.keystore_type,
    curve: body.curve,
    threshold,
    totalNodes,
    approvalMode: body.approval_mode ?? 'unspecified',
    policy: body.policy ?? null,
    metadata: body.metadata ?? {},
    primaryKeyId: keyId,
    keyCount: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    archivedAtMs: null,
    archiveReason: null,
  };
  const key = await makeKey(deps, context, vault, keyId, null);
  return {
    status: 201,
    body: vaultView(vault),
    headers: { location: `/v1/vaults/${vault.id}` },
    change: {
      puts: [create(vaultType, vault), create(vaultKeyType, key)],
      events: [vaultEvent(context, 'created', vault), keyEvent(context, 'created', key)],
    },
  };
}

/** Throws ServiceError: 404, 409 when the vault is archived or full, 422 and 503 from the cluster. */
export async function createKey(
  deps: CreateDeps,
  context: RequestContext,
  vaultId: string,
  body: Static<typeof CreateKeyBody>,
): Promise<Answer> {
  const vault = await openVault(context, vaultId);
  if (vault.keyCount >= keysMax) {
    throw new ServiceError('conflict', `a vault has at most ${keysMax} keys`, {
      details: [{ field: 'key_count', issue: 'too_many', message: `at most ${keysMax}` }],
    });
  }
  const key = await makeKey(deps, context, vault, context.newId('vky'), body.name ?? null);
  const after = {
    ...vault,
    version: vault.version + 1,
    keyCount: vault.keyCount + 1,
    updatedAtMs: context.nowMs,
  };
  return {
    status: 201,
    body: vaultKeyView(key),
    change: {
      puts: [update(vaultType, vault, after), create(vaultKeyType, key)],
      events: [keyEvent(context, 'created', key)],
    },
  };
}

async function makeKey(
  { cluster }: CreateDeps,
  context: RequestContext,
  vault: VaultRecord,
  keyId: string,
  name: string | null,
): Promise<VaultKeyRecord> {
  const { keystoreType, curve, threshold, totalNodes } = vault;
  const made = await askingProvider('self_hosted', () =>
    cluster.makeKey(metaOf(context), { keyId, keystoreType, curve, threshold, totalNodes }),
  );
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  return {
    id: keyId,
    version: 1,
    vaultId: vault.id,
    name,
    status: 'active',
    curve,
    keystoreType,
    scheme: made.scheme,
    publicKey: hex(made.publicKey),
    chainCode: hex(made.chainCode),
    ownerKeys: made.ownerKeys.map(hex),
    participants: made.participants,
    createdAtMs: context.nowMs,
    deletedAtMs: null,
  };
}

/** The requested sharing, or the defaults: a token's or a vendor's key has one node. Throws ServiceError 400. */
function sharingOf(
  body: Static<typeof CreateVaultBody>,
  usual: Sharing = defaultSharing(nodesMax),
): Pick<VaultRecord, 'threshold' | 'totalNodes'> {
  const isAlone = body.keystore_type === 'hsm_pkcs11' || body.keystore_type === 'mpc_vendor';
  const totalNodes = body.total_nodes ?? (isAlone ? 1 : usual.totalNodes);
  const threshold = body.threshold ?? Math.min(usual.threshold, totalNodes);
  const min = isAlone ? 1 : thresholdMin;
  const max = isAlone ? 1 : totalNodes;
  if (totalNodes < min || (isAlone && totalNodes > max)) {
    throw refusedSharing('total_nodes', isAlone ? 'takes 1' : `takes ${min} or more`);
  }
  if (threshold < min || threshold > max) throw refusedSharing('threshold', `takes ${min} to ${max}`);
  return { threshold, totalNodes };
}

function refusedSharing(field: string, message: string): ServiceError {
  return invalidFields([{ field, issue: 'not_allowed_value', message }]);
}
