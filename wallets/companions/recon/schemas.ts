/** The requests and answers of the reconciliation routes. */
import Type from 'typebox';
import { Closed, DecimalText, Id, Line, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { exceptionTypes, resolutions, severities } from './exception-record.ts';
import { jobKinds, jobStatuses } from './job-record.ts';

/** For an asset symbol, known or not. */
const AssetSymbol = Type.String({ minLength: 1, maxLength: 20, description: 'asset symbol', examples: ['ETH'] });

/** Differences younger than this do not count, unless the job sets another lag. */
export const lagDefaultS = 120;
/** Both sides keep their movements this long. */
export const windowMaxMs = 30 * 24 * 3_600_000;
export const windowDefaultMs = 24 * 3_600_000;

export const JobBody = Closed({
  kind: OneOf(jobKinds, { description: 'compare balances, or movements' }),
  scope: Type.Optional(
    Closed({
      provider_connection_id: Type.Optional(Id('pcn')),
      wallet_id: Type.Optional(Id('wal')),
      asset: Type.Optional(AssetSymbol),
    }),
  ),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
  tolerance: Type.Optional(
    Closed({
      absolute: Type.Optional(DecimalText),
      bps: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, description: 'of what is expected' })),
    }),
  ),
  lag_s: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description: `younger differences do not count; ${lagDefaultS} by default`,
    }),
  ),
});

const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const Job = Closed(
  {
    id: Type.String(),
    kind: OneOf(jobKinds),
    status: OneOf(jobStatuses),
    scope: Closed({
      provider_connection_id: Nullable(Type.String()),
      wallet_id: Nullable(Type.String()),
      asset: Nullable(Type.String()),
    }),
    from: Nullable(Timestamp),
    to: Nullable(Timestamp),
    tolerance: Closed({ absolute: DecimalText, bps: Type.Integer() }),
    lag_s: Type.Number(),
    progress: Closed({
      percent: Type.Integer({ minimum: 0, maximum: 100, description: 'of the wallets' }),
      wallets_total: Count('in scope when the job began'),
      wallets_done: Count('compared'),
      wallets_unsettled: Count('that kept changing while their balances were compared'),
      rows_internal: Count('of ours'),
      rows_external: Count('of the providers'),
      exceptions_found: Count('differences'),
      exceptions_new: Count('the number of new ones among them'),
    }),
    error: Nullable(Closed({ code: Type.String(), message: Type.String() })),
    created_by: Type.String(),
    version: Type.Integer({ minimum: 1 }),
    created_at: Timestamp,
    updated_at: Timestamp,
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
  },
  { title: 'ReconJob' },
);

const Side = Closed({
  status: Nullable(Type.String()),
  asset: Type.String(),
  amount: Type.String({ description: 'decimal' }),
  fee: Nullable(Closed({ asset: Type.String(), amount: Type.String() })),
  count: Type.Integer({ minimum: 1, description: 'movements that say so' }),
});

export const CorrectionView = Closed({
  asset: Type.String(),
  amount: Type.String({ description: 'signed decimal' }),
});

export const Exception = Closed(
  {
    id: Type.String(),
    type: OneOf(exceptionTypes),
    subject: OneOf(['movement', 'balance']),
    severity: OneOf(severities),
    status: OneOf(['open', 'resolved']),
    wallet_id: Type.String(),
    provider: Type.String(),
    provider_connection_id: Type.String(),
    asset: Type.String(),
    explanation: Type.String(),
    expected: Nullable(Side),
    actual: Nullable(Side),
    delta: Type.String({
      description: 'signed decimal in `asset`: the provider’s amount minus our ledger’s',
    }),
    sources: Closed({
      internal: Nullable(
        Closed({
          kind: OneOf(['transaction_intent', 'deposit', 'withdrawal', 'exchange', 'wallet_balance']),
          id: Type.String(),
          status: Nullable(Type.String()),
          at: Timestamp,
        }),
      ),
      external: Nullable(
        Closed({
          ids: Type.Array(Type.String(), { description: 'the provider’s own' }),
          reference: Nullable(Type.String({ description: 'what we named it by' })),
          tx_id: Nullable(Type.String()),
          status: Nullable(Type.String({ description: 'in the provider’s words' })),
          at: Timestamp,
        }),
      ),
    }),
    corrections: Type.Array(CorrectionView, {
      description: 'the amounts that `adjusted` adds to the available balance',
    }),
    first_job_id: Type.String(),
    last_job_id: Type.String(),
    times_seen: Type.Integer({ minimum: 1 }),
    resolution: Nullable(
      Closed({
        resolution: OneOf(resolutions),
        note: Nullable(Type.String()),
        by: Type.String(),
        at: Timestamp,
        corrections: Type.Array(CorrectionView, { description: 'the added amounts; empty unless `adjusted`' }),
      }),
    ),
    version: Type.Integer({ minimum: 1 }),
    created_at: Timestamp,
    updated_at: Timestamp,
    last_seen_at: Timestamp,
  },
  { title: 'ReconException' },
);

export const ResolveBody = Closed({
  resolution: OneOf(resolutions, {
    description: '`adjusted` adds `corrections` to the ledger; the others change no balance',
  }),
  note: Type.Optional(Line(500)),
});
