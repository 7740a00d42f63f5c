/** The intent routes over HTTP and a real Redis. Every answer is checked against its schema by the toolkit. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectionType } from '../../../../wallets/custody/connections/record.ts';
import { type WalletRecord, walletType } from '../../../../wallets/custody/wallets/record.ts';
import { ProviderRejected, ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { testAmounts } from '../../../../wallets/providers/port/test-triggers.ts';
import { update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { type Door, openDoor, tenant, tokens } from './support/door.ts';
import { feePaid, feeReserve } from './support/fake-provider.ts';
import { oneEth, somewhere, startWorld, type World } from './support/world.ts';

let world: World;
let door: Door;
let wallet: WalletRecord;
let path: string;

const transfer = { asset: 'ETH', amount: '1', destination: { address: somewhere } };
const approval = (quorum: number, approvers: string[] = []) => ({
  decision: 'require_approval' as const,
  approvals: { quorum, approvers, timeoutS: 3_600 },
});

/** A store whose first commit is overtaken by something else. */
function overtaken(store: TenantStore, first: () => Promise<unknown>): TenantStore {
  let isFirst = true;
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (name !== 'commit') return typeof value === 'function' ? value.bind(target) : value;
      return async (...given: Parameters<TenantStore['commit']>) => {
        if (isFirst) {
          isFirst = false;
          await first();
        }
        return target.commit(...given);
      };
    },
  });
}

beforeEach(async () => {
  world = await startWorld();
  door = await openDoor(world);
  wallet = await world.wallet(tenant, { ETH: 5n * oneEth, USDC: 1_000_000n });
  path = `${wallet.id}/transaction-intents`;
});

afterEach(async () => {
  await door.app.close();
  await world.stop();
});

describe('creating an intent', () => {
  test('answers 201 with an approved intent, sets the money aside and tells the driver', async () => {
    const { status, body } = await door.post(path, { ...transfer, amount: '1.500', metadata: { order: '7' } });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 'approved',
      policy_receipt: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      risk_score: 5,
      provider_tx_id: null,
      wallet_id: wallet.id,
      amount: '1.5',
      destination: { address: somewhere },
      fee: { asset: 'ETH', reserved: '0.000000000000001', paid: null },
      initiator: 'tok_maker',
      approvals_required: 0,
      metadata: { order: '7' },
      version: 1,
    });
    expect(body.status_history.map((entry: { status: string }) => entry.status)).toEqual([
      'created',
      'screening',
      'approved',
    ]);
    expect(door.enqueued).toEqual([body.id]);
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({
      available: 35n * 10n ** 17n - feeReserve,
      reserved: 15n * 10n ** 17n + feeReserve,
    });
    expect((await door.get(`${path}/${body.id}`)).body).toEqual(body);
  });

  test('that the policy denies creates a denied intent, holds nothing and wakes no driver', async () => {
    world.judges.decision = { decision: 'deny', approvals: undefined };
    world.judges.screening = 'blocked';
    const { status, body } = await door.post(path, transfer);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 'denied',
      sub_status: 'SCREENING_BLOCKED',
      policy_receipt: expect.any(String),
    });
    expect(door.enqueued).toEqual([]);
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
  });

  test('asks for approval when the policy does', async () => {
    world.judges.decision = approval(2, ['tok_ann', 'tok_bob']);
    const asked = await door.post(path, transfer);
    expect(asked.body).toMatchObject({
      status: 'pending_approval',
      approvals_required: 2,
      approvers: ['tok_ann', 'tok_bob'],
    });
    const lifetimeMs = Date.parse(asked.body.expires_at) - Date.parse(asked.body.created_at);
    expect(lifetimeMs).toBe(3_600_000);
    expect(door.enqueued).toEqual([]);
  });

  test('asks for the policies of the wallet and of the request, in this order', async () => {
    const guarded = await world.wallet(tenant, { ETH: 9n * oneEth }, { policy: 'cold' });
    await door.post(`${guarded.id}/transaction-intents`, { ...transfer, policy: 'hot' });
    await door.post(`${guarded.id}/transaction-intents`, transfer);
    await door.post(path, transfer);
    expect(world.judges.asked).toEqual(['cold+hot', 'cold', '']);
  });

  test.each([['0x0000000000000000000000000000000000000000', 'the zero address']])(
    'to %s, %s, is refused before anything is decided',
    async (address) => {
      const { status, body } = await door.post(path, { ...transfer, destination: { address } });
      expect([status, body.error.details]).toEqual([
        422,
        [expect.objectContaining({ field: 'destination.address', issue: 'unsupported_destination' })],
      ]);
      expect(world.judges.asked).toEqual([]);
    },
  );

  test('to a taproot key that is no point is refused alike, in a dry run too', async () => {
    const [network, address] = [
      'bip122:000000000933ea01ad0ee984209779ba' as const,
      'tb1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqsqr0s0',
    ];
    const coins = await world.wallet(tenant, { BTC: 10n ** 8n }, { network, addresses: [{ network, address }] });
    const noPoint = 'tb1pllllllllllllllllllllllllllllllllllllllllllllllllllls5k48qr';
    const body = { asset: 'BTC', amount: '0.1', destination: { address: noPoint } };
    for (const query of ['', '?dry_run=true']) {
      const answer = await door.post(`${coins.id}/transaction-intents${query}`, body);
      expect([answer.status, answer.body.error.details[0].issue]).toEqual([422, 'unsupported_destination']);
    }
  });

  test('is made once under an idempotency key, in the header or in the body', async () => {
    const first = await door.post(path, { ...transfer, idempotency_key: 'k-1' });
    const again = await door.post(path, transfer, 'maker', { 'idempotency-key': 'k-1' });
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const other = await door.post(path, { ...transfer, amount: '2', idempotency_key: 'k-1' });
    expect(other).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'idempotency_key_reused' }] } } });
    const both = await door.post(path, { ...transfer, idempotency_key: 'k-1' }, 'maker', { 'idempotency-key': 'k-2' });
    expect(both.status).toBe(400);
    expect((await door.get(path)).body.transaction_intents).toHaveLength(1);
  });

  test('a hundred times at once under one key makes one intent, which every answer shows', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => door.post(path, { ...transfer, idempotency_key: 'same' })),
    );
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(201);
    expect((await door.get(path)).body.transaction_intents).toHaveLength(1);
  });
});

describe('the caller’s own id of an intent', () => {
  const own = { ...transfer, external_id: 'payout-7' };
  const taken = (by: string) => ({
    status: 409,
    body: {
      error: {
        code: 'conflict',
        details: [{ field: 'external_id', issue: 'external_id_taken', message: expect.stringContaining(by) }],
      },
    },
  });
  const idsOf = async (query: string): Promise<string[]> =>
    (await door.getUrl(`/v1/transaction-intents?${query}`)).body.transaction_intents.map(
      ({ id }: { id: string }) => id,
    );

  test('is shown, and finds it alone', async () => {
    const { body } = await door.post(path, own);
    expect(body.external_id).toBe('payout-7');
    expect((await door.post(path, transfer)).body.external_id).toBeNull();
    expect(await idsOf('external_id=payout-7')).toEqual([body.id]);
    expect(await idsOf('external_id=payout-8')).toEqual([]);
  });

  test('is taken for good, in a dry run and of a cancelled intent too, and the refusal names the first', async () => {
    const { body } = await door.post(path, own);
    await door.post(`${path}/${body.id}/cancel`);
    expect(await door.post(path, { ...own, amount: '2' })).toMatchObject(taken(body.id));
    expect(await door.post(`${path}?dry_run=true`, own)).toMatchObject(taken(body.id));
    expect((await door.get(path)).body.transaction_intents).toHaveLength(1);
  });

  test('replaces no idempotency key, and another tenant may use it', async () => {
    const first = await door.post(path, { ...own, idempotency_key: 'k-1' });
    expect((await door.post(path, { ...own, idempotency_key: 'k-1' })).body).toEqual(first.body);
    expect(await door.post(path, { ...own, idempotency_key: 'k-2' })).toMatchObject(taken(first.body.id));
    const theirs = await world.wallet('tn_other', { ETH: 5n * oneEth });
    expect((await door.post(`${theirs.id}/transaction-intents`, own, 'stranger')).status).toBe(201);
  });

  test('by twenty at once becomes one intent', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => door.post(path, own)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toMatchObject(taken(made[0]!.body.id));
    }
  });

  test.each(['', 'two words', 'ü', 'x'.repeat(129)])('is no %j', async (externalId) => {
    expect(await door.post(path, { ...transfer, external_id: externalId })).toMatchObject({
      status: 400,
      body: { error: { details: [{ field: 'external_id' }] } },
    });
  });

  test('and its metadata find it together with other filters, whatever becomes of it', async () => {
    const metadata = { invoice: 'INV:7', team: 'a', paid: true, cost: 4711, nested: { team: 'a' } };
    const { body } = await door.post(path, { ...own, metadata });
    await door.post(path, { ...transfer, metadata: { team: 'b' } });
    const finding = ['invoice:INV:7', 'team:a', 'paid:true', 'cost:4711'];
    for (const filter of finding) expect(await idsOf(`metadata=${encodeURIComponent(filter)}`)).toEqual([body.id]);
    await door.post(`${path}/${body.id}/cancel`);
    expect(await idsOf('metadata=team:a&status=cancelled&external_id=payout-7')).toEqual([body.id]);
    for (const filter of ['team:c', 'nested:a', 'team:a ']) {
      expect(await idsOf(`metadata=${encodeURIComponent(filter)}`)).toEqual([]);
    }
    expect((await door.getUrl('/v1/transaction-intents?metadata=team')).status).toBe(400);
  });
});

describe('an intent with a fault', () => {
  const faults: readonly [string, object, string, string][] = [
    ['an unknown asset', { asset: 'DOGE' }, 'asset', 'unknown_asset'],
    ['an asset of another network', { asset: 'BTC' }, 'asset', 'not_allowed_value'],
    ['an exponent', { amount: '1e3' }, 'amount', 'invalid_format'],
    ['a sign', { amount: '-1' }, 'amount', 'invalid_format'],
    ['no number', { amount: 'NaN' }, 'amount', 'invalid_format'],
    ['nothing', { amount: '0' }, 'amount', 'must_be_positive'],
    ['nothing, with decimals', { amount: '0.000' }, 'amount', 'must_be_positive'],
    ['too many decimals', { amount: `0.${'1'.repeat(19)}` }, 'amount', 'too_many_decimals'],
    ['too many decimals of its asset', { asset: 'USDC', amount: '0.0000001' }, 'amount', 'too_many_decimals'],
    ['forty digits', { amount: '9'.repeat(40) }, 'amount', 'too_large'],
    ['an amount that is a number', { amount: 1 }, 'amount', 'wrong_type'],
    ['an empty amount', { amount: '' }, 'amount', 'too_short'],
    [
      'an address of another network',
      { destination: { address: 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx' } },
      'destination.address',
      'wrong_network',
    ],
    [
      'an address with a wrong checksum',
      { destination: { address: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046' } },
      'destination.address',
      'invalid_checksum',
    ],
    ['no address', { destination: {} }, 'destination.address', 'missing_required'],
    ['an unknown field', { gas: '1' }, 'gas', 'unknown_field'],
    [
      'a field that is not known of a destination',
      { destination: { address: somewhere, tag: '1' } },
      'destination.tag',
      'unknown_field',
    ],
  ];

  test.each(faults)('%s is refused by name', async (_name, over, field, issue) => {
    const { status, body } = await door.post(path, { ...transfer, ...over });
    expect(status).toBe(400);
    expect(body.error.code).toBe('invalid_request');
    expect(body.error.details).toContainEqual(expect.objectContaining({ field, issue }));
    expect((await door.get(path)).body.transaction_intents).toEqual([]);
  });

  test('in every field hears of all of them at once', async () => {
    const { body } = await door.post(path, { asset: 'DOGE', amount: '-1', destination: { address: 'nowhere' } });
    expect(body.error.details.map(({ field }: { field: string }) => field)).toEqual([
      'asset',
      'amount',
      'destination.address',
    ]);
  });

  test('too large for the wallet is 422, and nothing is set aside', async () => {
    const { status, body } = await door.post(path, { ...transfer, amount: '5' });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({
      code: 'provider_rejected',
      details: [{ field: 'amount', issue: 'insufficient_funds' }],
    });
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
  });

  test('of a wallet that cannot pay the fee is 422, although it has the amount', async () => {
    const dry = await world.wallet(tenant, { USDC: 10n ** 6n });
    const answer = await door.post(`${dry.id}/transaction-intents`, { ...transfer, asset: 'USDC', amount: '1' });
    expect(answer).toMatchObject({ status: 422, body: { error: { details: [{ issue: 'insufficient_funds' }] } } });
    expect(await world.balance(tenant, dry.id, 'USDC')).toEqual({ available: 10n ** 6n, reserved: 0n });
  });

  test('that the provider refuses is 422 with its words; away, 503', async () => {
    const adapter = world.dependencies().adapters.get('self_hosted')!;
    const quotes = [
      new ProviderRejected('no', { field: 'amount', issue: 'limit', providerCode: 'E_LIMIT' }),
      new ProviderUnavailable('later', 2_000),
    ];
    const odd = await openDoor({
      ...world,
      dependencies: () =>
        world.dependencies({
          adapters: new Map([['self_hosted', { ...adapter, quote: () => Promise.reject(quotes.shift()) }]]),
        }),
    });
    const refused = await odd.post(path, transfer);
    expect(refused).toMatchObject({ status: 422, body: { error: { details: [{ field: 'amount', issue: 'limit' }] } } });
    const away = await odd.post(path, transfer);
    expect(away).toMatchObject({ status: 503, body: { error: { code: 'provider_unavailable' } } });
    expect(away.headers['retry-after']).toBe('2');
    await odd.app.close();
    expect((await door.get(path)).body.transaction_intents).toEqual([]);
  });

  test.each(['frozen', 'archived'] as const)('of a wallet that is %s is 409', async (status) => {
    await world.store.commit(tenant, { puts: [update(walletType, wallet, { ...wallet, status, version: 2 })] });
    const answer = await door.post(path, transfer);
    expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: status }] } } });
  });
});

describe('what changes while an intent is judged', () => {
  test('freezes its wallet: 409, and nothing is created', async () => {
    world.judges.meanwhile = () =>
      world.store.commit(tenant, { puts: [update(walletType, wallet, { ...wallet, status: 'frozen', version: 2 })] });
    const answer = await door.post(path, transfer);
    expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'frozen' }] } } });
    expect((await door.get(path)).body.transaction_intents).toEqual([]);
  });

  test('disconnects its provider: 409, and nothing is created', async () => {
    world.judges.meanwhile = async () => {
      const connection = (await world.store.read(tenant, connectionType, wallet.connectionId))!;
      const after = { ...connection, status: 'disconnected' as const, version: 2 };
      await world.store.commit(tenant, { puts: [update(connectionType, connection, after)] });
    };
    const answer = await door.post(path, transfer);
    expect(answer.status).toBe(409);
    const again = await door.post(path, transfer);
    expect(again).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'disconnected' }] } } });
    expect((await door.get(path)).body.transaction_intents).toEqual([]);
  });
});

describe('a dry run', () => {
  test('answers with every decision and creates nothing', async () => {
    world.judges.decision = approval(2);
    const { status, body } = await door.post(`${path}?dry_run=true`, { ...transfer, amount: '7' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      dry_run: true,
      decision: 'require_approval',
      status: 'pending_approval',
      sufficient_funds: false,
      approvals_required: 2,
      screening: { decision: 'clear' },
      risk: { score: 5 },
      trace: [{ rule: 'rule', matched: true }],
    });
    expect((await door.get(path)).body.transaction_intents).toEqual([]);
    const { events } = await world.store.events(tenant, { afterSequence: 0, limit: 10, types: [] });
    expect(events).toEqual([]);
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
  });

  test('finds the same faults', async () => {
    expect((await door.post(`${path}?dry_run=true`, { ...transfer, amount: '0' })).status).toBe(400);
    expect((await door.post(`${path}?dry_run=maybe`, transfer)).status).toBe(400);
  });
});

describe('reading intents', () => {
  test('lists the newest first, by status, asset and time, page by page', async () => {
    const ids: string[] = [];
    for (const asset of ['ETH', 'USDC', 'ETH']) {
      ids.push((await door.post(path, { ...transfer, asset, amount: '0.1' })).body.id);
    }
    const listed = async (query: string): Promise<string[]> =>
      (await door.get(`${path}?${query}`)).body.transaction_intents.map(({ id }: { id: string }) => id);
    expect(await listed('')).toEqual([...ids].reverse());
    expect(await listed('asset=USDC')).toEqual([ids[1]]);
    expect(await listed('status=approved&asset=ETH')).toEqual([ids[2], ids[0]]);
    expect(await listed('status=completed')).toEqual([]);
    expect(await listed('created_after=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await listed('created_before=2999-01-01T00:00:00Z')).toHaveLength(3);
    const first = await door.get(`${path}?limit=2`);
    expect(first.body).toMatchObject({ has_more: true });
    const second = await door.get(`${path}?limit=2&cursor=${first.body.next_cursor}`);
    expect(second.body.transaction_intents.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
    expect((await door.get(`${path}?status=asleep`)).status).toBe(400);
    expect((await door.get(`${path}?created_after=yesterday`)).status).toBe(400);
  });

  test('lists those of all wallets, by status, connection and time, page by page, to the tokens that see them', async () => {
    const other = await world.wallet(tenant, { ETH: oneEth });
    const ids: string[] = [];
    for (const at of [path, `${other.id}/transaction-intents`, path]) {
      ids.push((await door.post(at, { ...transfer, amount: '0.1' })).body.id);
    }
    const listed = async (query: string, token?: string): Promise<string[]> =>
      (await door.getUrl(`/v1/transaction-intents?${query}`, token)).body.transaction_intents.map(
        ({ id }: { id: string }) => id,
      );
    expect(await listed('')).toEqual([...ids].reverse());
    await door.post(`${path}/${ids[2]}/cancel`);
    expect(await listed('status=approved')).toEqual([ids[1], ids[0]]);
    expect(await listed('status=cancelled')).toEqual([ids[2]]);
    expect(await listed('created_after=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await listed(`provider_connection_id=${wallet.connectionId}`)).toEqual([ids[2], ids[0]]);
    expect(await listed(`provider_connection_id=${other.connectionId}&status=approved`)).toEqual([ids[1]]);
    const first = await door.getUrl('/v1/transaction-intents?limit=2');
    expect(first.body).toMatchObject({ has_more: true });
    expect(await listed(`limit=2&cursor=${first.body.next_cursor}`)).toEqual([ids[0]]);
    door.putToken('svc_sk_test_elsewhere000000', 'tok_e', ['pcn_other']);
    door.putToken('svc_sk_test_nowhere00000000', 'tok_n', []);
    door.putToken('svc_sk_test_righthere000000', 'tok_r', [wallet.connectionId]);
    expect(await listed('', 'svc_sk_test_elsewhere000000')).toEqual([]);
    expect(await listed('', 'svc_sk_test_nowhere00000000')).toEqual([]);
    expect(await listed('', 'svc_sk_test_righthere000000')).toEqual([ids[2], ids[0]]);
    expect(await listed('', tokens.stranger)).toEqual([]);
  });

  test('shows nothing of another tenant, of another wallet, or of a kind that is no intent', async () => {
    const { id } = (await door.post(path, transfer)).body;
    const other = await world.wallet(tenant, {});
    const asks: Promise<{ status: number }>[] = [
      door.get(path, 'stranger'),
      door.get(`${path}/${id}`, 'stranger'),
      door.post(path, transfer, 'stranger'),
      door.post(`${path}/${id}/approve`, {}, 'stranger'),
      door.post(`${path}/${id}/cancel`, {}, 'stranger'),
      door.get(`${other.id}/transaction-intents/${id}`),
      door.get(`${path}/${wallet.id}`),
      door.get(`${id}/transaction-intents`),
      door.get(`${path}/txi_nothing`),
      door.get('wal_nothing/transaction-intents'),
    ];
    for (const { status } of await Promise.all(asks)) expect(status).toBe(404);
  });

  test('shows a token of other connections nothing, and one of this connection everything', async () => {
    const { id } = (await door.post(path, transfer)).body;
    door.putToken('svc_sk_test_elsewhere000000', 'tok_e', ['pcn_other']);
    door.putToken('svc_sk_test_righthere000000', 'tok_r', [wallet.connectionId]);
    expect((await door.getAs('svc_sk_test_elsewhere000000', `${path}/${id}`)).status).toBe(404);
    expect((await door.getAs('svc_sk_test_elsewhere000000', path)).status).toBe(404);
    expect((await door.getAs('svc_sk_test_righthere000000', `${path}/${id}`)).status).toBe(200);
  });

  test('asks for scopes', async () => {
    expect((await door.post(path, transfer, 'reader')).status).toBe(403);
    const { id } = (await door.post(path, transfer)).body;
    expect((await door.get(`${path}/${id}`, 'reader')).status).toBe(200);
    expect((await door.post(`${path}/${id}/approve`, {}, 'reader')).status).toBe(403);
    expect((await door.post(`${path}/${id}/cancel`, {}, 'reader')).status).toBe(403);
  });
});

describe('approving', () => {
  async function pending(quorum: number, approvers: string[] = []): Promise<string> {
    world.judges.decision = approval(quorum, approvers);
    return (await door.post(path, transfer)).body.id;
  }

  test('takes as many as the policy asks for; then the driver continues', async () => {
    const id = await pending(2);
    const first = await door.post(`${path}/${id}/approve`, { comment: 'fine' }, 'ann');
    expect(first).toMatchObject({ status: 200, body: { status: 'pending_approval', version: 2 } });
    expect(first.body.approvals).toMatchObject([{ by: 'tok_ann', decision: 'approve', comment: 'fine' }]);
    expect(door.enqueued).toEqual([]);
    const second = await door.post(`${path}/${id}/approve`, undefined, 'bob');
    expect(second).toMatchObject({ status: 200, body: { status: 'approved', version: 3 } });
    expect(door.enqueued).toEqual([id]);
    expect((await world.balance(tenant, wallet.id, 'ETH')).reserved).toBe(oneEth + feeReserve);
    const { events } = await world.store.events(tenant, { afterSequence: 0, limit: 20, types: [] });
    expect(events.map(({ type }) => type.split('.')[1])).toEqual([
      'created',
      'screening',
      'pending_approval',
      'approval_recorded',
      'approval_recorded',
      'approved',
    ]);
  });

  test('is asked of those in whose inbox it lies: not the initiator, and each until its vote', async () => {
    const inbox = async (who: keyof typeof tokens): Promise<string[]> =>
      (await door.getUrl('/v1/transaction-intents?awaiting_my_vote=true', tokens[who])).body.transaction_intents.map(
        ({ id }: { id: string }) => id,
      );
    const open = await pending(2);
    const forBob = await pending(1, ['tok_bob']);
    expect([await inbox('maker'), await inbox('ann'), await inbox('bob')]).toEqual([[], [open], [forBob, open]]);
    await door.post(`${path}/${open}/approve`, {}, 'ann');
    expect([await inbox('ann'), await inbox('annRotated'), await inbox('bob')]).toEqual([[], [], [forBob, open]]);
    await door.post(`${path}/${open}/approve`, {}, 'bob');
    await door.post(`${path}/${forBob}/cancel`);
    expect(await inbox('bob')).toEqual([]);
    const nowMs = world.clock.nowMs();
    await world.intent(tenant, wallet, {}, { kind: 'pendingApproval', quorum: 1, approvers: [], timeoutMs: 1 });
    while (world.clock.nowMs() <= nowMs + 2) await new Promise((resolve) => setImmediate(resolve));
    expect(await inbox('ann')).toEqual([]);
  });

  test('twice by one changes nothing, now and after the end', async () => {
    const id = await pending(2);
    await door.post(`${path}/${id}/approve`, {}, 'ann');
    const again = await door.post(`${path}/${id}/approve`, {}, 'ann');
    expect(again).toMatchObject({ status: 200, body: { status: 'pending_approval', version: 2 } });
    await door.post(`${path}/${id}/approve`, {}, 'bob');
    expect(await door.post(`${path}/${id}/approve`, {}, 'ann')).toMatchObject({ status: 200, body: { version: 3 } });
  });

  test('by the initiator never counts, nor a rejection', async () => {
    const id = await pending(1);
    for (const body of [{}, { decision: 'reject', reason: 'oops' }]) {
      const { status, body: answer } = await door.post(`${path}/${id}/approve`, body, 'maker');
      expect(status).toBe(403);
      expect(answer.error).toMatchObject({
        code: 'insufficient_scope',
        details: [{ issue: 'initiator_may_not_approve' }],
      });
    }
    expect((await door.get(`${path}/${id}`)).body).toMatchObject({ status: 'pending_approval', approvals: [] });
  });

  test('by an approver that the policy does not name is refused', async () => {
    const id = await pending(1, ['tok_bob']);
    const answer = await door.post(`${path}/${id}/approve`, {}, 'ann');
    expect(answer).toMatchObject({ status: 403, body: { error: { details: [{ issue: 'not_an_approver' }] } } });
    expect((await door.post(`${path}/${id}/approve`, {}, 'bob')).body.status).toBe('approved');
  });

  test('is over with one rejection, which says why, and the money returns', async () => {
    const id = await pending(2);
    const silent = await door.post(`${path}/${id}/approve`, { decision: 'reject' }, 'ann');
    expect(silent).toMatchObject({ status: 400, body: { error: { details: [{ field: 'reason' }] } } });
    await door.post(`${path}/${id}/approve`, {}, 'ann');
    const rejected = await door.post(`${path}/${id}/approve`, { decision: 'reject', reason: 'no order' }, 'ann');
    expect(rejected).toMatchObject({ status: 200, body: { status: 'rejected' } });
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
    const late = await door.post(`${path}/${id}/approve`, {}, 'bob');
    expect(late).toMatchObject({ status: 409, body: { error: { details: [{ field: 'status', issue: 'rejected' }] } } });
  });

  test('of another version than expected is 409', async () => {
    const id = await pending(2);
    const stale = await door.post(`${path}/${id}/approve`, { expected_version: 2 }, 'ann');
    expect(stale).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'version_conflict' }] } } });
    expect((await door.post(`${path}/${id}/approve`, { expected_version: 1 }, 'ann')).status).toBe(200);
  });

  test('by two at once counts both', async () => {
    const id = await pending(2);
    const answers = await Promise.all([
      door.post(`${path}/${id}/approve`, {}, 'ann'),
      door.post(`${path}/${id}/approve`, {}, 'bob'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await door.get(`${path}/${id}`)).body).toMatchObject({ status: 'approved', version: 3 });
    expect(door.enqueued).toEqual([id]);
  });

  test('and rejecting at once has one outcome', async () => {
    const id = await pending(1);
    const answers = await Promise.all([
      door.post(`${path}/${id}/approve`, {}, 'ann'),
      door.post(`${path}/${id}/approve`, { decision: 'reject', reason: 'no' }, 'bob'),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const { status } = (await door.get(`${path}/${id}`)).body;
    const won = answers.find((answer) => answer.status === 200)!;
    expect(won.body.status).toBe(status);
    expect(door.enqueued).toEqual(status === 'approved' ? [id] : []);
  });

  test('after its time is 409, although it was not expired yet', async () => {
    const nowMs = world.clock.nowMs();
    const { id } = await world.intent(
      tenant,
      wallet,
      {},
      { kind: 'pendingApproval', quorum: 1, approvers: [], timeoutMs: 1 },
    );
    while (world.clock.nowMs() <= nowMs + 2) await new Promise((resolve) => setImmediate(resolve));
    const answer = await door.post(`${path}/${id}/approve`, {}, 'ann');
    expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'expired' }] } } });
  });

  test('what needs no approval is 409', async () => {
    const { id } = (await door.post(path, transfer)).body;
    const answer = await door.post(`${path}/${id}/approve`, {}, 'ann');
    expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'approved' }] } } });
  });
});

describe('cancelling', () => {
  test('returns the money, says who and why, and is 409 the second time', async () => {
    const { id } = (await door.post(path, transfer)).body;
    const { status, body } = await door.post(`${path}/${id}/cancel`, { reason: 'typo' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'cancelled', cancellation: { by: 'tok_maker', reason: 'typo' } });
    expect(await world.balance(tenant, wallet.id, 'ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
    const again = await door.post(`${path}/${id}/cancel`);
    expect(again).toMatchObject({
      status: 409,
      body: { error: { details: [{ field: 'status', issue: 'cancelled' }] } },
    });
  });

  test('just before it is signed keeps the provider from ever hearing of it', async () => {
    const { id } = (await door.post(path, transfer)).body;
    const late = overtaken(world.store, () => door.post(`${path}/${id}/cancel`));
    world.driver({ store: late }).enqueue(tenant, await world.read(tenant, id), wallet);
    await world.reach(tenant, id, 'cancelled');
    const second = (await door.post(path, transfer)).body.id;
    world.driver().enqueue(tenant, await world.read(tenant, second), wallet);
    await world.reach(tenant, second, 'completed');
    expect([...world.provider.usedBy(wallet.id)]).toEqual([[0, second]]);
    expect((await world.read(tenant, id)).status).toBe('cancelled');
  });

  test('just after it is signed is 409, although it was read as approved', async () => {
    const { id } = (await door.post(path, transfer)).body;
    const intent = await world.read(tenant, id);
    const driver = world.driver();
    const late = overtaken(world.store, async () => {
      driver.enqueue(tenant, intent, wallet);
      await world.reach(tenant, id, 'completed');
    });
    const slow = await openDoor({ ...world, store: late });
    const answer = await slow.post(`${path}/${id}/cancel`);
    expect(answer).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'completed' }] } } });
    await slow.app.close();
  });

  test('while it is being signed has one outcome: cancelled and never sent, or sent and completed', async () => {
    const driver = world.driver();
    for (let run = 0; run < 30; run += 1) {
      const account = await world.wallet(tenant, { ETH: 2n * oneEth });
      const intent = await world.intent(tenant, account);
      const cancelled = door.post(`${account.id}/transaction-intents/${intent.id}/cancel`);
      for (let turn = 0; turn < run; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      driver.enqueue(tenant, intent, account);
      const { status } = await cancelled;
      if (status === 200) {
        expect((await world.read(tenant, intent.id)).status).toBe('cancelled');
        expect(await world.balance(tenant, account.id, 'ETH')).toEqual({ available: 2n * oneEth, reserved: 0n });
      } else {
        expect(status).toBe(409);
        await world.reach(tenant, intent.id, 'completed');
      }
      expect(world.provider.chain.has(intent.id)).toBe(status === 409);
    }
  });
});

describe('fifty intents at once on a wallet with money for twenty', () => {
  test('twenty are approved, thirty refused, and the twenty get the numbers from 0 without a hole', async () => {
    const driver = world.driver();
    const driven = await openDoor(world, driver);
    const poor = await world.wallet(tenant, { ETH: 20n * (oneEth + feeReserve) });
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => driven.post(`${poor.id}/transaction-intents`, transfer)),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(30);
    for (const { body } of made) await world.reach(tenant, body.id, 'completed');
    expect([...world.provider.usedBy(poor.id).keys()].sort((a, b) => a - b)).toEqual([...Array(20).keys()]);
    expect(await world.balance(tenant, poor.id, 'ETH')).toEqual({
      available: 20n * (feeReserve - feePaid),
      reserved: 0n,
    });
    await driven.app.close();
  });
});

test('test amounts are amounts like any other to the routes', async () => {
  for (const { amount } of testAmounts) {
    expect((await door.post(`${path}?dry_run=true`, { ...transfer, amount })).status).toBe(200);
  }
});
