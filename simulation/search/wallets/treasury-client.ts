/** A client of a random run of the treasury: strategies, plans, their execution, a faulty venue. docs/treasury.md. */

import { found } from '../../service/invariants/finding.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';
import { networks, type StrategyFacts } from './tenancy.ts';

const strategiesMax = 2;

export class TreasuryClient extends RunClient {
  async step(step: FamilyStep<'treasury'>): Promise<void> {
    const { modules } = this.tenancy;
    if (modules === undefined) return;
    if (step === 'market') return this.#market();
    if (step === 'strategy' || modules.strategies.length === 0) return this.#strategy(modules.strategies);
    const strategy = this.draw.pick(modules.strategies);
    if (this.draw.chance(0.5)) await this.#market();
    if (step === 'rebalance') return this.#rebalance(strategy);
    const open = await this.operator.list<{ id: string; status: string }>(
      '/v1/treasury/plans',
      'plans',
      this.draw.int(1, 5),
    );
    const plan = this.draw.pick([
      ...open.filter(({ status }) => status === 'pending_approval' || status === 'proposed'),
      undefined,
    ]);
    if (plan === undefined) return;
    const what = step === 'execute' ? 'execute' : 'cancel';
    const from = this.tenancy.sequence;
    const { status, body } = await this.#post(`/v1/treasury/plans/${plan.id}/${what}`, {}, what);
    if (status === 200 && what === 'execute' && !modules.executions.has(plan.id)) modules.executions.set(plan.id, from);
    if (status === 200 && what === 'cancel' && body.status !== 'cancelled') {
      found('changes-take-effect', `cancel of ${plan.id} leaves ${body.status}`);
    }
  }

  async #strategy(known: StrategyFacts[]): Promise<void> {
    const draw = this.draw;
    const wallets = this.tenancy.wallets.filter(({ network }) => network === networks.evm);
    if (known.length >= strategiesMax || wallets.length === 0) return;
    // The wallet of another network gives a plan a second trade.
    const others = this.tenancy.wallets.filter(({ network }) => network !== networks.evm);
    const other = others.length > 0 && draw.chance(0.7) ? draw.pick(others) : undefined;
    const walletIds = [draw.pick(wallets).id, ...(other === undefined ? [] : [other.id])];
    const weight = draw.pick([2_000, 5_000, 8_000]);
    const otherWeight = other === undefined ? 0 : draw.pick([500, 1_500]);
    const autonomy = draw.pick(['advisory', 'human_approval', 'within_policy', 'within_policy'] as const);
    const maxTrades = draw.int(1, 3);
    const maxTradeUsd = draw.chance(0.5) ? 500 : undefined;
    const cooldownS = draw.chance(0.3) ? 5 : 0;
    const body = {
      name: this.tenancy.key('strategy'),
      wallet_ids: walletIds,
      targets: [
        { asset: 'ETH', weight_bps: weight, band_bps: 100 },
        { asset: 'USDC', weight_bps: 10_000 - weight - otherWeight, band_bps: 100 },
        ...(other === undefined ? [] : [{ asset: other.assets[0]!.symbol, weight_bps: otherWeight, band_bps: 100 }]),
      ],
      constraints: {
        max_trades: maxTrades,
        ...(maxTradeUsd !== undefined && { max_trade_usd: `${maxTradeUsd}` }),
        ...{ price_tolerance_bps: 5_000, plan_ttl_s: 3_600, venue_deadline_s: 10, cooldown_s: cooldownS },
      },
      autonomy,
    };
    const { status, body: made } = await this.#post('/v1/treasury/strategies', body, 'strategy');
    if (status === 201) known.push({ id: made.id, autonomy, maxTrades, maxTradeUsd, cooldownS, walletIds });
  }

  async #rebalance({ id, autonomy }: StrategyFacts): Promise<void> {
    const isDryRun = this.draw.chance(0.3);
    const { status, body } = await this.#post(
      '/v1/treasury/rebalance',
      { strategy_id: id, dry_run: isDryRun },
      'rebalance',
    );
    if (status !== 201) return;
    const isExecuted = !isDryRun && autonomy === 'within_policy' && body.trades.length > 0;
    if ((body.status === 'executing') !== isExecuted) {
      found('plans-keep-rules', `a plan of an ${autonomy} strategy, dry run ${isDryRun}, begins as ${body.status}`);
    }
  }

  async #market(): Promise<void> {
    const draw = this.draw;
    const mode = draw.pick(['normal', 'normal', 'partial', 'partial', 'partial', 'refuse', 'silent'] as const);
    const venue = { mode, ...(mode === 'partial' && { fill_bps: 4_000 }) };
    const prices = draw.chance(0.3) ? [{ asset: 'ETH', price_usd: `${draw.int(2_000, 4_000)}` }] : [];
    await this.operator.made('/v1/sandbox/market', { venue, prices }, this.tenancy.key('market'));
  }

  async #post(target: string, body: object, label: string) {
    const key = this.tenancy.key(label);
    const answer = await this.operator.post(target, body, key);
    // 400: a wallet that is no longer active.
    if (![200, 201, 400, 409, 422].includes(answer.status)) {
      found('changes-take-effect', `POST ${target}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer;
  }
}
