/** Steps of transfers over a store in memory, as a gateway takes them: their money and their numbers. */
import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import type { IntentDependencies } from '../../../../wallets/custody/intents/dependencies.ts';
import { approvedLifetimeMs } from '../../../../wallets/custody/intents/machine.ts';
import type { IntentOwner, SigningLeave } from '../../../../wallets/custody/intents/owner.ts';
import { type IntentRecord, intentType } from '../../../../wallets/custody/intents/record.ts';
import { stepTimes } from '../../../../wallets/custody/intents/step-context.ts';
import { IntentSteps } from '../../../../wallets/custody/intents/steps.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { collectLog } from '../../../support/log.ts';
import { startMemoryStore } from '../../../support/memory-store.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';
import { IntentDesk, startMs } from './support/desk.ts';
import { oneEth } from './support/draft.ts';
import { FakeProvider, feePaid, feeReserve } from './support/fake-provider.ts';
import { proofs } from './support/proofs.ts';

let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

/** `owner`: of intents with the origin `order/ord_1`. */
async function open(owner: Partial<IntentOwner> = {}) {
  const desk = await new IntentDesk(store).open({ ETH: 5n * oneEth });
  desk.fee = { asset: 'ETH', units: feeReserve };
  const provider = new FakeProvider();
  const { log, lines } = collectLog();
  const steps = new IntentSteps({
    store,
    adapters: new Map([['self_hosted', provider.adapter()]]),
    fillGap: provider.fillGap,
    ...proofs,
    owners: new Map([['order', { decidesAbout: () => 'ord_1', ...owner }]]),
    addressBook: { ownerOf: async () => undefined },
    clock: { nowMs: () => desk.nowMs },
    timers: new VirtualTimers(),
    random: systemRandom,
    log,
  } as unknown as IntentDependencies);
  const transfer = async (over: object = {}): Promise<string> =>
    (await desk.transfer({ asset: 'ETH', amount: '1', ...over })).id;
  /** Takes the steps that fall due within so many milliseconds. */
  const run = async (id: string, forMs = 0): Promise<IntentRecord> => {
    const task = { tenant: desk.tenant, id, record: undefined, wallet: undefined, number: null, dueAtMs: 0 };
    const untilMs = desk.nowMs + forMs;
    let next = await steps.run(task, () => false);
    while (next !== undefined && next.atMs <= untilMs) {
      desk.nowMs = Math.max(desk.nowMs, next.atMs);
      next = await steps.run(next.task, () => false);
    }
    return (await store.read(desk.tenant, intentType, id))!;
  };
  return { desk, provider, lines, transfer, run };
}

describe('a transfer whose provider stays unreachable', () => {
  it('fails six hours after its expiry and not before; its money returns, and its number goes to the next one', async () => {
    const { desk, lines, provider, run, transfer } = await open();
    provider.plan = () => 'away';
    const first = await transfer();
    expect(await run(first)).toMatchObject({ status: 'signing', subStatus: 'AWAITING_QUORUM' });
    desk.nowMs = startMs + approvedLifetimeMs + stepTimes.abandonAfterMs - 1;
    expect((await run(first)).status).toBe('signing');
    desk.nowMs += 1;
    expect(await run(first)).toMatchObject({ status: 'failed', providerError: { code: 'provider_unavailable' } });
    expect(await desk.balance('ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
    // The intent says it; to the operator it is no error.
    expect(lines).toEqual([]);
    provider.plan = () => 'goes';
    const second = await transfer();
    expect((await run(second, 1_000)).status).toBe('completed');
    expect([...provider.usedBy('wal_1')]).toEqual([[0, second]]);
    expect(await desk.balance('ETH')).toEqual({ available: 4n * oneEth - feePaid, reserved: 0n });
  });
});

describe('a transfer that a module made', () => {
  const origin = { kind: 'order', id: 'ord_1' };

  it('that its owner refuses fails unsigned, with the reason and the change of the owner, and its money returns', async () => {
    const refused: SigningLeave = {
      ...{ kind: 'refused', subStatus: 'RESERVE_TOO_LOW', message: 'the reserve is too low' },
      change: { due: [{ member: 'note/1', atMs: startMs }] },
    };
    const { desk, provider, run, transfer } = await open({ beforeSigning: async () => refused });
    const failed = await run(await transfer({ origin }));
    expect(failed).toMatchObject({ status: 'failed', subStatus: 'RESERVE_TOO_LOW', version: 2 });
    expect(failed.providerError).toEqual({ code: 'RESERVE_TOO_LOW', message: 'the reserve is too low' });
    expect([provider.advances, await desk.balance('ETH')]).toEqual([0, { available: 5n * oneEth, reserved: 0n }]);
    const { members } = await store.takeDue(desk.tenant, startMs, 1, 10);
    expect([...members].sort()).toEqual(['note/1', 'order/ord_1']);
  });

  it('is signed as its owner last decided: what changed meanwhile makes it decide again', async () => {
    let decisions = 0;
    const { provider, run, transfer } = await open({
      beforeSigning: async () => {
        decisions += 1;
        return { kind: 'granted', change: { guards: [{ kind: 'version', id: 'wal_1', version: 3 - decisions }] } };
      },
    });
    const id = await transfer({ origin });
    expect((await run(id, 1_000)).status).toBe('completed');
    expect([decisions, [...provider.usedBy('wal_1')]]).toEqual([2, [[0, id]]]);
  });

  it('that is cancelled while its owner decides is never signed', async () => {
    let cancel: () => Promise<unknown> = async () => {};
    const { desk, provider, run, transfer } = await open({
      beforeSigning: async () => {
        await cancel();
        return { kind: 'granted', change: {} };
      },
    });
    const txId = await transfer({ origin });
    cancel = () => desk.call('cancelTransactionIntent', { params: { id: 'wal_1', txId } });
    expect((await run(txId, 1_000)).status).toBe('cancelled');
    expect([provider.advances, await desk.balance('ETH')]).toEqual([0, { available: 5n * oneEth, reserved: 0n }]);
  });
});
