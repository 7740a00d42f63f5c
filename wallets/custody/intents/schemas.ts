/** What the intent routes take and give. docs/wallet-api.md shows the same. */
import Type from 'typebox';
import { Metadata, MetadataFilter } from '../../../gateway/api/metadata.ts';
import { createdQuery } from '../../../gateway/api/pages.ts';
import {
  BooleanText,
  Closed,
  DecimalText,
  ExternalId,
  Id,
  Lines,
  ListOf,
  Name,
  Nullable,
  OneOf,
  PathId,
  pageQuery,
  Timestamp,
} from '../../../gateway/api/schema-kit.ts';
import { assets } from '../../networks/assets.ts';
import { networkIds } from '../../networks/networks.ts';
import { callableText } from '../../networks/token-calls.ts';
import { type TypedData, typedDataLimits } from '../../networks/typed-data.ts';
import { feeLevels, intentKinds, providerKinds } from '../../providers/port/kinds.ts';
import { intentStatuses } from './states.ts';

const AssetSymbol = Type.String({
  minLength: 1,
  maxLength: 32,
  description: 'symbol of an asset on the wallet’s network, or of your own token',
  examples: assets.map(({ symbol }) => symbol),
});
const OwnId = ExternalId('your own id of the intent, unique in your tenant for good', 'payout-2026-0117');
const IdempotencyKey = Type.String({
  pattern: '^[\\x21-\\x7e]{1,255}$',
  description: 'instead of the header Idempotency-Key: 1 to 255 visible ASCII characters',
});
/** An intent's events show all of it. */
const messageBytesMax = 16 * 1024;
const TypeName = Type.String({ maxLength: typedDataLimits.nameChars });
const TypedDataJson = (description: string) =>
  Closed(
    {
      types: Type.Unsafe<TypedData['types']>({
        type: 'object',
        maxProperties: typedDataLimits.types + 1,
        additionalProperties: Type.Array(Closed({ name: TypeName, type: TypeName }), {
          maxItems: typedDataLimits.typeFields,
        }),
      }),
      primaryType: TypeName,
      domain: Type.Unsafe<TypedData['domain']>({ type: 'object', maxProperties: 5, additionalProperties: true }),
      message: Type.Unsafe<TypedData['message']>({
        type: 'object',
        maxProperties: typedDataLimits.typeFields,
        additionalProperties: true,
      }),
    },
    { description },
  );
/** A fee is at most 10^13 wei a unit of gas: shorter than 17 digits. */
const Whole = (description: string) => Type.String({ pattern: '^(0|[1-9][0-9]{0,15})$', description });
const feeChoice = {
  fee_level: Type.Optional(
    OneOf(feeLevels, {
      description:
        'for `self_hosted` EVM and Bitcoin wallets, by the present market: `low` waits as soon as it rises; `medium` by default',
    }),
  ),
  max_fee_per_gas: Type.Optional(Whole('wei, as a whole number; EVM, instead of `fee_level`')),
  max_priority_fee_per_gas: Type.Optional(Whole('wei of `max_fee_per_gas` for the tip, as a whole number')),
  gas_limit: Type.Optional(Whole('units of gas, as a whole number; EVM, by default what the transaction needs')),
  sats_per_vbyte: Type.Optional(Whole('satoshi a virtual byte, as a whole number; Bitcoin, instead of `fee_level`')),
} as const;
const FeeTermsShown = Nullable(
  Closed(
    {
      fee_level: Nullable(OneOf(feeLevels, { description: 'null: the caller named the terms' })),
      max_fee_per_gas: Nullable(Type.String({ description: 'EVM, wei' })),
      max_priority_fee_per_gas: Nullable(Type.String({ description: 'EVM, wei' })),
      gas_limit: Nullable(Type.String({ description: 'EVM; null: what the transaction needs' })),
      sats_per_vbyte: Nullable(Type.String({ description: 'Bitcoin' })),
    },
    { title: 'FeeTerms', description: 'what is signed; null: the fee is fixed, or a custodian sets it' },
  ),
);
const Comment = Lines(500);
const Status = OneOf(intentStatuses, { description: 'state of the intent; see the table of states' });
const SubStatus = Nullable(Type.String({ description: 'details, e.g. `AWAITING_QUORUM`; null when there are none' }));
export const Actor = Type.String({
  description: 'a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued',
});
export const Votes = Type.Array(
  Closed({
    by: Actor,
    decision: OneOf(['approve', 'reject']),
    comment: Nullable(Type.String()),
    reason: Nullable(Type.String()),
    at: Timestamp,
  }),
);
export const PolicyUsed = Closed(
  { name: Type.String(), id: Type.String(), version: Type.Integer({ minimum: 1 }) },
  { title: 'PolicyUsed' },
);

/** What our own signer cluster has signed. */
const signedTransaction = {
  raw_transaction: Type.String({
    description: 'the signed transaction as its network’s tools take it: EVM 0x-hex, Bitcoin hex, Solana base64',
  }),
  signing_session_ids: Type.Array(Type.String(), { description: 'the sessions of the signing API that signed it' }),
} as const;

export const Intent = Closed(
  {
    id: Id('txi'),
    kind: OneOf(intentKinds, {
      description:
        '`transfer` moves an asset. The others are made by token operations: `deploy` makes the contract of a token, and moves 0 of the network’s coin; `mint` creates units for `destination`; `burn` destroys units of the wallet. `speed_up` and `cancel` replace the transaction of another intent, with the same effect or with none. A `message` and `typed_data` are signed and sent nowhere: they move nothing and cost nothing. A `contract_call` calls a token’s contract',
    }),
    status: Status,
    policy_receipt: Nullable(
      Type.String({ description: 'the decision, signed: a compact JWS (EdDSA), verifiable with the published JWKS' }),
    ),
    risk_score: Type.Number({ minimum: 0, maximum: 100 }),
    provider_tx_id: Nullable(
      Type.String({ description: 'the provider’s id of the transfer; a self_hosted wallet’s: the transaction’s hash' }),
    ),
    sub_status: SubStatus,
    wallet_id: Id('wal'),
    provider: OneOf(providerKinds),
    provider_connection_id: Id('pcn'),
    network: OneOf(networkIds),
    asset: Type.String(),
    amount: Type.String({ description: 'decimal' }),
    from_address: Type.String(),
    destination: Closed({ address: Type.String() }),
    token: Nullable(
      Closed(
        {
          symbol: Type.String(),
          name: Type.String(),
          decimals: Type.Integer(),
          supply_cap: Type.String({ description: 'decimal' }),
          contract: Nullable(Type.String({ description: 'null: it is not deployed yet' })),
        },
        { description: 'the tenant’s own token that it deploys or transfers; null for assets of the registry' },
      ),
    ),
    origin: Nullable(
      Closed({ kind: Type.String(), id: Type.String() }, { description: 'the record that it was made for' }),
    ),
    replaces: Nullable(Type.String({ description: 'of a replacement: the intent whose transaction it is to replace' })),
    replaced_by: Nullable(
      Type.String({
        description: 'the newest intent that is to replace its transaction, or was; its status says which',
      }),
    ),
    fee: Closed({
      asset: Type.String(),
      reserved: Type.String({ description: 'the largest possible fee, reserved while the intent is open' }),
      paid: Nullable(Type.String({ description: 'the fee paid; null until the intent has ended' })),
      terms: FeeTermsShown,
    }),
    policy: PolicyUsed,
    decision_id: Type.String(),
    screening_id: Nullable(Type.String()),
    initiator: Actor,
    approvals: Votes,
    approvals_required: Type.Integer({ minimum: 0 }),
    approvers: Type.Array(Actor, {
      description: 'permitted approvers; empty: every caller with the scope but the initiator',
    }),
    provider_status: Nullable(Type.String({ description: 'the provider’s own word' })),
    provider_error: Nullable(Closed({ code: Type.String(), message: Type.String() })),
    provider_details: Nullable(
      Closed({
        ...signedTransaction,
        receipt: Nullable(
          Closed(
            {
              status: OneOf(['success', 'reverted']),
              contract_address: Nullable(Type.String({ description: 'of a `deploy`' })),
              logs: Type.Array(
                Closed({
                  address: Type.String({ description: 'the contract' }),
                  topics: Type.Array(Type.String()),
                  data: Type.String(),
                }),
                { description: 'a token’s `Transfer(address indexed,address indexed,uint256)`' },
              ),
            },
            { description: 'EVM: the transaction receipt of a node; null until it is final' },
          ),
        ),
      }),
    ),
    message: Nullable(
      Closed(
        {
          text: Nullable(Type.String({ description: 'EIP-191; null of typed data' })),
          typed_data: Nullable(TypedDataJson('EIP-712, with every value in one spelling; null of a text')),
          hash: Type.String({ description: 'what the wallet signs' }),
          signature: Nullable(
            Type.String({ description: '65 bytes as wallets give them, in hex; null until it is signed' }),
          ),
          signing_session_ids: Type.Array(Type.String()),
        },
        { description: 'what is signed instead of a transaction' },
      ),
    ),
    call: Nullable(
      Closed(
        {
          contract: Type.String(),
          data: Type.String({ description: '0x and hex: what the transaction has' }),
          selector: Type.String({ description: 'the first four bytes of the data' }),
          function: Type.String(),
          arguments: Type.Unsafe<Readonly<Record<string, string>>>({
            type: 'object',
            additionalProperties: { type: 'string' },
            description: 'by name: an amount in smallest units, decimal; an address in lower case',
          }),
        },
        { description: 'of a `contract_call`, and of what speeds one up' },
      ),
    ),
    gap_transaction: Nullable(
      Closed(
        { provider_tx_id: Type.String({ description: 'its hash' }), ...signedTransaction },
        {
          description:
            'the empty transaction that took the account number of a transfer which the chain refused: `fee.paid` is its fee',
        },
      ),
    ),
    cancellation: Nullable(Closed({ by: Actor, reason: Nullable(Type.String()), at: Timestamp })),
    external_id: Nullable(OwnId),
    metadata: Metadata,
    status_history: Type.Array(Closed({ status: Status, sub_status: SubStatus, at: Timestamp })),
    version: Type.Integer({ minimum: 1, description: 'rises by one with every change' }),
    created_at: Timestamp,
    updated_at: Timestamp,
    expires_at: Timestamp,
  },
  { title: 'Intent' },
);

export const IntentList = ListOf('transaction_intents', Intent);

export const WalletParams = Closed({ id: PathId('id of the wallet') });
export const IntentParams = Closed({ id: PathId('id of the wallet'), txId: PathId('id of the transaction intent') });

export const CreateQuery = Closed({
  dry_run: Type.Optional(BooleanText('`true`: returns the decisions and creates nothing')),
});

export const CreateBody = Closed(
  {
    asset: AssetSymbol,
    amount: DecimalText,
    destination: Closed({
      address: Type.String({ minLength: 1, maxLength: 200, description: 'an address of the wallet’s network' }),
    }),
    policy: Type.Optional(Name),
    ...feeChoice,
    idempotency_key: Type.Optional(IdempotencyKey),
    external_id: Type.Optional(OwnId),
    metadata: Type.Optional(Metadata),
  },
  { title: 'CreateTransactionIntent' },
);

export const CallBody = Closed(
  {
    contract: Type.String({ minLength: 1, maxLength: 200, description: 'of a token of the registry, or of your own' }),
    data: Type.String({ maxLength: 1_000, description: `0x and hex: a call of ${callableText}, ABI-encoded` }),
    policy: Type.Optional(Name),
    ...feeChoice,
    idempotency_key: Type.Optional(IdempotencyKey),
    external_id: Type.Optional(OwnId),
    metadata: Type.Optional(Metadata),
  },
  { title: 'CreateContractCallIntent' },
);

export const MessageBody = Closed(
  {
    message: Type.Optional(Lines(messageBytesMax, 'a text (EIP-191)')),
    typed_data: Type.Optional(
      Type.Refine(
        TypedDataJson(
          `instead of \`message\`: typed data (EIP-712) as \`eth_signTypedData_v4\` takes it, up to ${messageBytesMax} bytes`,
        ),
        (value) => Buffer.byteLength(JSON.stringify(value)) <= messageBytesMax,
        () => 'too_large',
      ),
    ),
    policy: Type.Optional(Name),
    idempotency_key: Type.Optional(IdempotencyKey),
    external_id: Type.Optional(OwnId),
    metadata: Type.Optional(Metadata),
  },
  { title: 'CreateMessageIntent' },
);

export const ReplaceBody = Closed(
  {
    kind: OneOf(['speed_up', 'cancel'], {
      description:
        '`speed_up`: the same effect; `cancel`: none, the wallet sends itself nothing. Both with a higher fee',
    }),
    policy: Type.Optional(Name),
    ...feeChoice,
    metadata: Type.Optional(Metadata),
  },
  { title: 'ReplaceTransactionIntent' },
);

export const ListQuery = Closed({
  status: Type.Optional(OneOf(intentStatuses)),
  asset: Type.Optional(AssetSymbol),
  ...createdQuery,
  ...pageQuery,
});

export const TenantListQuery = Closed({
  status: Type.Optional(OneOf(intentStatuses)),
  provider_connection_id: Type.Optional(Id('pcn')),
  external_id: Type.Optional(OwnId),
  metadata: Type.Optional(MetadataFilter),
  awaiting_my_vote: Type.Optional(
    BooleanText('`true`: only intents that await approval and on which the caller may still vote'),
  ),
  ...createdQuery,
  ...pageQuery,
});

/** A vote on what awaits approval. */
export function voteBody(title: string) {
  return Closed(
    {
      decision: Type.Optional(OneOf(['approve', 'reject'], { description: '`approve` by default' })),
      comment: Type.Optional(Comment),
      reason: Type.Optional(Lines(500, 'required to reject')),
      expected_version: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'decide on this version only; another one is 409',
        }),
      ),
    },
    { title },
  );
}
export const ApproveBody = voteBody('ApproveTransactionIntent');

export const CancelBody = Closed({ reason: Type.Optional(Comment) }, { title: 'CancelTransactionIntent' });

const Risk = Closed({
  tx_id: Type.String(),
  score: Type.Number(),
  level: OneOf(['low', 'medium', 'high', 'critical']),
  action: OneOf(['allow', 'review', 'deny']),
  factors: Type.Array(Closed({ code: Type.String(), contribution: Type.Number(), evidence: Type.String() })),
  rules_version: Type.Integer(),
});

export const Trace = Type.Array(
  Closed({
    rule: Type.String(),
    effect: OneOf(['allow', 'deny', 'require_approval']),
    matched: Type.Boolean(),
    result: Type.String({ description: '`true`, `false`, or the reason why it could not be evaluated' }),
  }),
);

const Screening = Closed({
  decision: OneOf(['clear', 'review', 'blocked']),
  risk_score: Type.Number(),
  matches: Type.Array(
    Closed({
      list_id: Type.String(),
      list_name: Type.String(),
      kind: OneOf(['sanctions', 'deny', 'allow', 'watch']),
      list_version: Type.Integer(),
      entry: Type.String(),
    }),
  ),
});

export const DryRun = Closed(
  {
    dry_run: Type.Boolean(),
    decision: OneOf(['allow', 'deny', 'require_approval']),
    status: OneOf(['approved', 'pending_approval', 'denied'], { description: 'the status that the intent would get' }),
    reason: Type.String(),
    sufficient_funds: Type.Boolean({ description: 'whether the wallet holds the amount and the fee now' }),
    asset: Type.String(),
    amount: Type.String(),
    fee: Closed({ asset: Type.String(), reserved: Type.String(), terms: FeeTermsShown }),
    screening: Screening,
    risk: Risk,
    policy: PolicyUsed,
    also_policies: Type.Array(PolicyUsed, { description: 'further policies that decided: the strictest wins' }),
    matched_rules: Type.Array(Type.String()),
    trace: Trace,
    dry_run_policy: Nullable(
      Closed(
        {
          policy: PolicyUsed,
          decision: OneOf(['allow', 'deny', 'require_approval']),
          matched_rules: Type.Array(Type.String()),
          trace: Trace,
        },
        { description: 'the decision of the policy’s newest version while it is in mode dry_run' },
      ),
    ),
    approvals_required: Type.Integer({ minimum: 0 }),
    approvers: Type.Array(Actor),
  },
  { title: 'IntentDryRun' },
);
