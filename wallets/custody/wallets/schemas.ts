/** What the wallet routes take and give. docs/wallet-api.md shows the same. */
import Type from 'typebox';
import { Metadata } from '../../../gateway/api/metadata.ts';
import {
  Closed,
  ContractEnum,
  ExternalId,
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
import { ApprovalModeSchema } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { assets } from '../../networks/assets.ts';
import { networkIds } from '../../networks/networks.ts';
import { providerKinds } from '../../providers/port/kinds.ts';
import { movementKinds } from '../../store/contract.ts';
import { approvalModes, signingApiModes, walletStatuses } from './record.ts';

const Network = OneOf(networkIds, { description: 'CAIP-2 id of the network' });
const approvalIs = {
  description:
    '`human_required`: every intent needs an approval, and every signature of the signing API a witness. The strictest of all approval requirements applies',
};
const ApprovalMode = OneOf(approvalModes, approvalIs);
const AskedMode = ContractEnum(ApprovalModeSchema, approvalModes, approvalIs);
const SigningApi = OneOf(signingApiModes, {
  description:
    'whether the signing API may use the wallet’s key, or transaction intents alone. By default `allowed` in a sandbox, `intents_only` in production',
});
const OwnId = ExternalId('your own id of the wallet. Not checked for uniqueness', 'treasury-7');
const PolicyName = Line(
  100,
  'name of the policy that decides on its intents, beside the tenant’s `default`; null: none',
);
const Balance = (description: string) => Type.String({ description, examples: ['1.25'] });

export const WalletAsset = Closed(
  {
    symbol: Type.String({ examples: ['ETH'] }),
    balance: Balance('the wallet’s balance: `available` and `pending`'),
    available: Balance('the amount that new transfers may use'),
    pending: Balance('reserved for open transfers, and as the reserve of token orders in processing'),
    network: Network,
    decimals: Type.Integer({ minimum: 0, description: 'maximum number of digits after the decimal point' }),
    contract: Nullable(Type.String({ description: 'EVM: the token’s contract; null for a network’s own coin' })),
  },
  { title: 'WalletAsset' },
);

export const Wallet = Closed(
  {
    id: Id('wal'),
    name: Name,
    provider: OneOf(providerKinds),
    provider_connection_id: Id('pcn'),
    provider_wallet_id: Type.String({ description: 'the provider’s own id of the wallet' }),
    status: OneOf(walletStatuses),
    environment: OneOf(['sandbox', 'production']),
    network: Network,
    addresses: Type.Array(Closed({ network: Network, address: Type.String() })),
    public_key: Nullable(Type.String({ description: 'compressed, lowercase hex; null if the provider shows none' })),
    key_scheme: Nullable(
      OneOf(['mock_ecdsa', 'frost_ed25519'], {
        description:
          'the only scheme that the cluster’s key of a `self_hosted` wallet signs with; null: a custodian holds the key',
      }),
    ),
    key_exposed: Type.Boolean({
      description:
        'true for `mock_ecdsa`: its first signature gives the key to the coordinator, so it has no threshold security',
    }),
    assets: Type.Array(WalletAsset),
    approval_mode: ApprovalMode,
    signing_api: SigningApi,
    policy: Nullable(PolicyName),
    external_id: Nullable(OwnId),
    metadata: Metadata,
    version: Type.Integer({
      minimum: 1,
      description: 'rises by one with every change of the record, but not of balances',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
    archived_at: Nullable(Timestamp),
    archive_reason: Nullable(Type.String()),
  },
  { title: 'Wallet' },
);

export const WalletList = ListOf('wallets', Wallet);

export const WalletMovement = Closed(
  {
    number: Type.Integer({ minimum: 1, description: 'of the wallet, from 1, without gaps' }),
    kind: OneOf(movementKinds, {
      description:
        '`opening`: what the wallet began with; `exchange`: at a venue; `reorg`: what a reorganisation has undone; `correction`: of reconciliation',
    }),
    asset: Type.String({ examples: ['ETH'] }),
    amount: Type.String({ description: 'decimal; below zero: it left the wallet', examples: ['-1.25'] }),
    balance: Balance('of the asset after it, `available` and `pending`'),
    source_id: Nullable(Type.String({ description: 'the intent, deposit, exchange or exception that caused it' })),
    tx_id: Nullable(Type.String({ description: 'of its network' })),
    counterparty: Nullable(Type.String({ description: 'address at the other end' })),
    created_at: Timestamp,
  },
  { title: 'WalletMovement' },
);

export const MovementList = ListOf('movements', WalletMovement);
export const MovementQuery = Closed(pageQuery);

export const WalletAllowance = Closed(
  {
    asset: Type.String({ examples: ['USDC'] }),
    contract: Type.String(),
    spender: Type.String({ description: 'the account that may move so much' }),
    amount: Nullable(
      Type.String({ description: 'what is left of it, decimal; null: never used up', examples: ['250'] }),
    ),
  },
  { title: 'WalletAllowance' },
);

export const AllowanceList = ListOf('allowances', WalletAllowance);
export const AllowanceQuery = Closed(pageQuery);

export const CreateBody = Closed(
  {
    name: Name,
    provider_connection_id: Id('pcn'),
    network: Network,
    policy: Type.Optional(Nullable(PolicyName)),
    approval_mode: Type.Optional(AskedMode),
    signing_api: Type.Optional(SigningApi),
    external_id: Type.Optional(Nullable(OwnId)),
    metadata: Type.Optional(Metadata),
  },
  { title: 'CreateWallet' },
);

export const PatchBody = Closed(
  {
    name: Type.Optional(Name),
    policy: Type.Optional(Nullable(PolicyName)),
    approval_mode: Type.Optional(AskedMode),
    signing_api: Type.Optional(SigningApi),
    external_id: Type.Optional(Nullable(OwnId)),
    metadata: Type.Optional(Metadata),
    expected_version: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'change only this version; another one is 409',
      }),
    ),
  },
  { title: 'UpdateWallet' },
);

export const ArchiveBody = Closed({
  reason: Type.Optional(Lines(500, 'shown as `archive_reason`')),
});

export const WalletParams = Closed({ id: PathId('id of the wallet') });

export const WalletQuery = Closed({
  provider: Type.Optional(OneOf(providerKinds)),
  provider_connection_id: Type.Optional(Id('pcn')),
  status: Type.Optional(OneOf(walletStatuses, { description: 'by default archived wallets are omitted' })),
  asset: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 32,
      description: 'wallets that list the asset',
      examples: assets.map(({ symbol }) => symbol),
    }),
  ),
  external_id: Type.Optional(OwnId),
  ...pageQuery,
});
