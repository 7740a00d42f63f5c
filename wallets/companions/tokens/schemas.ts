/** The requests and answers of the routes of token operations. docs/tokens.md shows the same. */
import Type from 'typebox';
import { Metadata } from '../../../gateway/api/metadata.ts';
import { createdQuery } from '../../../gateway/api/pages.ts';
import {
  Closed,
  DecimalText,
  Id,
  Line,
  Lines,
  ListOf,
  Name,
  Nullable,
  OneOf,
  PathId,
  pageQuery,
  Timestamp,
} from '../../../gateway/api/schema-kit.ts';
import { Actor, Votes, voteBody } from '../../custody/intents/public.ts';
import { networkIds } from '../../networks/networks.ts';
import { orderKinds, tokenStatuses } from './record.ts';
import { orderStatuses } from './states.ts';

const decimalsMax = 18;
const Comment = Lines(500);
const TokenSymbol = Type.String({
  pattern: '^[A-Z][A-Z0-9]{1,11}$',
  description:
    '2 to 12 capital letters and digits, a letter first; none of the registry’s, and unique among your tokens',
  examples: ['GOLD'],
});
const Failure = Nullable(Closed({ code: Type.String(), message: Type.String() }));
const Decimal = (description: string) => Type.String({ description, examples: ['1250.5'] });
const Policy = Type.Optional(Name);

/** The form of events, without the supply, which changes separately. */
export const tokenFields = {
  id: Id('tkn'),
  status: OneOf(tokenStatuses, {
    description:
      '`deploying`: its contract is not on the chain yet; `frozen`: no mints, redemptions or transfers; `failed`: it was never deployed',
  }),
  symbol: TokenSymbol,
  name: Type.String(),
  network: OneOf(networkIds),
  decimals: Type.Integer({ minimum: 0, maximum: decimalsMax }),
  supply_cap: Decimal('the largest amount that may be in circulation'),
  contract: Nullable(Type.String({ description: 'its address; null until it is deployed' })),
  issuer_wallet_id: Id('wal'),
  transaction_intent_id: Type.String({ description: 'the intent that deploys it, of the issuer’s wallet' }),
  error: Failure,
  freeze_reason: Nullable(Type.String()),
  metadata: Metadata,
  version: Type.Integer({ minimum: 1 }),
  created_at: Timestamp,
  updated_at: Timestamp,
} as const;

export const Token = Closed(
  {
    ...tokenFields,
    supply: Decimal('in circulation: the minted minus the redeemed units of completed orders'),
    minting: Decimal('of orders that are `processing`'),
    available_to_mint: Decimal('the cap less both'),
  },
  { title: 'Token' },
);
export const TokenFacts = Closed(tokenFields, { title: 'TokenFacts' });
export const TokenList = ListOf('tokens', Token);
export const TokenParams = Closed({ id: PathId('id of the token') });
export const OrderParams = Closed({ id: PathId('id of the token'), orderId: PathId('id of the order') });

export const CreateBody = Closed(
  {
    symbol: TokenSymbol,
    name: Line(60),
    network: OneOf(networkIds, { description: 'an EVM network' }),
    decimals: Type.Integer({ minimum: 0, maximum: decimalsMax }),
    supply_cap: DecimalText,
    issuer_wallet_id: Id('wal'),
    policy: Policy,
    metadata: Type.Optional(Metadata),
  },
  { title: 'CreateToken' },
);

const ReserveReference = Closed(
  {
    type: OneOf(['wallet', 'attestation']),
    asset: Type.String({
      pattern: '^[A-Z][A-Z0-9]{1,11}$',
      description: 'symbol of the reserve asset: one unit of it backs one unit of the token',
      examples: ['USDC'],
    }),
    wallet_id: Type.Optional(Id('wal')),
    reference: Type.Optional(Line(200, 'with `attestation`: the name that its attestor uses')),
    amount: Type.Optional(DecimalText),
    expires_at: Type.Optional(Timestamp),
  },
  {
    title: 'ReserveReference',
    description:
      '`wallet`: the wallet’s available balance of the asset. `attestation`: `reference`, `amount` and `expires_at`, as stated by an auditor or a bank; the service trusts them, so let a policy require approval',
  },
);
const ordered = {
  amount: DecimalText,
  reserve_reference: ReserveReference,
  policy: Policy,
  metadata: Type.Optional(Metadata),
} as const;

export const MintBody = Closed(
  { destination: Closed({ address: Type.String({ minLength: 1, maxLength: 200 }) }), ...ordered },
  { title: 'MintToken' },
);
export const RedeemBody = Closed(
  {
    source: Closed({ wallet_id: Id('wal') }, { description: 'your `self_hosted` wallet that holds the units' }),
    ...ordered,
  },
  { title: 'RedeemToken' },
);

export const TokenOrder = Closed(
  {
    id: Id('ord'),
    kind: OneOf(orderKinds),
    token_id: Id('tkn'),
    status: OneOf(orderStatuses),
    sub_status: Nullable(Type.String({ description: 'details; null when there are none' })),
    asset: Type.String({ description: 'the token’s symbol' }),
    amount: Decimal('of the token'),
    destination: Nullable(Closed({ address: Type.String() }, { description: 'of a mint' })),
    source: Nullable(Closed({ wallet_id: Id('wal') }, { description: 'of a redemption' })),
    reserve_reference: Closed({
      type: OneOf(['wallet', 'attestation']),
      asset: Type.String(),
      wallet_id: Type.Optional(Id('wal')),
      reference: Type.Optional(Type.String()),
      amount: Type.Optional(Type.String()),
      expires_at: Type.Optional(Timestamp),
    }),
    reserve_check: Nullable(
      Closed(
        { asset: Type.String(), required: Decimal('at least'), held: Decimal('found'), at: Timestamp },
        { description: 'the result of the check before signing; null until then' },
      ),
    ),
    wallet_id: Id('wal'),
    transaction_intent_id: Type.String({
      description:
        'its transaction, an intent of `wallet_id` as soon as the order is approved; the same UUID as the order’s',
    }),
    policy: Closed({ name: Type.String(), id: Type.String(), version: Type.Integer({ minimum: 1 }) }),
    decision_id: Type.String(),
    risk_score: Type.Number({ minimum: 0, maximum: 100 }),
    screening_id: Nullable(Type.String()),
    initiator: Actor,
    approvals: Votes,
    approvals_required: Type.Integer({ minimum: 0 }),
    approvers: Type.Array(Actor),
    error: Failure,
    metadata: Metadata,
    status_history: Type.Array(
      Closed({ status: OneOf(orderStatuses), sub_status: Nullable(Type.String()), at: Timestamp }),
    ),
    version: Type.Integer({ minimum: 1 }),
    created_at: Timestamp,
    updated_at: Timestamp,
    expires_at: Nullable(Timestamp),
  },
  { title: 'TokenOrder' },
);
export const OrderList = ListOf('orders', TokenOrder);

export const TokenQuery = Closed({ status: Type.Optional(OneOf(tokenStatuses)), ...createdQuery, ...pageQuery });
export const OrderQuery = Closed({
  status: Type.Optional(OneOf(orderStatuses)),
  kind: Type.Optional(OneOf(orderKinds)),
  ...createdQuery,
  ...pageQuery,
});

export const VoteBody = voteBody('ApproveTokenOrder');
export const ReasonBody = Closed({ reason: Type.Optional(Comment) });
