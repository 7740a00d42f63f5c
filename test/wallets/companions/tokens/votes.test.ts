/** Votes on orders and their cancellation to their edges, and what an order that awaits approval shows and becomes. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type OrderRecord, orderType } from '../../../../wallets/companions/tokens/record.ts';
import { orderView } from '../../../../wallets/companions/tokens/view.ts';
import { type IntentRecord, intentType } from '../../../../wallets/custody/intents/record.ts';
import { update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { type StoreUnderTest, startMemoryStore } from '../../../support/memory-store.ts';
import { eventTypes, frozenTenant, refusal, setFrozen } from '../support/handlers.ts';
import { attestation, startMs, TokenDesk, wallet } from './support/desk.ts';

const timeoutMs = 60_000;
const time = (ms: number) => new Date(ms).toISOString();

let under: StoreUnderTest;
let store: TenantStore;
beforeAll(async () => {
  under = startMemoryStore();
  store = await under.open({ nowMs: () => startMs });
});

/** An order of tok_1 that awaits approvals for a minute. */
async function pending(over: Partial<OrderRecord> = {}): Promise<{ desk: TokenDesk; order: OrderRecord }> {
  const desk = await new TokenDesk(under, store).open();
  const waits = { status: 'pending_approval', approvalsRequired: 1, expiresAtMs: startMs + timeoutMs } as const;
  return { desk, order: await desk.order('mint', 3n, attestation(50n), { ...waits, ...over }) };
}

const vote = (desk: TokenDesk, { id: orderId }: { readonly id: string }, body: object = {}, by = 'tok_2') =>
  desk.call('approveTokenOrder', { params: { id: 'tkn_GOLD', orderId }, body }, by);
const cancel = (desk: TokenDesk, { id: orderId }: { readonly id: string }, body: object = {}) =>
  desk.call('cancelTokenOrder', { params: { id: 'tkn_GOLD', orderId }, body }, 'tok_3');
const stored = async ({ tenant }: TokenDesk, { id }: { readonly id: string }) =>
  (await store.read(tenant, orderType, id))!;
const conflict = refusal('conflict', 'status', 'state_conflict');

describe('an order that awaits approval', () => {
  it('gets no approval in a frozen tenant, and may be rejected', async () => {
    const { desk, order } = await pending({ approvalsRequired: 2 });
    await setFrozen(store, desk.tenant);
    await expect(vote(desk, order)).rejects.toEqual(frozenTenant());
    expect(await vote(desk, order, { decision: 'reject', reason: 'unknown' })).toMatchObject({ status: 'rejected' });
  });

  it('is approved by the last of its votes, which also makes its intent', async () => {
    const { desk, order } = await pending({ approvalsRequired: 2 });
    expect(await vote(desk, order, { comment: 'seen' })).toMatchObject({
      ...{ status: 'pending_approval', version: 2, expires_at: time(startMs + timeoutMs) },
      approvals: [{ by: 'tok_2', decision: 'approve', comment: 'seen', reason: null, at: time(startMs) }],
    });
    expect(await vote(desk, order, { comment: 'again' })).toMatchObject({
      version: 2,
      approvals: [{ comment: 'seen' }],
    });
    expect([desk.queued, await desk.due(order)]).toEqual([[], timeoutMs]);
    expect(await vote(desk, order, { expected_version: 2 }, 'tok_3')).toMatchObject({
      ...{ status: 'reserve_check', version: 3, expires_at: null, transaction_intent_id: order.draft.id },
    });
    expect(desk.queued).toEqual([order.draft.id]);
    const intent = (await store.read(desk.tenant, intentType, order.draft.id))!;
    expect(intent).toMatchObject({
      status: 'approved',
      initiator: 'tok_1',
      origin: { kind: 'token-order', id: order.id },
    });
    expect([
      (await eventTypes(store, desk.tenant)).filter((type) => type.startsWith('token')),
      await desk.due(order),
    ]).toEqual([
      ['token.order.approval_recorded', 'token.order.approval_recorded', 'token.order.reserve_check'],
      undefined,
    ]);
    // A repeated vote changes nothing, whatever became of the order.
    expect(await vote(desk, order)).toMatchObject({ status: 'reserve_check', version: 3 });
    await expect(vote(desk, order, {}, 'tok_4')).rejects.toEqual(conflict);
  });

  it('is rejected by one approver, who may have approved it before', async () => {
    const { desk, order } = await pending({ approvalsRequired: 2 });
    await expect(vote(desk, order, { decision: 'reject' })).rejects.toEqual(
      refusal('invalidRequest', 'reason', 'missing_required'),
    );
    await vote(desk, order);
    expect(await vote(desk, order, { decision: 'reject', reason: 'no' })).toMatchObject({
      ...{ status: 'rejected', sub_status: 'REJECTED_BY_APPROVER', version: 3, error: null },
      approvals: [{ decision: 'approve' }, { decision: 'reject', reason: 'no' }],
    });
    expect(await store.read(desk.tenant, intentType, order.draft.id)).toBeUndefined();
    expect([(await eventTypes(store, desk.tenant)).at(-1), await desk.due(order)]).toEqual([
      'token.order.rejected',
      undefined,
    ]);
  });

  it('takes no vote of its initiator, nor of a token that its policy does not name', async () => {
    const { desk, order } = await pending({ approvers: ['tok_1', 'tok_3'] });
    for (const [by, issue] of [
      ['tok_1', 'initiator_may_not_approve'],
      ['tok_2', 'not_an_approver'],
    ] as const) {
      await expect(vote(desk, order, {}, by)).rejects.toEqual(refusal('insufficientScope', 'approver', issue));
    }
    expect((await vote(desk, order, {}, 'tok_3')).status).toBe('reserve_check');
  });

  it('takes votes on the version that the approver has seen, until its time is over', async () => {
    const { desk, order } = await pending();
    await expect(vote(desk, order, { expected_version: 2 })).rejects.toEqual(
      refusal('conflict', 'expected_version', 'version_conflict'),
    );
    desk.nowMs = startMs + timeoutMs;
    for (const decided of [vote(desk, order), cancel(desk, order)]) await expect(decided).rejects.toEqual(conflict);
    expect(await stored(desk, order)).toEqual(order);
    desk.nowMs -= 1;
    expect((await vote(desk, order, { expected_version: 1 })).status).toBe('reserve_check');
  });

  it('expires at its time, and not before', async () => {
    const { desk, order } = await pending();
    desk.nowMs = startMs + timeoutMs - 1;
    await desk.job(order.id);
    expect([await stored(desk, order), await desk.due(order)]).toEqual([order, timeoutMs]);
    desk.nowMs += 1;
    await desk.job(order.id);
    expect(await stored(desk, order)).toMatchObject({ status: 'rejected', subStatus: 'EXPIRED', version: 2 });
    expect([(await eventTypes(store, desk.tenant)).at(-1), await desk.due(order)]).toEqual([
      'token.order.rejected',
      undefined,
    ]);
  });

  it('is not approved for a wallet that is frozen', async () => {
    const { desk, order } = await pending();
    await desk.freezeWallet();
    await expect(vote(desk, order)).rejects.toEqual(refusal('conflict', 'wallet.status', 'frozen'));
    expect(await stored(desk, order)).toEqual(order);
  });
});

describe('a cancellation', () => {
  it('ends an order that awaits approval, with the caller’s reason or name', async () => {
    for (const [body, message] of [
      [{ reason: 'twice' }, 'twice'],
      [{}, 'called off by tok_3'],
    ] as const) {
      const { desk, order } = await pending();
      expect(await cancel(desk, order, body)).toMatchObject({
        ...{ status: 'rejected', sub_status: 'CANCELLED', error: { code: 'CANCELLED', message }, expires_at: null },
      });
      expect(await desk.due(order)).toBeUndefined();
      await expect(cancel(desk, order)).rejects.toEqual(conflict);
      await expect(vote(desk, order)).rejects.toEqual(conflict);
    }
  });

  it('ends an approved order together with its intent, until that is being signed', async () => {
    const { desk, order } = await pending();
    await vote(desk, order);
    expect(await cancel(desk, order)).toMatchObject({ status: 'rejected', sub_status: 'CANCELLED' });
    const intent = (await store.read(desk.tenant, intentType, order.draft.id))!;
    expect(intent).toMatchObject({ status: 'cancelled', cancellation: { by: 'tok_3', reason: null } });
    expect((await desk.leave(order)).kind).toBe('refused');

    const other = await pending();
    await vote(other.desk, other.order);
    const before = (await store.read(other.desk.tenant, intentType, other.order.draft.id)) as IntentRecord;
    const signing = { ...before, version: before.version + 1, status: 'signing' } as const;
    await other.desk.does({ puts: [update(intentType, before, signing)] });
    await expect(cancel(other.desk, other.order)).rejects.toEqual(conflict);
    expect((await stored(other.desk, other.order)).status).toBe('reserve_check');
  });
});

it('an order is found under its own token, by callers who see its connection', async () => {
  const { desk, order } = await pending();
  await desk.issue('TIN');
  const get = (id: string, orderId: string) => desk.call('getTokenOrder', { params: { id, orderId } });
  expect((await get('tkn_GOLD', order.id)).id).toBe(order.id);
  for (const [id, orderId] of [
    ['tkn_TIN', order.id],
    ['tkn_GOLD', 'tkn_GOLD'],
    ['tkn_GOLD', 'ord_none'],
  ] as const) {
    await expect(get(id, orderId)).rejects.toEqual(refusal('notFound'));
  }
});

it('orders are listed newest first, by their kind and their status', async () => {
  const desk = await new TokenDesk(under, store).open();
  const at = async (ms: number, kind: OrderRecord['kind'], over: Partial<OrderRecord> = {}) => {
    desk.nowMs = startMs + ms;
    return (await desk.order(kind, 1n, wallet, over)).id;
  };
  const waits = { status: 'pending_approval', expiresAtMs: startMs + timeoutMs } as const;
  const [one, two, three] = [await at(1, 'mint'), await at(2, 'redeem'), await at(3, 'mint', waits)];
  for (const [query, expected] of [
    [{}, [three, two, one]],
    [{ kind: 'mint' }, [three, one]],
    [{ kind: 'redeem' }, [two]],
    [{ status: 'reserve_check' }, [two, one]],
    [{ kind: 'mint', status: 'reserve_check' }, [one]],
    [{ created_after: time(startMs + 2) }, [three, two]],
    [{ created_before: time(startMs + 2) }, [one]],
  ] as const) {
    const { orders } = await desk.call('listTokenOrders', { params: { id: 'tkn_GOLD' }, query });
    expect([query, orders.map(({ id }: { readonly id: string }) => id)]).toEqual([query, expected]);
  }
});

it('freezing and unfreezing a token each make one version and one event, and say why', async () => {
  const { desk } = await pending();
  await desk.issue('TIN', { status: 'deploying', contract: null });
  const turn = (verb: 'freeze' | 'unfreeze', body: object = {}, id = 'tkn_GOLD') =>
    desk.call(`${verb}Token`, { params: { id }, body });
  expect(await turn('freeze', { reason: 'r' })).toMatchObject({ status: 'frozen', freeze_reason: 'r', version: 2 });
  expect(await turn('freeze', { reason: 'other' })).toMatchObject({ freeze_reason: 'r', version: 2 });
  expect(await turn('unfreeze', { reason: 'over' })).toMatchObject({
    status: 'active',
    freeze_reason: null,
    version: 3,
  });
  expect(await turn('unfreeze')).toMatchObject({ version: 3 });
  expect(await eventTypes(store, desk.tenant)).toEqual(['token.frozen', 'token.unfrozen']);
  await expect(turn('freeze', {}, 'tkn_TIN')).rejects.toEqual(conflict);
});

it('an order shows a burn’s source and a mint’s destination, and its reserve in that reserve’s units', async () => {
  const { order } = await pending();
  const checked = { requiredUnits: String(10n ** 18n), heldUnits: String(5n * 10n ** 17n), atMs: startMs + 5 };
  expect(orderView({ ...order, reserveCheck: checked })).toMatchObject({
    ...{ destination: { address: '0x1' }, source: null, expires_at: time(order.expiresAtMs) },
    reserve_check: { asset: 'USD', required: '1', held: '0.5', at: time(startMs + 5) },
    reserve_reference: { type: 'attestation', reference: 'a', amount: '50', expires_at: time(startMs + 3_600_000) },
  });
  expect(orderView({ ...order, kind: 'redeem', reserve: wallet, status: 'processing' })).toMatchObject({
    ...{ destination: null, source: { wallet_id: 'wal_1' }, expires_at: null },
    reserve_reference: { type: 'wallet', asset: 'USDC', wallet_id: 'wal_1' },
  });
});
