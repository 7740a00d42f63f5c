/** Changing, freezing and archiving wallets, also against intents that are made at the same moment. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../../../coordinator/store/layout.ts';
import { dueKeys } from '../../../../core/redis/redis-due-work.ts';
import { revokeConnectionDue } from '../../../../wallets/custody/connections/revoking.ts';
import {
  closeKey,
  closeKeyDue,
  revokeOfConnection,
  revokeSessions,
} from '../../../../wallets/custody/wallets/close-key.ts';
import { openIntentsIndex, type WalletRecord, walletType } from '../../../../wallets/custody/wallets/record.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { RecordType, Versioned } from '../../../../wallets/store/contract.ts';
import { fresh, startWorld, type Tenant, type World } from './support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

/** As much of an intent as a wallet's life depends on. */
interface OpenIntent extends Versioned {
  readonly walletId: string;
  readonly isOpen: boolean;
}

const intentType: RecordType<OpenIntent> = {
  name: 'transaction_intent',
  status: ({ isOpen }) => (isOpen ? 'open' : 'over'),
  indices: ({ walletId, isOpen }) => (isOpen ? [openIntentsIndex(walletId)] : ['intents']),
};

async function openIntent(tenant: Tenant, walletId: string) {
  const intent: OpenIntent = { id: fresh('txi'), version: 1, walletId, isOpen: true };
  const result = await world.store.commit(tenant.id, {
    puts: [create(intentType, intent)],
    guards: [{ kind: 'status', id: walletId, status: 'active' }],
  });
  return { intent, result };
}

async function eventTypes(tenant: Tenant): Promise<string[]> {
  const { events } = await world.store.events(tenant.id, { afterSequence: 0, limit: 100, types: [] });
  return events.map(({ type }) => type);
}

describe('a change of settings', () => {
  test('changes what is named, leaves the rest, and says so in an event', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection(), { external_id: 'a', metadata: { a: '1' } });
    const patch = { name: 'new', policy: 'treasury', approval_mode: 'direct_allowed', metadata: { b: '2' } };
    const { status, body } = await tenant.call('PATCH', `/v1/wallets/${wallet.id}`, patch);
    expect(status).toBe(200);
    expect(body).toEqual({ ...wallet, ...patch, version: 2, updated_at: body.updated_at });
    expect(Date.parse(body.updated_at)).toBeGreaterThanOrEqual(Date.parse(wallet.updated_at));
    expect((await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body).toEqual(body);
    const { events } = await world.store.events(tenant.id, { afterSequence: 1, limit: 10, types: [] });
    expect(events).toMatchObject([{ type: 'wallet.updated', resource: { version: 2 }, object: body }]);
  });

  test('takes policy and external id away with null, and then the filter finds it no more', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection(), { external_id: 'erp-1', policy: 'treasury' });
    const patch = { external_id: null, policy: null };
    expect((await tenant.call('PATCH', `/v1/wallets/${wallet.id}`, patch)).body).toMatchObject(patch);
    expect((await tenant.call('GET', '/v1/wallets?external_id=erp-1')).body.wallets).toEqual([]);
  });

  test('that changes nothing makes no version and no event', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection(), { metadata: { a: '1', b: '2' } });
    for (const patch of [
      {},
      { name: wallet.name, metadata: { b: '2', a: '1' }, policy: null },
      { expected_version: 1 },
    ]) {
      const { status, body } = await tenant.call('PATCH', `/v1/wallets/${wallet.id}`, patch);
      expect({ status, body }).toEqual({ status: 200, body: wallet });
    }
    expect(await eventTypes(tenant)).toEqual(['wallet.created']);
  });

  test('for another version is 409; of ten for the same version one wins', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        tenant.call('PATCH', `/v1/wallets/${wallet.id}`, { name: `n${index}`, expected_version: 1 }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
    const refused = replies.find(({ status }) => status === 409)!;
    expect(refused.body.error).toMatchObject({
      code: 'conflict',
      details: [{ field: 'expected_version', issue: 'version_conflict' }],
    });
  });

  test('without a version all ten take effect, one after the other', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) => tenant.call('PATCH', `/v1/wallets/${wallet.id}`, { name: `n${index}` })),
    );
    expect(new Set(replies.map(({ body }) => body.version))).toEqual(new Set([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
  });

  test.each([
    ['name', 'too_short', { name: '' }],
    ['name', 'wrong_type', { name: null }],
    ['policy', 'not_found', { policy: 'no-such-policy' }],
    ['approval_mode', 'wrong_type', { approval_mode: null }],
    ['signing_api', 'not_allowed_value', { signing_api: '' }],
    ['metadata', 'wrong_type', { metadata: null }],
    ['expected_version', 'too_small', { expected_version: 0 }],
    ['expected_version', 'wrong_type', { expected_version: '1' }],
    ['expected_version', 'wrong_type', { expected_version: 1.5 }],
    ['status', 'unknown_field', { status: 'frozen' }],
    ['network', 'unknown_field', { network: 'eip155:11155111' }],
  ])('refuses %s: %s', async (field, issue, patch) => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    const reply = await tenant.call('PATCH', `/v1/wallets/${wallet.id}`, patch);
    expect(reply.status).toBe(400);
    expect(reply.body.error.details).toMatchObject([{ field, issue }]);
    expect((await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body).toEqual(wallet);
  });
});

describe('a freeze', () => {
  test('holds until it is lifted; repeating either changes nothing', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    const act = async (verb: string) => (await tenant.call('POST', `/v1/wallets/${wallet.id}/${verb}`)).body;
    expect(await act('unfreeze')).toEqual(wallet);
    const frozen = await act('freeze');
    expect(frozen).toMatchObject({ status: 'frozen', version: 2 });
    expect(await act('freeze')).toEqual(frozen);
    expect((await openIntent(tenant, wallet.id)).result).toMatchObject({
      committed: false,
      refusal: { kind: 'status' },
    });
    expect(await act('unfreeze')).toMatchObject({ status: 'active', version: 3 });
    expect((await openIntent(tenant, wallet.id)).result.committed).toBe(true);
    expect(await eventTypes(tenant)).toEqual(['wallet.created', 'wallet.frozen', 'wallet.unfrozen']);
  });
});

describe('archiving', () => {
  test('is idempotent: the first reason and time stand', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    const path = `/v1/wallets/${wallet.id}/archive`;
    const first = await tenant.call('POST', path, { reason: 'closed' });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ status: 'archived', archive_reason: 'closed', version: 2 });
    expect(first.body.archived_at).toBe(first.body.updated_at);
    expect((await tenant.call('POST', path, { reason: 'again' })).body).toEqual(first.body);
    expect((await tenant.call('POST', path)).body).toEqual(first.body);
    expect(await eventTypes(tenant)).toEqual(['wallet.created', 'wallet.archived']);
  });

  test('is the end: nothing else can be changed any more', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    await tenant.call('POST', `/v1/wallets/${wallet.id}/archive`);
    const replies = [
      await tenant.call('PATCH', `/v1/wallets/${wallet.id}`, { name: 'x' }),
      await tenant.call('POST', `/v1/wallets/${wallet.id}/freeze`),
      await tenant.call('POST', `/v1/wallets/${wallet.id}/unfreeze`),
    ];
    for (const { status, body } of replies) {
      expect(status).toBe(409);
      expect(body.error.details).toMatchObject([{ field: 'status', issue: 'wallet_archived' }]);
    }
    expect((await openIntent(tenant, wallet.id)).result.committed).toBe(false);
  });

  test('is refused while an intent is open, and possible when it has ended', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    const { intent } = await openIntent(tenant, wallet.id);
    const path = `/v1/wallets/${wallet.id}/archive`;
    const refused = await tenant.call('POST', path);
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatchObject({ code: 'conflict', details: [{ issue: 'open_intents' }] });
    expect((await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body).toEqual(wallet);
    const over = { ...intent, version: 2, isOpen: false };
    await world.store.commit(tenant.id, { puts: [update(intentType, intent, over)] });
    expect((await tenant.call('POST', path)).body).toMatchObject({ status: 'archived' });
  });

  test('and a new intent at the same moment: one of them wins, never both', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    for (let round = 0; round < 20; round += 1) {
      const wallet = await tenant.wallet(connection);
      const archive = () => tenant.call('POST', `/v1/wallets/${wallet.id}/archive`);
      const intend = () => openIntent(tenant, wallet.id);
      const [archived, intended] =
        round % 2 === 0
          ? await Promise.all([archive(), intend()])
          : await Promise.all([intend(), archive()]).then(([made, reply]) => [reply, made] as const);
      expect([200, 409]).toContain(archived.status);
      expect(intended.result.committed).toBe(archived.status === 409);
    }
  });

  test.each([
    ['reason', 'too_short', { reason: '' }],
    ['reason', 'too_long', { reason: 'x'.repeat(501) }],
    ['reason', 'wrong_type', { reason: 7 }],
    ['why', 'unknown_field', { why: 'x' }],
  ])('refuses %s: %s', async (field, issue, body) => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection());
    const reply = await tenant.call('POST', `/v1/wallets/${wallet.id}/archive`, body);
    expect(reply.status).toBe(400);
    expect(reply.body.error.details).toMatchObject([{ field, issue }]);
  });
});

describe('the key of an archived self_hosted wallet', () => {
  const meta = (tenant: Tenant) => ({ tenant: tenant.id, nowMs: Date.now(), correlationId: '', traceparent: '' });

  test('is closed by a job that the archiving leaves behind, however often the cluster is away', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection({ provider: 'self_hosted' }));
    await tenant.call('POST', `/v1/wallets/${wallet.id}/archive`);
    expect(world.woken).toContain(tenant.id);
    expect(await world.backend.redis.zscore(dueKeys('work').tenantsKey, tenant.id)).not.toBeNull();
    expect(await world.backend.redis.exists(redisKeys.closed(tenant.id, wallet.id))).toBe(1);
    const closed: string[] = [];
    const signer = {
      closeKey: async (_meta: object, walletId: string) => {
        closed.push(walletId);
        if (closed.length === 1) throw new ProviderUnavailable('no coordinator');
      },
    };
    const due = async () => (await world.store.takeDue(tenant.id, Date.now() + 1_000, 0, 10)).members;
    const [member] = await due();
    expect(member).toBe(`close-key/${wallet.id}`);
    await expect(closeKey({ store: world.store, signer }, meta(tenant), member!)).rejects.toThrow('no coordinator');
    const again = await due();
    expect(again).toEqual([member]);
    await closeKey({ store: world.store, signer }, meta(tenant), again[0]!);
    expect(closed).toEqual([wallet.id, wallet.id]);
    expect(await due()).toEqual([]);
  });

  test('is not closed of a wallet that is not archived, and there is no job for other providers', async () => {
    const tenant = world.tenant();
    const active = await tenant.wallet(await tenant.connection({ provider: 'self_hosted' }));
    const other = await tenant.wallet(await tenant.connection());
    await tenant.call('POST', `/v1/wallets/${other.id}/archive`);
    expect((await world.store.takeDue(tenant.id, Date.now() + 1_000, 0, 10)).members).toEqual([]);
    const signer = { closeKey: () => Promise.reject(new Error('closed')) };
    await closeKey({ store: world.store, signer }, meta(tenant), closeKeyDue(active.id, 0).member);
    const record = (await world.store.read<WalletRecord>(tenant.id, walletType, active.id))!;
    expect(record.status).toBe('active');
  });
});

describe('what clients have begun with the key of a self_hosted wallet', () => {
  const metaAt = (tenant: Tenant, nowMs: number) => ({ tenant: tenant.id, nowMs, correlationId: '', traceparent: '' });
  const due = async (tenant: Tenant) => (await world.store.takeDue(tenant.id, Date.now() + 10_000, 0, 10)).members;

  test.each([
    ['a freeze', 'POST', '/freeze', undefined],
    ['signing_api: intents_only', 'PATCH', '', { signing_api: 'intents_only' }],
    ['a human who must approve', 'PATCH', '', { approval_mode: 'human_required' }],
  ] as const)(
    'is revoked after %s, repeated until the cluster has confirmed it, and once more',
    async (_, verb, path, body) => {
      const tenant = world.tenant();
      const wallet = await tenant.wallet(await tenant.connection({ provider: 'self_hosted' }), {
        signing_api: 'allowed',
      });
      expect((await tenant.call(verb, `/v1/wallets/${wallet.id}${path}`, body)).status).toBe(200);
      expect(world.woken).toContain(tenant.id);
      const [member = ''] = await due(tenant);
      expect(member).toContain(`revoke-sessions/${wallet.id}/`);
      const revoked: string[] = [];
      const signer = {
        revokeSessions: async (_meta: object, walletId: string) => {
          revoked.push(walletId);
          if (revoked.length === 1) throw new ProviderUnavailable('no coordinator');
        },
      };
      const run = (nowMs: number) => revokeSessions({ store: world.store, signer }, metaAt(tenant, nowMs), member);
      const changedAtMs = Number(member.split('/')[2]);
      await expect(run(changedAtMs)).rejects.toThrow('no coordinator');
      await run(changedAtMs);
      expect(await due(tenant)).toEqual([member]);
      await run(changedAtMs + 2_000);
      expect(revoked).toEqual([wallet.id, wallet.id, wallet.id]);
      expect(await due(tenant)).toEqual([]);
    },
  );

  test('stays when the wallet becomes no stricter, or is another provider’s', async () => {
    const tenant = world.tenant();
    const wallet = await tenant.wallet(await tenant.connection({ provider: 'self_hosted' }), {
      signing_api: 'allowed',
    });
    await tenant.call('PATCH', `/v1/wallets/${wallet.id}`, { name: 'x', approval_mode: 'direct_allowed' });
    const other = await tenant.wallet(await tenant.connection());
    await tenant.call('POST', `/v1/wallets/${other.id}/freeze`);
    expect(await due(tenant)).toEqual([]);
  });
});

test('the end of a connection revokes the sessions of all of its wallets, twice, and of no others', async () => {
  const tenant = world.tenant();
  const [ended, other] = [
    await tenant.connection({ provider: 'self_hosted' }),
    await tenant.connection({ provider: 'self_hosted' }),
  ];
  const wallets: string[] = [];
  for (let k = 0; k < 23; k += 1) wallets.push((await tenant.wallet(ended)).id);
  await tenant.wallet(other);
  const revoked: string[] = [];
  let fails = 1;
  const signer = {
    revokeSessions: async (_meta: unknown, walletId: string) => {
      if (fails-- === 1) throw new ProviderUnavailable('the cluster is away');
      revoked.push(walletId);
    },
  };
  const changedAtMs = Date.now();
  const { member } = revokeConnectionDue(ended.id, changedAtMs);
  await world.store.commit(tenant.id, { due: [{ member, atMs: changedAtMs }] });
  const round = (nowMs: number) =>
    revokeOfConnection(
      { store: world.store, signer },
      { tenant: tenant.id, nowMs, correlationId: member, traceparent: '' },
      member,
    );
  const due = async (nowMs: number) => (await world.store.takeDue(tenant.id, nowMs, 1, 10)).members;
  await expect(round(changedAtMs)).rejects.toThrow('away');
  revoked.length = 0;
  await round(changedAtMs);
  expect(revoked.sort()).toEqual([...wallets].sort());
  expect(await due(changedAtMs + 1_999)).toEqual([]);
  expect(await due(changedAtMs + 2_000)).toEqual([member]);
  await round(changedAtMs + 2_000);
  expect(revoked).toHaveLength(2 * wallets.length);
  expect(await due(changedAtMs + 60_000)).toEqual([]);
});
