/** The requests and answers of the routes of the treasury. docs/wallet-api.md shows the same. */

import Type from 'typebox';
import { Closed, DecimalText, Id, Lines, Name, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { venueModes } from '../../providers/market/public.ts';
import { planStatuses, tradeStatuses } from './plan-record.ts';
import { skipReasons, tradeBounds } from './planner.ts';
import { autonomyLevels, triggerKinds } from './strategy-record.ts';

export const treasuryLimits = {
  walletsMax: 20,
  targetsMax: 20,
  tradesMax: 40,
  everyMinS: 10,
  everyMaxS: 31_536_000,
} as const;

const Asset = Type.String({ minLength: 1, maxLength: 32, description: 'symbol of a registered asset' });
const Bps = (minimum: number, maximum: number, description: string) => Type.Integer({ minimum, maximum, description });
const Usd = Type.String({ description: 'US dollars, decimal', examples: ['2500.5'] });
const UsdInput = Type.String({ minLength: 1, maxLength: 40, description: 'US dollars, a decimal above 0 as a string' });
const WalletId = Type.String({ minLength: 1, maxLength: 128, description: 'id of a wallet' });

const Target = Closed({
  asset: Asset,
  weight_bps: Bps(0, 10_000, 'its share of the total value; all weights sum up to 10,000'),
  band_bps: Bps(0, 10_000, 'how far its share may deviate from the weight before it is traded'),
});

const triggerFields = { kind: OneOf(triggerKinds) };
const everyS = Type.Integer({
  minimum: treasuryLimits.everyMinS,
  maximum: treasuryLimits.everyMaxS,
  description: 'seconds; with `interval` and `drift`',
});

export const StrategyBody = Closed(
  {
    name: Name,
    wallet_ids: Type.Array(WalletId, {
      minItems: 1,
      maxItems: treasuryLimits.walletsMax,
      uniqueItems: true,
      description: 'the wallets pay in this order; the first on an asset’s network receives it',
    }),
    targets: Type.Array(Target, { minItems: 1, maxItems: treasuryLimits.targetsMax }),
    trigger: Type.Optional(
      Closed({ ...triggerFields, every_s: Type.Optional(everyS) }, { description: 'default: `manual`' }),
    ),
    constraints: Type.Optional(
      Closed({
        min_trade_usd: Type.Optional(UsdInput),
        max_trade_usd: Type.Optional(Nullable(UsdInput)),
        max_trades: Type.Optional(Type.Integer({ minimum: 1, maximum: treasuryLimits.tradesMax })),
        max_cost_bps: Type.Optional(Bps(1, 5_000, 'fees and expected slippage of a trade, at most')),
        cash_floor: Type.Optional(Nullable(Closed({ asset: Asset, amount: DecimalText }))),
        cooldown_s: Type.Optional(Type.Integer({ minimum: 0, maximum: treasuryLimits.everyMaxS })),
        price_tolerance_bps: Type.Optional(Bps(1, 5_000, 'a plan is stale when a price has moved by more')),
        price_age_max_s: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
        plan_ttl_s: Type.Optional(Type.Integer({ minimum: 10, maximum: 86_400 })),
        venue_deadline_s: Type.Optional(
          Type.Integer({ minimum: 10, maximum: 86_400, description: 'how long a plan waits for a silent venue' }),
        ),
      }),
    ),
    autonomy: OneOf(autonomyLevels),
    policy: Type.Optional(
      Nullable(Type.String({ minLength: 1, maxLength: 100, description: 'name of a policy that decides too' })),
    ),
  },
  { title: 'PutStrategy' },
);

export const Strategy = Closed(
  {
    id: Id('stg'),
    strategy_version: Type.Integer({ minimum: 1 }),
    status: OneOf(['active', 'archived']),
    name: Type.String(),
    wallet_ids: Type.Array(Id('wal')),
    targets: Type.Array(Target),
    trigger: Closed({ ...triggerFields, every_s: Type.Integer({ description: 'seconds; 0 with `manual`' }) }),
    constraints: Closed({
      min_trade_usd: Usd,
      max_trade_usd: Nullable(Usd),
      max_trades: Type.Integer(),
      max_cost_bps: Type.Integer(),
      cash_floor: Nullable(Closed({ asset: Type.String(), amount: Type.String() })),
      cooldown_s: Type.Integer(),
      price_tolerance_bps: Type.Integer(),
      price_age_max_s: Type.Integer(),
      plan_ttl_s: Type.Integer(),
      venue_deadline_s: Type.Integer(),
    }),
    autonomy: OneOf(autonomyLevels),
    policy: Nullable(Type.String()),
    executing_plan_id: Nullable(Id('pln')),
    last_executed_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Strategy' },
);

const Position = Closed({
  asset: Type.String(),
  amount: Type.String({ description: 'decimal' }),
  value_usd: Usd,
  weight_bps: Type.Integer(),
  target_bps: Type.Integer({ description: 'as the strategy has it' }),
  drift_bps: Type.Integer({ description: 'above 0: too much of it' }),
  band_bps: Type.Integer(),
  in_band: Type.Boolean(),
});

const Price = Closed({ asset: Type.String(), price_usd: Usd, as_of: Timestamp });

export const StrategyPosition = Closed(
  {
    strategy_id: Id('stg'),
    strategy_version: Type.Integer({ minimum: 1 }),
    name: Type.String(),
    total_value_usd: Nullable(Usd),
    assets: Type.Array(Position),
    prices: Type.Array(Price),
    unpriced: Nullable(Type.String({ description: 'why there are no values: a price is missing or too old' })),
    as_of: Timestamp,
  },
  { title: 'StrategyPosition' },
);

const Side = { asset: Type.String(), wallet_id: Id('wal'), amount: Type.String({ description: 'decimal' }) };
const Actor = Type.String({ description: 'a token’s id, or `tenant:<tenant>`' });

export const Plan = Closed(
  {
    id: Id('pln'),
    strategy_id: Id('stg'),
    strategy_version: Type.Integer({ minimum: 1 }),
    status: OneOf(planStatuses),
    origin: OneOf(['request', 'trigger', 'proposal']),
    rationale: Nullable(Type.String()),
    asked_by: Actor,
    executed_by: Nullable(Actor),
    total_value_usd: Usd,
    positions: Type.Array(Position),
    prices: Type.Array(Price),
    trades: Type.Array(
      Closed({
        sell: Closed(Side),
        buy: Closed({ ...Side, amount_min: Type.String({ description: 'the least amount that the venue must give' }) }),
        value_usd: Usd,
        cost_usd: Usd,
        constraint: OneOf(tradeBounds, { description: 'what set its size' }),
        status: OneOf(tradeStatuses),
        reason: Nullable(Type.String({ description: 'why it failed, or the reason why it waits' })),
        transaction_intent_ids: Type.Array(Id('txi'), { description: 'to the venue account, then back from it' }),
        sold: Nullable(Type.String()),
        bought: Nullable(Type.String()),
      }),
    ),
    skipped: Type.Array(
      Closed(
        { asset: Type.String(), constraint: OneOf(skipReasons) },
        { description: 'assets that are not traded, and why' },
      ),
    ),
    withheld: Nullable(OneOf(['cooldown'], { description: 'why the plan has no trades' })),
    stale: Type.Array(Closed({ field: Type.String(), issue: Type.String(), message: Type.String() }), {
      description: 'changes since the plan was made, only when a single plan is read; a stale plan is not executed',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'TreasuryPlan' },
);

export const RebalanceBody = Closed(
  {
    strategy_id: Type.String({ minLength: 1, maxLength: 128 }),
    dry_run: Type.Optional(
      Type.Boolean({
        description: 'default true: only a plan. false: a plan that is executed as its autonomy allows',
      }),
    ),
    proposal: Type.Optional(
      Closed(
        {
          trades: Type.Array(Closed({ sell: Asset, buy: Asset, amount: DecimalText }), {
            minItems: 1,
            maxItems: treasuryLimits.tradesMax,
            description: '`amount` of the sold asset',
          }),
          rationale: Type.Optional(Lines(2_000)),
        },
        { description: 'trades that a model or a person proposes: checked under the same constraints' },
      ),
    ),
  },
  { title: 'Rebalance' },
);

const venueSettings = {
  mode: OneOf(venueModes, { description: '`silent`: it does not answer' }),
  fill_bps: Bps(0, 10_000, 'with `partial`: the share of an order that is filled'),
  slippage_bps: Nullable(Bps(0, 9_000, 'of every trade; null: it varies around the venue’s quote')),
};

export const MarketBody = Closed(
  {
    prices: Type.Optional(
      Type.Array(
        Closed({
          asset: Asset,
          price_usd: Type.Optional(UsdInput),
          condition: Type.Optional(
            OneOf(['simulated', 'missing', 'stale'], {
              description: 'instead of a price; `simulated`: the random walk again',
            }),
          ),
          stale_s: Type.Optional(Type.Integer({ minimum: 1, maximum: 31_536_000, description: 'default 3,600' })),
        }),
        { maxItems: 50 },
      ),
    ),
    venue: Type.Optional(
      Closed({
        mode: Type.Optional(venueSettings.mode),
        fill_bps: Type.Optional(venueSettings.fill_bps),
        slippage_bps: Type.Optional(venueSettings.slippage_bps),
      }),
    ),
  },
  { title: 'SetMarket' },
);

export const Market = Closed(
  {
    prices: Type.Array(
      Closed({
        asset: Type.String(),
        condition: OneOf(['simulated', 'set', 'missing', 'stale']),
        price_usd: Nullable(Usd),
        as_of: Nullable(Timestamp),
      }),
    ),
    venue: Closed({ ...venueSettings, fee_bps: Type.Integer(), expected_slippage_bps: Type.Integer() }),
  },
  { title: 'Market' },
);
