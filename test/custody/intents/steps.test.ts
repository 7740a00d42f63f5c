/** Steps of transfers over a store in memory, as a gateway takes them: their money and their numbers. */
import { beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../actors/live/ports.ts';
import type { IntentDependencies } from '../../../custody/intents/dependencies.ts';
import { approvedLifetimeMs } from '../../../custody/intents/machine.ts';
import { type IntentRecord, intentType } from '../../../custody/intents/record.ts';
import { stepTimes } from '../../../custody/intents/step-context.ts';
import { IntentSteps } from '../../../custody/intents/steps.ts';
import type { TenantStore } from '../../../store/contract.ts';
import { collectLog } from '../../support/log.ts';
import { startMemoryStore } from '../../support/memory-store.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';
import { IntentDesk, startMs } from './support/desk.ts';
import { oneEth } from './support/draft.ts';
import { FakeProvider, feePaid, feeReserve } from './support/fake-provider.ts';

let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

async function open() {
  const desk = await new IntentDesk(store).open({ ETH: 5n * oneEth });
  desk.fee = { asset: 'ETH', units: feeReserve };
  const provider = new FakeProvider();
  const { log, lines } = collectLog();
  const steps = new IntentSteps({
    store,
    adapters: new Map([['self_hosted', provider.adapter()]]),
    fillGap: provider.fillGap,
    addressBook: { ownerOf: async () => undefined },
    clock: { nowMs: () => desk.nowMs },
    timers: new VirtualTimers(),
    random: systemRandom,
    log,
  } as unknown as IntentDependencies);
  const transfer = async (): Promise<string> => (await desk.transfer({ asset: 'ETH', amount: '1' })).id;
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
    const { desk, provider, run, transfer } = await open();
    provider.plan = () => 'away';
    const first = await transfer();
    expect(await run(first)).toMatchObject({ status: 'signing', subStatus: 'AWAITING_QUORUM' });
    desk.nowMs = startMs + approvedLifetimeMs + stepTimes.abandonAfterMs - 1;
    expect((await run(first)).status).toBe('signing');
    desk.nowMs += 1;
    expect(await run(first)).toMatchObject({ status: 'failed', providerError: { code: 'provider_unavailable' } });
    expect(await desk.balance('ETH')).toEqual({ available: 5n * oneEth, reserved: 0n });
    provider.plan = () => 'goes';
    const second = await transfer();
    expect((await run(second, 1_000)).status).toBe('completed');
    expect([...provider.usedBy('wal_1')]).toEqual([[0, second]]);
    expect(await desk.balance('ETH')).toEqual({ available: 4n * oneEth - feePaid, reserved: 0n });
  });
});
