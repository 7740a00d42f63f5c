/**
 * Typed events in the document: one schema for each family of types, discriminated by `type`. GET /v1/events, the stream
 * and webhooks carry the same.
 */
import Type, { type TSchema } from 'typebox';
import { ModuleAccessRequest } from '../../wallets/companions/access/public.ts';
import { ChangeControl, ChangeProposal } from '../../wallets/companions/changes/public.ts';
import { CorrectionView, Exception, Job } from '../../wallets/companions/recon/public.ts';
import { TokenFacts, TokenOrder } from '../../wallets/companions/tokens/public.ts';
import { Plan, Strategy } from '../../wallets/companions/treasury/public.ts';
import { Vault, VaultKey, VaultSignatureSummary } from '../../wallets/companions/vaults/public.ts';
import { Connection } from '../../wallets/custody/connections/public.ts';
import { Intent } from '../../wallets/custody/intents/public.ts';
import { Tenant } from '../../wallets/custody/tenant/public.ts';
import { depositStandings, Wallet } from '../../wallets/custody/wallets/public.ts';
import { eventTypes } from '../../wallets/delivery/events/public.ts';
import { WebhookSettings } from '../../wallets/delivery/webhooks/public.ts';
import { ComplianceList, Screening } from '../../wallets/policy/compliance/public.ts';
import { Policy } from '../../wallets/policy/policies/public.ts';
import { RiskRule } from '../../wallets/policy/risk/public.ts';
import { AccessToken } from '../api/access-token.ts';
import { Closed, Nullable, OneOf, Timestamp } from '../api/schema-kit.ts';

/** The coordinator's object of a session (coordinator/session/events.ts); later versions may add fields. */
function session(own: Readonly<Record<string, TSchema>>, title: string) {
  const fields = {
    session_id: Type.String(),
    kind: OneOf(['signing', 'dkg']),
    state: Type.String({ description: 'the state of the checkpoint, e.g. `RECEIPT_STATE_ACCEPTED`' }),
    reason_code: Type.String(),
    message: Type.String(),
    epoch: Type.Integer({ minimum: 1 }),
    ...own,
    keystore_type: Nullable(Type.String()),
    approval_mode: Nullable(Type.String()),
    attempt: Type.Integer({ minimum: 0 }),
    culprits: Type.Array(Type.Integer({ minimum: 1 }), { description: 'ids of the nodes that proved to be false' }),
    correlation_id: Type.String(),
    created_at: Timestamp,
    expires_at: Timestamp,
  };
  return Type.Object(fields, { title, additionalProperties: true });
}

const SigningSession = session(
  {
    transaction_intent_id: Type.String(),
    wallet_id: Type.String({ description: 'the wallet or the DKG session whose key signs' }),
    curve: Nullable(Type.String()),
    network_id: Type.String(),
  },
  'SigningSession',
);

const DkgSession = session(
  {
    curve: Type.String(),
    threshold: Type.Integer({ minimum: 2 }),
    total_nodes: Type.Integer({ minimum: 2 }),
    network_id: Type.String(),
    public_key: Nullable(Type.String({ description: 'compressed, hex; null until the key is made' })),
  },
  'DkgSession',
);

const KeyVersion = Type.Object(
  {
    key_id: Type.String(),
    version: Type.Integer({ minimum: 2, description: 'of the shares' }),
    session_id: Type.String({ description: 'the session that made them' }),
    curve: Type.String(),
    key_scheme: Type.String(),
    public_key: Type.String({ description: 'compressed, hex; the same in every version' }),
    threshold: Type.Integer({ minimum: 2 }),
    total_nodes: Type.Integer({ minimum: 2 }),
    participants: Type.Array(Type.Integer({ minimum: 1 }), {
      description: 'the nodes that hold the shares, ascending',
    }),
  },
  { title: 'KeyVersion', additionalProperties: true },
);

const WalletDeposit = Closed(
  {
    ...Wallet.properties,
    deposit: Closed({
      asset: Type.String(),
      amount: Type.String({ description: 'decimal' }),
      tx_id: Type.String(),
      from_address: Nullable(Type.String()),
      status: OneOf(depositStandings, { description: 'of `pending` ones a reorganisation may still take the block' }),
    }),
  },
  { title: 'WalletDeposit' },
);

const WalletWithdrawal = Closed(
  {
    ...Wallet.properties,
    withdrawal: Closed({
      asset: Type.String(),
      amount: Type.String({ description: 'decimal' }),
      tx_id: Type.String(),
      to_address: Type.String(),
      spender: Type.String({ description: 'the account that the wallet had allowed to take it' }),
    }),
  },
  { title: 'WalletWithdrawal' },
);

const WalletCorrection = Closed(
  {
    ...Wallet.properties,
    correction: Closed({
      cause: Type.String({ description: 'id of the exception' }),
      note: Nullable(Type.String()),
      entries: Type.Array(CorrectionView),
    }),
  },
  { title: 'WalletCorrection' },
);

const TamperedRecord = Closed(
  { id: Type.String(), kind: Type.String({ description: 'e.g. wallet, policy, token' }) },
  { title: 'TamperedRecord' },
);

interface Family {
  readonly title: string;
  /** The type of the events' resource. */
  readonly resource: string;
  readonly has: (type: string) => boolean;
  readonly object: TSchema;
}

const under = (beginning: string) => (type: string) => type.startsWith(beginning);

const families: readonly Family[] = [
  {
    title: 'ProviderConnectionEvent',
    resource: 'provider_connection',
    has: under('provider_connection.'),
    object: Connection,
  },
  {
    title: 'WalletDepositEvent',
    resource: 'wallet',
    has: under('wallet.deposit_'),
    object: WalletDeposit,
  },
  {
    title: 'WalletWithdrawalEvent',
    resource: 'wallet',
    has: (type) => type === 'wallet.allowance_used',
    object: WalletWithdrawal,
  },
  {
    title: 'WalletCorrectionEvent',
    resource: 'wallet',
    has: (type) => type === 'wallet.balance_corrected',
    object: WalletCorrection,
  },
  { title: 'WalletEvent', resource: 'wallet', has: under('wallet.'), object: Wallet },
  { title: 'IntentEvent', resource: 'transaction_intent', has: under('transaction_intent.'), object: Intent },
  { title: 'SigningSessionEvent', resource: 'signing_session', has: under('signing.session.'), object: SigningSession },
  { title: 'DkgSessionEvent', resource: 'dkg_session', has: under('dkg.session.'), object: DkgSession },
  { title: 'KeyVersionEvent', resource: 'key', has: under('key.version.'), object: KeyVersion },
  { title: 'PolicyEvent', resource: 'policy', has: under('policy.'), object: Policy },
  {
    title: 'ComplianceScreeningEvent',
    resource: 'compliance_screening',
    has: under('compliance.screening.'),
    object: Screening,
  },
  { title: 'ComplianceListEvent', resource: 'compliance_list', has: under('compliance.list.'), object: ComplianceList },
  { title: 'RiskRuleEvent', resource: 'risk_rule', has: under('risk.rule.'), object: RiskRule },
  { title: 'VaultKeyEvent', resource: 'vault_key', has: under('vault.key_'), object: VaultKey },
  {
    title: 'VaultSignatureEvent',
    resource: 'vault_signature',
    has: under('vault.signature_'),
    object: VaultSignatureSummary,
  },
  { title: 'VaultEvent', resource: 'vault', has: under('vault.'), object: Vault },
  {
    title: 'ModuleAccessEvent',
    resource: 'module_access_request',
    has: under('module_access.'),
    object: ModuleAccessRequest,
  },
  {
    title: 'TreasuryStrategyEvent',
    resource: 'treasury_strategy',
    has: under('treasury.strategy.'),
    object: Strategy,
  },
  { title: 'TreasuryPlanEvent', resource: 'treasury_plan', has: under('treasury.plan.'), object: Plan },
  { title: 'ReconJobEvent', resource: 'recon_job', has: under('recon.job.'), object: Job },
  { title: 'ReconExceptionEvent', resource: 'recon_exception', has: under('recon.exception.'), object: Exception },
  { title: 'TokenOrderEvent', resource: 'token_order', has: under('token.order.'), object: TokenOrder },
  { title: 'TokenEvent', resource: 'token', has: under('token.'), object: TokenFacts },
  { title: 'TamperedRecordEvent', resource: 'record', has: under('record.'), object: TamperedRecord },
  { title: 'TenantEvent', resource: 'tenant', has: under('tenant.'), object: Tenant },
  {
    title: 'ChangeControlEvent',
    resource: 'change_control',
    has: under('change_control.'),
    object: ChangeControl,
  },
  {
    title: 'ChangeProposalEvent',
    resource: 'change_proposal',
    has: under('change_proposal.'),
    object: ChangeProposal,
  },
  { title: 'AccessTokenEvent', resource: 'access_token', has: under('access_token.'), object: AccessToken },
  { title: 'WebhookEvent', resource: 'webhook', has: under('webhook.'), object: WebhookSettings },
];

/** The first family with this type. Throws for a type without a family: add one above. */
function familyOf(type: string): Family {
  const family = families.find(({ has }) => has(type));
  if (family === undefined) throw new Error(`no schema for events of type ${type}`);
  return family;
}

const byFamily = new Map<Family, string[]>();
for (const type of Object.keys(eventTypes)) {
  const family = familyOf(type);
  byFamily.set(family, [...(byFamily.get(family) ?? []), type]);
}

function familySchema({ title, resource, object }: Family, types: readonly string[]): TSchema {
  return Closed(
    {
      id: Type.String({ examples: ['evt_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'] }),
      type: OneOf(types),
      timestamp: Timestamp,
      api_version: Type.String({ examples: ['v1'] }),
      environment: OneOf(['sandbox', 'production']),
      sequence: Type.Integer({ minimum: 1, description: 'rises by one per tenant, from 1, without holes' }),
      resource: Closed({ type: OneOf([resource]), id: Type.String(), version: Type.Integer({ minimum: 0 }) }),
      correlation_id: Type.String(),
      provider: Nullable(Type.String({ description: 'provider kind' })),
      data: Closed({ object }),
    },
    { title },
  );
}

export const Event = Type.Union(
  [...byFamily].map(([family, types]) => familySchema(family, types)),
  {
    title: 'Event',
    description: 'what happened, and the resource as it then was: `type` says which of these it is',
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(
        Object.keys(eventTypes).map((type) => [type, `#/components/schemas/${familyOf(type).title}`]),
      ),
    },
  },
);
