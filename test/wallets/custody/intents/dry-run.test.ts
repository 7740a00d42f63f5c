/** What a dry run says of a wallet's funds, to the last unit, and of the policies that decide. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { startMemoryStore } from '../../../support/memory-store.ts';
import { refusal } from '../../companions/support/handlers.ts';
import { IntentDesk, startMs } from './support/desk.ts';

let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

/** The answer to a dry run of a wallet that holds so many units, and the names of policies that were asked. */
async function dryRun(held: Readonly<Record<string, bigint>>, body: object, decision: object = {}) {
  const desk = await new IntentDesk(store).open(held);
  desk.decision = decision;
  const answer = await desk.transfer(body, { dry_run: 'true' });
  return { answer, asked: desk.asked.flatMap(([name, ...told]) => (name === 'decide' ? [told.at(-1)] : [])) };
}

const wei = { asset: 'ETH', amount: '0.000000000000001' };
const usdc = { asset: 'USDC', amount: '0.001' };

describe('a dry run', () => {
  it.each([
    ['an amount and its fee of one asset', wei, { ETH: 1_042n }, true],
    ['one unit less', wei, { ETH: 1_041n }, false],
    ['an amount and a fee of two assets', usdc, { USDC: 1_000n, ETH: 42n }, true],
    ['one unit less of the amount', usdc, { USDC: 999n, ETH: 42n }, false],
    ['one unit less of the fee', usdc, { USDC: 1_000n, ETH: 41n }, false],
    ['nothing', wei, {}, false],
  ] as const)('says whether a wallet covers it that holds %s', async (_, body, held, sufficient) => {
    expect((await dryRun(held, body)).answer.sufficient_funds).toBe(sufficient);
  });

  it('asks the policy of the wallet and that of the request, and shows what each evaluator said', async () => {
    expect((await dryRun({}, wei)).asked).toEqual([['cold']]);
    const approvals = { quorum: 2, approvers: ['tok_8', 'tok_9'], timeoutS: 60 };
    const { answer, asked } = await dryRun({}, { ...wei, policy: 'hot' }, { decision: 'require_approval', approvals });
    expect(asked).toEqual([['cold', 'hot']]);
    expect(answer).toMatchObject({
      ...{ dry_run: true, decision: 'require_approval', status: 'pending_approval', reason: 'why' },
      ...{ approvals_required: 2, approvers: ['tok_8', 'tok_9'], matched_rules: ['r'], dry_run_policy: null },
      ...{ asset: 'ETH', amount: '0.000000000000001', fee: { asset: 'ETH', reserved: '0.000000000000000042' } },
      ...{ policy: { name: 'cold', id: 'pol_1', version: 2 }, also_policies: [], risk: { score: 7, level: 'low' } },
    });
    expect((await dryRun({}, wei, { decision: 'deny' })).answer).toMatchObject({
      status: 'denied',
      approvals_required: 0,
    });
  });

  it('names every fault of a transfer at once', async () => {
    const faults = dryRun({}, { asset: 'BTC', amount: '1e3', destination: { address: '0x1' } });
    for (const [field, issue] of [
      ['asset', 'not_allowed_value'],
      ['amount', 'invalid_format'],
      ['destination.address', undefined],
    ] as const) {
      await expect(faults).rejects.toEqual(refusal('invalidRequest', field, issue));
    }
    await expect(dryRun({}, { ...wei, asset: 'NONE' })).rejects.toEqual(
      refusal('invalidRequest', 'asset', 'unknown_asset'),
    );
    await expect(dryRun({}, { ...usdc, amount: '0.0000001' })).rejects.toEqual(
      refusal('invalidRequest', 'amount', 'too_many_decimals'),
    );
  });
});
