/** The rules of vaults to their edges, over a store in memory and a cluster in the test's hands. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { deriveTweak, parsePath } from '../../../../core/crypto/derivation.ts';
import { contextOf } from '../../../../gateway/api/context.ts';
import { deleteKey } from '../../../../wallets/companions/vaults/archive.ts';
import type { MessageOrder } from '../../../../wallets/companions/vaults/cluster.ts';
import {
  keysMax,
  signatureOrderType,
  type VaultKeyRecord,
  type VaultRecord,
  vaultKeyType,
  vaultType,
} from '../../../../wallets/companions/vaults/record.ts';
import { type VaultDeps, vaultRoutes } from '../../../../wallets/companions/vaults/routes.ts';
import { vaultKeyView } from '../../../../wallets/companions/vaults/view.ts';
import type { PolicyDecision } from '../../../../wallets/custody/intents/facts.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { Change, TenantStore } from '../../../../wallets/store/contract.ts';
import { done, newTenant, type StoreUnderTest, startMemoryStore } from '../../../support/memory-store.ts';
import { type Caller, call, contextAt, eventTypes, frozenTenant, refusal, setFrozen } from '../support/handlers.ts';

const startMs = Date.UTC(2026, 5, 15, 12);
/** The secret of this key is 1. */
const publicKey = Buffer.from(secp256k1.Point.BASE.toBytes(true)).toString('hex');
const chainCode = new Uint8Array(32).fill(7);
const message = Buffer.from('a message').toString('base64');

let under: StoreUnderTest;
let store: TenantStore;
beforeAll(async () => {
  under = startMemoryStore();
  store = await under.open({ nowMs: () => startMs });
});

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON, of which a test reads a field or two
type Json = any;

/** A tenant with a vault and its key. */
class Keeper {
  readonly tenant = newTenant();
  nowMs = startMs;
  decision: Partial<PolicyDecision> = { decision: 'allow', reason: 'a rule' };
  /** Runs while the policies decide; its change is committed with the decision. */
  deciding: () => Promise<Change> = async () => ({});
  signing: (order: MessageOrder) => Promise<object> = async (order) => ({
    status: 'completed',
    signature: signatureOf(order),
  });
  decided = 0;
  readonly signed: MessageOrder[] = [];
  readonly deps = {
    policyExists: async () => true,
    wake: () => {},
    cluster: {
      usualSharing: { threshold: 3, totalNodes: 5 },
      makeKey: async () => ({ ...parts, publicKey: Buffer.from(publicKey, 'hex'), chainCode: new Uint8Array(32) }),
      sign: async (_: unknown, order: MessageOrder) => {
        this.signed.push(order);
        return { sessionId: 'sig_1', receipt: {}, checkpoint: {}, recoveryId: 1, ...(await this.signing(order)) };
      },
      closeKey: async (_: unknown, id: string) => void this.closed.push(id),
    },
    evaluators: {
      assess: async () => ({ result: {}, change: {} }),
      decide: async () => {
        this.decided += 1;
        return { result: { id: `dec_${this.decided}`, ...this.decision }, change: await this.deciding() };
      },
    },
    receipts: { sign: ({ jti }: { readonly jti: string }) => `receipt of ${jti}` },
  } as unknown as VaultDeps;
  readonly closed: string[] = [];

  async open(over: Partial<VaultKeyRecord> = {}, vault: Partial<VaultRecord> = {}): Promise<this> {
    await done(store, this.tenant, {
      puts: [create(vaultType, { ...vaultRecord, ...vault }), create(vaultKeyType, { ...keyRecord, ...over })],
    });
    return this;
  }

  context(who: Omit<Caller, 'tenant'> = {}) {
    return contextAt(this.nowMs, store, { tenant: this.tenant, ...who });
  }

  call(operation: string, input: object = {}, context = this.context()): Promise<Json> {
    return call(vaultRoutes(this.deps), operation, context, { params: { id: 'vlt_1' }, ...input });
  }

  sign(body: object = {}, context = this.context()): Promise<Json> {
    return this.call('signVaultMessage', { body: { key_id: 'vky_1', message, message_type: 'raw', ...body } }, context);
  }

  /** Contexts of one request that is made again: they make the same ids. */
  repeated() {
    const { nowMs, newId: _, ...base } = this.context();
    return () => contextOf(base, { seed: () => new Uint8Array(32).fill(5), startedMs: startMs }, nowMs);
  }

  async vault(): Promise<VaultRecord> {
    return (await store.read(this.tenant, vaultType, 'vlt_1'))!;
  }

  events(): Promise<readonly string[]> {
    return eventTypes(store, this.tenant);
  }
}

function signatureOf({ message, derivationPath }: MessageOrder): Uint8Array {
  const { normal: path } = parsePath(derivationPath);
  const key = Buffer.from(publicKey, 'hex');
  const { tweak } = deriveTweak({ curve: 'secp256k1', publicKey: key, chainCode, path });
  const { Fn } = secp256k1.Point;
  return secp256k1.sign(message, Fn.toBytes(Fn.add(Fn.ONE, tweak)), { prehash: false });
}

const parts = { scheme: 'mock_ecdsa', ownerKeys: [], participants: [1, 2, 3] } as const;
const times = { createdAtMs: startMs, updatedAtMs: startMs };
const vaultRecord: VaultRecord = {
  ...{ id: 'vlt_1', version: 1, name: 'v', status: 'active', keystoreType: 'mock_threshold', curve: 'secp256k1' },
  ...{ threshold: 2, totalNodes: 3, approvalMode: 'unspecified', policy: null, metadata: {}, primaryKeyId: 'vky_1' },
  ...{ keyCount: 1, ...times, archivedAtMs: null, archiveReason: null },
};
const keyRecord: VaultKeyRecord = {
  ...{ id: 'vky_1', version: 1, vaultId: 'vlt_1', name: null, status: 'active', curve: 'secp256k1', publicKey },
  ...{
    keystoreType: 'mock_threshold',
    chainCode: Buffer.from(chainCode).toString('hex'),
    ...parts,
    createdAtMs: startMs,
    deletedAtMs: null,
  },
};
const archived = refusal('conflict', 'status', 'vault_archived');

describe('the sharing of a new vault', () => {
  const made = (keystore_type: string, body: object) =>
    new Keeper().call('createVault', { body: { name: 'v', keystore_type, curve: 'secp256k1', ...body } });

  it.each([
    ['mock_threshold', {}, 3, 5],
    ['mock_threshold', { total_nodes: 2 }, 2, 2],
    ['mpc_frost', { threshold: 4, total_nodes: 4 }, 4, 4],
    ['mpc_frost', { threshold: 2 }, 2, 5],
    ['hsm_pkcs11', {}, 1, 1],
    ['mpc_vendor', { threshold: 1, total_nodes: 1 }, 1, 1],
  ] as const)('of %s with %j is %i of %i', async (type, body, threshold, total_nodes) => {
    expect(await made(type, body)).toMatchObject({ threshold, total_nodes });
  });

  it.each([
    ['mock_threshold', { total_nodes: 1 }, 'total_nodes'],
    ['mock_threshold', { threshold: 1 }, 'threshold'],
    ['mpc_frost', { threshold: 4, total_nodes: 3 }, 'threshold'],
    ['hsm_pkcs11', { total_nodes: 2 }, 'total_nodes'],
    ['mpc_vendor', { threshold: 2 }, 'threshold'],
  ] as const)('of %s is not %j', async (type, body, field) => {
    await expect(made(type, body)).rejects.toEqual(refusal('invalidRequest', field, 'not_allowed_value'));
  });
});

it('a vault takes keys up to its limit, each with one version and one event', async () => {
  const keeper = await new Keeper().open({}, { keyCount: keysMax - 1 });
  keeper.nowMs += 5;
  await keeper.call('createVaultKey', { body: { name: 'hot' } });
  expect(await keeper.vault()).toMatchObject({ keyCount: keysMax, version: 2, updatedAtMs: startMs + 5 });
  expect(await keeper.events()).toEqual(['vault.key_created']);
  await expect(keeper.call('createVaultKey', { body: {} })).rejects.toEqual(
    refusal('conflict', 'key_count', 'too_many'),
  );
});

describe('a signature', () => {
  it('is ordered before the cluster is asked, so that a repeat signs under the same decision', async () => {
    const keeper = await new Keeper().open();
    keeper.decision = { decision: 'require_approval', reason: 'a rule' };
    keeper.signing = async () => {
      throw new ProviderUnavailable('away');
    };
    const again = keeper.repeated();
    await expect(keeper.sign({}, again())).rejects.toEqual(refusal('unavailable'));
    const [{ purpose }] = keeper.signed as [MessageOrder];
    expect(await store.read(keeper.tenant, signatureOrderType, purpose)).toMatchObject({
      ...{ needsHuman: true, decisionId: 'dec_1', receipt: 'receipt of dec_1', createdAtMs: startMs },
    });
    keeper.decision = { decision: 'deny', reason: 'another rule' };
    keeper.signing = async () => ({ status: 'pending_human_approval', signature: new Uint8Array([7]) });
    expect(await keeper.sign({}, again())).toMatchObject({
      ...{ id: purpose, status: 'pending_human_approval', signature: null, policy_decision_id: 'dec_1' },
    });
    keeper.signing = async (order) => ({ status: 'completed', signature: signatureOf(order) });
    const { status, signature, reason } = await keeper.sign({}, again());
    expect([status, reason, keeper.decided]).toEqual(['completed', 'a rule', 1]);
    expect(signature).toBe(Buffer.from(signatureOf(keeper.signed[0]!)).toString('base64'));
    expect(keeper.signed[2]).toEqual(keeper.signed[0]);
    expect(keeper.signed[0]).toMatchObject({ needsHuman: true, policyReceipt: 'receipt of dec_1', keyId: 'vky_1' });
    expect(await keeper.events()).toEqual(['vault.signature_pending', 'vault.signature_completed']);
  });

  it('that is denied orders nothing, and tells of the denial with the record of its decision', async () => {
    const keeper = await new Keeper().open();
    keeper.decision = { decision: 'deny', reason: 'no' };
    const note = { name: 'note', status: () => '', indices: () => [] };
    keeper.deciding = async () => ({ puts: [create(note, { id: 'dec_1', version: 1 })] });
    const { id, status, signature, reason } = await keeper.sign();
    expect([status, signature, reason, keeper.signed]).toEqual(['denied', null, 'no', []]);
    expect(await store.read(keeper.tenant, signatureOrderType, id)).toBeUndefined();
    expect(await store.read(keeper.tenant, note, 'dec_1')).toBeDefined();
    expect(await keeper.events()).toEqual(['vault.signature_denied']);
  });

  it.each(['allow', 'deny'] as const)(
    'is refused when its vault was archived while the policies decide: %s',
    async (decision) => {
      const keeper = await new Keeper().open();
      keeper.decision = { decision, reason: 'a rule' };
      keeper.deciding = async () => {
        if ((await keeper.vault()).status === 'active') await keeper.call('archiveVault', { body: {} });
        return {};
      };
      const signed = keeper.sign();
      if (decision === 'allow') await expect(signed).rejects.toEqual(archived);
      else await expect(signed).rejects.toThrow('status');
      expect([keeper.signed, await keeper.events()]).toEqual([[], ['vault.archived']]);
    },
  );

  it('is decided again while what was read changes, five times at most', async () => {
    const keeper = await new Keeper().open();
    const stale = { guards: [{ kind: 'version', id: 'vlt_1', version: 9 }] } as const;
    keeper.deciding = async () => (keeper.decided < 5 ? stale : {});
    expect(await keeper.sign()).toMatchObject({ status: 'completed', policy_decision_id: 'dec_5' });
    keeper.deciding = async () => stale;
    await expect(keeper.sign()).rejects.toEqual(refusal('conflict'));
    expect([keeper.decided, keeper.signed.length]).toEqual([10, 1]);
  });

  it('is made under a path without hardened components, written in one way', async () => {
    const keeper = await new Keeper().open();
    for (const path of ['', 'm']) expect((await keeper.sign({ derivation_path: path })).derivation_path).toBe('');
    const { derivation_path, public_key } = await keeper.sign({ derivation_path: 'm/0/7' });
    expect([derivation_path, public_key === publicKey]).toEqual(['m/0/7', false]);
    expect((await keeper.sign({ derivation_path: '0/7' })).derivation_path).toBe('m/0/7');
    const alone = await new Keeper().open({ scheme: 'hsm_ecdsa', keystoreType: 'hsm_pkcs11', participants: [1] });
    expect((await alone.sign({ derivation_path: 'm' })).public_key).toBe(publicKey);
    for (const [holder, path] of [
      [keeper, "m/44'"],
      [keeper, "m/44'/0"],
      [keeper, '/7'],
      [keeper, 'm/00'],
      [alone, 'm/0'],
      [alone, "m/0'"],
    ] as const) {
      await expect(holder.sign({ derivation_path: path })).rejects.toEqual(
        refusal('invalidRequest', 'derivation_path', 'invalid_format'),
      );
    }
  });

  it('needs a key of this vault, and a token that sees the whole tenant', async () => {
    const keeper = await new Keeper().open({ vaultId: 'vlt_2' });
    await expect(keeper.sign()).rejects.toEqual(refusal('notFound'));
    const limited = keeper.context({ providerConnectionIds: ['pcn_1'] });
    await expect(keeper.call('getVault', {}, limited)).rejects.toEqual(refusal('notFound'));
  });
});

it('archiving closes every key with the vault, once, and a job deletes the share of each', async () => {
  const keeper = await new Keeper().open();
  await done(store, keeper.tenant, { puts: [create(vaultKeyType, { ...keyRecord, id: 'vky_2' })] });
  const meta = { tenant: keeper.tenant, nowMs: startMs + 9, correlationId: 'c', traceparent: '' };
  const job = (id: string) =>
    deleteKey(
      { store, cluster: keeper.deps.cluster as never, newId: keeper.context().newId },
      meta,
      `delete-vault-key/${id}`,
    );
  await job('vky_1');
  expect([keeper.closed, (await store.read(keeper.tenant, vaultKeyType, 'vky_1'))!.status]).toEqual([[], 'active']);

  keeper.nowMs += 3;
  const first = await keeper.call('archiveVault', { body: { reason: 'moved' } });
  expect(first).toMatchObject({ status: 'archived', archive_reason: 'moved', version: 2 });
  expect(await keeper.call('archiveVault', { body: { reason: 'again' } })).toEqual(first);
  for (const made of [keeper.sign(), keeper.call('createVaultKey', { body: {} })])
    await expect(made).rejects.toEqual(archived);
  const contents = await under.contents(keeper.tenant);
  const due = (contents.get(`sm:{t:${keeper.tenant}}:due`) as { readonly value: readonly string[] }).value;
  expect(due).toEqual(['vky_1', 'vky_2'].flatMap((id) => [`delete-vault-key/${id}`, String(startMs + 3)]));
  expect([...contents.keys()].filter((key) => key.includes('closed:'))).toEqual(
    ['vky_1', 'vky_2'].map((id) => `sm:{t:${keeper.tenant}}:closed:${id}`),
  );

  for (const id of ['vky_1', 'vky_2', 'vky_1']) await job(id);
  expect(keeper.closed).toEqual(['vky_1', 'vky_2']);
  expect(await store.read(keeper.tenant, vaultKeyType, 'vky_2')).toMatchObject({
    ...{ status: 'deleted', version: 3, deletedAtMs: startMs + 9 },
  });
  expect(await keeper.events()).toEqual(['vault.archived', 'vault.key_deleted', 'vault.key_deleted']);
  expect((await under.contents(keeper.tenant)).has(`sm:{t:${keeper.tenant}}:due`)).toBe(false);
});

it('a key of BIP-340 has no address, and of several own keys only their owners are shown', async () => {
  const shown = vaultKeyView(keyRecord) as Json;
  expect(shown.addresses.map(({ network }: Json) => network.split(':')[0])).toEqual(['eip155', 'bip122']);
  expect(vaultKeyView({ ...keyRecord, scheme: 'frost_bip340' })).toMatchObject({ addresses: [], key_exposed: false });
  const owners = { publicKey: '', ownerKeys: [publicKey], participants: [4], scheme: 'owner_ecdsa' } as const;
  expect(vaultKeyView({ ...keyRecord, ...owners })).toMatchObject({
    ...{ public_key: null, jwk: null, xpub: null, chain_code: null, addresses: [] },
    owners: [{ node_id: 4, public_key: publicKey, address: shown.addresses[0].address }],
  });
});

it('vaults are listed with the archived ones only when those are asked for', async () => {
  const keeper = await new Keeper().open();
  const put = create(vaultType, { ...vaultRecord, id: 'vlt_2', status: 'archived', archivedAtMs: startMs });
  await done(store, keeper.tenant, { puts: [put] });
  const ids = async (query: object) =>
    (await keeper.call('listVaults', { query })).vaults.map(({ id }: { readonly id: string }) => id);
  expect([await ids({}), await ids({ status: 'active' }), await ids({ status: 'archived' })]).toEqual([
    ['vlt_1'],
    ['vlt_1'],
    ['vlt_2'],
  ]);
  const before = await keeper.vault();
  await done(store, keeper.tenant, {
    puts: [update(vaultType, before, { ...before, version: 2, status: 'archived' })],
  });
  expect(await ids({})).toEqual([]);
});

it('a vault of a frozen tenant decides and signs nothing', async () => {
  const keeper = await new Keeper().open();
  await setFrozen(store, keeper.tenant);
  await expect(keeper.sign()).rejects.toEqual(frozenTenant());
  expect([keeper.decided, keeper.signed]).toEqual([0, []]);
  await setFrozen(store, keeper.tenant, 'unfreezeTenant');
  expect((await keeper.sign()).status).toBe('completed');
});
