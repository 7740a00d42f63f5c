/**
 * Carries out a plan, one trade after another, as due work of any gateway:
 *
 *     planned → paying      a transfer from the strategy's wallet to the venue account
 *     paying → exchanging   the transfer is completed: the money is at the venue
 *     exchanging → returning  the venue has exchanged all, a part or nothing; one or two transfers return the result
 *     exchanging → failed     the amount to sell has left the venue account meanwhile
 *     returning → completed, failed
 *
 * A venue that is silent beyond the strategy's deadline makes the trade overdue: the plan continues without it and ends as
 * failed. The gateway still asks for the trade, less often, to book and bring back what the venue did after all.
 *
 * Every step is one change under compare-and-set of the plan: with the transfer that it opens, whose id follows from plan,
 * trade and leg, or with the exchange in the venue account's balances. So an interrupted step happened or did not, and of
 * two gateways only one wins. Transfers are ordinary intents: compliance, risk and the tenant's policies decide on each, and one
 * that waits for approvals is waited for.
 */

import { createHash } from 'node:crypto';
import type { Log } from '../../../core/actors/live/ports.ts';
import { contextOf } from '../../../gateway/api/context.ts';
import type { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import { toServiceError } from '../../../gateway/api/failures.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { usableConnection } from '../../custody/connections/public.ts';
import {
  createIntent,
  type IntentDependencies,
  type IntentQueue,
  type IntentRecord,
  intentType,
  isSettled,
} from '../../custody/intents/public.ts';
import { frozenRetryMs, readTenant } from '../../custody/tenant/public.ts';
import { type WalletRecord, walletType } from '../../custody/wallets/public.ts';
import { assetOf } from '../../networks/assets.ts';
import type { Venue } from '../../providers/market/public.ts';
import { type CallMeta, ProviderUnavailable } from '../../providers/port/port.ts';
import { create, merge, update } from '../../store/changes.ts';
import type { Change, LedgerEntry, NewEvent, Put } from '../../store/contract.ts';
import { principalFrom } from './actor.ts';
import { unitsText } from './amounts.ts';
import { type ExchangeRecord, exchangeLifetimeMs, exchangeRecordId, exchangeType } from './exchange-record.ts';
import { nextPlan, type PlanRecord, planPrefix, planType, type TradeRecord } from './plan-record.ts';
import { type StrategyRecord, strategyType, termsOf, venueDeadlineS } from './strategy-record.ts';
import { type VenueAccountDeps, venueWallet } from './venue-account.ts';
import { planView } from './view.ts';

export interface ExecutionDeps {
  readonly intents: IntentDependencies;
  readonly driver: IntentQueue;
  readonly venue: Venue;
  readonly accounts: VenueAccountDeps;
}

/** The interval of polling pending transfers, and a venue that does not answer. */
const lookEveryMs = 500;
/** The interval and duration of polling a venue for an overdue trade: shorter than the venue stores orders. */
const overdueEveryMs = 60_000;
const overdueMaxMs = 28 * 24 * 3_600_000;

/** Takes steps until the plan has to wait or is over. Throws StoreUnavailable: then it is due again. */
export async function executePlan(deps: ExecutionDeps, tenant: string, member: string): Promise<void> {
  const { store } = deps.intents;
  const planId = member.slice(planPrefix.length);
  for (;;) {
    const plan = await store.read(tenant, planType, planId);
    if (plan === undefined || (plan.status !== 'executing' && !plan.trades.some(isAwaited))) {
      await store.commit(tenant, { due: [{ member, atMs: undefined }] });
      return;
    }
    if ((await readTenant(store, tenant)).status === 'frozen') {
      await store.commit(tenant, { due: [{ member, atMs: deps.intents.clock.nowMs() + frozenRetryMs }] });
      return;
    }
    const again = await new PlanStep(deps, tenant, plan).run();
    if (again === 'wait') return;
  }
}

/** The result of a step: more to do, or nothing for now. */
type Again = 'more' | 'wait';

class PlanStep {
  readonly #deps: ExecutionDeps;
  readonly #tenant: string;
  readonly #plan: PlanRecord;
  readonly #index: number;

  constructor(deps: ExecutionDeps, tenant: string, plan: PlanRecord) {
    this.#deps = deps;
    this.#tenant = tenant;
    this.#plan = plan;
    const isNext = plan.status === 'executing' ? (trade: TradeRecord) => !isOver(trade) && !trade.overdue : isAwaited;
    this.#index = plan.trades.findIndex(isNext);
  }

  run(): Promise<Again> {
    const trade = this.#plan.trades[this.#index];
    if (trade === undefined) return this.#finish();
    switch (trade.status) {
      case 'planned':
        return this.#pay(trade);
      case 'paying':
        return this.#afterPayment(trade);
      case 'exchanging':
        return this.#exchange(trade);
      default:
        return this.#bringBack(trade);
    }
  }

  async #pay(trade: TradeRecord): Promise<Again> {
    const { asset, walletId, units } = trade.sell;
    const context = this.#context('pay');
    const venue = await this.#venueWallet(asset);
    const bought = await this.#venueWallet(trade.buy.asset);
    // Funds in a wallet that cannot pay stay there.
    const unfit = [venue, bought].find(({ status }) => status !== 'active');
    if (unfit !== undefined) return this.#move({ status: 'failed', reason: `venue_account_${unfit.status}` });
    try {
      await usableConnection(context, venue.connectionId);
    } catch (error) {
      return this.#refused(trade, toServiceError(error));
    }
    const leg = { from: walletId, to: venue.addresses[0]!.address, asset, units: BigInt(units) };
    return this.#open(context, leg, trade, { status: 'paying' });
  }

  async #afterPayment(trade: TradeRecord): Promise<Again> {
    const intent = await this.#intent(trade.intentIds[0]!);
    if (!isSettled(intent)) return this.#wait(trade, waitingFor(intent));
    if (intent.status === 'completed') return this.#move({ status: 'exchanging', reason: null });
    return this.#move({ status: 'failed', reason: `payment_${intent.status}` });
  }

  async #exchange(trade: TradeRecord): Promise<Again> {
    const { sell, buy } = trade;
    let outcome: Awaited<ReturnType<Venue['trade']>>;
    try {
      outcome = await this.#deps.venue.trade(this.#meta(), {
        id: this.#orderId(),
        sell: { asset: sell.asset, units: BigInt(sell.units) },
        buy: { asset: buy.asset, unitsMin: BigInt(buy.unitsMin) },
      });
    } catch (error) {
      if (error instanceof ProviderUnavailable) return this.#waitForVenue(trade);
      throw error;
    }
    if (outcome.kind === 'refused') {
      const { reason: refusal } = outcome;
      return this.#move({ status: 'returning', reason: null, refusal, soldUnits: '0', boughtUnits: '0' });
    }
    const from = await this.#venueWallet(sell.asset);
    const to = await this.#venueWallet(buy.asset);
    const { soldUnits, boughtUnits } = outcome;
    const movement = { kind: 'exchange', of: this.#orderId(), txId: null, counterparty: null } as const;
    const ledger = [
      { walletId: from.id, asset: sell.asset, available: -soldUnits, reserved: 0n, movement },
      { walletId: to.id, asset: buy.asset, available: boughtUnits, reserved: 0n, movement },
    ];
    const done = await this.#commit(
      { status: 'returning', reason: null, soldUnits: String(soldUnits), boughtUnits: String(boughtUnits) },
      { ledger, puts: this.#exchangeRecords(ledger) },
    );
    if (done === 'committed') return 'more';
    if (done === 'conflict') return 'wait';
    return this.#move({ status: 'failed', reason: 'venue_account_overdrawn' });
  }

  /** One for each wallet that the exchange touches. */
  #exchangeRecords(ledger: readonly LedgerEntry[]): Put[] {
    return [...new Set(ledger.map(({ walletId }) => walletId))].map((walletId) => {
      const record: ExchangeRecord = {
        id: exchangeRecordId(this.#orderId(), walletId),
        version: 1,
        walletId,
        orderId: this.#orderId(),
        effect: ledger
          .filter((entry) => entry.walletId === walletId)
          .map(({ asset, available }) => ({ asset, units: String(available) })),
        createdAtMs: this.#deps.intents.clock.nowMs(),
      };
      return create(exchangeType, record, exchangeLifetimeMs);
    });
  }

  /** Books the exchange at the venue after our ledger has it: an exchange that the ledger refused never happened. */
  async #settle({ sell, buy, soldUnits, boughtUnits }: TradeRecord): Promise<void> {
    const from = await this.#venueWallet(sell.asset);
    const to = await this.#venueWallet(buy.asset);
    await this.#deps.venue.settle(this.#meta(), {
      id: this.#orderId(),
      entries: [
        { wallet: from.providerWalletId, asset: sell.asset, units: -BigInt(soldUnits!) },
        { wallet: to.providerWalletId, asset: buy.asset, units: BigInt(boughtUnits!) },
      ],
    });
  }

  /** Brings back first the bought amount, then the unsold rest. */
  async #bringBack(trade: TradeRecord): Promise<Again> {
    const left = BigInt(trade.sell.units) - BigInt(trade.soldUnits!);
    const legs = [
      ...(trade.boughtUnits === '0' ? [] : [{ ...trade.buy, units: BigInt(trade.boughtUnits!) }]),
      ...(left === 0n ? [] : [{ ...trade.sell, units: left }]),
    ];
    const opened = trade.intentIds.slice(1);
    if (opened.length === 0 && trade.soldUnits !== '0') {
      try {
        await this.#settle(trade);
      } catch (error) {
        if (error instanceof ProviderUnavailable) return this.#waitForVenue(trade);
        throw error;
      }
    }
    const next = legs[opened.length];
    if (next !== undefined) {
      const network = assetOf(next.asset)!.network;
      const venue = await this.#venueWallet(next.asset);
      const wallet = await this.#deps.intents.store.read(this.#tenant, walletType, next.walletId);
      const to = wallet?.addresses.find((each) => each.network === network)?.address;
      // An archived wallet could never pay it out again, so it stays in the venue account.
      if (to === undefined || wallet?.status === 'archived') {
        return this.#move({
          status: 'failed',
          reason: to === undefined ? 'return_without_wallet' : 'return_wallet_archived',
        });
      }
      const leg = { from: venue.id, to, asset: next.asset, units: next.units };
      return this.#open(this.#context(`return-${opened.length}`), leg, trade, {});
    }
    const intents = await Promise.all(opened.map((id) => this.#intent(id)));
    const open = intents.find((intent) => !isSettled(intent));
    if (open !== undefined) return this.#wait(trade, waitingFor(open));
    const lost = intents.find(({ status }) => status !== 'completed');
    if (lost !== undefined) return this.#move({ status: 'failed', reason: `return_${lost.status}` });
    if (trade.refusal !== null) return this.#move({ status: 'failed', reason: `venue_${trade.refusal}` });
    return this.#move({ status: 'completed', reason: left === 0n ? null : 'venue_filled_in_part' });
  }

  async #finish(): Promise<Again> {
    const overdue = this.#plan.trades.some(isAwaited);
    const failed = overdue || this.#plan.trades.some(({ status }) => status === 'failed');
    const strategy = await this.#strategy();
    const context = this.#context('finish');
    const plan = nextPlan(this.#plan, { status: failed ? 'failed' : 'completed' }, context.nowMs);
    const change: Change = {
      puts: [update(planType, this.#plan, plan), ...releasing(strategy, plan, context.nowMs)],
      events: [planEvent(context, plan.status, plan)],
      due: [this.#due(overdue ? context.nowMs + overdueEveryMs : undefined)],
    };
    await this.#deps.intents.store.commit(this.#tenant, change);
    return 'more';
  }

  /** Opens a transfer together with the plan's next version. An immediate refusal fails the trade. */
  async #open(context: RequestContext, leg: Leg, trade: TradeRecord, patch: Partial<TradeRecord>): Promise<Again> {
    const { intents, driver } = this.#deps;
    const strategy = await this.#strategy();
    const { policy } = termsOf(strategy);
    let answer: Answer;
    try {
      answer = await createIntent(intents, driver, context, leg.from, {
        asset: leg.asset,
        amount: unitsText(leg.asset, leg.units),
        destination: { address: leg.to },
        ...(policy === null ? {} : { policy }),
        metadata: { trade: this.#index },
        origin: { kind: planPrefix.slice(0, -1), id: this.#plan.id },
      });
    } catch (error) {
      return this.#refused(trade, toServiceError(error));
    }
    const { id } = answer.body as { readonly id: string };
    const intentIds = [...trade.intentIds, id];
    const outcome = await this.#commit({ ...patch, reason: null, intentIds }, answer.change!);
    if (outcome === 'committed') {
      answer.afterCommit?.();
      return 'more';
    }
    if (outcome === 'conflict') return 'wait';
    try {
      answer.onRefusal!(outcome);
      throw new Error(`a transfer was refused for ${outcome.kind} and had an answer`);
    } catch (error) {
      return this.#refused(trade, toServiceError(error));
    }
  }

  /** Retries when a provider or a store does not answer; any other error is final. */
  #refused(trade: TradeRecord, error: ServiceError): Promise<Again> {
    if (error.kind === 'internalError') throw error;
    if (error.kind === 'unavailable') return this.#wait(trade, 'provider_unavailable');
    const issue = error.details?.[0]?.issue ?? error.kind;
    const side = trade.status === 'planned' ? 'payment' : 'return';
    return this.#move({ status: 'failed', reason: `${side}_refused: ${issue}` });
  }

  async #move(patch: Partial<TradeRecord>, and: Change = {}): Promise<Again> {
    return (await this.#commit(patch, and)) === 'committed' ? 'more' : 'wait';
  }

  /** Until the deadline the plan waits; then it continues without the trade, and polls it until the venue drops it. */
  async #waitForVenue(trade: TradeRecord): Promise<Again> {
    const { venueDeadlineMs, overdue = false } = trade;
    const nowMs = this.#deps.intents.clock.nowMs();
    if (venueDeadlineMs === undefined) {
      const { constraints } = termsOf(await this.#strategy());
      const patch = { reason: 'venue_unavailable', venueDeadlineMs: nowMs + venueDeadlineS(constraints) * 1_000 };
      await this.#commit(patch, {}, lookEveryMs);
      return 'wait';
    }
    const lateMs = nowMs - venueDeadlineMs;
    if (lateMs < 0) return this.#wait(trade, 'venue_unavailable');
    if (!overdue) return this.#move({ overdue: true, reason: 'venue_silent' });
    if (lateMs >= overdueMaxMs) return this.#move({ status: 'failed', reason: 'venue_silent' });
    return this.#wait(trade, 'venue_silent', overdueEveryMs);
  }

  /** Records the reason for waiting, once. */
  async #wait(trade: TradeRecord, reason: string, againInMs = lookEveryMs): Promise<Again> {
    if (trade.reason !== reason) await this.#commit({ reason }, {}, againInMs);
    else {
      const { id, version } = this.#plan;
      const atMs = this.#deps.intents.clock.nowMs() + againInMs;
      await this.#deps.intents.store.commit(this.#tenant, {
        guards: [{ kind: 'version', id, version }],
        due: [this.#due(atMs)],
      });
    }
    return 'wait';
  }

  async #commit(patch: Partial<TradeRecord>, and: Change, dueInMs = 0) {
    const context = this.#context('commit');
    const trades = this.#plan.trades.map((trade, index) => (index === this.#index ? { ...trade, ...patch } : trade));
    const plan = nextPlan(this.#plan, { trades }, context.nowMs);
    const change = merge(and, {
      puts: [update(planType, this.#plan, plan)],
      events: [planEvent(context, 'updated', plan)],
      due: [this.#due(context.nowMs + dueInMs)],
    });
    const outcome = await this.#deps.intents.store.commit(this.#tenant, change);
    if (outcome.committed) return 'committed';
    return outcome.refusal.kind === 'conflict' ? 'conflict' : outcome.refusal;
  }

  async #intent(id: string): Promise<IntentRecord> {
    const intent = await this.#deps.intents.store.read(this.#tenant, intentType, id);
    if (intent === undefined) throw new Error(`the transfer ${id} of ${this.#plan.id} is missing`);
    return intent;
  }

  async #strategy(): Promise<StrategyRecord> {
    const strategy = await this.#deps.intents.store.read(this.#tenant, strategyType, this.#plan.strategyId);
    if (strategy === undefined) throw new Error(`the strategy of ${this.#plan.id} is missing`);
    return strategy;
  }

  #due(atMs: number | undefined): NonNullable<Change['due']>[number] {
    return { member: `${planPrefix}${this.#plan.id}`, atMs };
  }

  #venueWallet(asset: string): Promise<WalletRecord> {
    const { network } = assetOf(asset)!;
    return venueWallet(this.#deps.accounts, this.#context(`account/${network}`), network);
  }

  #orderId(): string {
    return `${this.#plan.id}/${this.#index}`;
  }

  #meta(): CallMeta {
    const nowMs = this.#deps.intents.clock.nowMs();
    return { tenant: this.#tenant, nowMs, correlationId: this.#plan.id, traceparent: '' };
  }

  /** The ids of a step derive from the plan's version, the trade and the step, so a repeated step makes the same ids. */
  #context(step: string): RequestContext {
    const { intents } = this.#deps;
    const { id, version, executor, asker, createdAtMs } = this.#plan;
    const seed = createHash('sha256').update(`${id}/${version}/${this.#index}/${step}`).digest();
    return contextOf(
      {
        tenant: this.#tenant,
        principal: principalFrom(executor ?? asker),
        requestId: id,
        traceparent: '',
        store: intents.store,
        log: intents.log as Log,
        cursorKey: new Uint8Array(32),
      },
      { seed: () => seed, startedMs: createdAtMs },
      intents.clock.nowMs(),
    );
  }
}

function isOver({ status }: TradeRecord): boolean {
  return status === 'completed' || status === 'failed';
}

/** The plan ends without this trade, but the gateway still polls the venue. */
function isAwaited(trade: TradeRecord): boolean {
  return trade.overdue === true && !isOver(trade);
}

interface Leg {
  /** Id of the paying wallet. */
  readonly from: string;
  /** Address. */
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
}

function waitingFor({ status, subStatus }: IntentRecord): string {
  return `transfer_${status}${subStatus === null ? '' : `: ${subStatus}`}`;
}

/** The strategy may execute its next plan. */
function releasing(strategy: StrategyRecord, plan: PlanRecord, nowMs: number) {
  if (strategy.executingPlanId !== plan.id) return [];
  const after = { ...strategy, version: strategy.version + 1, executingPlanId: null, updatedAtMs: nowMs };
  return [update(strategyType, strategy, after)];
}

export function planEvent(context: Parameters<typeof eventOf>[0], happening: string, plan: PlanRecord): NewEvent {
  return eventOf(context, {
    type: `treasury.plan.${happening}`,
    resource: planType.name,
    record: plan,
    object: planView(plan),
    correlationId: plan.id,
  });
}
