/** Votes on intents and their cancellation to their edges: the time, the wallet, and the money. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { startMemoryStore } from '../../../support/memory-store.ts';
import { refusal } from '../../companions/support/handlers.ts';
import { IntentDesk, startMs } from './support/desk.ts';

let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

const wei = { asset: 'ETH', amount: '0.000000000000001' };
const time = (ms: number) => new Date(ms).toISOString();
const dayMs = 24 * 3_600_000;

/** An intent of tok_1 that awaits approvals for a minute. */
async function pending(approvals: object = {}): Promise<{ desk: IntentDesk; id: string }> {
  const desk = await new IntentDesk(store).open({ ETH: 5_000n });
  desk.decision = {
    decision: 'require_approval',
    approvals: { quorum: 2, approvers: [], timeoutS: 60, ...approvals },
  };
  const { id } = await desk.transfer(wei);
  return { desk, id };
}

const vote = (desk: IntentDesk, txId: string, by: string, body: object = {}) =>
  desk.call('approveTransactionIntent', { params: { id: 'wal_1', txId }, body }, by);
const cancel = (desk: IntentDesk, txId: string, body: object = {}) =>
  desk.call('cancelTransactionIntent', { params: { id: 'wal_1', txId }, body }, 'tok_9');
async function inbox(desk: IntentDesk, by: string): Promise<readonly string[]> {
  const query = { awaiting_my_vote: 'true' };
  const { transaction_intents: intents } = await desk.call('listAllTransactionIntents', { query }, by);
  return intents.map(({ id }: { readonly id: string }) => id);
}

describe('an intent that awaits approval', () => {
  it('takes votes and cancellations until its last millisecond, and lies in inboxes until then', async () => {
    const { desk, id } = await pending();
    desk.nowMs = startMs + 59_999;
    expect(await vote(desk, id, 'tok_2')).toMatchObject({ status: 'pending_approval', version: 2 });
    expect([await inbox(desk, 'tok_2'), await inbox(desk, 'tok_3')]).toEqual([[], [id]]);
    desk.nowMs = startMs + 60_000;
    expect(await inbox(desk, 'tok_3')).toEqual([]);
    await expect(vote(desk, id, 'tok_3')).rejects.toEqual(refusal('conflict', 'status', 'expired'));
    await expect(cancel(desk, id)).rejects.toEqual(refusal('conflict', 'status', 'expired'));
    // A vote that is repeated still answers with the intent.
    expect(await vote(desk, id, 'tok_2')).toMatchObject({ status: 'pending_approval', version: 2 });
    desk.nowMs = startMs + 59_999;
    expect(await cancel(desk, id)).toMatchObject({ status: 'cancelled' });
  });

  it('is approved by the last vote for a day from then, goes to the driver once, and may be cancelled that day', async () => {
    const { desk, id } = await pending();
    desk.nowMs = startMs + 1_000;
    const first = { by: 'tok_2', decision: 'approve', comment: 'seen', reason: null, at: time(startMs + 1_000) };
    expect(await vote(desk, id, 'tok_2', { comment: 'seen' })).toMatchObject({
      ...{ status: 'pending_approval', approvals: [first], expires_at: time(startMs + 60_000) },
    });
    expect(desk.queued).toEqual([]);
    desk.nowMs = startMs + 2_000;
    expect(await vote(desk, id, 'tok_3')).toMatchObject({
      ...{ status: 'approved', version: 3, expires_at: time(startMs + 2_000 + dayMs) },
      approvals: [first, { by: 'tok_3', comment: null, at: time(startMs + 2_000) }],
    });
    expect([desk.queued, await desk.balance('ETH')]).toEqual([[id], { available: 3_958n, reserved: 1_042n }]);
    desk.nowMs = startMs + 2_000 + dayMs;
    await expect(cancel(desk, id)).rejects.toEqual(refusal('conflict', 'status', 'expired'));
    desk.nowMs -= 1;
    expect(await cancel(desk, id)).toMatchObject({
      ...{ status: 'cancelled', version: 4, cancellation: { by: 'tok_9', reason: null, at: time(desk.nowMs) } },
    });
    expect(await desk.balance('ETH')).toEqual({ available: 5_000n, reserved: 0n });
    await expect(vote(desk, id, 'tok_4')).rejects.toEqual(refusal('conflict', 'status', 'cancelled'));
    expect(desk.queued).toEqual([id]);
  });

  it('of a wallet that is frozen, before or meanwhile, is not approved, but may be rejected, with a reason', async () => {
    const { desk, id } = await pending({ quorum: 1 });
    desk.meanwhile = () => desk.changeWallet({ status: 'frozen' });
    await expect(vote(desk, id, 'tok_2')).rejects.toEqual(refusal('conflict', 'wallet.status', 'frozen'));
    desk.meanwhile = async () => {};
    await expect(vote(desk, id, 'tok_2')).rejects.toEqual(refusal('conflict', 'wallet.status', 'frozen'));
    await expect(vote(desk, id, 'tok_2', { decision: 'reject' })).rejects.toEqual(
      refusal('invalidRequest', 'reason', 'missing_required'),
    );
    expect(await vote(desk, id, 'tok_2', { decision: 'reject', reason: 'no order' })).toMatchObject({
      ...{ status: 'rejected', version: 2, approvals: [{ by: 'tok_2', decision: 'reject', reason: 'no order' }] },
    });
    expect([desk.queued, await desk.balance('ETH')]).toEqual([[], { available: 5_000n, reserved: 0n }]);
  });

  it('counts the votes of the approvers that its policy names, and none of its initiator', async () => {
    const { desk, id } = await pending({ approvers: ['tok_1', 'tok_2', 'tok_3'] });
    for (const [by, issue] of [
      ['tok_1', 'initiator_may_not_approve'],
      ['tok_4', 'not_an_approver'],
    ] as const) {
      await expect(vote(desk, id, by)).rejects.toEqual(refusal('insufficientScope', 'approver', issue));
      expect(await inbox(desk, by)).toEqual([]);
    }
    await vote(desk, id, 'tok_2', { expected_version: 1 });
    await expect(vote(desk, id, 'tok_3', { expected_version: 1 })).rejects.toEqual(
      refusal('conflict', 'expected_version', 'version_conflict'),
    );
    expect(await inbox(desk, 'tok_3')).toEqual([id]);
    expect(await vote(desk, id, 'tok_3', { expected_version: 2 })).toMatchObject({ status: 'approved' });
  });
});

it('what a denied intent shows: whether a list or a policy has denied it; it holds nothing and goes to no driver', async () => {
  for (const [screening, subStatus] of [
    ['blocked', 'SCREENING_BLOCKED'],
    ['review', 'POLICY_DENIED'],
    ['clear', 'POLICY_DENIED'],
  ] as const) {
    const desk = await new IntentDesk(store).open({ ETH: 5_000n });
    desk.decision = { decision: 'deny' };
    desk.screening = { decision: screening };
    expect(await desk.transfer(wei)).toMatchObject({ status: 'denied', sub_status: subStatus, approvals_required: 0 });
    expect([desk.queued, await desk.balance('ETH')]).toEqual([[], { available: 5_000n, reserved: 0n }]);
  }
});
