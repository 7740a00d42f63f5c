/** Made from the routes and the proto by "npm run docs". Do not edit: see tools/docs/client-api.ts. */
import type { CallOptions, Operation } from './contract.ts';
import type { Pages } from './pages.ts';

/** Every `reason_code` of a receipt of the signing API: docs/reason-codes.md. */
export type ReasonCode = 'SESSION_ACCEPTED' | 'SHARE_ACCEPTED' | 'VENDOR_ORDER_OPEN' | 'SHARE_VERIFIED' | 'DKG_COMPLETED' | 'SIGNATURE_COMPLETED' | 'SESSION_RESUMED' | 'HUMAN_APPROVAL_REQUIRED' | 'WITNESS_MISSING' | 'INVALID_REQUEST' | 'INVALID_THRESHOLD' | 'UNSUPPORTED_CURVE' | 'INVALID_DERIVATION_PATH' | 'INVALID_MESSAGE_HASH' | 'UNSUPPORTED_KEYSTORE' | 'KEYSTORE_MISMATCH' | 'INTENT_MESSAGE_CHANGED' | 'WALLET_KEY_NOT_FOUND' | 'WALLET_KEY_AT_CUSTODIAN' | 'WALLET_INTENTS_ONLY' | 'VAULT_KEY' | 'WALLET_ARCHIVED' | 'TENANT_QUOTA_EXCEEDED' | 'SESSION_NOT_FOUND' | 'NODE_NOT_PARTICIPANT' | 'SHARE_VERIFICATION_FAILED' | 'COMMITMENT_MISMATCH' | 'CLIENT_DEALERS_NOT_ALLOWED' | 'INVALID_PARTIAL_SIGNATURE' | 'DUPLICATE_SESSION' | 'DUPLICATE_INTENT' | 'DUPLICATE_SHARE' | 'RESUME_TOKEN_REUSED' | 'RESUME_TOKEN_INVALID' | 'SESSION_NOT_RESUMABLE' | 'NODES_UNAVAILABLE' | 'QUORUM_UNAVAILABLE' | 'DEALER_MISBEHAVED' | 'NODE_REFUSED' | 'TRANSCRIPT_MISMATCH' | 'KEYSTORE_UNAVAILABLE' | 'HSM_SESSION_LOST' | 'HSM_PIN_REFUSED' | 'HSM_TIMEOUT' | 'HSM_TOKEN_ABSENT' | 'HSM_FAILED' | 'VENDOR_UNAVAILABLE' | 'VENDOR_REJECTED' | 'VENDOR_CANCELLED' | 'VENDOR_SIGNATURE_INVALID' | 'ORDER_REFUSED' | 'STORE_TAMPERED' | 'SESSION_EXPIRED' | 'SESSION_REVOKED' | 'MOCK_FORCED_DENIED' | 'MOCK_FORCED_REVOKED' | 'MOCK_FORCED_EXPIRED' | 'MOCK_FORCED_BACKEND_FAILED' | 'CONTRACT_VERSION_UNSUPPORTED';

export interface EveryEvent {
  readonly id: string;
  /** RFC 3339, UTC */
  readonly timestamp: string;
  readonly api_version: string;
  readonly environment: 'sandbox' | 'production';
  /** rises by one per tenant, from 1, without holes */
  readonly sequence: number;
  readonly correlation_id: string;
  readonly provider: string | null;
}

export interface EveryFault {
  readonly id?: string;
  readonly at?: FaultTrigger;
  readonly probability?: number;
  readonly count?: number;
}

export interface AccessToken {
  readonly id: string;
  readonly name: string | null;
  /** what `initiator`, votes and `approvers` name: one person for all tokens of a line */
  readonly actor: string;
  /** the line of tokens that issued it, the first one first; empty: the operator did */
  readonly issuers: readonly string[];
  readonly status: 'active' | 'expired' | 'revoked';
  readonly scopes: readonly ('providers:read' | 'providers:write' | 'wallets:read' | 'wallets:write' | 'intents:read' | 'intents:write' | 'events:read' | 'events:write' | 'webhooks:read' | 'webhooks:write' | 'modules:read' | 'modules:write' | 'changes:read' | 'changes:write' | 'access_tokens:read' | 'access_tokens:write' | 'compliance:read' | 'compliance:write' | 'risk:read' | 'risk:write' | 'policies:read' | 'policies:write' | 'recon:read' | 'recon:write' | 'vaults:read' | 'vaults:write' | 'treasury:read' | 'treasury:write' | 'tokens:read' | 'tokens:write' | 'intents:approve' | 'changes:approve' | 'tenant:freeze' | 'tenant:unfreeze' | 'signing:read' | 'signing:dkg' | 'signing:initiate' | 'signing:share' | 'signing:resume' | 'preview:compliance' | 'preview:risk' | 'preview:policies' | 'preview:recon' | 'preview:vaults' | 'preview:treasury' | 'preview:tokens' | 'sandbox:admin')[];
  readonly provider_connection_ids: readonly string[] | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
}

export interface AccessTokenEvent extends EveryEvent {
  readonly type: 'access_token.issued' | 'access_token.revoked';
  readonly resource: {
    readonly type: 'access_token';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: AccessToken;
  };
}

export interface AccessTokenPage {
  readonly access_tokens: readonly AccessToken[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface AddReconDrift {
  /** `missing`: a movement is omitted; `late`: omitted for `delay_s`; `duplicate`: shown twice; `amount`: `amount` is added to it; `status`: it is shown as reversed; `extra`: a movement of `amount` without a transfer; `silent`: the provider gives no statement of the wallet */
  readonly kind: 'missing' | 'extra' | 'duplicate' | 'amount' | 'status' | 'late' | 'silent';
  /** `wal_` and a UUIDv7 */
  readonly wallet_id: string;
  /** `txi_` and a UUIDv7 */
  readonly transaction_intent_id?: string;
  /** of an `extra` movement */
  readonly asset?: string;
  /** decimal above zero; 1 by default */
  readonly amount?: string;
  /** 3,600 by default */
  readonly delay_s?: number;
}

export interface AdvanceSandboxClock {
  /** milliseconds; this or `advance_s` */
  readonly advance_ms?: number;
  /** seconds; this or `advance_ms` */
  readonly advance_s?: number;
}

export interface AlteredAnswerFault extends EveryFault {
  readonly fault: 'altered_answer';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly field: string;
  readonly change: 'zero' | 'above' | 'below' | 'other' | 'empty' | 'shorter' | 'longer' | 'huge' | 'twice' | 'reversed' | 'missing';
}

export interface AlteredAnswerFaultRequest extends AlteredAnswerFault {
  readonly expires_in_s?: number;
}

export interface AlteredRequestFault extends EveryFault {
  readonly fault: 'altered_request';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
  readonly field: string;
  readonly change: 'zero' | 'above' | 'below' | 'other' | 'empty' | 'shorter' | 'longer' | 'huge' | 'twice' | 'reversed' | 'missing';
}

export interface AlteredRequestFaultRequest extends AlteredRequestFault {
  readonly expires_in_s?: number;
}

export interface AnswerCutFault extends EveryFault {
  readonly fault: 'answer_cut';
  readonly for_ms?: number;
  readonly route?: string;
  readonly rpc?: string;
}

export interface AnswerCutFaultRequest extends AnswerCutFault {
  readonly expires_in_s?: number;
}

export interface AnswerLostFault extends EveryFault {
  readonly fault: 'answer_lost';
  readonly for_ms?: number;
  readonly route?: string;
  readonly rpc?: string;
}

export interface AnswerLostFaultRequest extends AnswerLostFault {
  readonly expires_in_s?: number;
}

export interface AnswerSlowFault extends EveryFault {
  readonly fault: 'answer_slow';
  readonly for_ms?: number;
  readonly route?: string;
  readonly rpc?: string;
  readonly by_ms: number;
}

export interface AnswerSlowFaultRequest extends AnswerSlowFault {
  readonly expires_in_s?: number;
}

export interface AnswerStatusFault extends EveryFault {
  readonly fault: 'answer_status';
  readonly for_ms?: number;
  readonly route?: string;
  readonly rpc?: string;
  readonly status: number;
  readonly retry_after_s?: number;
}

export interface AnswerStatusFaultRequest extends AnswerStatusFault {
  readonly expires_in_s?: number;
}

export interface ApproveTokenOrder {
  /** `approve` by default */
  readonly decision?: 'approve' | 'reject';
  /** 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly comment?: string;
  /** required to reject: 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
  /** decide on this version only; another one is 409 */
  readonly expected_version?: number;
}

export interface ApproveTransactionIntent {
  /** `approve` by default */
  readonly decision?: 'approve' | 'reject';
  /** 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly comment?: string;
  /** required to reject: 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
  /** decide on this version only; another one is 409 */
  readonly expected_version?: number;
}

export interface ArchiveVault {
  /** shown as `archive_reason`: 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
}

export interface ArchiveWallet {
  /** shown as `archive_reason`: 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
}

export interface BadCommitmentFault extends EveryFault {
  readonly fault: 'bad_commitment';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly how?: 'other' | 'too_few' | 'too_many' | 'identity' | 'malformed';
}

export interface BadCommitmentFaultRequest extends BadCommitmentFault {
  readonly expires_in_s?: number;
}

export interface BadNoncesFault extends EveryFault {
  readonly fault: 'bad_nonces';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly how: 'identity' | 'invalid' | 'duplicate' | 'malformed';
}

export interface BadNoncesFaultRequest extends BadNoncesFault {
  readonly expires_in_s?: number;
}

export interface BadPartialFault extends EveryFault {
  readonly fault: 'bad_partial';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface BadPartialFaultRequest extends BadPartialFault {
  readonly expires_in_s?: number;
}

export interface BadProofFault extends EveryFault {
  readonly fault: 'bad_proof';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface BadProofFaultRequest extends BadProofFault {
  readonly expires_in_s?: number;
}

export interface BadShareFault extends EveryFault {
  readonly fault: 'bad_share';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly for?: readonly number[];
  readonly how?: 'random' | 'zero' | 'unopenable' | 'malformed';
}

export interface BadShareFaultRequest extends BadShareFault {
  readonly expires_in_s?: number;
}

export interface BeginSandboxKey {
  /** the key’s session, as for InitiateDkg */
  readonly session_id: string;
  readonly keystore_type: 'MULTISIG_EVM_WALLET' | 'HSM_PKCS11' | 'MPC_VENDOR' | 'KEYSTORE_TYPE_MULTISIG_EVM_WALLET' | 'KEYSTORE_TYPE_HSM_PKCS11' | 'KEYSTORE_TYPE_MPC_VENDOR';
  /** secp256k1 by default */
  readonly curve?: 'secp256k1' | 'ed25519';
  readonly threshold?: number;
  readonly total_nodes?: number;
}

export interface BeginSandboxStep {
  /** its name: 1 to 100 characters, not blank, without control and direction characters */
  readonly step: string;
}

export interface CancelTokenOrder {
  /** 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
}

export interface CancelTransactionIntent {
  /** 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
}

export interface ChangeControl {
  /** 0: off */
  readonly quorum: number;
  readonly approvers: readonly string[];
  readonly timeout_s: number;
  /** 0: never set */
  readonly version: number;
}

export interface ChangeControlEvent extends EveryEvent {
  readonly type: 'change_control.updated';
  readonly resource: {
    readonly type: 'change_control';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ChangeControl;
  };
}

export interface ChangeProposal {
  /** `chg_` and a UUIDv7 */
  readonly id: string;
  readonly status: 'pending' | 'applied' | 'rejected' | 'cancelled' | 'expired';
  readonly operation: string;
  /** what it changes, as the change’s event will name it */
  readonly resource: {
    readonly type: string;
    readonly id: string;
    readonly version: number;
  };
  /** the fields that the change makes different, as events show them */
  readonly difference: readonly ({
    readonly field: string;
    /** null: it has none */
    readonly before: unknown;
    /** null: it has none */
    readonly after: unknown;
  })[];
  /** a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued */
  readonly initiator: string;
  readonly approvals: readonly ({
    /** a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued */
    readonly by: string;
    readonly decision: 'approve' | 'reject';
    readonly comment: string | null;
    readonly reason: string | null;
    /** RFC 3339, UTC */
    readonly at: string;
  })[];
  readonly approvals_required: number;
  /** empty: any with the scope */
  readonly approvers: readonly string[];
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
}

export interface ChangeProposalEvent extends EveryEvent {
  readonly type: 'change_proposal.created' | 'change_proposal.updated' | 'change_proposal.applied' | 'change_proposal.rejected' | 'change_proposal.cancelled' | 'change_proposal.expired';
  readonly resource: {
    readonly type: 'change_proposal';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ChangeProposal;
  };
}

export interface ChangeProposalPage {
  readonly change_proposals: readonly ChangeProposal[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface ChangeRiskRule {
  readonly mode?: 'enforce' | 'shadow' | 'disabled';
  /** added to the score */
  readonly points?: number;
  /** matching rules are listed in this order, the lowest first; it decides nothing */
  readonly priority?: number;
}

export interface ClientVersionInfo {
  readonly client_name?: string;
  readonly client_version?: string;
  readonly contract_version?: string;
}

export interface ClockJumpFault extends EveryFault {
  readonly fault: 'clock_jump';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly by_ms: number;
}

export interface ClockJumpFaultRequest extends ClockJumpFault {
  readonly expires_in_s?: number;
}

export interface ClockSkewFault extends EveryFault {
  readonly fault: 'clock_skew';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly by_ms: number;
}

export interface ClockSkewFaultRequest extends ClockSkewFault {
  readonly expires_in_s?: number;
}

export interface ComplianceList {
  /** `lst_` and a UUIDv7 */
  readonly id: string;
  readonly name: string;
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly version: number;
  readonly entry_count: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface ComplianceListEvent extends EveryEvent {
  readonly type: 'compliance.list.created' | 'compliance.list.updated';
  readonly resource: {
    readonly type: 'compliance_list';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ComplianceList;
  };
}

export interface ComplianceListPage {
  readonly lists: readonly ComplianceList[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface ComplianceListVersion {
  /** `lst_` and a UUIDv7 */
  readonly id: string;
  readonly name: string;
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly version: number;
  readonly entry_count: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  readonly entries: readonly ({
    readonly address?: string;
    /** CAIP-2 id of the network */
    readonly network?: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
    readonly name?: string;
    readonly note?: string;
  })[];
}

export interface ComplianceMatch {
  /** `lst_` and a UUIDv7 */
  readonly list_id: string;
  readonly list_name: string;
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly list_version: number;
  /** as the list has it */
  readonly entry: string;
}

export interface ComplianceReport {
  /** `rep_` and a UUIDv7 */
  readonly id: string;
  /** `scr_` and a UUIDv7 */
  readonly screening_id: string;
  readonly decision: 'clear' | 'review' | 'blocked';
  readonly risk_score: number;
  readonly subject: {
    readonly type: string;
    readonly address: string | null;
    readonly network: string | null;
    readonly name: string | null;
  };
  readonly asset: string | null;
  readonly amount: string | null;
  readonly direction: string | null;
  readonly intent_id: string | null;
  readonly wallet_id: string | null;
  readonly matches: readonly ComplianceMatch[];
  /** every list that was searched, by name, with its version */
  readonly list_versions: Readonly<Record<string, number>>;
  /** RFC 3339, UTC */
  readonly created_at: string;
}

export interface ComplianceScreening {
  /** `scr_` and a UUIDv7 */
  readonly id: string;
  readonly decision: 'clear' | 'review' | 'blocked';
  readonly risk_score: number;
  readonly matches: readonly ComplianceMatch[];
  /** `rep_` and a UUIDv7 */
  readonly report_id: string;
  /** every list that was searched, by name, with its version */
  readonly list_versions: Readonly<Record<string, number>>;
  /** RFC 3339, UTC */
  readonly created_at: string;
}

export interface ComplianceScreeningEvent extends EveryEvent {
  readonly type: 'compliance.screening.completed';
  readonly resource: {
    readonly type: 'compliance_screening';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ComplianceScreening;
  };
}

export interface ConnectProvider {
  /** `sandbox`: a mock provider with funded test wallets; or a provider kind */
  readonly type: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted' | 'sandbox';
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name?: string;
  /** an object of strings: the fields that `credential_schema` of GET /v1/providers names; `sandbox` takes any. Never returned */
  readonly credentials?: Readonly<Record<string, string>>;
  /** by default `sandbox`; the custodians are simulated either way */
  readonly environment?: 'sandbox' | 'production';
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface ConnectedProvider extends ProviderConnection {
  /** wallets with test money of a sandbox connection; else empty */
  readonly test_wallets: readonly ({
    /** `wal_` and a UUIDv7 */
    readonly id: string;
    readonly name: string;
    readonly network: string;
    readonly address: string;
  })[];
}

export interface CorruptFault extends EveryFault {
  readonly fault: 'corrupt';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
}

export interface CorruptFaultRequest extends CorruptFault {
  readonly expires_in_s?: number;
}

export interface CrashFault extends EveryFault {
  readonly fault: 'crash';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly restart_after_ms?: number | null;
  readonly lose_state?: boolean;
}

export interface CrashFaultRequest extends CrashFault {
  readonly expires_in_s?: number;
}

export interface CrashSandboxNode {
  /** its store is lost too; false by default */
  readonly lose_state?: boolean;
  readonly restart_after_ms?: number | null;
}

export interface CreateAccessToken {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name?: string;
  /** some of the caller’s */
  readonly scopes: readonly ('providers:read' | 'providers:write' | 'wallets:read' | 'wallets:write' | 'intents:read' | 'intents:write' | 'events:read' | 'events:write' | 'webhooks:read' | 'webhooks:write' | 'modules:read' | 'modules:write' | 'changes:read' | 'changes:write' | 'access_tokens:read' | 'access_tokens:write' | 'compliance:read' | 'compliance:write' | 'risk:read' | 'risk:write' | 'policies:read' | 'policies:write' | 'recon:read' | 'recon:write' | 'vaults:read' | 'vaults:write' | 'treasury:read' | 'treasury:write' | 'tokens:read' | 'tokens:write' | 'intents:approve' | 'changes:approve' | 'tenant:freeze' | 'tenant:unfreeze' | 'signing:read' | 'signing:dkg' | 'signing:initiate' | 'signing:share' | 'signing:resume' | 'preview:compliance' | 'preview:risk' | 'preview:policies' | 'preview:recon' | 'preview:vaults' | 'preview:treasury' | 'preview:tokens')[];
  /** the only connections that it sees; as the caller by default */
  readonly provider_connection_ids?: readonly string[];
  /** by default, and at the latest, when the caller’s token ends */
  readonly expires_at?: string;
}

export interface CreateChangeProposal {
  /** the operation to propose */
  readonly operation: 'createWebhook' | 'updateWebhook' | 'deleteWebhook' | 'putPolicy' | 'putRiskRule' | 'changeRiskRule' | 'deleteRiskRule' | 'putComplianceList' | 'unfreezeTenant' | 'putChangeControl';
  readonly params?: {
    /** id in its path, e.g. of a risk rule */
    readonly id: string;
  };
  /** its body */
  readonly body?: Readonly<Record<string, unknown>>;
}

export interface CreateContractCallIntent {
  /** of a token of the registry, or of your own */
  readonly contract: string;
  /** 0x and hex: a call of transfer(address,uint256), approve(address,uint256), transferFrom(address,address,uint256), ABI-encoded */
  readonly data: string;
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly policy?: string;
  /** for `self_hosted` EVM and Bitcoin wallets, by the present market: `low` waits as soon as it rises; `medium` by default */
  readonly fee_level?: 'low' | 'medium' | 'high';
  /** wei, as a whole number; EVM, instead of `fee_level` */
  readonly max_fee_per_gas?: string;
  /** wei of `max_fee_per_gas` for the tip, as a whole number */
  readonly max_priority_fee_per_gas?: string;
  /** units of gas, as a whole number; EVM, by default what the transaction needs */
  readonly gas_limit?: string;
  /** satoshi a virtual byte, as a whole number; Bitcoin, instead of `fee_level` */
  readonly sats_per_vbyte?: string;
  /** instead of the header Idempotency-Key: 1 to 255 visible ASCII characters */
  readonly idempotency_key?: string;
  /** your own id of the intent, unique in your tenant for good: 1 to 128 printable ASCII characters without spaces */
  readonly external_id?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CreateMessageIntent {
  /** a text (EIP-191): 1 to 16384 characters, not blank, without control and direction characters but line ends */
  readonly message?: string;
  /** instead of `message`: typed data (EIP-712) as `eth_signTypedData_v4` takes it, up to 16384 bytes */
  readonly typed_data?: {
    readonly types: Readonly<Record<string, readonly ({
      readonly name: string;
      readonly type: string;
    })[]>>;
    readonly primaryType: string;
    readonly domain: Readonly<Record<string, unknown>>;
    readonly message: Readonly<Record<string, unknown>>;
  };
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly policy?: string;
  /** instead of the header Idempotency-Key: 1 to 255 visible ASCII characters */
  readonly idempotency_key?: string;
  /** your own id of the intent, unique in your tenant for good: 1 to 128 printable ASCII characters without spaces */
  readonly external_id?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CreateProviderConnection {
  /** kind of the custody provider */
  readonly provider: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted';
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name: string;
  /** an object of strings: the fields that `credential_schema` of GET /v1/providers names; `sandbox` takes any. Never returned */
  readonly credentials: Readonly<Record<string, string>>;
  /** by default `sandbox`; the custodians are simulated either way */
  readonly environment?: 'sandbox' | 'production';
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CreateReconJob {
  /** compare balances, or movements */
  readonly kind: 'balances' | 'transactions';
  readonly scope?: {
    /** `pcn_` and a UUIDv7 */
    readonly provider_connection_id?: string;
    /** `wal_` and a UUIDv7 */
    readonly wallet_id?: string;
    /** asset symbol */
    readonly asset?: string;
  };
  /** RFC 3339, UTC */
  readonly from?: string;
  /** RFC 3339, UTC */
  readonly to?: string;
  readonly tolerance?: {
    /** decimal number as a string */
    readonly absolute?: string;
    /** of what is expected */
    readonly bps?: number;
  };
  /** younger differences do not count; 120 by default */
  readonly lag_s?: number;
}

export type CreateSandboxFault = CrashFaultRequest | PauseFaultRequest | SlowFaultRequest | DelayFaultRequest | DropFaultRequest | DuplicateFaultRequest | ReorderFaultRequest | PartitionFaultRequest | HoldFaultRequest | HalfOpenFaultRequest | CorruptFaultRequest | TruncateFaultRequest | BadShareFaultRequest | BadCommitmentFaultRequest | BadProofFaultRequest | BadPartialFaultRequest | EquivocateFaultRequest | WithholdFaultRequest | StaleReplayFaultRequest | FalseReportFaultRequest | FalseRefusalFaultRequest | EarlyConfirmFaultRequest | BadNoncesFaultRequest | AlteredAnswerFaultRequest | OtherMessageFaultRequest | FalseOrderFaultRequest | OtherSchemeFaultRequest | OtherSignersFaultRequest | ReuseNonceFaultRequest | SubstituteOpeningFaultRequest | SupplyDealersFaultRequest | SplitConfirmFaultRequest | AlteredRequestFaultRequest | SecondProcessFaultRequest | SecondCoordinatorFaultRequest | ClockSkewFaultRequest | ClockJumpFaultRequest | StoreLostFaultRequest | StoreUnansweredFaultRequest | StoreSlowFaultRequest | StoreFailingFaultRequest | StoreTamperedFaultRequest | StoreFullFaultRequest | ProviderFailsFaultRequest | HsmFailsFaultRequest | VendorFailsFaultRequest | RollbackFaultRequest | RedisGoneFaultRequest | WorkerStalledFaultRequest | DoubleDeliveryFaultRequest | PoisonJobFaultRequest | ReceiverStatusFaultRequest | ReceiverSlowFaultRequest | ReceiverResetFaultRequest | AnswerLostFaultRequest | AnswerSlowFaultRequest | AnswerStatusFaultRequest | AnswerCutFaultRequest | ForceReceiptFaultRequest;

export interface CreateSandboxInbox {
  /** event types, prefixes such as "wallet.*", or "*" alone for all */
  readonly events?: readonly string[];
}

export interface CreateToken {
  /** 2 to 12 capital letters and digits, a letter first; none of the registry’s, and unique among your tokens */
  readonly symbol: string;
  /** 1 to 60 characters, not blank, without control and direction characters */
  readonly name: string;
  /** an EVM network */
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly decimals: number;
  /** decimal number as a string */
  readonly supply_cap: string;
  /** `wal_` and a UUIDv7 */
  readonly issuer_wallet_id: string;
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly policy?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CreateTransactionIntent {
  /** symbol of an asset on the wallet’s network, or of your own token */
  readonly asset: string;
  /** decimal number as a string */
  readonly amount: string;
  readonly destination: {
    /** an address of the wallet’s network */
    readonly address: string;
  };
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly policy?: string;
  /** for `self_hosted` EVM and Bitcoin wallets, by the present market: `low` waits as soon as it rises; `medium` by default */
  readonly fee_level?: 'low' | 'medium' | 'high';
  /** wei, as a whole number; EVM, instead of `fee_level` */
  readonly max_fee_per_gas?: string;
  /** wei of `max_fee_per_gas` for the tip, as a whole number */
  readonly max_priority_fee_per_gas?: string;
  /** units of gas, as a whole number; EVM, by default what the transaction needs */
  readonly gas_limit?: string;
  /** satoshi a virtual byte, as a whole number; Bitcoin, instead of `fee_level` */
  readonly sats_per_vbyte?: string;
  /** instead of the header Idempotency-Key: 1 to 255 visible ASCII characters */
  readonly idempotency_key?: string;
  /** your own id of the intent, unique in your tenant for good: 1 to 128 printable ASCII characters without spaces */
  readonly external_id?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CreateVault {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name: string;
  /** every key of the vault is bound to it: see docs/signing-api.md */
  readonly keystore_type: 'mock_threshold' | 'mpc_frost' | 'multisig_evm_wallet' | 'mpc_vendor' | 'hsm_pkcs11' | 'MOCK_THRESHOLD' | 'MPC_FROST' | 'MULTISIG_EVM_WALLET' | 'MPC_VENDOR' | 'HSM_PKCS11' | 'KEYSTORE_TYPE_MOCK_THRESHOLD' | 'KEYSTORE_TYPE_MPC_FROST' | 'KEYSTORE_TYPE_MULTISIG_EVM_WALLET' | 'KEYSTORE_TYPE_MPC_VENDOR' | 'KEYSTORE_TYPE_HSM_PKCS11';
  readonly curve: 'secp256k1' | 'ed25519';
  /** number of nodes for a signature, from 2; by default the cluster’s threshold, usually 3. For `hsm_pkcs11` and `mpc_vendor` 1 */
  readonly threshold?: number;
  /** number of nodes with a share, from 2; by default the cluster’s number, usually 5. For `hsm_pkcs11` and `mpc_vendor` 1 */
  readonly total_nodes?: number;
  readonly policy?: string | null;
  /** `human_required`: every signature waits for a human’s witness */
  readonly approval_mode?: 'unspecified' | 'direct_allowed' | 'human_required' | 'UNSPECIFIED' | 'DIRECT_ALLOWED' | 'HUMAN_REQUIRED' | 'APPROVAL_MODE_UNSPECIFIED';
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CreateVaultKey {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name?: string;
}

export interface CreateWallet {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name: string;
  /** `pcn_` and a UUIDv7 */
  readonly provider_connection_id: string;
  /** CAIP-2 id of the network */
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly policy?: string | null;
  /** `human_required`: every intent needs an approval, and every signature of the signing API a witness. The strictest of all approval requirements applies */
  readonly approval_mode?: 'unspecified' | 'direct_allowed' | 'human_required' | 'UNSPECIFIED' | 'DIRECT_ALLOWED' | 'HUMAN_REQUIRED' | 'APPROVAL_MODE_UNSPECIFIED';
  /** whether the signing API may use the wallet’s key, or transaction intents alone. By default `allowed` in a sandbox, `intents_only` in production */
  readonly signing_api?: 'allowed' | 'intents_only';
  readonly external_id?: string | null;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface CreateWebhook {
  /** absolute URL without credentials and fragment; https in production */
  readonly url: string;
  /** event types, prefixes such as "wallet.*", or "*" alone for all */
  readonly events: readonly string[];
  /** 1 to 200 characters, not blank, without control and direction characters but line ends */
  readonly description?: string;
}

export interface DelayFault extends EveryFault {
  readonly fault: 'delay';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
  readonly by_ms?: number;
  readonly min_ms?: number;
  readonly max_ms?: number;
  readonly distribution?: 'uniform' | 'exponential';
}

export interface DelayFaultRequest extends DelayFault {
  readonly expires_in_s?: number;
}

export interface Delivery {
  readonly id: string;
  readonly webhook_id: string;
  /** the `webhook-id` header of every try */
  readonly event_id: string;
  readonly event_type: string;
  /** of the event */
  readonly sequence: number;
  readonly status: 'queued' | 'retrying' | 'delivered' | 'failed';
  /** the latest 20, oldest first */
  readonly attempts: readonly ({
    /** RFC 3339, UTC */
    readonly at: string;
    readonly status: number | null;
    readonly latency_ms: number;
    readonly error: string | null;
  })[];
  /** number of all tries */
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface DeliveryPage {
  readonly deliveries: readonly Delivery[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface DeliveryWithAnswer extends Delivery {
  /** what the receiver answered to the latest try; null: nothing, or it is not kept, as in production */
  readonly last_answer: {
    /** by lower-case names, at most 4 KB */
    readonly headers: Readonly<Record<string, string>>;
    /** the first 2 KB, read as UTF-8 */
    readonly body: string;
    /** the receiver sent more */
    readonly truncated: boolean;
  } | null;
}

export interface DiagnosticReceipt {
  readonly receipt_id: string;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  readonly approval_mode: 'APPROVAL_MODE_UNSPECIFIED' | 'DIRECT_ALLOWED' | 'HUMAN_REQUIRED';
  readonly reason_code: string;
  readonly message: string;
  readonly correlation_id: string;
  readonly session_id: string;
  readonly contract_version: string;
  readonly client_name: string;
  readonly client_version: string;
  /** 64-bit integer as a string */
  readonly epoch: string;
  readonly checkpoint_id: string;
  readonly resumable: boolean;
  readonly keystore_type: 'KEYSTORE_TYPE_UNSPECIFIED' | 'KEYSTORE_TYPE_MOCK_THRESHOLD' | 'KEYSTORE_TYPE_MULTISIG_EVM_WALLET' | 'KEYSTORE_TYPE_MPC_VENDOR' | 'KEYSTORE_TYPE_MPC_FROST' | 'KEYSTORE_TYPE_HSM_PKCS11';
  readonly backend_route: string;
}

export interface DkgSession {
  readonly session_id: string;
  readonly kind: 'signing' | 'dkg';
  /** the state of the checkpoint, e.g. `RECEIPT_STATE_ACCEPTED` */
  readonly state: string;
  readonly reason_code: string;
  readonly message: string;
  readonly epoch: number;
  readonly curve: string;
  readonly threshold: number;
  readonly total_nodes: number;
  readonly network_id: string;
  readonly public_key: string | null;
  readonly keystore_type: string | null;
  readonly approval_mode: string | null;
  readonly attempt: number;
  /** ids of the nodes that proved to be false */
  readonly culprits: readonly number[];
  readonly correlation_id: string;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
}

export interface DkgSessionEvent extends EveryEvent {
  readonly type: 'dkg.session.accepted' | 'dkg.session.resumed' | 'dkg.session.completed' | 'dkg.session.failed' | 'dkg.session.expired';
  readonly resource: {
    readonly type: 'dkg_session';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: DkgSession;
  };
}

export interface DkgShareExchangeRequest {
  readonly session_id?: string;
  readonly sender_node_id?: number;
  readonly recipient_node_id?: number;
  readonly encrypted_share?: string;
  readonly commitments?: readonly string[];
  readonly context?: OrchestrationContext | null;
}

export interface DkgShareExchangeResponse {
  readonly session_id: string;
  readonly verified: boolean;
  readonly error_message: string;
  readonly receipt: DiagnosticReceipt | null;
  readonly checkpoint: SessionCheckpoint | null;
}

export interface DoubleDeliveryFault extends EveryFault {
  readonly fault: 'double_delivery';
  readonly for_ms?: number;
}

export interface DoubleDeliveryFaultRequest extends DoubleDeliveryFault {
  readonly expires_in_s?: number;
}

export interface DropFault extends EveryFault {
  readonly fault: 'drop';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
}

export interface DropFaultRequest extends DropFault {
  readonly expires_in_s?: number;
}

export interface DuplicateFault extends EveryFault {
  readonly fault: 'duplicate';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
  readonly copies?: number;
}

export interface DuplicateFaultRequest extends DuplicateFault {
  readonly expires_in_s?: number;
}

export interface EarlyConfirmFault extends EveryFault {
  readonly fault: 'early_confirm';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface EarlyConfirmFaultRequest extends EarlyConfirmFault {
  readonly expires_in_s?: number;
}

export interface EquivocateFault extends EveryFault {
  readonly fault: 'equivocate';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface EquivocateFaultRequest extends EquivocateFault {
  readonly expires_in_s?: number;
}

export interface EvaluatePolicy {
  /** `txi_` and a UUIDv7 */
  readonly intent_id?: string;
  /** a transaction with the fields of an intent */
  readonly transaction?: {
    /** `wal_` and a UUIDv7 */
    readonly wallet_id: string;
    /** asset symbol */
    readonly asset: string;
    /** decimal number as a string */
    readonly amount: string;
    readonly destination: {
      readonly address: string;
    };
    /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
}

export interface EvaluateRisk {
  /** `txi_` and a UUIDv7 */
  readonly intent_id?: string;
  /** a transaction with the fields of an intent */
  readonly transaction?: {
    /** `wal_` and a UUIDv7 */
    readonly wallet_id: string;
    /** asset symbol */
    readonly asset: string;
    /** decimal number as a string */
    readonly amount: string;
    readonly destination: {
      readonly address: string;
    };
    /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
}

export type Event = ProviderConnectionEvent | WalletEvent | WalletDepositEvent | WalletWithdrawalEvent | WalletCorrectionEvent | IntentEvent | SigningSessionEvent | DkgSessionEvent | KeyVersionEvent | PolicyEvent | ComplianceScreeningEvent | ComplianceListEvent | RiskRuleEvent | VaultEvent | VaultKeyEvent | VaultSignatureEvent | TamperedRecordEvent | ModuleAccessEvent | TreasuryStrategyEvent | TreasuryPlanEvent | ReconJobEvent | ReconExceptionEvent | TokenEvent | TokenOrderEvent | TenantEvent | ChangeControlEvent | ChangeProposalEvent | AccessTokenEvent | WebhookEvent;

export interface EventPage {
  readonly events: readonly Event[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface FalseOrderFault extends EveryFault {
  readonly fault: 'false_order';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
  readonly how?: 'none' | 'invented' | 'earlier' | 'unwitnessed';
}

export interface FalseOrderFaultRequest extends FalseOrderFault {
  readonly expires_in_s?: number;
}

export interface FalseRefusalFault extends EveryFault {
  readonly fault: 'false_refusal';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly code: 'NONCE_UNKNOWN' | 'KEY_UNKNOWN' | 'REQUEST_INVALID' | 'ORDER_MISSING' | 'ORDER_INVALID' | 'ORDER_EXPIRED' | 'WITNESS_MISSING' | 'KEYSTORE_MISMATCH' | 'INTENT_MESSAGE_CHANGED' | 'HSM_UNCONFIGURED' | 'HSM_SESSION_LOST' | 'HSM_PIN_REFUSED' | 'HSM_TIMEOUT' | 'HSM_TOKEN_ABSENT' | 'HSM_FAILED' | 'VENDOR_UNCONFIGURED' | 'VENDOR_UNAVAILABLE' | 'VENDOR_REJECTED' | 'VENDOR_CANCELLED' | 'VENDOR_EXPIRED' | 'VENDOR_SIGNATURE_INVALID' | 'PARAMETERS_CHANGED' | 'STALE_ATTEMPT' | 'NOT_OPEN' | 'ATTEMPT_DISCARDED' | 'ATTEMPT_BROKEN' | 'ALREADY_FINAL' | 'OPENING_INVALID' | 'NOT_FINISHED' | 'FINISH_FAILED' | 'SIGNATURE_INVALID' | 'TRANSCRIPT_MISMATCH' | 'CLIENT_DEALERS_NOT_ALLOWED' | 'RESULT_SIGNED';
}

export interface FalseRefusalFaultRequest extends FalseRefusalFault {
  readonly expires_in_s?: number;
}

export interface FalseReportFault extends EveryFault {
  readonly fault: 'false_report';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly about?: number;
}

export interface FalseReportFaultRequest extends FalseReportFault {
  readonly expires_in_s?: number;
}

export interface FaultTrigger {
  readonly after_ms?: number;
  readonly step?: string;
  readonly point?: 'call' | 'call_reply' | 'cluster_status' | 'deal_nonces' | 'nonces_dealt' | 'partial_request' | 'partial_reply' | 'vendor_settled' | 'vendor_noted' | 'dkg_open' | 'dkg_opened' | 'dkg_seal' | 'dkg_sealed' | 'dkg_verify' | 'dkg_verified' | 'dkg_confirm' | 'dkg_confirmed' | 'dkg_discard' | 'dkg_refused';
  readonly phase?: 'before' | 'after';
  readonly port?: 'redis' | 'queue' | 'egress' | 'provider';
  readonly call?: string;
  readonly of?: string;
  readonly session?: string;
  readonly nth?: number;
}

export interface FeeTerms {
  readonly fee_level: 'low' | 'medium' | 'high' | null;
  readonly max_fee_per_gas: string | null;
  readonly max_priority_fee_per_gas: string | null;
  readonly gas_limit: string | null;
  readonly sats_per_vbyte: string | null;
}

export interface ForceReceiptFault extends EveryFault {
  readonly fault: 'force_receipt';
  readonly for_ms?: number;
  readonly state: 'DENIED' | 'REVOKED' | 'EXPIRED' | 'BACKEND_FAILED';
}

export interface ForceReceiptFaultRequest extends ForceReceiptFault {
  readonly expires_in_s?: number;
}

export interface FreezeTenant {
  /** why: 1 to 500 characters, not blank, without control and direction characters */
  readonly reason?: string;
}

export interface FreezeToken {
  /** 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
}

export interface GetSandboxScenarioResponse {
  readonly scenario: SandboxScenario | null;
}

export interface HalfOpenFault extends EveryFault {
  readonly fault: 'half_open';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface HalfOpenFaultRequest extends HalfOpenFault {
  readonly expires_in_s?: number;
}

export interface Health {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly environment: 'sandbox' | 'production';
  readonly version?: string;
  readonly coordinator?: 'connected' | 'disconnected';
  readonly session_store?: 'ready' | 'unavailable';
  readonly nodes_ready?: number;
  readonly nodes_total?: number;
  readonly quorum?: number;
  /** `native` or `js`; empty while no coordinator is connected */
  readonly crypto?: string;
  /** why `status` is not `ok` */
  readonly reasons?: readonly string[];
  /** each cluster, where there are several; the fields above then say what they have together */
  readonly clusters?: readonly ({
    readonly cluster?: number;
    readonly status?: 'ok' | 'degraded' | 'unavailable';
    readonly coordinator?: 'connected' | 'disconnected';
    readonly nodes_ready?: number;
    readonly nodes_total?: number;
    readonly quorum?: number;
  })[];
}

export interface HoldFault extends EveryFault {
  readonly fault: 'hold';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
}

export interface HoldFaultRequest extends HoldFault {
  readonly expires_in_s?: number;
}

export interface HsmFailsFault extends EveryFault {
  readonly fault: 'hsm_fails';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly by?: 'session_lost' | 'pin_refused' | 'timeout' | 'token_absent' | 'failed';
}

export interface HsmFailsFaultRequest extends HsmFailsFault {
  readonly expires_in_s?: number;
}

export interface InitiateDkgRequest {
  readonly session_id?: string;
  readonly threshold?: number;
  readonly total_nodes?: number;
  readonly derivation?: ThresholdDerivation | null;
  readonly context?: OrchestrationContext | null;
}

export interface InitiateDkgResponse {
  readonly session_id: string;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  /** 64-bit integer as a string */
  readonly epoch: string;
  readonly receipt: DiagnosticReceipt | null;
  readonly checkpoint: SessionCheckpoint | null;
}

export interface InitiateSigningRequest {
  readonly transaction_intent_id?: string;
  readonly wallet_id?: string;
  readonly derivation?: ThresholdDerivation | null;
  readonly message_hash?: string;
  readonly policy_approval_token?: string;
  readonly human_approval_witness?: string;
  readonly approval_mode?: 'APPROVAL_MODE_UNSPECIFIED' | 'DIRECT_ALLOWED' | 'HUMAN_REQUIRED';
  readonly context?: OrchestrationContext | null;
  readonly keystore_type?: 'KEYSTORE_TYPE_UNSPECIFIED' | 'KEYSTORE_TYPE_MOCK_THRESHOLD' | 'KEYSTORE_TYPE_MULTISIG_EVM_WALLET' | 'KEYSTORE_TYPE_MPC_VENDOR' | 'KEYSTORE_TYPE_MPC_FROST' | 'KEYSTORE_TYPE_HSM_PKCS11';
  readonly mock_directive?: 'MOCK_DIRECTIVE_UNSPECIFIED' | 'MOCK_DIRECTIVE_FORCE_DENIED' | 'MOCK_DIRECTIVE_FORCE_REVOKED' | 'MOCK_DIRECTIVE_FORCE_EXPIRED' | 'MOCK_DIRECTIVE_FORCE_BACKEND_FAILED';
}

export interface InitiateSigningResponse {
  readonly signing_session_id: string;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  /** 64-bit integer as a string */
  readonly epoch: string;
  readonly receipt: DiagnosticReceipt | null;
  readonly checkpoint: SessionCheckpoint | null;
}

export interface Intent {
  /** `txi_` and a UUIDv7 */
  readonly id: string;
  /** `transfer` moves an asset. The others are made by token operations: `deploy` makes the contract of a token, and moves 0 of the network’s coin; `mint` creates units for `destination`; `burn` destroys units of the wallet. `speed_up` and `cancel` replace the transaction of another intent, with the same effect or with none. A `message` and `typed_data` are signed and sent nowhere: they move nothing and cost nothing. A `contract_call` calls a token’s contract */
  readonly kind: 'transfer' | 'deploy' | 'mint' | 'burn' | 'speed_up' | 'cancel' | 'message' | 'typed_data' | 'contract_call';
  /** state of the intent; see the table of states */
  readonly status: 'created' | 'screening' | 'pending_approval' | 'approved' | 'signing' | 'broadcasting' | 'confirming' | 'completed' | 'denied' | 'rejected' | 'expired' | 'cancelled' | 'failed';
  readonly policy_receipt: string | null;
  readonly risk_score: number;
  readonly provider_tx_id: string | null;
  readonly sub_status: string | null;
  /** `wal_` and a UUIDv7 */
  readonly wallet_id: string;
  readonly provider: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted' | 'sandbox';
  /** `pcn_` and a UUIDv7 */
  readonly provider_connection_id: string;
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly asset: string;
  /** decimal */
  readonly amount: string;
  readonly from_address: string;
  readonly destination: {
    readonly address: string;
  };
  readonly token: {
    readonly symbol: string;
    readonly name: string;
    readonly decimals: number;
    /** decimal */
    readonly supply_cap: string;
    readonly contract: string | null;
  } | null;
  readonly origin: {
    readonly kind: string;
    readonly id: string;
  } | null;
  readonly replaces: string | null;
  readonly replaced_by: string | null;
  readonly fee: {
    readonly asset: string;
    /** the largest possible fee, reserved while the intent is open */
    readonly reserved: string;
    readonly paid: string | null;
    readonly terms: FeeTerms | null;
  };
  readonly policy: PolicyUsed;
  readonly decision_id: string;
  readonly screening_id: string | null;
  /** a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued */
  readonly initiator: string;
  readonly approvals: readonly ({
    /** a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued */
    readonly by: string;
    readonly decision: 'approve' | 'reject';
    readonly comment: string | null;
    readonly reason: string | null;
    /** RFC 3339, UTC */
    readonly at: string;
  })[];
  readonly approvals_required: number;
  /** permitted approvers; empty: every caller with the scope but the initiator */
  readonly approvers: readonly string[];
  readonly provider_status: string | null;
  readonly provider_error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly provider_details: {
    /** the signed transaction as its network’s tools take it: EVM 0x-hex, Bitcoin hex, Solana base64 */
    readonly raw_transaction: string;
    /** the sessions of the signing API that signed it */
    readonly signing_session_ids: readonly string[];
    readonly receipt: {
      readonly status: 'success' | 'reverted';
      readonly contract_address: string | null;
      /** a token’s `Transfer(address indexed,address indexed,uint256)` */
      readonly logs: readonly ({
        /** the contract */
        readonly address: string;
        readonly topics: readonly string[];
        readonly data: string;
      })[];
    } | null;
  } | null;
  readonly message: {
    readonly text: string | null;
    readonly typed_data: {
      readonly types: Readonly<Record<string, readonly ({
        readonly name: string;
        readonly type: string;
      })[]>>;
      readonly primaryType: string;
      readonly domain: Readonly<Record<string, unknown>>;
      readonly message: Readonly<Record<string, unknown>>;
    } | null;
    /** what the wallet signs */
    readonly hash: string;
    readonly signature: string | null;
    readonly signing_session_ids: readonly string[];
  } | null;
  readonly call: {
    readonly contract: string;
    /** 0x and hex: what the transaction has */
    readonly data: string;
    /** the first four bytes of the data */
    readonly selector: string;
    readonly function: string;
    /** by name: an amount in smallest units, decimal; an address in lower case */
    readonly arguments: Readonly<Record<string, string>>;
  } | null;
  readonly gap_transaction: {
    /** its hash */
    readonly provider_tx_id: string;
    /** the signed transaction as its network’s tools take it: EVM 0x-hex, Bitcoin hex, Solana base64 */
    readonly raw_transaction: string;
    /** the sessions of the signing API that signed it */
    readonly signing_session_ids: readonly string[];
  } | null;
  readonly cancellation: {
    /** a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued */
    readonly by: string;
    readonly reason: string | null;
    /** RFC 3339, UTC */
    readonly at: string;
  } | null;
  readonly external_id: string | null;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status_history: readonly ({
    /** state of the intent; see the table of states */
    readonly status: 'created' | 'screening' | 'pending_approval' | 'approved' | 'signing' | 'broadcasting' | 'confirming' | 'completed' | 'denied' | 'rejected' | 'expired' | 'cancelled' | 'failed';
    readonly sub_status: string | null;
    /** RFC 3339, UTC */
    readonly at: string;
  })[];
  /** rises by one with every change */
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
}

export interface IntentDryRun {
  readonly dry_run: boolean;
  readonly decision: 'allow' | 'deny' | 'require_approval';
  /** the status that the intent would get */
  readonly status: 'approved' | 'pending_approval' | 'denied';
  readonly reason: string;
  /** whether the wallet holds the amount and the fee now */
  readonly sufficient_funds: boolean;
  readonly asset: string;
  readonly amount: string;
  readonly fee: {
    readonly asset: string;
    readonly reserved: string;
    readonly terms: FeeTerms | null;
  };
  readonly screening: {
    readonly decision: 'clear' | 'review' | 'blocked';
    readonly risk_score: number;
    readonly matches: readonly ({
      readonly list_id: string;
      readonly list_name: string;
      readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
      readonly list_version: number;
      readonly entry: string;
    })[];
  };
  readonly risk: {
    readonly tx_id: string;
    readonly score: number;
    readonly level: 'low' | 'medium' | 'high' | 'critical';
    readonly action: 'allow' | 'review' | 'deny';
    readonly factors: readonly ({
      readonly code: string;
      readonly contribution: number;
      readonly evidence: string;
    })[];
    readonly rules_version: number;
  };
  readonly policy: PolicyUsed;
  /** further policies that decided: the strictest wins */
  readonly also_policies: readonly PolicyUsed[];
  readonly matched_rules: readonly string[];
  readonly trace: readonly ({
    readonly rule: string;
    readonly effect: 'allow' | 'deny' | 'require_approval';
    readonly matched: boolean;
    /** `true`, `false`, or the reason why it could not be evaluated */
    readonly result: string;
  })[];
  readonly dry_run_policy: {
    readonly policy: PolicyUsed;
    readonly decision: 'allow' | 'deny' | 'require_approval';
    readonly matched_rules: readonly string[];
    readonly trace: readonly ({
      readonly rule: string;
      readonly effect: 'allow' | 'deny' | 'require_approval';
      readonly matched: boolean;
      /** `true`, `false`, or the reason why it could not be evaluated */
      readonly result: string;
    })[];
  } | null;
  readonly approvals_required: number;
  readonly approvers: readonly string[];
}

export interface IntentEvent extends EveryEvent {
  readonly type: 'transaction_intent.created' | 'transaction_intent.screening' | 'transaction_intent.pending_approval' | 'transaction_intent.approved' | 'transaction_intent.signing' | 'transaction_intent.broadcasting' | 'transaction_intent.confirming' | 'transaction_intent.completed' | 'transaction_intent.reorged' | 'transaction_intent.denied' | 'transaction_intent.rejected' | 'transaction_intent.expired' | 'transaction_intent.cancelled' | 'transaction_intent.failed' | 'transaction_intent.approval_recorded' | 'transaction_intent.updated';
  readonly resource: {
    readonly type: 'transaction_intent';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: Intent;
  };
}

export interface IntentPage {
  readonly transaction_intents: readonly Intent[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface IssueSandboxToken {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name?: string;
  /** the caller’s name for another tenant: the same name is the same tenant; the caller’s own by default */
  readonly tenant?: string;
  /** every scope but `sandbox:admin` by default */
  readonly scopes?: readonly ('providers:read' | 'providers:write' | 'wallets:read' | 'wallets:write' | 'intents:read' | 'intents:write' | 'events:read' | 'events:write' | 'webhooks:read' | 'webhooks:write' | 'modules:read' | 'modules:write' | 'changes:read' | 'changes:write' | 'access_tokens:read' | 'access_tokens:write' | 'compliance:read' | 'compliance:write' | 'risk:read' | 'risk:write' | 'policies:read' | 'policies:write' | 'recon:read' | 'recon:write' | 'vaults:read' | 'vaults:write' | 'treasury:read' | 'treasury:write' | 'tokens:read' | 'tokens:write' | 'intents:approve' | 'changes:approve' | 'tenant:freeze' | 'tenant:unfreeze' | 'signing:read' | 'signing:dkg' | 'signing:initiate' | 'signing:share' | 'signing:resume' | 'preview:compliance' | 'preview:risk' | 'preview:policies' | 'preview:recon' | 'preview:vaults' | 'preview:treasury' | 'preview:tokens')[];
}

export interface IssuedAccessToken extends AccessToken {
  /** shown once */
  readonly token: string;
}

export interface KeySet {
  readonly keys: readonly ({
    readonly kty: 'OKP';
    readonly crv: 'Ed25519';
    /** the public key, 32 bytes, base64url */
    readonly x: string;
    /** RFC 7638 thumbprint */
    readonly kid: string;
    readonly alg: 'EdDSA';
    readonly use: 'sig';
  })[];
}

export interface KeyVersion {
  readonly key_id: string;
  /** of the shares */
  readonly version: number;
  /** the session that made them */
  readonly session_id: string;
  readonly curve: string;
  readonly key_scheme: string;
  /** compressed, hex; the same in every version */
  readonly public_key: string;
  readonly threshold: number;
  readonly total_nodes: number;
  /** the nodes that hold the shares, ascending */
  readonly participants: readonly number[];
}

export interface KeyVersionEvent extends EveryEvent {
  readonly type: 'key.version.committed';
  readonly resource: {
    readonly type: 'key';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: KeyVersion;
  };
}

export interface Market {
  readonly prices: readonly ({
    readonly asset: string;
    readonly condition: 'simulated' | 'set' | 'missing' | 'stale';
    readonly price_usd: string | null;
    readonly as_of: string | null;
  })[];
  readonly venue: {
    /** `silent`: it does not answer */
    readonly mode: 'normal' | 'partial' | 'refuse' | 'silent';
    /** with `partial`: the share of an order that is filled */
    readonly fill_bps: number;
    readonly slippage_bps: number | null;
    readonly fee_bps: number;
    readonly expected_slippage_bps: number;
  };
}

export interface Me {
  readonly tenant: string;
  readonly environment: 'sandbox' | 'production';
  /** what `initiator` and votes show: one person; it stays when the token is rotated */
  readonly actor: string;
  /** whether this person may vote on what others initiate: `intents:approve` */
  readonly may_vote: boolean;
  readonly token: {
    readonly id: string;
    readonly name: string | null;
    /** RFC 3339, UTC */
    readonly created_at: string;
    readonly expires_at: string | null;
  } | null;
  readonly scopes: readonly ('providers:read' | 'providers:write' | 'wallets:read' | 'wallets:write' | 'intents:read' | 'intents:write' | 'events:read' | 'events:write' | 'webhooks:read' | 'webhooks:write' | 'modules:read' | 'modules:write' | 'changes:read' | 'changes:write' | 'access_tokens:read' | 'access_tokens:write' | 'compliance:read' | 'compliance:write' | 'risk:read' | 'risk:write' | 'policies:read' | 'policies:write' | 'recon:read' | 'recon:write' | 'vaults:read' | 'vaults:write' | 'treasury:read' | 'treasury:write' | 'tokens:read' | 'tokens:write' | 'intents:approve' | 'changes:approve' | 'tenant:freeze' | 'tenant:unfreeze' | 'signing:read' | 'signing:dkg' | 'signing:initiate' | 'signing:share' | 'signing:resume' | 'preview:compliance' | 'preview:risk' | 'preview:policies' | 'preview:recon' | 'preview:vaults' | 'preview:treasury' | 'preview:tokens' | 'sandbox:admin')[];
  readonly provider_connection_ids: readonly string[] | null;
  /** of the tenant, over all its tokens; empty: calls are not counted */
  readonly rate_limits: readonly ({
    readonly class: 'reads' | 'writes' | 'signing';
    readonly calls: number;
    readonly window_s: number;
  })[];
}

export interface MintToken {
  readonly destination: {
    readonly address: string;
  };
  /** decimal number as a string */
  readonly amount: string;
  readonly reserve_reference: ReserveReference;
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly policy?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Module {
  readonly module: 'providers' | 'wallets' | 'intents' | 'events' | 'webhooks' | 'signing' | 'modules' | 'tenant' | 'changes' | 'access_tokens' | 'service' | 'sandbox' | 'compliance' | 'risk' | 'policies' | 'recon' | 'vaults' | 'treasury' | 'tokens';
  /** the tag of its operations */
  readonly name: string;
  readonly description: string;
  readonly maturity: 'LIVE' | 'PREVIEW' | 'PLANNED';
  /** false: announced, and without operations yet */
  readonly served: boolean;
  /** `open` to this tenant and token; `by_request`: not granted yet; `scope_needed`: production, and the token lacks `preview_scope` */
  readonly access: 'open' | 'by_request' | 'scope_needed';
  readonly preview_scope: string | null;
  readonly access_request: ModuleAccessRequest | null;
}

export interface ModuleAccessEvent extends EveryEvent {
  readonly type: 'module_access.requested' | 'module_access.granted' | 'module_access.denied';
  readonly resource: {
    readonly type: 'module_access_request';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ModuleAccessRequest;
  };
}

export interface ModuleAccessRequest {
  /** `acr_` and a UUIDv7 */
  readonly id: string;
  readonly module: 'vaults' | 'treasury' | 'tokens';
  readonly status: 'pending' | 'granted' | 'denied';
  readonly reason: string | null;
  readonly note: string | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
  readonly decided_at: string | null;
}

export interface ModuleList {
  readonly modules: readonly Module[];
}

export interface MoveSandboxFeeMarket {
  /** a whole number from `min` to `max` */
  readonly price: string;
}

export interface NewSandboxInbox {
  /** of its webhook */
  readonly id: string;
  /** of its webhook, with 128 random bits */
  readonly url: string;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** deliveries so far */
  readonly received: number;
  /** of its webhook; shown once */
  readonly secret: string;
}

export interface NewWebhook extends Webhook {
  /** signs deliveries; only this answer shows it */
  readonly secret: string;
}

export interface OrchestrationContext {
  readonly payload?: string;
  readonly traceparent?: string;
  readonly correlation_id?: string;
  readonly client?: ClientVersionInfo | null;
}

export interface OtherMessageFault extends EveryFault {
  readonly fault: 'other_message';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
}

export interface OtherMessageFaultRequest extends OtherMessageFault {
  readonly expires_in_s?: number;
}

export interface OtherSchemeFault extends EveryFault {
  readonly fault: 'other_scheme';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
  readonly how?: 'behind' | 'instead';
}

export interface OtherSchemeFaultRequest extends OtherSchemeFault {
  readonly expires_in_s?: number;
}

export interface OtherSignersFault extends EveryFault {
  readonly fault: 'other_signers';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
  readonly how?: 'commitments' | 'own' | 'fewer' | 'unsorted';
}

export interface OtherSignersFaultRequest extends OtherSignersFault {
  readonly expires_in_s?: number;
}

export interface PartitionFault extends EveryFault {
  readonly fault: 'partition';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
}

export interface PartitionFaultRequest extends PartitionFault {
  readonly expires_in_s?: number;
}

export interface PauseFault extends EveryFault {
  readonly fault: 'pause';
  readonly for_ms: number;
  readonly target: string | readonly string[];
}

export interface PauseFaultRequest extends PauseFault {
  readonly expires_in_s?: number;
}

export interface Ping {
  readonly event_id: string;
  readonly event_type: string;
  /** where to read the result, a moment later */
  readonly delivery_id: string;
}

export interface PoisonJobFault extends EveryFault {
  readonly fault: 'poison_job';
  readonly for_ms?: number;
}

export interface PoisonJobFaultRequest extends PoisonJobFault {
  readonly expires_in_s?: number;
}

export interface Policy {
  /** `pol_` and a UUIDv7 */
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly enforced_version: number | null;
  readonly mode: 'enforce' | 'dry_run';
  readonly rules: readonly ({
    readonly id: string;
    readonly effect: 'allow' | 'deny' | 'require_approval';
    readonly when: string;
    readonly approvals?: {
      readonly quorum: number;
      readonly approvers: readonly string[];
      readonly timeout_s: number;
    };
  })[];
  readonly warnings: readonly RuleWarning[];
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface PolicyDecision {
  /** `dec_` and a UUIDv7 */
  readonly id: string;
  /** the intent’s id, or `dec_` and a UUID */
  readonly tx_id: string;
  readonly decision: 'allow' | 'deny' | 'require_approval';
  readonly policy: {
    readonly name: string;
    /** `pol_` and a UUIDv7 */
    readonly id: string;
    readonly version: number;
  };
  readonly policy_version: number;
  /** further policies that decided: the strictest wins */
  readonly also_policies: readonly ({
    readonly name: string;
    /** `pol_` and a UUIDv7 */
    readonly id: string;
    readonly version: number;
  })[];
  readonly mode: 'enforce' | 'dry_run';
  readonly matched_rules: readonly string[];
  readonly trace: readonly ({
    readonly rule: string;
    readonly effect: 'allow' | 'deny' | 'require_approval';
    readonly matched: boolean;
    /** `true`, `false`, or the reason why it could not be evaluated */
    readonly result: string;
  })[];
  readonly approvals: {
    readonly quorum: number;
    readonly approvers: readonly string[];
    readonly timeout_s: number;
  } | null;
  readonly reason: string;
  readonly compliance: {
    readonly decision: string;
    readonly risk_score: number;
    readonly report_id: string;
  };
  readonly risk: {
    readonly score: number;
    readonly level: string;
    readonly action: string;
  };
  readonly dry_run: {
    readonly policy: {
      readonly name: string;
      /** `pol_` and a UUIDv7 */
      readonly id: string;
      readonly version: number;
    };
    readonly decision: 'allow' | 'deny' | 'require_approval';
    readonly matched_rules: readonly string[];
    readonly trace: readonly ({
      readonly rule: string;
      readonly effect: 'allow' | 'deny' | 'require_approval';
      readonly matched: boolean;
      /** `true`, `false`, or the reason why it could not be evaluated */
      readonly result: string;
    })[];
  } | null;
  readonly transaction: {
    readonly wallet_id: string;
    readonly asset: string;
    readonly amount: string;
    readonly network: string;
    readonly to: string;
  } | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
}

export interface PolicyDecisionPage {
  readonly decisions: readonly PolicyDecision[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface PolicyEvaluation extends PolicyDecision {
  /** a compact JWS of purpose `evaluation`: it does not authorise a transfer */
  readonly policy_receipt: string;
}

export interface PolicyEvent extends EveryEvent {
  readonly type: 'policy.created' | 'policy.updated';
  readonly resource: {
    readonly type: 'policy';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: Policy;
  };
}

export interface PolicyPage {
  readonly policies: readonly Policy[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface PolicyUsed {
  readonly name: string;
  readonly id: string;
  readonly version: number;
}

export interface ProposedChange extends ChangeProposal {
  /** what the operation gets */
  readonly request: {
    readonly params?: {
      /** id in its path, e.g. of a risk rule */
      readonly id: string;
    };
    /** its body */
    readonly body?: Readonly<Record<string, unknown>>;
  };
}

export interface ProviderConnection {
  /** `pcn_` and a UUIDv7 */
  readonly id: string;
  readonly provider: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted' | 'sandbox';
  readonly name: string;
  readonly environment: 'sandbox' | 'production';
  readonly status: 'connected' | 'degraded' | 'error' | 'disconnected';
  readonly capabilities: readonly string[];
  /** equal for equal credentials of this tenant; reveals nothing else about them */
  readonly credential_fingerprint: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly version: number;
  readonly last_synced_at: string | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface ProviderConnectionEvent extends EveryEvent {
  readonly type: 'provider_connection.created' | 'provider_connection.updated' | 'provider_connection.tested' | 'provider_connection.disconnected';
  readonly resource: {
    readonly type: 'provider_connection';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ProviderConnection;
  };
}

export interface ProviderConnectionPage {
  readonly provider_connections: readonly ProviderConnection[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface ProviderFailsFault extends EveryFault {
  readonly fault: 'provider_fails';
  readonly for_ms?: number;
  readonly by: 'late' | 'twice' | 'never' | 'lost' | 'refuses';
  readonly provider?: 'fireblocks' | 'bitgo' | 'copper' | 'sandbox';
  readonly by_ms?: number;
}

export interface ProviderFailsFaultRequest extends ProviderFailsFault {
  readonly expires_in_s?: number;
}

export interface ProviderList {
  readonly providers: readonly ({
    readonly kind: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted' | 'sandbox';
    readonly display_name: string;
    readonly hosting: 'hosted' | 'self_hosted' | 'sandbox';
    readonly environments: readonly ('sandbox' | 'production')[];
    readonly capabilities: readonly string[];
    readonly networks: readonly string[];
    /** JSON Schema of the credentials */
    readonly credential_schema: Readonly<Record<string, unknown>>;
    /** the newest 100 that are visible to the token */
    readonly connections: readonly ProviderConnection[];
  })[];
}

export interface PutChangeControl {
  /** how many others approve a change; 0: none, change control is off */
  readonly quorum: number;
  /** permitted approvers; default: every caller with the scope `changes:approve` */
  readonly approvers?: readonly string[];
  /** time for the votes; default 86400 */
  readonly timeout_s?: number;
}

export interface PutComplianceList {
  /** 1 to 100 characters of A-Z a-z 0-9 _ . - and single spaces between them */
  readonly name: string;
  /** an existing list keeps its kind */
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly entries: readonly ({
    /** an address: printable ASCII without spaces */
    readonly address?: string;
    /** CAIP-2 id of the network */
    readonly network?: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
    /** compared without case, accents, punctuation, spaces and the order of words */
    readonly name?: string;
    /** 1 to 200 characters, not blank, without control and direction characters but line ends */
    readonly note?: string;
  })[];
  /** true: the next version also has the entries of the previous one. Default false */
  readonly append?: boolean;
}

export interface PutPolicy {
  /** 1 to 100 characters of A-Z a-z 0-9 _ . - and single spaces between them */
  readonly name: string;
  readonly rules: readonly ({
    /** 1 to 64 characters of A-Z a-z 0-9 _ . - */
    readonly id: string;
    readonly effect: 'allow' | 'deny' | 'require_approval';
    /** a CEL expression of type bool */
    readonly when: string;
    readonly approvals?: {
      /** how many must approve */
      readonly quorum: number;
      /** permitted approvers; default: every caller with the scope `intents:approve` */
      readonly approvers?: readonly string[];
      /** default 86400 */
      readonly timeout_s?: number;
    };
  })[];
  /** default `enforce` */
  readonly mode?: 'enforce' | 'dry_run';
}

export interface PutRiskRule {
  /** 1 to 100 characters of A-Z a-z 0-9 _ . - and single spaces between them */
  readonly name: string;
  /** a CEL expression of type bool */
  readonly when: string;
  /** added to the score */
  readonly points: number;
  /** of a rule that matches: `deny` denies, `review` asks for an approval, `allow` softens nothing; default: none */
  readonly action?: 'allow' | 'review' | 'deny';
  /** matching rules are listed in this order, the lowest first; it decides nothing */
  readonly priority?: number;
  /** default `enforce` */
  readonly mode?: 'enforce' | 'shadow';
}

export interface PutStrategy {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name: string;
  /** the wallets pay in this order; the first on an asset’s network receives it */
  readonly wallet_ids: readonly string[];
  readonly targets: readonly ({
    /** symbol of a registered asset */
    readonly asset: string;
    /** its share of the total value; all weights sum up to 10,000 */
    readonly weight_bps: number;
    /** how far its share may deviate from the weight before it is traded */
    readonly band_bps: number;
  })[];
  /** default: `manual` */
  readonly trigger?: {
    readonly kind: 'manual' | 'interval' | 'drift';
    /** seconds; with `interval` and `drift` */
    readonly every_s?: number;
  };
  readonly constraints?: {
    /** US dollars, a decimal above 0 as a string */
    readonly min_trade_usd?: string;
    readonly max_trade_usd?: string | null;
    readonly max_trades?: number;
    /** fees and expected slippage of a trade, at most */
    readonly max_cost_bps?: number;
    readonly cash_floor?: {
      /** symbol of a registered asset */
      readonly asset: string;
      /** decimal number as a string */
      readonly amount: string;
    } | null;
    readonly cooldown_s?: number;
    /** a plan is stale when a price has moved by more */
    readonly price_tolerance_bps?: number;
    readonly price_age_max_s?: number;
    readonly plan_ttl_s?: number;
    /** how long a plan waits for a silent venue */
    readonly venue_deadline_s?: number;
  };
  readonly autonomy: 'advisory' | 'human_approval' | 'within_policy';
  readonly policy?: string | null;
}

export interface ReadSandboxTokenOwner {
  /** an access token; it is written to no log */
  readonly token: string;
}

export interface Rebalance {
  readonly strategy_id: string;
  /** default true: only a plan. false: a plan that is executed as its autonomy allows */
  readonly dry_run?: boolean;
  /** trades that a model or a person proposes: checked under the same constraints */
  readonly proposal?: {
    /** `amount` of the sold asset */
    readonly trades: readonly ({
      /** symbol of a registered asset */
      readonly sell: string;
      /** symbol of a registered asset */
      readonly buy: string;
      /** decimal number as a string */
      readonly amount: string;
    })[];
    /** 1 to 2000 characters, not blank, without control and direction characters but line ends */
    readonly rationale?: string;
  };
}

export interface ReceiveAddress {
  readonly index: number;
  /** BIP-32, below the wallet’s key */
  readonly path: string;
  readonly address: string;
  /** compressed, lowercase hex */
  readonly public_key: string;
  /** whether it ever received anything */
  readonly used: boolean;
}

export interface ReceiveAddressList {
  readonly addresses: readonly ReceiveAddress[];
}

export interface ReceiverResetFault extends EveryFault {
  readonly fault: 'receiver_reset';
  readonly for_ms?: number;
}

export interface ReceiverResetFaultRequest extends ReceiverResetFault {
  readonly expires_in_s?: number;
}

export interface ReceiverSlowFault extends EveryFault {
  readonly fault: 'receiver_slow';
  readonly for_ms?: number;
  readonly by_ms: number;
}

export interface ReceiverSlowFaultRequest extends ReceiverSlowFault {
  readonly expires_in_s?: number;
}

export interface ReceiverStatusFault extends EveryFault {
  readonly fault: 'receiver_status';
  readonly for_ms?: number;
  readonly status: number;
}

export interface ReceiverStatusFaultRequest extends ReceiverStatusFault {
  readonly expires_in_s?: number;
}

export interface ReconDrift {
  readonly id: string;
  readonly kind: 'missing' | 'extra' | 'duplicate' | 'amount' | 'status' | 'late' | 'silent';
  readonly wallet_id: string;
  readonly direction: 'in' | 'out';
  /** the key of the movement: our id for it, or the id of its transaction; of `extra` and `silent` its own */
  readonly movement: string;
  readonly asset: string;
  readonly amount: string | null;
  readonly until: string | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
}

export interface ReconDriftPage {
  readonly drifts: readonly ReconDrift[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface ReconException {
  readonly id: string;
  readonly type: 'missing_internal' | 'missing_external' | 'amount_mismatch' | 'status_mismatch' | 'duplicate';
  readonly subject: 'movement' | 'balance';
  readonly severity: 'low' | 'medium' | 'high' | 'critical';
  readonly status: 'open' | 'resolved';
  readonly wallet_id: string;
  readonly provider: string;
  readonly provider_connection_id: string;
  readonly asset: string;
  readonly explanation: string;
  readonly expected: {
    readonly status: string | null;
    readonly asset: string;
    /** decimal */
    readonly amount: string;
    readonly fee: {
      readonly asset: string;
      readonly amount: string;
    } | null;
    /** movements that say so */
    readonly count: number;
  } | null;
  readonly actual: {
    readonly status: string | null;
    readonly asset: string;
    /** decimal */
    readonly amount: string;
    readonly fee: {
      readonly asset: string;
      readonly amount: string;
    } | null;
    /** movements that say so */
    readonly count: number;
  } | null;
  /** signed decimal in `asset`: the provider’s amount minus our ledger’s */
  readonly delta: string;
  readonly sources: {
    readonly internal: {
      readonly kind: 'transaction_intent' | 'deposit' | 'withdrawal' | 'exchange' | 'wallet_balance';
      readonly id: string;
      readonly status: string | null;
      /** RFC 3339, UTC */
      readonly at: string;
    } | null;
    readonly external: {
      /** the provider’s own */
      readonly ids: readonly string[];
      readonly reference: string | null;
      readonly tx_id: string | null;
      readonly status: string | null;
      /** RFC 3339, UTC */
      readonly at: string;
    } | null;
  };
  /** the amounts that `adjusted` adds to the available balance */
  readonly corrections: readonly ({
    readonly asset: string;
    /** signed decimal */
    readonly amount: string;
  })[];
  readonly first_job_id: string;
  readonly last_job_id: string;
  readonly times_seen: number;
  readonly resolution: {
    readonly resolution: 'matched' | 'adjusted' | 'written_off' | 'false_positive';
    readonly note: string | null;
    readonly by: string;
    /** RFC 3339, UTC */
    readonly at: string;
    /** the added amounts; empty unless `adjusted` */
    readonly corrections: readonly ({
      readonly asset: string;
      /** signed decimal */
      readonly amount: string;
    })[];
  } | null;
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  /** RFC 3339, UTC */
  readonly last_seen_at: string;
}

export interface ReconExceptionEvent extends EveryEvent {
  readonly type: 'recon.exception.opened' | 'recon.exception.updated' | 'recon.exception.resolved';
  readonly resource: {
    readonly type: 'recon_exception';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ReconException;
  };
}

export interface ReconExceptionPage {
  readonly exceptions: readonly ReconException[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface ReconJob {
  readonly id: string;
  readonly kind: 'balances' | 'transactions';
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled';
  readonly scope: {
    readonly provider_connection_id: string | null;
    readonly wallet_id: string | null;
    readonly asset: string | null;
  };
  readonly from: string | null;
  readonly to: string | null;
  readonly tolerance: {
    /** decimal number as a string */
    readonly absolute: string;
    readonly bps: number;
  };
  readonly lag_s: number;
  readonly progress: {
    /** of the wallets */
    readonly percent: number;
    /** in scope when the job began */
    readonly wallets_total: number;
    /** compared */
    readonly wallets_done: number;
    /** that kept changing while their balances were compared */
    readonly wallets_unsettled: number;
    /** of ours */
    readonly rows_internal: number;
    /** of the providers */
    readonly rows_external: number;
    /** differences */
    readonly exceptions_found: number;
    /** the number of new ones among them */
    readonly exceptions_new: number;
  };
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly created_by: string;
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

export interface ReconJobEvent extends EveryEvent {
  readonly type: 'recon.job.created' | 'recon.job.started' | 'recon.job.progressed' | 'recon.job.completed' | 'recon.job.failed' | 'recon.job.cancelled';
  readonly resource: {
    readonly type: 'recon_job';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: ReconJob;
  };
}

export interface ReconJobPage {
  readonly jobs: readonly ReconJob[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RedeemToken {
  /** your `self_hosted` wallet that holds the units */
  readonly source: {
    /** `wal_` and a UUIDv7 */
    readonly wallet_id: string;
  };
  /** decimal number as a string */
  readonly amount: string;
  readonly reserve_reference: ReserveReference;
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly policy?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface RedeliverRange {
  /** `failed` by default */
  readonly status?: 'failed' | 'delivered';
  /** event types, prefixes such as "wallet.*", or "*" alone for all */
  readonly types?: readonly string[];
  /** events with a higher sequence */
  readonly after_sequence?: number;
  /** events with a lower sequence */
  readonly before_sequence?: number;
  /** RFC 3339, UTC */
  readonly created_after?: string;
  /** RFC 3339, UTC */
  readonly created_before?: string;
  /** next_cursor of the previous answer, same filters */
  readonly cursor?: string;
}

export interface Redelivery {
  /** deliveries in flight */
  readonly queued: number;
  /** deliveries whose events are no longer retained */
  readonly not_kept: number;
  /** true: it stopped early because too many deliveries wait; continue later */
  readonly queue_full: boolean;
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RedisGoneFault extends EveryFault {
  readonly fault: 'redis_gone';
  readonly for_ms: number;
}

export interface RedisGoneFaultRequest extends RedisGoneFault {
  readonly expires_in_s?: number;
}

export interface RefreshSandboxKey {
  /** of the new shares: one above `key_version` of the key’s session. The call may be repeated */
  readonly version: number;
}

export interface ReorderFault extends EveryFault {
  readonly fault: 'reorder';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
  readonly within_ms: number;
}

export interface ReorderFaultRequest extends ReorderFault {
  readonly expires_in_s?: number;
}

export interface ReorganizeSandboxChain {
  readonly depth: number;
}

export interface ReplaceTransactionIntent {
  /** `speed_up`: the same effect; `cancel`: none, the wallet sends itself nothing. Both with a higher fee */
  readonly kind: 'speed_up' | 'cancel';
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly policy?: string;
  /** for `self_hosted` EVM and Bitcoin wallets, by the present market: `low` waits as soon as it rises; `medium` by default */
  readonly fee_level?: 'low' | 'medium' | 'high';
  /** wei, as a whole number; EVM, instead of `fee_level` */
  readonly max_fee_per_gas?: string;
  /** wei of `max_fee_per_gas` for the tip, as a whole number */
  readonly max_priority_fee_per_gas?: string;
  /** units of gas, as a whole number; EVM, by default what the transaction needs */
  readonly gas_limit?: string;
  /** satoshi a virtual byte, as a whole number; Bitcoin, instead of `fee_level` */
  readonly sats_per_vbyte?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface RequestModuleAccess {
  /** purpose, for the operator: 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
}

export interface ReserveReference {
  readonly type: 'wallet' | 'attestation';
  /** symbol of the reserve asset: one unit of it backs one unit of the token */
  readonly asset: string;
  /** `wal_` and a UUIDv7 */
  readonly wallet_id?: string;
  /** with `attestation`: the name that its attestor uses: 1 to 200 characters, not blank, without control and direction characters */
  readonly reference?: string;
  /** decimal number as a string */
  readonly amount?: string;
  /** RFC 3339, UTC */
  readonly expires_at?: string;
}

export interface ResetSandboxFaultsResponse {
  readonly removed: number;
}

export interface ResetSandboxResponse {
  /** milliseconds that it took */
  readonly took_ms: number;
}

export interface ResolveReconException {
  /** `adjusted` adds `corrections` to the ledger; the others change no balance */
  readonly resolution: 'matched' | 'adjusted' | 'written_off' | 'false_positive';
  /** 1 to 500 characters, not blank, without control and direction characters */
  readonly note?: string;
}

export interface RestoreSandboxSnapshotResponse {
  readonly snapshot: SandboxSnapshot;
  /** milliseconds that it took */
  readonly took_ms: number;
}

export interface ResumeSessionRequest {
  readonly session_id?: string;
  readonly resume_token?: string;
  readonly context?: OrchestrationContext | null;
  readonly human_approval_witness?: string;
}

export interface ResumeSessionResponse {
  readonly session_id: string;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  /** 64-bit integer as a string */
  readonly epoch: string;
  readonly receipt: DiagnosticReceipt | null;
  readonly checkpoint: SessionCheckpoint | null;
}

export interface ReuseNonceFault extends EveryFault {
  readonly fault: 'reuse_nonce';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
}

export interface ReuseNonceFaultRequest extends ReuseNonceFault {
  readonly expires_in_s?: number;
}

export interface RiskRule {
  /** `rul_` and a UUIDv7 */
  readonly id: string;
  readonly name: string;
  readonly when: string;
  readonly points: number;
  readonly action: 'allow' | 'review' | 'deny' | null;
  readonly priority: number;
  readonly mode: 'enforce' | 'shadow' | 'disabled';
  readonly version: number;
  readonly warnings: readonly RuleWarning[];
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface RiskRuleEvent extends EveryEvent {
  readonly type: 'risk.rule.created' | 'risk.rule.updated' | 'risk.rule.deleted';
  readonly resource: {
    readonly type: 'risk_rule';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: RiskRule;
  };
}

export interface RiskRulePage {
  readonly rules: readonly RiskRule[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RiskScore {
  /** the intent’s id, or `rsk_` and a UUID */
  readonly tx_id: string;
  readonly score: number;
  readonly level: 'low' | 'medium' | 'high' | 'critical';
  /** the strictest of the level’s and the matching rules’ actions; the level’s decides nothing by itself */
  readonly action: 'allow' | 'review' | 'deny';
  readonly factors: readonly ({
    /** a built-in factor, or `rule:` and the name of a rule */
    readonly code: string;
    /** points; 0 for a rule in shadow */
    readonly contribution: number;
    readonly evidence: string;
  })[];
  readonly rules_version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
}

export interface RollbackFault extends EveryFault {
  readonly fault: 'rollback';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly restart_after_ms?: number;
}

export interface RollbackFaultRequest extends RollbackFault {
  readonly expires_in_s?: number;
}

export interface RotateWebhookSecret {
  /** revokes the previous secrets at once; false by default */
  readonly revoke_previous?: boolean;
}

export interface RuleWarning {
  /** id or name of the rule; empty: all of them */
  readonly rule: string;
  readonly code: 'never_matches' | 'always_matches' | 'unreachable' | 'denies_everything';
  readonly message: string;
}

export interface SandboxActorEvent {
  readonly kind: 'actor';
  readonly at_ms: number;
  readonly address: string;
  readonly type: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, string | number | boolean | readonly string[] | readonly number[]>>;
}

export interface SandboxClock {
  readonly offset_ms: number;
  readonly now: string;
}

export interface SandboxConfirmations {
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly confirmations: number;
  readonly finality: number;
  readonly block: number;
  readonly block_ms: number;
}

export interface SandboxDeliveryEvent {
  readonly kind: 'delivery';
  readonly at_ms: number;
  readonly event: string;
  readonly session: string;
  readonly status: number;
  readonly text: string;
}

export type SandboxEvent = SandboxFrame | SandboxActorEvent | SandboxStateEvent | SandboxProcessEvent | SandboxFaultEvent | SandboxStepEvent | SandboxDeliveryEvent | SandboxViolationEvent;

export interface SandboxFault {
  readonly id: string;
  readonly fault: CrashFault | PauseFault | SlowFault | DelayFault | DropFault | DuplicateFault | ReorderFault | PartitionFault | HoldFault | HalfOpenFault | CorruptFault | TruncateFault | BadShareFault | BadCommitmentFault | BadProofFault | BadPartialFault | EquivocateFault | WithholdFault | StaleReplayFault | FalseReportFault | FalseRefusalFault | EarlyConfirmFault | BadNoncesFault | AlteredAnswerFault | OtherMessageFault | FalseOrderFault | OtherSchemeFault | OtherSignersFault | ReuseNonceFault | SubstituteOpeningFault | SupplyDealersFault | SplitConfirmFault | AlteredRequestFault | SecondProcessFault | SecondCoordinatorFault | ClockSkewFault | ClockJumpFault | StoreLostFault | StoreUnansweredFault | StoreSlowFault | StoreFailingFault | StoreTamperedFault | StoreFullFault | ProviderFailsFault | HsmFailsFault | VendorFailsFault | RollbackFault | RedisGoneFault | WorkerStalledFault | DoubleDeliveryFault | PoisonJobFault | ReceiverStatusFault | ReceiverSlowFault | ReceiverResetFault | AnswerLostFault | AnswerSlowFault | AnswerStatusFault | AnswerCutFault | ForceReceiptFault;
  readonly state: 'armed' | 'holding' | 'over';
  readonly trigger_count: number;
  readonly strikes: number;
  readonly armed_at: string;
  readonly ends_at: string | null;
  readonly expires_at: string;
}

export interface SandboxFaultEvent {
  readonly kind: 'fault';
  readonly at_ms: number;
  readonly id: string;
  readonly fault: 'crash' | 'pause' | 'slow' | 'delay' | 'drop' | 'duplicate' | 'reorder' | 'partition' | 'hold' | 'half_open' | 'corrupt' | 'truncate' | 'bad_share' | 'bad_commitment' | 'bad_proof' | 'bad_partial' | 'equivocate' | 'withhold' | 'stale_replay' | 'false_report' | 'false_refusal' | 'early_confirm' | 'bad_nonces' | 'altered_answer' | 'other_message' | 'false_order' | 'other_scheme' | 'other_signers' | 'reuse_nonce' | 'substitute_opening' | 'supply_dealers' | 'split_confirm' | 'altered_request' | 'second_process' | 'second_coordinator' | 'clock_skew' | 'clock_jump' | 'store_lost' | 'store_unanswered' | 'store_slow' | 'store_failing' | 'store_tampered' | 'store_full' | 'provider_fails' | 'hsm_fails' | 'vendor_fails' | 'rollback' | 'redis_gone' | 'worker_stalled' | 'double_delivery' | 'poison_job' | 'receiver_status' | 'receiver_slow' | 'receiver_reset' | 'answer_lost' | 'answer_slow' | 'answer_status' | 'answer_cut' | 'force_receipt';
  readonly targets: readonly string[];
  readonly what: 'armed' | 'fired' | 'ended';
  readonly text: string;
}

export interface SandboxFaultPage {
  readonly faults: readonly SandboxFault[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SandboxFeeMarket {
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly price: string;
  readonly initial: string;
  readonly min: string;
  readonly max: string;
}

export interface SandboxFigures {
  readonly over_ms: number;
  readonly frames: number;
  readonly bytes: number;
  readonly began: number;
  readonly completed: number;
  readonly failed: number;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
  readonly requests: {
    readonly answered: number;
    readonly refused: readonly ({
      readonly code: string;
      readonly count: number;
    })[];
    readonly p50_ms: number | null;
    readonly p99_ms: number | null;
  } | null;
  readonly load: SandboxIntendedLoad | null;
  readonly processes: readonly ({
    readonly processes: readonly string[];
    readonly cpu: number | null;
    readonly resident_bytes: number | null;
  })[];
}

export interface SandboxFrame {
  readonly kind: 'frame';
  readonly at_ms: number;
  readonly arrives_ms: readonly number[];
  readonly from: string;
  readonly to: string;
  readonly point: 'call' | 'call_reply' | 'cluster_status' | 'deal_nonces' | 'nonces_dealt' | 'partial_request' | 'partial_reply' | 'vendor_settled' | 'vendor_noted' | 'dkg_open' | 'dkg_opened' | 'dkg_seal' | 'dkg_sealed' | 'dkg_verify' | 'dkg_verified' | 'dkg_confirm' | 'dkg_confirmed' | 'dkg_discard' | 'dkg_refused';
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
  readonly bytes: number;
  readonly text: string;
  readonly faults: readonly string[];
}

export interface SandboxInbox extends SandboxInboxSummary {
  readonly deliveries: readonly SandboxInboxDelivery[];
}

export interface SandboxInboxDelivery {
  readonly received_at: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytes: number;
  readonly checks: {
    readonly x_svc_signature: 'valid' | 'invalid' | 'missing';
    readonly webhook_timestamp: 'valid' | 'invalid' | 'missing';
    readonly webhook_signature: 'valid' | 'invalid' | 'missing';
  };
  readonly answered: number | null;
}

export interface SandboxInboxSummary {
  readonly id: string;
  readonly url: string;
  readonly created_at: string;
  readonly received: number;
}

export interface SandboxInboxSummaryPage {
  readonly inboxes: readonly SandboxInboxSummary[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SandboxIntendedLoad {
  readonly load: string;
  readonly stage: string;
  readonly rate: number | null;
}

export interface SandboxKey {
  readonly session_id: string;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  readonly reason_code: string;
  readonly message: string;
  readonly epoch: number;
}

export interface SandboxKeyRefresh {
  readonly key_id: string;
  readonly version: number;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  readonly reason_code: string;
  readonly message: string;
  readonly public_key: string | null;
  readonly culprits: readonly number[];
}

export interface SandboxKeyVersion {
  readonly version: number;
  readonly status: 'preparing' | 'committed' | 'retired';
  readonly session_id: string;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  readonly message: string;
  readonly threshold: number;
  readonly participants: readonly number[];
  readonly created_at: string;
}

export interface SandboxKeyVersionPage {
  readonly versions: readonly SandboxKeyVersion[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SandboxNode {
  readonly id: string;
  readonly process: string;
  readonly cluster: number | null;
  readonly state: 'running' | 'paused' | 'down' | 'starting';
  readonly pid: number | null;
  readonly restarts: number;
  readonly started_at: string | null;
  readonly uptime_ms: number | null;
  readonly linked: boolean | null;
  readonly clock_offset_ms: number;
  readonly resident_bytes: number | null;
  readonly together: readonly string[];
}

export interface SandboxNodePage {
  readonly nodes: readonly SandboxNode[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SandboxPartial {
  readonly partial: string;
  readonly nonce_point: string;
  readonly attempt: number;
}

export interface SandboxProcessEvent {
  readonly kind: 'process';
  readonly at_ms: number;
  readonly process: string;
  readonly what: 'up' | 'down' | 'paused' | 'resumed' | 'link_up' | 'link_down' | 'clock';
  readonly text: string;
}

export interface SandboxQueues {
  readonly calls: number;
  readonly deliveries: {
    readonly waiting: number;
    readonly active: number;
    readonly delayed: number;
  } | null;
  readonly nonces: readonly ({
    readonly cluster: number;
    readonly node: number;
    readonly scheme: 'mock_ecdsa' | 'frost_ed25519' | 'frost_bip340';
    readonly waiting: number;
    readonly awaited: number;
  })[];
}

export interface SandboxReceiver {
  readonly status: number | null;
  readonly slow_ms: number | null;
  readonly reset: boolean;
}

export interface SandboxRecording {
  readonly events: readonly SandboxEvent[];
  readonly positions: readonly number[];
  readonly next: number;
  readonly lost: boolean;
  readonly began_at: string;
}

export interface SandboxReorganization {
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly depth: number;
  readonly transactions: number;
  readonly next_block: number;
}

export interface SandboxRequest extends SandboxRequestLine {
  readonly target: string | null;
  readonly idempotency_key: string | null;
  readonly user_agent: string | null;
  readonly error_message: string | null;
  readonly body: SandboxRequestBody | null;
  readonly answer: SandboxRequestBody | null;
}

export interface SandboxRequestBody {
  readonly text: string | null;
  readonly bytes: number;
  readonly is_whole: boolean;
  readonly masked: readonly string[];
}

export interface SandboxRequestLine {
  readonly id: string;
  readonly tenant: string | null;
  readonly began_at: string;
  readonly duration_ms: number;
  readonly door: 'http' | 'grpc';
  readonly method: string | null;
  readonly route: string | null;
  readonly status: number | null;
  readonly grpc_status: string | null;
  readonly aborted: boolean;
  readonly error_code: string | null;
  readonly field: string | null;
  readonly reason_code: string | null;
  readonly receipt_state: string | null;
  readonly session: string | null;
  readonly request_id: string;
  readonly is_replay: boolean;
  readonly rate_limit_left: number | null;
  readonly faults: readonly string[];
}

export interface SandboxRequestLinePage {
  readonly requests: readonly SandboxRequestLine[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SandboxScenario {
  readonly scenario: string;
  readonly state: 'running' | 'passed' | 'failed' | 'violated' | 'stuck' | 'ended' | 'broken';
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly steps: number;
  readonly begun: number;
  readonly step: string | null;
  readonly cause: string;
}

export interface SandboxSession {
  readonly id: string;
  readonly kind: 'dkg' | 'signing';
  readonly requested_by: 'client' | 'wallet_service';
  readonly cluster: number;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  readonly reason_code: string;
  readonly message: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly culprits: readonly number[];
  readonly submitted: readonly number[];
  readonly signers: readonly number[];
  readonly given: readonly number[];
  readonly verified_pairs: readonly string[];
  readonly client_supplied_dealers: readonly number[];
  readonly played_dealers: readonly number[];
  readonly public_key: string | null;
  readonly chain_code: string | null;
  readonly key_session: string | null;
  readonly threshold: number;
  readonly total_nodes: number;
  readonly participants: readonly number[];
  readonly curve: string | null;
  readonly key_scheme: 'mock_ecdsa' | 'frost_ed25519' | 'frost_bip340' | 'owner_ecdsa' | 'hsm_ecdsa' | 'hsm_ed25519' | 'vendor_ecdsa' | 'vendor_ed25519' | null;
  readonly key_exposed: boolean;
  readonly key_version: number;
  readonly resume_token: string | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly transcript: readonly SandboxFrame[] | null;
  readonly transcript_truncated: boolean;
}

export interface SandboxSnapshot {
  readonly id: string;
  readonly name: string;
  readonly taken_at: string;
  readonly bytes: number;
}

export interface SandboxSnapshotPage {
  readonly snapshots: readonly SandboxSnapshot[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SandboxStateEvent {
  readonly kind: 'state';
  readonly at_ms: number;
  readonly address: string;
  readonly state: string;
  readonly fields: Readonly<Record<string, string | number | boolean | readonly string[] | readonly number[]>>;
}

export interface SandboxStepEvent {
  readonly kind: 'step';
  readonly at_ms: number;
  readonly client: string;
  readonly step: string;
  readonly what: 'began' | 'ended';
  readonly session: string;
  readonly text: string;
}

export interface SandboxStreamBatch {
  readonly kind: 'batch';
  readonly events: readonly SandboxEvent[];
  readonly positions: readonly number[];
  readonly sessions?: readonly SandboxStreamSession[];
  readonly processes?: readonly SandboxNode[];
  readonly faults?: readonly SandboxFault[];
  readonly requests?: readonly SandboxRequestLine[];
  readonly figures?: SandboxFigures;
  readonly scenario?: SandboxScenario;
  readonly left_out: {
    readonly frames?: number;
    readonly processes?: number;
    readonly faults?: number;
    readonly sessions?: number;
    readonly deliveries?: number;
    readonly requests?: number;
  };
  readonly lost: boolean;
  readonly next: string;
}

export interface SandboxStreamHello {
  readonly kind: 'hello';
  readonly world: 'process' | 'embedded';
  readonly version: string;
  readonly began_at: string | null;
  readonly clusters: readonly ({
    readonly number: number;
    readonly threshold: number;
    readonly nodes: number;
  })[];
  readonly processes: readonly SandboxNode[];
  readonly faults: readonly SandboxFault[];
  readonly sessions: readonly SandboxStreamSession[];
  readonly requests: readonly SandboxRequestLine[];
  readonly scenario: SandboxScenario | null;
  readonly missing: readonly ({
    readonly topic: 'frames' | 'processes' | 'faults' | 'sessions' | 'deliveries' | 'figures' | 'requests';
    readonly why: string;
  })[];
  readonly lost: boolean;
  readonly next: string;
}

export type SandboxStreamMessage = SandboxStreamHello | SandboxStreamBatch;

export interface SandboxStreamSession {
  readonly tenant: string;
  readonly session: string;
  readonly kind: 'dkg' | 'signing';
  readonly cluster: number;
  readonly state: 'open' | 'completed' | 'failed';
  readonly reason_code: string | null;
  readonly attempt: number;
  readonly nodes: readonly number[];
  readonly culprits: readonly number[];
  readonly faults: readonly string[];
  readonly frames: number;
  readonly began_ms: number;
  readonly last_ms: number;
  readonly retained: 'all' | 'some';
}

export interface SandboxToken {
  readonly id: string;
  readonly token: string;
  readonly tenant: string;
  readonly scopes: readonly ('providers:read' | 'providers:write' | 'wallets:read' | 'wallets:write' | 'intents:read' | 'intents:write' | 'events:read' | 'events:write' | 'webhooks:read' | 'webhooks:write' | 'modules:read' | 'modules:write' | 'changes:read' | 'changes:write' | 'access_tokens:read' | 'access_tokens:write' | 'compliance:read' | 'compliance:write' | 'risk:read' | 'risk:write' | 'policies:read' | 'policies:write' | 'recon:read' | 'recon:write' | 'vaults:read' | 'vaults:write' | 'treasury:read' | 'treasury:write' | 'tokens:read' | 'tokens:write' | 'intents:approve' | 'changes:approve' | 'tenant:freeze' | 'tenant:unfreeze' | 'signing:read' | 'signing:dkg' | 'signing:initiate' | 'signing:share' | 'signing:resume' | 'preview:compliance' | 'preview:risk' | 'preview:policies' | 'preview:recon' | 'preview:vaults' | 'preview:treasury' | 'preview:tokens')[];
}

export interface SandboxTokenOwner {
  readonly tenant: string;
  readonly actor: string;
  readonly scopes: readonly ('providers:read' | 'providers:write' | 'wallets:read' | 'wallets:write' | 'intents:read' | 'intents:write' | 'events:read' | 'events:write' | 'webhooks:read' | 'webhooks:write' | 'modules:read' | 'modules:write' | 'changes:read' | 'changes:write' | 'access_tokens:read' | 'access_tokens:write' | 'compliance:read' | 'compliance:write' | 'risk:read' | 'risk:write' | 'policies:read' | 'policies:write' | 'recon:read' | 'recon:write' | 'vaults:read' | 'vaults:write' | 'treasury:read' | 'treasury:write' | 'tokens:read' | 'tokens:write' | 'intents:approve' | 'changes:approve' | 'tenant:freeze' | 'tenant:unfreeze' | 'signing:read' | 'signing:dkg' | 'signing:initiate' | 'signing:share' | 'signing:resume' | 'preview:compliance' | 'preview:risk' | 'preview:policies' | 'preview:recon' | 'preview:vaults' | 'preview:treasury' | 'preview:tokens' | 'sandbox:admin')[];
}

export interface SandboxViolationEvent {
  readonly kind: 'violation';
  readonly at_ms: number;
  readonly invariant: string;
  readonly text: string;
}

export interface ScreenSubject {
  readonly subject: {
    readonly type: 'address' | 'individual' | 'organization';
    /** an address: printable ASCII without spaces */
    readonly address?: string;
    /** CAIP-2 id of the network */
    readonly network?: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
    /** compared without case, accents, punctuation, spaces and the order of words */
    readonly name?: string;
  };
  /** asset symbol */
  readonly asset?: string;
  /** decimal number as a string */
  readonly amount?: string;
  readonly direction?: 'incoming' | 'outgoing';
  /** `txi_` and a UUIDv7 */
  readonly intent_id?: string;
}

export interface SecondCoordinatorFault extends EveryFault {
  readonly fault: 'second_coordinator';
  readonly for_ms?: number;
  readonly target: 'coordinator';
}

export interface SecondCoordinatorFaultRequest extends SecondCoordinatorFault {
  readonly expires_in_s?: number;
}

export interface SecondProcessFault extends EveryFault {
  readonly fault: 'second_process';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface SecondProcessFaultRequest extends SecondProcessFault {
  readonly expires_in_s?: number;
}

export interface Session {
  /** of a signature `sig_…`, of a wallet’s key the wallet’s id */
  readonly id: string;
  readonly kind: 'dkg' | 'signing';
  /** `wallet_service`: for a wallet’s transaction intent, or a vault */
  readonly requested_by: 'client' | 'wallet_service';
  /** as in receipts */
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  /** the reason for its state: docs/reason-codes.md */
  readonly reason_code: string;
  readonly message: string;
  readonly resumable: boolean;
  readonly epoch: number;
  readonly checkpoint_id: string;
  readonly approval_mode: 'APPROVAL_MODE_UNSPECIFIED' | 'DIRECT_ALLOWED' | 'HUMAN_REQUIRED';
  readonly keystore_type: 'KEYSTORE_TYPE_UNSPECIFIED' | 'KEYSTORE_TYPE_MOCK_THRESHOLD' | 'KEYSTORE_TYPE_MULTISIG_EVM_WALLET' | 'KEYSTORE_TYPE_MPC_VENDOR' | 'KEYSTORE_TYPE_MPC_FROST' | 'KEYSTORE_TYPE_HSM_PKCS11';
  /** docs/keystores.md lists them */
  readonly backend_route: string;
  readonly correlation_id: string;
  readonly curve: string | null;
  readonly network_id: string | null;
  /** nodes that it blames; of a signature all that were excluded */
  readonly culprits: readonly number[];
  readonly intent_id: string | null;
  readonly key_id: string | null;
  readonly derivation_path: string | null;
  readonly message_sha256: string | null;
  /** of a signature: nodes whose partial is in */
  readonly submitted: readonly number[];
  readonly signature: string | null;
  readonly recovery_id: number | null;
  readonly threshold: number | null;
  readonly total_nodes: number | null;
  readonly public_key: string | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly changed_at: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
}

export interface SessionCheckpoint {
  readonly checkpoint_id: string;
  /** 64-bit integer as a string */
  readonly epoch: string;
  /** 64-bit integer as a string */
  readonly created_at_epoch_ms: string;
  readonly state: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION';
  readonly resume_token: string;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SetMarket {
  readonly prices?: readonly ({
    /** symbol of a registered asset */
    readonly asset: string;
    /** US dollars, a decimal above 0 as a string */
    readonly price_usd?: string;
    /** instead of a price; `simulated`: the random walk again */
    readonly condition?: 'simulated' | 'missing' | 'stale';
    /** default 3,600 */
    readonly stale_s?: number;
  })[];
  readonly venue?: {
    /** `silent`: it does not answer */
    readonly mode?: 'normal' | 'partial' | 'refuse' | 'silent';
    /** with `partial`: the share of an order that is filled */
    readonly fill_bps?: number;
    readonly slippage_bps?: number | null;
  };
}

export interface SetSandboxConfirmations {
  readonly confirmations: number;
  /** `confirmations` by default, and not below it */
  readonly finality?: number;
}

export interface SignMessage {
  /** `vky_` and a UUIDv7 */
  readonly key_id: string;
  /** base64, standard or URL-safe, padded or not: 1 to 65,536 bytes */
  readonly message: string;
  /** `raw`: secp256k1 signs its SHA-256, ed25519 the message itself. `digest`: 32 bytes (ed25519 also 64), signed as they stand */
  readonly message_type: 'raw' | 'digest';
  /** BIP-32, e.g. `m/0/7`; none by default */
  readonly derivation_path?: string;
  /** base64, standard or URL-safe, padded or not: for a signature that needs a human’s approval */
  readonly human_approval_witness?: string;
}

export type SignVaultMessageResponse = VaultSignature | VaultSignatureDryRun;

export interface SignatureShareRequest {
  readonly signing_session_id?: string;
  readonly node_id?: number;
  readonly partial_signature?: string;
  readonly ephemeral_public_key?: string;
  readonly context?: OrchestrationContext | null;
}

export interface SignatureShareResponse {
  readonly signing_session_id: string;
  readonly is_complete: boolean;
  readonly full_signature: string;
  readonly recovery_id: string;
  readonly receipt: DiagnosticReceipt | null;
  readonly checkpoint: SessionCheckpoint | null;
}

export interface SigningSession {
  readonly session_id: string;
  readonly kind: 'signing' | 'dkg';
  /** the state of the checkpoint, e.g. `RECEIPT_STATE_ACCEPTED` */
  readonly state: string;
  readonly reason_code: string;
  readonly message: string;
  readonly epoch: number;
  readonly transaction_intent_id: string;
  /** the wallet or the DKG session whose key signs */
  readonly wallet_id: string;
  readonly curve: string | null;
  readonly network_id: string;
  readonly keystore_type: string | null;
  readonly approval_mode: string | null;
  readonly attempt: number;
  /** ids of the nodes that proved to be false */
  readonly culprits: readonly number[];
  readonly correlation_id: string;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
}

export interface SigningSessionEvent extends EveryEvent {
  readonly type: 'signing.session.accepted' | 'signing.session.pending' | 'signing.session.resumed' | 'signing.session.completed' | 'signing.session.failed' | 'signing.session.denied' | 'signing.session.expired' | 'signing.session.revoked';
  readonly resource: {
    readonly type: 'signing_session';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: SigningSession;
  };
}

export interface SlowFault extends EveryFault {
  readonly fault: 'slow';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly by_ms: number;
}

export interface SlowFaultRequest extends SlowFault {
  readonly expires_in_s?: number;
}

export interface SplitConfirmFault extends EveryFault {
  readonly fault: 'split_confirm';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
}

export interface SplitConfirmFaultRequest extends SplitConfirmFault {
  readonly expires_in_s?: number;
}

export interface StaleReplayFault extends EveryFault {
  readonly fault: 'stale_replay';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface StaleReplayFaultRequest extends StaleReplayFault {
  readonly expires_in_s?: number;
}

export interface StartSandboxScenario {
  /** the YAML of the file: docs/scenarios.md */
  readonly file: string;
  /** start afresh first; false by default */
  readonly reset?: boolean;
}

export interface StoreFailingFault extends EveryFault {
  readonly fault: 'store_failing';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface StoreFailingFaultRequest extends StoreFailingFault {
  readonly expires_in_s?: number;
}

export interface StoreFullFault extends EveryFault {
  readonly fault: 'store_full';
  readonly for_ms?: number;
  readonly target: 'coordinator';
}

export interface StoreFullFaultRequest extends StoreFullFault {
  readonly expires_in_s?: number;
}

export interface StoreLostFault extends EveryFault {
  readonly fault: 'store_lost';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface StoreLostFaultRequest extends StoreLostFault {
  readonly expires_in_s?: number;
}

export interface StoreSlowFault extends EveryFault {
  readonly fault: 'store_slow';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly by_ms: number;
}

export interface StoreSlowFaultRequest extends StoreSlowFault {
  readonly expires_in_s?: number;
}

export interface StoreTamperedFault extends EveryFault {
  readonly fault: 'store_tampered';
  readonly for_ms?: number;
  readonly target: 'coordinator';
}

export interface StoreTamperedFaultRequest extends StoreTamperedFault {
  readonly expires_in_s?: number;
}

export interface StoreUnansweredFault extends EveryFault {
  readonly fault: 'store_unanswered';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface StoreUnansweredFaultRequest extends StoreUnansweredFault {
  readonly expires_in_s?: number;
}

export interface Strategy {
  /** `stg_` and a UUIDv7 */
  readonly id: string;
  readonly strategy_version: number;
  readonly status: 'active' | 'archived';
  readonly name: string;
  readonly wallet_ids: readonly string[];
  readonly targets: readonly ({
    /** symbol of a registered asset */
    readonly asset: string;
    /** its share of the total value; all weights sum up to 10,000 */
    readonly weight_bps: number;
    /** how far its share may deviate from the weight before it is traded */
    readonly band_bps: number;
  })[];
  readonly trigger: {
    readonly kind: 'manual' | 'interval' | 'drift';
    /** seconds; 0 with `manual` */
    readonly every_s: number;
  };
  readonly constraints: {
    /** US dollars, decimal */
    readonly min_trade_usd: string;
    readonly max_trade_usd: string | null;
    readonly max_trades: number;
    readonly max_cost_bps: number;
    readonly cash_floor: {
      readonly asset: string;
      readonly amount: string;
    } | null;
    readonly cooldown_s: number;
    readonly price_tolerance_bps: number;
    readonly price_age_max_s: number;
    readonly plan_ttl_s: number;
    readonly venue_deadline_s: number;
  };
  readonly autonomy: 'advisory' | 'human_approval' | 'within_policy';
  readonly policy: string | null;
  readonly executing_plan_id: string | null;
  readonly last_executed_at: string | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface StrategyPage {
  readonly strategies: readonly Strategy[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface StrategyPosition {
  /** `stg_` and a UUIDv7 */
  readonly strategy_id: string;
  readonly strategy_version: number;
  readonly name: string;
  readonly total_value_usd: string | null;
  readonly assets: readonly ({
    readonly asset: string;
    /** decimal */
    readonly amount: string;
    /** US dollars, decimal */
    readonly value_usd: string;
    readonly weight_bps: number;
    /** as the strategy has it */
    readonly target_bps: number;
    /** above 0: too much of it */
    readonly drift_bps: number;
    readonly band_bps: number;
    readonly in_band: boolean;
  })[];
  readonly prices: readonly ({
    readonly asset: string;
    /** US dollars, decimal */
    readonly price_usd: string;
    /** RFC 3339, UTC */
    readonly as_of: string;
  })[];
  readonly unpriced: string | null;
  /** RFC 3339, UTC */
  readonly as_of: string;
}

export interface StrategyPositionPage {
  readonly positions: readonly StrategyPosition[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface SubstituteOpeningFault extends EveryFault {
  readonly fault: 'substitute_opening';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
  readonly how?: 'sealing_key' | 'commitments';
}

export interface SubstituteOpeningFaultRequest extends SubstituteOpeningFault {
  readonly expires_in_s?: number;
}

export interface SupplyDealersFault extends EveryFault {
  readonly fault: 'supply_dealers';
  readonly for_ms?: number;
  readonly target: 'coordinator';
  readonly for?: readonly number[];
}

export interface SupplyDealersFaultRequest extends SupplyDealersFault {
  readonly expires_in_s?: number;
}

export interface TakeSandboxSnapshot {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name?: string;
}

export interface TamperedRecord {
  readonly id: string;
  /** e.g. wallet, policy, token */
  readonly kind: string;
}

export interface TamperedRecordEvent extends EveryEvent {
  readonly type: 'record.tampered';
  readonly resource: {
    readonly type: 'record';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: TamperedRecord;
  };
}

export interface Tenant {
  readonly id: string;
  readonly status: 'active' | 'frozen';
  readonly changed_by: string | null;
  readonly changed_at: string | null;
  readonly reason: string | null;
}

export interface TenantEvent extends EveryEvent {
  readonly type: 'tenant.frozen' | 'tenant.unfrozen';
  readonly resource: {
    readonly type: 'tenant';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: Tenant;
  };
}

export interface TestedProviderConnection extends ProviderConnection {
  readonly check: {
    readonly outcome: 'ok' | 'rejected' | 'unavailable';
    readonly provider_code: string | null;
    readonly message: string;
  };
}

export interface ThresholdDerivation {
  readonly derivation_path?: string;
  readonly curve?: string;
  readonly network_id?: string;
}

export interface Token extends TokenFacts {
  /** in circulation: the minted minus the redeemed units of completed orders */
  readonly supply: string;
  /** of orders that are `processing` */
  readonly minting: string;
  /** the cap less both */
  readonly available_to_mint: string;
}

export interface TokenEvent extends EveryEvent {
  readonly type: 'token.created' | 'token.deployed' | 'token.failed' | 'token.frozen' | 'token.unfrozen';
  readonly resource: {
    readonly type: 'token';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: TokenFacts;
  };
}

export interface TokenFacts {
  /** `tkn_` and a UUIDv7 */
  readonly id: string;
  /** `deploying`: its contract is not on the chain yet; `frozen`: no mints, redemptions or transfers; `failed`: it was never deployed */
  readonly status: 'deploying' | 'active' | 'frozen' | 'failed';
  /** 2 to 12 capital letters and digits, a letter first; none of the registry’s, and unique among your tokens */
  readonly symbol: string;
  readonly name: string;
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly decimals: number;
  /** the largest amount that may be in circulation */
  readonly supply_cap: string;
  readonly contract: string | null;
  /** `wal_` and a UUIDv7 */
  readonly issuer_wallet_id: string;
  /** the intent that deploys it, of the issuer’s wallet */
  readonly transaction_intent_id: string;
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  readonly freeze_reason: string | null;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface TokenOrder {
  /** `ord_` and a UUIDv7 */
  readonly id: string;
  readonly kind: 'mint' | 'redeem';
  /** `tkn_` and a UUIDv7 */
  readonly token_id: string;
  readonly status: 'created' | 'pending_approval' | 'reserve_check' | 'processing' | 'completed' | 'rejected' | 'failed';
  readonly sub_status: string | null;
  /** the token’s symbol */
  readonly asset: string;
  /** of the token */
  readonly amount: string;
  readonly destination: {
    readonly address: string;
  } | null;
  readonly source: {
    /** `wal_` and a UUIDv7 */
    readonly wallet_id: string;
  } | null;
  readonly reserve_reference: {
    readonly type: 'wallet' | 'attestation';
    readonly asset: string;
    /** `wal_` and a UUIDv7 */
    readonly wallet_id?: string;
    readonly reference?: string;
    readonly amount?: string;
    /** RFC 3339, UTC */
    readonly expires_at?: string;
  };
  readonly reserve_check: {
    readonly asset: string;
    /** at least */
    readonly required: string;
    /** found */
    readonly held: string;
    /** RFC 3339, UTC */
    readonly at: string;
  } | null;
  /** `wal_` and a UUIDv7 */
  readonly wallet_id: string;
  /** its transaction, an intent of `wallet_id` as soon as the order is approved; the same UUID as the order’s */
  readonly transaction_intent_id: string;
  readonly policy: {
    readonly name: string;
    readonly id: string;
    readonly version: number;
  };
  readonly decision_id: string;
  readonly risk_score: number;
  readonly screening_id: string | null;
  /** a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued */
  readonly initiator: string;
  readonly approvals: readonly ({
    /** a token’s id, or `tenant:<tenant>` for a sandbox token that was never issued */
    readonly by: string;
    readonly decision: 'approve' | 'reject';
    readonly comment: string | null;
    readonly reason: string | null;
    /** RFC 3339, UTC */
    readonly at: string;
  })[];
  readonly approvals_required: number;
  readonly approvers: readonly string[];
  readonly error: {
    readonly code: string;
    readonly message: string;
  } | null;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status_history: readonly ({
    readonly status: 'created' | 'pending_approval' | 'reserve_check' | 'processing' | 'completed' | 'rejected' | 'failed';
    readonly sub_status: string | null;
    /** RFC 3339, UTC */
    readonly at: string;
  })[];
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  readonly expires_at: string | null;
}

export interface TokenOrderEvent extends EveryEvent {
  readonly type: 'token.order.created' | 'token.order.pending_approval' | 'token.order.approval_recorded' | 'token.order.reserve_check' | 'token.order.processing' | 'token.order.completed' | 'token.order.rejected' | 'token.order.failed';
  readonly resource: {
    readonly type: 'token_order';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: TokenOrder;
  };
}

export interface TokenOrderPage {
  readonly orders: readonly TokenOrder[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface TokenPage {
  readonly tokens: readonly Token[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface TreasuryPlan {
  /** `pln_` and a UUIDv7 */
  readonly id: string;
  /** `stg_` and a UUIDv7 */
  readonly strategy_id: string;
  readonly strategy_version: number;
  readonly status: 'proposed' | 'pending_approval' | 'executing' | 'completed' | 'failed' | 'cancelled';
  readonly origin: 'request' | 'trigger' | 'proposal';
  readonly rationale: string | null;
  /** a token’s id, or `tenant:<tenant>` */
  readonly asked_by: string;
  readonly executed_by: string | null;
  /** US dollars, decimal */
  readonly total_value_usd: string;
  readonly positions: readonly ({
    readonly asset: string;
    /** decimal */
    readonly amount: string;
    /** US dollars, decimal */
    readonly value_usd: string;
    readonly weight_bps: number;
    /** as the strategy has it */
    readonly target_bps: number;
    /** above 0: too much of it */
    readonly drift_bps: number;
    readonly band_bps: number;
    readonly in_band: boolean;
  })[];
  readonly prices: readonly ({
    readonly asset: string;
    /** US dollars, decimal */
    readonly price_usd: string;
    /** RFC 3339, UTC */
    readonly as_of: string;
  })[];
  readonly trades: readonly ({
    readonly sell: {
      readonly asset: string;
      /** `wal_` and a UUIDv7 */
      readonly wallet_id: string;
      /** decimal */
      readonly amount: string;
    };
    readonly buy: {
      readonly asset: string;
      /** `wal_` and a UUIDv7 */
      readonly wallet_id: string;
      /** decimal */
      readonly amount: string;
      /** the least amount that the venue must give */
      readonly amount_min: string;
    };
    /** US dollars, decimal */
    readonly value_usd: string;
    /** US dollars, decimal */
    readonly cost_usd: string;
    /** what set its size */
    readonly constraint: 'proposal' | 'sell_target' | 'buy_target' | 'available' | 'cash_floor' | 'network_fee' | 'max_trade';
    readonly status: 'planned' | 'paying' | 'exchanging' | 'returning' | 'completed' | 'failed';
    readonly reason: string | null;
    /** to the venue account, then back from it */
    readonly transaction_intent_ids: readonly string[];
    readonly sold: string | null;
    readonly bought: string | null;
  })[];
  readonly skipped: readonly ({
    readonly asset: string;
    readonly constraint: 'in_band' | 'min_trade' | 'no_wallet' | 'cash_floor' | 'network_fee' | 'not_quoted' | 'costs' | 'max_trades';
  })[];
  readonly withheld: 'cooldown' | null;
  /** changes since the plan was made, only when a single plan is read; a stale plan is not executed */
  readonly stale: readonly ({
    readonly field: string;
    readonly issue: string;
    readonly message: string;
  })[];
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  /** RFC 3339, UTC */
  readonly expires_at: string;
}

export interface TreasuryPlanEvent extends EveryEvent {
  readonly type: 'treasury.plan.proposed' | 'treasury.plan.pending_approval' | 'treasury.plan.executing' | 'treasury.plan.updated' | 'treasury.plan.completed' | 'treasury.plan.failed' | 'treasury.plan.cancelled';
  readonly resource: {
    readonly type: 'treasury_plan';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: TreasuryPlan;
  };
}

export interface TreasuryPlanPage {
  readonly plans: readonly TreasuryPlan[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface TreasuryStrategyEvent extends EveryEvent {
  readonly type: 'treasury.strategy.created' | 'treasury.strategy.updated' | 'treasury.strategy.archived';
  readonly resource: {
    readonly type: 'treasury_strategy';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: Strategy;
  };
}

export interface TruncateFault extends EveryFault {
  readonly fault: 'truncate';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
  readonly direction?: 'in' | 'out' | 'both';
}

export interface TruncateFaultRequest extends TruncateFault {
  readonly expires_in_s?: number;
}

export interface UnfreezeTenant {
  /** why: 1 to 500 characters, not blank, without control and direction characters */
  readonly reason?: string;
}

export interface UnfreezeToken {
  /** 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
}

export interface UpdateProviderConnection {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name?: string;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** an object of strings: the fields that `credential_schema` of GET /v1/providers names; `sandbox` takes any. Never returned */
  readonly credentials?: Readonly<Record<string, string>>;
  /** change only this version; another one is 409 */
  readonly expected_version?: number;
}

export interface UpdateWallet {
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name?: string;
  readonly policy?: string | null;
  /** `human_required`: every intent needs an approval, and every signature of the signing API a witness. The strictest of all approval requirements applies */
  readonly approval_mode?: 'unspecified' | 'direct_allowed' | 'human_required' | 'UNSPECIFIED' | 'DIRECT_ALLOWED' | 'HUMAN_REQUIRED' | 'APPROVAL_MODE_UNSPECIFIED';
  /** whether the signing API may use the wallet’s key, or transaction intents alone. By default `allowed` in a sandbox, `intents_only` in production */
  readonly signing_api?: 'allowed' | 'intents_only';
  readonly external_id?: string | null;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** change only this version; another one is 409 */
  readonly expected_version?: number;
}

export interface UpdateWebhook {
  /** absolute URL without credentials and fragment; https in production */
  readonly url?: string;
  /** event types, prefixes such as "wallet.*", or "*" alone for all */
  readonly events?: readonly string[];
  readonly description?: string | null;
  readonly status?: 'enabled' | 'disabled';
}

export interface Vault {
  /** `vlt_` and a UUIDv7 */
  readonly id: string;
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name: string;
  readonly status: 'active' | 'archived';
  /** every key of the vault is bound to it: see docs/signing-api.md */
  readonly keystore_type: 'mock_threshold' | 'mpc_frost' | 'multisig_evm_wallet' | 'mpc_vendor' | 'hsm_pkcs11';
  readonly curve: 'secp256k1' | 'ed25519';
  readonly threshold: number;
  readonly total_nodes: number;
  /** `human_required`: every signature waits for a human’s witness */
  readonly approval_mode: 'unspecified' | 'direct_allowed' | 'human_required';
  readonly policy: string | null;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** `vky_` and a UUIDv7 */
  readonly primary_key_id: string;
  readonly key_count: number;
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  readonly archived_at: string | null;
  readonly archive_reason: string | null;
}

export interface VaultEvent extends EveryEvent {
  readonly type: 'vault.created' | 'vault.archived';
  readonly resource: {
    readonly type: 'vault';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: Vault;
  };
}

export interface VaultKey {
  /** `vky_` and a UUIDv7 */
  readonly id: string;
  /** `vlt_` and a UUIDv7 */
  readonly vault_id: string;
  readonly name: string | null;
  /** `deleted`: every node has confirmed that its share is gone */
  readonly status: 'active' | 'closing' | 'deleted';
  /** every key of the vault is bound to it: see docs/signing-api.md */
  readonly keystore_type: 'mock_threshold' | 'mpc_frost' | 'multisig_evm_wallet' | 'mpc_vendor' | 'hsm_pkcs11';
  readonly curve: 'secp256k1' | 'ed25519';
  /** the only scheme that nodes use for this key */
  readonly key_scheme: string;
  /** true for `mock_ecdsa`: its first signature gives the key to the coordinator */
  readonly key_exposed: boolean;
  readonly public_key: string | null;
  readonly jwk: {
    readonly kty: 'EC' | 'OKP';
    readonly crv: 'secp256k1' | 'Ed25519';
    /** base64url */
    readonly x: string;
    /** base64url; secp256k1 alone */
    readonly y?: string;
  } | null;
  readonly chain_code: string | null;
  readonly xpub: string | null;
  /** on the networks that verify the key’s scheme */
  readonly addresses: readonly ({
    readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
    readonly address: string;
  })[];
  /** for a multisig wallet: the nodes’ own keys */
  readonly owners: readonly ({
    readonly node_id: number;
    readonly address: string;
    /** compressed point, hex */
    readonly public_key: string;
  })[];
  /** the nodes that hold a share */
  readonly participants: readonly number[];
  /** RFC 3339, UTC */
  readonly created_at: string;
  readonly deleted_at: string | null;
}

export interface VaultKeyEvent extends EveryEvent {
  readonly type: 'vault.key_created' | 'vault.key_deleted';
  readonly resource: {
    readonly type: 'vault_key';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: VaultKey;
  };
}

export interface VaultKeyPage {
  readonly keys: readonly VaultKey[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface VaultPage {
  readonly vaults: readonly Vault[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface VaultSignature extends VaultSignatureSummary {
  readonly signature: string | null;
  readonly recovery_id: number | null;
  /** a compact JWS of purpose `vault_signature` */
  readonly policy_receipt: string;
  readonly receipt: DiagnosticReceipt | null;
  readonly checkpoint: SessionCheckpoint | null;
}

export interface VaultSignatureDryRun {
  readonly dry_run: boolean;
  readonly decision: 'allow' | 'require_approval' | 'deny';
  readonly reason: string;
  readonly reason_code: 'APPROVALS_NOT_SUPPORTED' | null;
  readonly policy: PolicyUsed;
  /** further policies that decided: the strictest wins */
  readonly also_policies: readonly PolicyUsed[];
  readonly matched_rules: readonly string[];
  readonly trace: readonly ({
    readonly rule: string;
    readonly effect: 'allow' | 'deny' | 'require_approval';
    readonly matched: boolean;
    /** `true`, `false`, or the reason why it could not be evaluated */
    readonly result: string;
  })[];
}

export interface VaultSignatureEvent extends EveryEvent {
  readonly type: 'vault.signature_completed' | 'vault.signature_pending' | 'vault.signature_denied';
  readonly resource: {
    readonly type: 'vault_signature';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: VaultSignatureSummary;
  };
}

export interface VaultSignatureSummary {
  /** `vsg_` and a UUIDv7 */
  readonly id: string;
  /** `vlt_` and a UUIDv7 */
  readonly vault_id: string;
  /** `vky_` and a UUIDv7 */
  readonly key_id: string;
  readonly status: 'completed' | 'pending_human_approval' | 'accepted' | 'denied';
  readonly signing_session_id: string | null;
  readonly message_type: 'raw' | 'digest';
  /** SHA-256 of the message as sent */
  readonly message_sha256: string;
  readonly derivation_path: string;
  readonly public_key: string | null;
  /** `dec_` and a UUIDv7 */
  readonly policy_decision_id: string;
  /** of the policies */
  readonly reason: string;
  readonly reason_code: 'APPROVALS_NOT_SUPPORTED' | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
}

export interface VendorFailsFault extends EveryFault {
  readonly fault: 'vendor_fails';
  readonly for_ms?: number;
  readonly by: 'delay' | 'reject' | 'never_answers' | 'answers_twice' | 'lies' | 'callback_lost' | 'callback_out_of_order' | 'unavailable';
  readonly by_ms?: number;
}

export interface VendorFailsFaultRequest extends VendorFailsFault {
  readonly expires_in_s?: number;
}

export interface VoteOnChangeProposal {
  /** `approve` by default */
  readonly decision?: 'approve' | 'reject';
  /** 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly comment?: string;
  /** required to reject: 1 to 500 characters, not blank, without control and direction characters but line ends */
  readonly reason?: string;
  /** decide on this version only; another one is 409 */
  readonly expected_version?: number;
}

export interface Wallet {
  /** `wal_` and a UUIDv7 */
  readonly id: string;
  /** 1 to 100 characters, not blank, without control and direction characters */
  readonly name: string;
  readonly provider: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted' | 'sandbox';
  /** `pcn_` and a UUIDv7 */
  readonly provider_connection_id: string;
  /** the provider’s own id of the wallet */
  readonly provider_wallet_id: string;
  readonly status: 'active' | 'frozen' | 'archived';
  readonly environment: 'sandbox' | 'production';
  /** CAIP-2 id of the network */
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  readonly addresses: readonly ({
    /** CAIP-2 id of the network */
    readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
    readonly address: string;
  })[];
  readonly public_key: string | null;
  readonly key_scheme: 'mock_ecdsa' | 'frost_ed25519' | null;
  /** true for `mock_ecdsa`: its first signature gives the key to the coordinator, so it has no threshold security */
  readonly key_exposed: boolean;
  readonly assets: readonly WalletAsset[];
  /** `human_required`: every intent needs an approval, and every signature of the signing API a witness. The strictest of all approval requirements applies */
  readonly approval_mode: 'unspecified' | 'direct_allowed' | 'human_required';
  /** whether the signing API may use the wallet’s key, or transaction intents alone. By default `allowed` in a sandbox, `intents_only` in production */
  readonly signing_api: 'allowed' | 'intents_only';
  readonly policy: string | null;
  readonly external_id: string | null;
  /** a JSON object of up to 50 keys, 8 levels and 16384 bytes */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** rises by one with every change of the record, but not of balances */
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
  readonly archived_at: string | null;
  readonly archive_reason: string | null;
}

export interface WalletAllowance {
  readonly asset: string;
  readonly contract: string;
  /** the account that may move so much */
  readonly spender: string;
  readonly amount: string | null;
}

export interface WalletAllowancePage {
  readonly allowances: readonly WalletAllowance[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface WalletAsset {
  readonly symbol: string;
  /** the wallet’s balance: `available` and `pending` */
  readonly balance: string;
  /** the amount that new transfers may use */
  readonly available: string;
  /** reserved for open transfers, and as the reserve of token orders in processing */
  readonly pending: string;
  /** CAIP-2 id of the network */
  readonly network: 'eip155:11155111' | 'bip122:000000000933ea01ad0ee984209779ba' | 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  /** maximum number of digits after the decimal point */
  readonly decimals: number;
  readonly contract: string | null;
}

export interface WalletCorrection extends Wallet {
  readonly correction: {
    /** id of the exception */
    readonly cause: string;
    readonly note: string | null;
    readonly entries: readonly ({
      readonly asset: string;
      /** signed decimal */
      readonly amount: string;
    })[];
  };
}

export interface WalletCorrectionEvent extends EveryEvent {
  readonly type: 'wallet.balance_corrected';
  readonly resource: {
    readonly type: 'wallet';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: WalletCorrection;
  };
}

export interface WalletDeposit extends Wallet {
  readonly deposit: {
    readonly asset: string;
    /** decimal */
    readonly amount: string;
    readonly tx_id: string;
    readonly from_address: string | null;
    /** of `pending` ones a reorganisation may still take the block */
    readonly status: 'final' | 'pending' | 'reverted';
  };
}

export interface WalletDepositEvent extends EveryEvent {
  readonly type: 'wallet.deposit_received' | 'wallet.deposit_reverted' | 'wallet.deposit_finalized';
  readonly resource: {
    readonly type: 'wallet';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: WalletDeposit;
  };
}

export interface WalletEvent extends EveryEvent {
  readonly type: 'wallet.created' | 'wallet.updated' | 'wallet.frozen' | 'wallet.unfrozen' | 'wallet.archived';
  readonly resource: {
    readonly type: 'wallet';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: Wallet;
  };
}

export interface WalletMovement {
  /** of the wallet, from 1, without gaps */
  readonly number: number;
  /** `opening`: what the wallet began with; `exchange`: at a venue; `reorg`: what a reorganisation has undone; `correction`: of reconciliation */
  readonly kind: 'opening' | 'deposit' | 'transfer' | 'mint' | 'burn' | 'fee' | 'exchange' | 'reorg' | 'correction';
  readonly asset: string;
  /** decimal; below zero: it left the wallet */
  readonly amount: string;
  /** of the asset after it, `available` and `pending` */
  readonly balance: string;
  readonly source_id: string | null;
  readonly tx_id: string | null;
  readonly counterparty: string | null;
  /** RFC 3339, UTC */
  readonly created_at: string;
}

export interface WalletMovementPage {
  readonly movements: readonly WalletMovement[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface WalletPage {
  readonly wallets: readonly Wallet[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface WalletWithdrawal extends Wallet {
  readonly withdrawal: {
    readonly asset: string;
    /** decimal */
    readonly amount: string;
    readonly tx_id: string;
    readonly to_address: string;
    /** the account that the wallet had allowed to take it */
    readonly spender: string;
  };
}

export interface WalletWithdrawalEvent extends EveryEvent {
  readonly type: 'wallet.allowance_used';
  readonly resource: {
    readonly type: 'wallet';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: WalletWithdrawal;
  };
}

export interface Webhook extends WebhookSettings {
  readonly queue: {
    /** deliveries in flight */
    readonly outstanding: number;
    /** deliveries that wait for their next try */
    readonly retrying: number;
    /** events that the webhook’s outbox has not read yet */
    readonly behind: number;
  };
  readonly failing_since: string | null;
  readonly previous_secret_expires_at: string | null;
}

export interface WebhookEvent extends EveryEvent {
  readonly type: 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.ping' | 'webhook.suspended';
  readonly resource: {
    readonly type: 'webhook';
    readonly id: string;
    readonly version: number;
  };
  readonly data: {
    readonly object: WebhookSettings;
  };
}

export interface WebhookPage {
  readonly webhooks: readonly Webhook[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface WebhookSettings {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly status: 'enabled' | 'disabled' | 'suspended';
  readonly suspended_at: string | null;
  readonly version: number;
  /** RFC 3339, UTC */
  readonly created_at: string;
  /** RFC 3339, UTC */
  readonly updated_at: string;
}

export interface WithholdFault extends EveryFault {
  readonly fault: 'withhold';
  readonly for_ms?: number;
  readonly target: string | readonly string[];
}

export interface WithholdFaultRequest extends WithholdFault {
  readonly expires_in_s?: number;
}

export interface WorkerStalledFault extends EveryFault {
  readonly fault: 'worker_stalled';
  readonly for_ms: number;
}

export interface WorkerStalledFaultRequest extends WorkerStalledFault {
  readonly expires_in_s?: number;
}

export interface ConnectionsApi {
  /** Connect a custody provider: `POST /v1/provider-connections`, scope `providers:write`. */
  create(body: CreateProviderConnection, options?: CallOptions): Promise<ProviderConnection>;
  /** List connections, newest first: `GET /v1/provider-connections`, scope `providers:read`. */
  list(query?: { limit?: number; cursor?: string; provider?: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted' | 'sandbox'; status?: 'connected' | 'degraded' | 'error' | 'disconnected' }, options?: CallOptions): Pages<ProviderConnection, ProviderConnectionPage>;
  /** Connect a provider, or the sandbox with funded test wallets: `POST /v1/providers/connect`, scope `providers:write`. */
  connect(body: ConnectProvider, options?: CallOptions): Promise<ConnectedProvider>;
  /** List the providers, their credentials, and the connections to them: `GET /v1/providers`, scope `providers:read`. */
  providers(options?: CallOptions): Promise<ProviderList>;
  /** Read a connection: `GET /v1/provider-connections/:id`, scope `providers:read`. */
  get(id: string, options?: CallOptions): Promise<ProviderConnection>;
  /** Rename a connection, replace its metadata or its credentials: `PATCH /v1/provider-connections/:id`, scope `providers:write`. */
  update(id: string, body: UpdateProviderConnection, options?: CallOptions): Promise<ProviderConnection>;
  /** Check a connection with its provider: `POST /v1/provider-connections/:id/test`, scope `providers:write`. */
  test(id: string, options?: CallOptions): Promise<TestedProviderConnection>;
  /** End a connection and delete its credentials: `POST /v1/provider-connections/:id/disconnect`, scope `providers:write`. */
  disconnect(id: string, options?: CallOptions): Promise<ProviderConnection>;
}

export interface WalletsApi {
  /** Create a wallet: `POST /v1/wallets`, scope `wallets:write`. */
  create(body: CreateWallet, options?: CallOptions): Promise<Wallet>;
  /** List wallets, newest first: `GET /v1/wallets`, scope `wallets:read`. */
  list(query?: { provider?: 'fireblocks' | 'bitgo' | 'copper' | 'self_hosted' | 'sandbox'; provider_connection_id?: string; status?: 'active' | 'frozen' | 'archived'; asset?: string; external_id?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<Wallet, WalletPage>;
  /** Change a wallet’s settings: `PATCH /v1/wallets/:id`, scope `wallets:write`. */
  update(id: string, body: UpdateWallet, options?: CallOptions): Promise<Wallet>;
  /** Read a wallet and its balances: `GET /v1/wallets/:id`, scope `wallets:read`. */
  get(id: string, options?: CallOptions): Promise<Wallet>;
  /** Give a Bitcoin wallet one more address that receives: `POST /v1/wallets/:id/addresses`, scope `wallets:write`. */
  addAddress(id: string, options?: CallOptions): Promise<ReceiveAddress>;
  /** List a wallet’s receive addresses, and which are used: `GET /v1/wallets/:id/addresses`, scope `wallets:read`. */
  addresses(id: string, options?: CallOptions): Promise<ReceiveAddressList>;
  /** List what changed a wallet’s balances, newest first: `GET /v1/wallets/:id/movements`, scope `wallets:read`. */
  movements(id: string, query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<WalletMovement, WalletMovementPage>;
  /** List what a wallet lets other accounts move: `GET /v1/wallets/:id/allowances`, scope `wallets:read`. */
  allowances(id: string, query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<WalletAllowance, WalletAllowancePage>;
  /** Archive a wallet, for good: `POST /v1/wallets/:id/archive`, scope `wallets:write`. */
  archive(id: string, body?: ArchiveWallet, options?: CallOptions): Promise<Wallet>;
  /** Freeze a wallet: it takes no new intents: `POST /v1/wallets/:id/freeze`, scope `wallets:write`. */
  freeze(id: string, options?: CallOptions): Promise<Wallet>;
  /** Let a frozen wallet take intents again: `POST /v1/wallets/:id/unfreeze`, scope `wallets:write`. */
  unfreeze(id: string, options?: CallOptions): Promise<Wallet>;
}

export interface IntentsApi {
  /** Submits a transfer: it is screened, scored and decided at once: `POST /v1/wallets/:id/transaction-intents`, scope `intents:write`. */
  create(id: string, body: CreateTransactionIntent, options?: CallOptions): Promise<Intent>;
  /** Submits a transfer: it is screened, scored and decided at once, without effect: `POST /v1/wallets/:id/transaction-intents`, scope `intents:write`. */
  dryRun(id: string, body: CreateTransactionIntent, options?: CallOptions): Promise<IntentDryRun>;
  /** Lists the intents of a wallet, the newest first: `GET /v1/wallets/:id/transaction-intents`, scope `intents:read`. */
  list(id: string, query?: { status?: 'created' | 'screening' | 'pending_approval' | 'approved' | 'signing' | 'broadcasting' | 'confirming' | 'completed' | 'denied' | 'rejected' | 'expired' | 'cancelled' | 'failed'; asset?: string; created_after?: string; created_before?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<Intent, IntentPage>;
  /** Estimates a transfer: its fee by the present market, and the decisions about it: `POST /v1/wallets/:id/transaction-intents/estimate`, scope `intents:write`. */
  estimate(id: string, body: CreateTransactionIntent, options?: CallOptions): Promise<IntentDryRun>;
  /** Asks for the signature of a message or of typed data: an intent that moves nothing: `POST /v1/wallets/:id/messages`, scope `intents:write`. */
  signMessage(id: string, body: CreateMessageIntent, options?: CallOptions): Promise<Intent>;
  /** Asks for the signature of a message or of typed data: an intent that moves nothing, without effect: `POST /v1/wallets/:id/messages`, scope `intents:write`. */
  dryRunMessage(id: string, body: CreateMessageIntent, options?: CallOptions): Promise<IntentDryRun>;
  /** Calls a token’s contract with data that you have encoded: `POST /v1/wallets/:id/contract-calls`, scope `intents:write`. */
  callContract(id: string, body: CreateContractCallIntent, options?: CallOptions): Promise<Intent>;
  /** Calls a token’s contract with data that you have encoded, without effect: `POST /v1/wallets/:id/contract-calls`, scope `intents:write`. */
  dryRunContractCall(id: string, body: CreateContractCallIntent, options?: CallOptions): Promise<IntentDryRun>;
  /** Lists the intents of all wallets, the newest first: `GET /v1/transaction-intents`, scope `intents:read`. */
  listAll(query?: { status?: 'created' | 'screening' | 'pending_approval' | 'approved' | 'signing' | 'broadcasting' | 'confirming' | 'completed' | 'denied' | 'rejected' | 'expired' | 'cancelled' | 'failed'; provider_connection_id?: string; external_id?: string; metadata?: string; awaiting_my_vote?: boolean; created_after?: string; created_before?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<Intent, IntentPage>;
  /** Reads an intent: `GET /v1/wallets/:id/transaction-intents/:txId`, scope `intents:read`. */
  get(id: string, txId: string, options?: CallOptions): Promise<Intent>;
  /** Approves or rejects an intent that awaits approval: `POST /v1/wallets/:id/transaction-intents/:txId/approve`, scope `intents:approve`. */
  approve(id: string, txId: string, body?: ApproveTransactionIntent, options?: CallOptions): Promise<Intent>;
  /** Cancels an intent that is not signed yet: `POST /v1/wallets/:id/transaction-intents/:txId/cancel`, scope `intents:write`. */
  cancel(id: string, txId: string, body?: CancelTransactionIntent, options?: CallOptions): Promise<Intent>;
  /** Replaces a transaction that waits below the market, with a higher fee: `POST /v1/wallets/:id/transaction-intents/:txId/replace`, scope `intents:write`. */
  replace(id: string, txId: string, body: ReplaceTransactionIntent, options?: CallOptions): Promise<Intent>;
}

export interface SessionsApi {
  /** List sessions: keys and signatures, newest first: `GET /v1/sessions`, scope `signing:read`. */
  list(query?: { kind?: 'dkg' | 'signing'; state?: 'RECEIPT_STATE_UNSPECIFIED' | 'RECEIPT_STATE_ACCEPTED' | 'RECEIPT_STATE_DENIED' | 'RECEIPT_STATE_PENDING_HUMAN_APPROVAL' | 'RECEIPT_STATE_RESUMED' | 'RECEIPT_STATE_EXPIRED' | 'RECEIPT_STATE_REPLAY_REJECTED' | 'RECEIPT_STATE_REVOKED' | 'RECEIPT_STATE_BACKEND_COMPLETED' | 'RECEIPT_STATE_BACKEND_FAILED' | 'RECEIPT_STATE_UNSUPPORTED_CLIENT_CONTRACT_VERSION'; limit?: number; cursor?: string }, options?: CallOptions): Pages<Session, SessionPage>;
  /** Read a session: its state, and its signature or public key: `GET /v1/sessions/:id`, scope `signing:read`. */
  get(id: string, options?: CallOptions): Promise<Session>;
}

export interface EventsApi {
  /** List events, oldest first: `GET /v1/events`, scope `events:read`. */
  list(query?: { type?: string; resource_id?: string; after_sequence?: number; created_after?: string; created_before?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<Event, EventPage>;
  /** Reads an event: `GET /v1/events/:id`, scope `events:read`. */
  get(id: string, options?: CallOptions): Promise<Event>;
}

export interface WebhooksApi {
  /** Register a webhook: `POST /v1/webhooks`, scope `webhooks:write`. */
  create(body: CreateWebhook, options?: CallOptions): Promise<NewWebhook>;
  /** List webhooks, newest first: `GET /v1/webhooks`, scope `webhooks:read`. */
  list(query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<Webhook, WebhookPage>;
  /** Read a webhook: `GET /v1/webhooks/:id`, scope `webhooks:read`. */
  get(id: string, options?: CallOptions): Promise<Webhook>;
  /** Change a webhook: `PATCH /v1/webhooks/:id`, scope `webhooks:write`. */
  update(id: string, body: UpdateWebhook, options?: CallOptions): Promise<Webhook>;
  /** Remove a webhook: `DELETE /v1/webhooks/:id`, scope `webhooks:write`. */
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Make a new secret: `POST /v1/webhooks/:id/rotate-secret`, scope `webhooks:write`. */
  rotateSecret(id: string, body?: RotateWebhookSecret, options?: CallOptions): Promise<NewWebhook>;
  /** Send a test event: `POST /v1/webhooks/:id/ping`, scope `webhooks:write`. */
  ping(id: string, options?: CallOptions): Promise<Ping>;
  /** List deliveries with every try, newest event first: `GET /v1/webhooks/:id/deliveries`, scope `webhooks:read`. */
  deliveries(id: string, query?: { status?: 'queued' | 'retrying' | 'delivered' | 'failed'; event_type?: string; created_after?: string; created_before?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<Delivery, DeliveryPage>;
  /** Read a delivery with its tries and the latest answer: `GET /v1/webhooks/:id/deliveries/:deliveryId`, scope `webhooks:read`. */
  delivery(id: string, deliveryId: string, options?: CallOptions): Promise<DeliveryWithAnswer>;
  /** Deliver an event again: `POST /v1/webhooks/:id/deliveries/:deliveryId/redeliver`, scope `webhooks:write`. */
  redeliver(id: string, deliveryId: string, options?: CallOptions): Promise<Delivery>;
  /** Deliver a range of events again: `POST /v1/webhooks/:id/redeliver`, scope `webhooks:write`. */
  redeliverRange(id: string, body?: RedeliverRange, options?: CallOptions): Promise<Redelivery>;
}

export interface PoliciesApi {
  /** Make a policy, or the next version of one: `POST /v1/policies`, scope `policies:write`. */
  put(body: PutPolicy, options?: CallOptions): Promise<Policy>;
  /** List the policies in their newest versions: `GET /v1/policies`, scope `policies:read`. */
  list(query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<Policy, PolicyPage>;
  /** Read a version of a policy: `GET /v1/policies/:id`, scope `policies:read`. */
  get(id: string, query?: { version?: number }, options?: CallOptions): Promise<Policy>;
  /** Evaluate a policy without effect: `POST /v1/policies/:id/evaluate`, scope `policies:write`. */
  evaluate(id: string, body: EvaluatePolicy, options?: CallOptions): Promise<PolicyEvaluation>;
  /** List the decisions of a policy: `GET /v1/policies/:id/decisions`, scope `policies:read`. */
  decisions(id: string, query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<PolicyDecision, PolicyDecisionPage>;
  /** Read the keys that verify policy receipts: `GET /v1/.well-known/jwks.json`, no token. */
  receiptKeys(options?: CallOptions): Promise<KeySet>;
}

export interface RiskApi {
  /** Score a transaction: `POST /v1/risk/evaluate`, scope `risk:write`. */
  evaluate(body: EvaluateRisk, options?: CallOptions): Promise<RiskScore>;
  /** Read the newest score of a transaction: `GET /v1/risk/scores/:txId`, scope `risk:read`. */
  score(txId: string, options?: CallOptions): Promise<RiskScore>;
  /** Make a risk rule, or the next version of one: `POST /v1/risk/rules`, scope `risk:write`. */
  putRule(body: PutRiskRule, options?: CallOptions): Promise<RiskRule>;
  /** List the risk rules of the tenant: `GET /v1/risk/rules`, scope `risk:read`. */
  rules(query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<RiskRule, RiskRulePage>;
  /** Change mode, points or priority of a risk rule: `PATCH /v1/risk/rules/:id`, scope `risk:write`. */
  changeRule(id: string, body: ChangeRiskRule, options?: CallOptions): Promise<RiskRule>;
  /** Remove a risk rule: `DELETE /v1/risk/rules/:id`, scope `risk:write`. */
  deleteRule(id: string, options?: CallOptions): Promise<void>;
}

export interface ComplianceApi {
  /** Screen an address or a name: `POST /v1/compliance/screen`, scope `compliance:write`. */
  screen(body: ScreenSubject, options?: CallOptions): Promise<ComplianceScreening>;
  /** Read a screening report: `GET /v1/compliance/reports/:id`, scope `compliance:read`. */
  report(id: string, options?: CallOptions): Promise<ComplianceReport>;
  /** List the compliance lists in their newest versions: `GET /v1/compliance/lists`, scope `compliance:read`. */
  lists(query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<ComplianceList, ComplianceListPage>;
  /** Make a list, or the next version of one: `POST /v1/compliance/lists`, scope `compliance:write`. */
  putList(body: PutComplianceList, options?: CallOptions): Promise<ComplianceList>;
  /** Read a version of a list with its entries: `GET /v1/compliance/lists/:id`, scope `compliance:read`. */
  getList(id: string, query?: { version?: number }, options?: CallOptions): Promise<ComplianceListVersion>;
}

export interface TreasuryApi {
  /** Make a strategy: `POST /v1/treasury/strategies`, scope `treasury:write`. */
  createStrategy(body: PutStrategy, options?: CallOptions): Promise<Strategy>;
  /** List the strategies in their newest versions: `GET /v1/treasury/strategies`, scope `treasury:read`. */
  strategies(query?: { status?: 'active' | 'archived'; limit?: number; cursor?: string }, options?: CallOptions): Pages<Strategy, StrategyPage>;
  /** Read a version of a strategy: `GET /v1/treasury/strategies/:id`, scope `treasury:read`. */
  strategy(id: string, query?: { version?: number }, options?: CallOptions): Promise<Strategy>;
  /** Make the next version of a strategy: `POST /v1/treasury/strategies/:id/versions`, scope `treasury:write`. */
  putStrategyVersion(id: string, body: PutStrategy, options?: CallOptions): Promise<Strategy>;
  /** End a strategy for good: `POST /v1/treasury/strategies/:id/archive`, scope `treasury:write`. */
  archiveStrategy(id: string, options?: CallOptions): Promise<Strategy>;
  /** List what the strategies’ wallets hold, at the present prices, and its drift: `GET /v1/treasury/positions`, scope `treasury:read`. */
  positions(query?: { strategy_id?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<StrategyPosition, StrategyPositionPage>;
  /** Plan the trades that bring a strategy back to its targets: `POST /v1/treasury/rebalance`, scope `treasury:write`. */
  rebalance(body: Rebalance, options?: CallOptions): Promise<TreasuryPlan>;
  /** List the plans: `GET /v1/treasury/plans`, scope `treasury:read`. */
  plans(query?: { strategy_id?: string; status?: 'proposed' | 'pending_approval' | 'executing' | 'completed' | 'failed' | 'cancelled'; limit?: number; cursor?: string }, options?: CallOptions): Pages<TreasuryPlan, TreasuryPlanPage>;
  /** Read a plan, and the changes since it was made: `GET /v1/treasury/plans/:id`, scope `treasury:read`. */
  plan(id: string, options?: CallOptions): Promise<TreasuryPlan>;
  /** Have a plan executed: `POST /v1/treasury/plans/:id/execute`, scope `treasury:write`. */
  executePlan(id: string, options?: CallOptions): Promise<TreasuryPlan>;
  /** Cancel a plan before its execution: `POST /v1/treasury/plans/:id/cancel`, scope `treasury:write`. */
  cancelPlan(id: string, options?: CallOptions): Promise<TreasuryPlan>;
}

export interface SandboxApi {
  /** Read prices and the venue’s behaviour: `GET /v1/sandbox/market`, scope `treasury:read`. */
  market(options?: CallOptions): Promise<Market>;
  /** Set prices, or the venue’s behaviour: `POST /v1/sandbox/market`, scope `treasury:write`. */
  setMarket(body: SetMarket, options?: CallOptions): Promise<Market>;
  /** Make a sandbox provider’s statements differ from its transfers: `POST /v1/sandbox/provider-connections/:id/drift`, scope `recon:write`. */
  addDrift(id: string, body: AddReconDrift, options?: CallOptions): Promise<ReconDrift>;
  /** List the drifts of a connection: `GET /v1/sandbox/provider-connections/:id/drift`, scope `recon:read`. */
  drifts(id: string, options?: CallOptions): Pages<ReconDrift, ReconDriftPage>;
  /** Remove the drifts of a connection: `DELETE /v1/sandbox/provider-connections/:id/drift`, scope `recon:write`. */
  removeDrifts(id: string, options?: CallOptions): Promise<void>;
  /** Arm a fault: `POST /v1/sandbox/faults`, scope `sandbox:admin`. */
  createFault(body: CreateSandboxFault, options?: CallOptions): Promise<SandboxFault>;
  /** List the faults that are armed, and those that ended lately: `GET /v1/sandbox/faults`, scope `sandbox:admin`. */
  faults(options?: CallOptions): Pages<SandboxFault, SandboxFaultPage>;
  /** Read a fault: `GET /v1/sandbox/faults/:id`, scope `sandbox:admin`. */
  fault(id: string, options?: CallOptions): Promise<SandboxFault>;
  /** Remove a fault, and end its effect: `DELETE /v1/sandbox/faults/:id`, scope `sandbox:admin`. */
  deleteFault(id: string, options?: CallOptions): Promise<void>;
  /** Remove every fault: held frames arrive, paused processes resume: `POST /v1/sandbox/faults/reset`, scope `sandbox:admin`. */
  resetFaults(options?: CallOptions): Promise<ResetSandboxFaultsResponse>;
  /** Announce that a step of a scenario begins, to trigger faults that name it: `POST /v1/sandbox/steps`, scope `sandbox:admin`. */
  beginStep(body: BeginSandboxStep, options?: CallOptions): Promise<void>;
  /** List the nodes and the other processes, with their health: `GET /v1/sandbox/nodes`, scope `sandbox:admin`. */
  nodes(options?: CallOptions): Pages<SandboxNode, SandboxNodePage>;
  /** End a process at once, as by SIGKILL: `POST /v1/sandbox/nodes/:node/crash`, scope `sandbox:admin`. */
  crashNode(node: string, body?: CrashSandboxNode, options?: CallOptions): Promise<SandboxNode>;
  /** Restart or start a process: `POST /v1/sandbox/nodes/:node/restart`, scope `sandbox:admin`. */
  restartNode(node: string, options?: CallOptions): Promise<SandboxNode>;
  /** Pause a process, as by SIGSTOP: `POST /v1/sandbox/nodes/:node/pause`, scope `sandbox:admin`. */
  pauseNode(node: string, options?: CallOptions): Promise<SandboxNode>;
  /** Resume a process: `POST /v1/sandbox/nodes/:node/resume`, scope `sandbox:admin`. */
  resumeNode(node: string, options?: CallOptions): Promise<SandboxNode>;
  /** Read a session: its state, its culprits, its transcript: `GET /v1/sandbox/sessions/:id`, scope `signing:read`. */
  session(id: string, query?: { limit?: number }, options?: CallOptions): Promise<SandboxSession>;
  /** What a node would submit to a signing session now; nothing is submitted: `POST /v1/sandbox/sessions/:id/nodes/:node/partial`, scope `sandbox:admin`. */
  previewPartial(id: string, node: string, options?: CallOptions): Promise<SandboxPartial>;
  /** Begin the generation of a key that nodes do not share; complete it with `POST /v1/dkg/shares`: `POST /v1/sandbox/keys`, scope `sandbox:admin`. */
  beginKey(body: BeginSandboxKey, options?: CallOptions): Promise<SandboxKey>;
  /** Give the nodes of a key new shares of it: `POST /v1/sandbox/keys/:id/refresh`, scope `sandbox:admin`. */
  refreshKey(id: string, body: RefreshSandboxKey, options?: CallOptions): Promise<SandboxKeyRefresh>;
  /** List the versions of a key’s shares, newest first: `GET /v1/sandbox/keys/:id/versions`, scope `signing:read`. */
  keyVersions(id: string, options?: CallOptions): Pages<SandboxKeyVersion, SandboxKeyVersionPage>;
  /** Read the sandbox’s clock: `GET /v1/sandbox/clock`, scope `sandbox:admin`. */
  clock(options?: CallOptions): Promise<SandboxClock>;
  /** Advance every process’s clock, so that expiry needs no waiting: `POST /v1/sandbox/clock`, scope `sandbox:admin`. */
  advanceClock(body: AdvanceSandboxClock, options?: CallOptions): Promise<SandboxClock>;
  /** Take a snapshot of everything that is stored: Redis and the nodes’ stores: `POST /v1/sandbox/snapshots`, scope `sandbox:admin`. */
  takeSnapshot(body?: TakeSandboxSnapshot, options?: CallOptions): Promise<SandboxSnapshot>;
  /** List the snapshots: `GET /v1/sandbox/snapshots`, scope `sandbox:admin`. */
  snapshots(options?: CallOptions): Pages<SandboxSnapshot, SandboxSnapshotPage>;
  /** Go back to a snapshot: `POST /v1/sandbox/snapshots/:id/restore`, scope `sandbox:admin`. */
  restoreSnapshot(id: string, options?: CallOptions): Promise<RestoreSandboxSnapshotResponse>;
  /** Remove a snapshot: `DELETE /v1/sandbox/snapshots/:id`, scope `sandbox:admin`. */
  deleteSnapshot(id: string, options?: CallOptions): Promise<void>;
  /** Start afresh: no faults, no data but access tokens, the right time: `POST /v1/sandbox/reset`, scope `sandbox:admin`. */
  reset(options?: CallOptions): Promise<ResetSandboxResponse>;
  /** Read the fee market of a simulated chain: `GET /v1/sandbox/chains/:network/fee-market`, scope `sandbox:admin`. */
  feeMarket(network: string, options?: CallOptions): Promise<SandboxFeeMarket>;
  /** Move the fee market of a simulated chain: `POST /v1/sandbox/chains/:network/fee-market`, scope `sandbox:admin`. */
  moveFeeMarket(network: string, body: MoveSandboxFeeMarket, options?: CallOptions): Promise<SandboxFeeMarket>;
  /** Read after how many blocks intents of a simulated chain complete and are final, and its newest block: `GET /v1/sandbox/chains/:network/confirmations`, scope `sandbox:admin`. */
  confirmations(network: string, options?: CallOptions): Promise<SandboxConfirmations>;
  /** Set after how many blocks intents of a simulated chain complete and are final: `POST /v1/sandbox/chains/:network/confirmations`, scope `sandbox:admin`. */
  setConfirmations(network: string, body: SetSandboxConfirmations, options?: CallOptions): Promise<SandboxConfirmations>;
  /** Undo the newest blocks of a simulated chain: `POST /v1/sandbox/chains/:network/reorg`, scope `sandbox:admin`. */
  reorganize(network: string, body: ReorganizeSandboxChain, options?: CallOptions): Promise<SandboxReorganization>;
  /** Read what the fault injector saw, of all tenants: `GET /v1/sandbox/recording`, scope `sandbox:admin`. */
  recording(query?: { after?: number; limit?: number; session?: string; tenant?: string }, options?: CallOptions): Promise<SandboxRecording>;
  /** Read how your own webhook receiver should behave now, by the armed faults: `GET /v1/sandbox/receiver`, scope `sandbox:admin`. */
  receiver(options?: CallOptions): Promise<SandboxReceiver>;
  /** List the last requests of the caller’s tenant over REST and gRPC, newest first: `GET /v1/sandbox/requests`, scope `sandbox:admin`. */
  requests(query?: { limit?: number; request_id?: string }, options?: CallOptions): Pages<SandboxRequestLine, SandboxRequestLinePage>;
  /** Read one of these requests: its body and its answer: `GET /v1/sandbox/requests/:id`, scope `sandbox:admin`. */
  request(id: string, options?: CallOptions): Promise<SandboxRequest>;
  /** Read what waits: calls, deliveries, and nonces that nodes made ahead: `GET /v1/sandbox/queues`, scope `sandbox:admin`. */
  queues(options?: CallOptions): Promise<SandboxQueues>;
  /** Report the load that a generator intends now: `POST /v1/sandbox/load`, scope `sandbox:admin`. */
  reportLoad(body: SandboxIntendedLoad, options?: CallOptions): Promise<void>;
  /** Run a scenario file on this sandbox; one at a time: `POST /v1/sandbox/scenarios`, scope `sandbox:admin`. */
  startScenario(body: StartSandboxScenario, options?: CallOptions): Promise<SandboxScenario>;
  /** Read the scenario that runs, or that ran last: `GET /v1/sandbox/scenarios`, scope `sandbox:admin`. */
  scenario(options?: CallOptions): Promise<GetSandboxScenarioResponse>;
  /** End the scenario that runs, and heal the sandbox: `DELETE /v1/sandbox/scenarios`, scope `sandbox:admin`. */
  endScenario(options?: CallOptions): Promise<SandboxScenario>;
  /** Make a receiver of webhooks at this gateway, and its webhook: `POST /v1/sandbox/inboxes`, scope `sandbox:admin`. */
  createInbox(body?: CreateSandboxInbox, options?: CallOptions): Promise<NewSandboxInbox>;
  /** List the inboxes of the caller’s tenant, newest first: `GET /v1/sandbox/inboxes`, scope `sandbox:admin`. */
  inboxes(options?: CallOptions): Pages<SandboxInboxSummary, SandboxInboxSummaryPage>;
  /** Read an inbox and its deliveries: `GET /v1/sandbox/inboxes/:id`, scope `sandbox:admin`. */
  inbox(id: string, options?: CallOptions): Promise<SandboxInbox>;
  /** Remove an inbox and its webhook: `DELETE /v1/sandbox/inboxes/:id`, scope `sandbox:admin`. */
  deleteInbox(id: string, options?: CallOptions): Promise<void>;
  /** Issue a token: another person of the caller’s tenant, or of a tenant of its own: `POST /v1/sandbox/tokens`, scope `sandbox:admin`. */
  issueToken(body?: IssueSandboxToken, options?: CallOptions): Promise<SandboxToken>;
  /** Read whose an access token is: its tenant, and its scopes: `POST /v1/sandbox/tokens/owner`, scope `sandbox:admin`. */
  tokenOwner(body: ReadSandboxTokenOwner, options?: CallOptions): Promise<SandboxTokenOwner>;
}

export interface VaultsApi {
  /** Create a vault with its first key: `POST /v1/vaults`, scope `vaults:write`. */
  create(body: CreateVault, options?: CallOptions): Promise<Vault>;
  /** List vaults, newest first: `GET /v1/vaults`, scope `vaults:read`. */
  list(query?: { status?: 'active' | 'archived'; limit?: number; cursor?: string }, options?: CallOptions): Pages<Vault, VaultPage>;
  /** Create a further key in a vault: `POST /v1/vaults/:id/keys`, scope `vaults:write`. */
  createKey(id: string, body?: CreateVaultKey, options?: CallOptions): Promise<VaultKey>;
  /** List the keys of a vault, newest first: `GET /v1/vaults/:id/keys`, scope `vaults:read`. */
  keys(id: string, query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<VaultKey, VaultKeyPage>;
  /** Read a vault: `GET /v1/vaults/:id`, scope `vaults:read`. */
  get(id: string, options?: CallOptions): Promise<Vault>;
  /** Sign a message with a key of a vault: `POST /v1/vaults/:id/sign`, scope `vaults:write`. */
  sign(id: string, body: SignMessage, options?: CallOptions): Promise<VaultSignature>;
  /** Sign a message with a key of a vault, without effect: `POST /v1/vaults/:id/sign`, scope `vaults:write`. */
  dryRun(id: string, body: SignMessage, options?: CallOptions): Promise<VaultSignatureDryRun>;
  /** Archive a vault, for good: its shares are deleted: `POST /v1/vaults/:id/archive`, scope `vaults:write`. */
  archive(id: string, body?: ArchiveVault, options?: CallOptions): Promise<Vault>;
}

export interface ReconApi {
  /** Compare our ledger with the providers’ statements: `POST /v1/recon/jobs`, scope `recon:write`. */
  createJob(body: CreateReconJob, options?: CallOptions): Promise<ReconJob>;
  /** List reconciliation jobs: `GET /v1/recon/jobs`, scope `recon:read`. */
  jobs(query?: { limit?: number; cursor?: string; status?: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled'; kind?: 'balances' | 'transactions'; provider_connection_id?: string }, options?: CallOptions): Pages<ReconJob, ReconJobPage>;
  /** Read a reconciliation job and its progress: `GET /v1/recon/jobs/:id`, scope `recon:read`. */
  job(id: string, options?: CallOptions): Promise<ReconJob>;
  /** Cancel a reconciliation job: `POST /v1/recon/jobs/:id/cancel`, scope `recon:write`. */
  cancelJob(id: string, options?: CallOptions): Promise<ReconJob>;
  /** List the exceptions that reconciliation found: `GET /v1/recon/exceptions`, scope `recon:read`. */
  exceptions(query?: { limit?: number; cursor?: string; status?: 'open' | 'resolved'; type?: 'missing_internal' | 'missing_external' | 'amount_mismatch' | 'status_mismatch' | 'duplicate'; severity?: 'low' | 'medium' | 'high' | 'critical'; wallet_id?: string; provider_connection_id?: string; job_id?: string }, options?: CallOptions): Pages<ReconException, ReconExceptionPage>;
  /** Read an exception: `GET /v1/recon/exceptions/:id`, scope `recon:read`. */
  exception(id: string, options?: CallOptions): Promise<ReconException>;
  /** Resolve an exception, once: `POST /v1/recon/exceptions/:id/resolve`, scope `recon:write`. */
  resolveException(id: string, body: ResolveReconException, options?: CallOptions): Promise<ReconException>;
}

export interface TokensApi {
  /** Issue a token: its contract is deployed from the issuer’s wallet: `POST /v1/tokens`, scope `tokens:write`. */
  create(body: CreateToken, options?: CallOptions): Promise<Token>;
  /** List tokens, newest first: `GET /v1/tokens`, scope `tokens:read`. */
  list(query?: { status?: 'deploying' | 'active' | 'frozen' | 'failed'; created_after?: string; created_before?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<Token, TokenPage>;
  /** Read a token and its supply: `GET /v1/tokens/:id`, scope `tokens:read`. */
  get(id: string, options?: CallOptions): Promise<Token>;
  /** Freeze a token: stop its mints, redemptions and transfers: `POST /v1/tokens/:id/freeze`, scope `tokens:write`. */
  freeze(id: string, body?: FreezeToken, options?: CallOptions): Promise<Token>;
  /** Unfreeze a token: `POST /v1/tokens/:id/unfreeze`, scope `tokens:write`. */
  unfreeze(id: string, body?: UnfreezeToken, options?: CallOptions): Promise<Token>;
  /** Order a mint: units for an address, backed by a reserve: `POST /v1/tokens/:id/mint`, scope `tokens:write`. */
  mint(id: string, body: MintToken, options?: CallOptions): Promise<TokenOrder>;
  /** Order a redemption: units of a wallet are burnt: `POST /v1/tokens/:id/redeem`, scope `tokens:write`. */
  redeem(id: string, body: RedeemToken, options?: CallOptions): Promise<TokenOrder>;
  /** List the orders of a token, newest first: `GET /v1/tokens/:id/orders`, scope `tokens:read`. */
  orders(id: string, query?: { status?: 'created' | 'pending_approval' | 'reserve_check' | 'processing' | 'completed' | 'rejected' | 'failed'; kind?: 'mint' | 'redeem'; created_after?: string; created_before?: string; limit?: number; cursor?: string }, options?: CallOptions): Pages<TokenOrder, TokenOrderPage>;
  /** Read an order: `GET /v1/tokens/:id/orders/:orderId`, scope `tokens:read`. */
  order(id: string, orderId: string, options?: CallOptions): Promise<TokenOrder>;
  /** Approve or reject an order that awaits approval: `POST /v1/tokens/:id/orders/:orderId/approve`, scope `intents:approve`. */
  approveOrder(id: string, orderId: string, body?: ApproveTokenOrder, options?: CallOptions): Promise<TokenOrder>;
  /** Cancel an order before its signing begins: `POST /v1/tokens/:id/orders/:orderId/cancel`, scope `tokens:write`. */
  cancelOrder(id: string, orderId: string, body?: CancelTokenOrder, options?: CallOptions): Promise<TokenOrder>;
}

export interface ModulesApi {
  /** List the modules, their maturity, and this tenant’s access: `GET /v1/modules`, scope `modules:read`. */
  list(options?: CallOptions): Promise<ModuleList>;
  /** Ask for access to a module that is PLANNED, in a sandbox: `POST /v1/modules/:module/access-requests`, scope `modules:write`. */
  requestAccess(module: string, body?: RequestModuleAccess, options?: CallOptions): Promise<ModuleAccessRequest>;
}

export interface TenantApi {
  /** Show whether the tenant is frozen: `GET /v1/tenant`, any token. */
  get(options?: CallOptions): Promise<Tenant>;
  /** Freeze the tenant: nothing is initiated, approved or signed: `POST /v1/tenant/freeze`, scope `tenant:freeze`. */
  freeze(body?: FreezeTenant, options?: CallOptions): Promise<Tenant>;
  /** Unfreeze the tenant: `POST /v1/tenant/unfreeze`, scope `tenant:unfreeze`. */
  unfreeze(body?: UnfreezeTenant, options?: CallOptions): Promise<Tenant>;
}

export interface AccessTokensApi {
  /** Issue a token with some of the caller’s rights: `POST /v1/access-tokens`, scope `access_tokens:write`. */
  create(body: CreateAccessToken, options?: CallOptions): Promise<IssuedAccessToken>;
  /** List the tenant’s tokens, newest first: `GET /v1/access-tokens`, scope `access_tokens:read`. */
  list(query?: { limit?: number; cursor?: string }, options?: CallOptions): Pages<AccessToken, AccessTokenPage>;
  /** Read a token, without its secret: `GET /v1/access-tokens/:id`, scope `access_tokens:read`. */
  get(id: string, options?: CallOptions): Promise<AccessToken>;
  /** Replace a token by a new one with the same rights and the same end: `POST /v1/access-tokens/:id/rotate`, scope `access_tokens:write`. */
  rotate(id: string, options?: CallOptions): Promise<IssuedAccessToken>;
  /** Revoke a token, and all that it issued: `POST /v1/access-tokens/:id/revoke`, scope `access_tokens:write`. */
  revoke(id: string, options?: CallOptions): Promise<AccessToken>;
}

export interface ServiceApi {
  /** Show what the caller’s token is and may do: `GET /v1/me`, any token. */
  me(options?: CallOptions): Promise<Me>;
  /** How the service is: `GET /v1/health`, no token. */
  health(options?: CallOptions): Promise<Health>;
}

export interface ChangeControlApi {
  /** Show how many others approve a change of the tenant’s rules: `GET /v1/change-control`, scope `changes:read`. */
  get(options?: CallOptions): Promise<ChangeControl>;
  /** Set how many others approve a change of the tenant’s rules: `POST /v1/change-control`, scope `changes:write`. */
  put(body: PutChangeControl, options?: CallOptions): Promise<ChangeControl>;
}

export interface ChangeProposalsApi {
  /** Propose a change that the tenant’s change control stops: `POST /v1/change-proposals`, scope `changes:write`. */
  create(body: CreateChangeProposal, options?: CallOptions): Promise<ProposedChange>;
  /** List proposed changes, newest first: `GET /v1/change-proposals`, scope `changes:read`. */
  list(query?: { limit?: number; cursor?: string; status?: 'pending' | 'applied' | 'rejected' | 'cancelled' | 'expired' }, options?: CallOptions): Pages<ChangeProposal, ChangeProposalPage>;
  /** Read a proposed change, with its request: `GET /v1/change-proposals/:id`, scope `changes:read`. */
  get(id: string, options?: CallOptions): Promise<ProposedChange>;
  /** Approve or reject a proposed change: `POST /v1/change-proposals/:id/approve`, scope `changes:approve`. */
  approve(id: string, body?: VoteOnChangeProposal, options?: CallOptions): Promise<ChangeProposal>;
  /** Cancel a proposed change: `POST /v1/change-proposals/:id/cancel`, scope `changes:write`. */
  cancel(id: string, options?: CallOptions): Promise<ChangeProposal>;
}

export interface SigningApi {
  /** Start a distributed key generation: `POST /v1/dkg/initiate`, scope `signing:dkg`. */
  initiateDkg(body: InitiateDkgRequest, options?: CallOptions): Promise<InitiateDkgResponse>;
  /** Run a round, or one pair, of the share exchange: `POST /v1/dkg/shares`, scope `signing:dkg`. */
  exchangeDkgShares(body: DkgShareExchangeRequest, options?: CallOptions): Promise<DkgShareExchangeResponse>;
  /** Start a threshold signature ceremony: `POST /v1/signing/initiate`, scope `signing:initiate`. */
  initiateSigning(body: InitiateSigningRequest, options?: CallOptions): Promise<InitiateSigningResponse>;
  /** Submit partial signatures: `POST /v1/signing/share`, scope `signing:share`. */
  submitSignatureShare(body: SignatureShareRequest, options?: CallOptions): Promise<SignatureShareResponse>;
  /** Resume a paused or escalated session: `POST /v1/sessions/resume`, scope `signing:resume`. */
  resumeSession(body: ResumeSessionRequest, options?: CallOptions): Promise<ResumeSessionResponse>;
}

/** Every operation, by group. */
export interface Api {
  readonly connections: ConnectionsApi;
  readonly wallets: WalletsApi;
  readonly intents: IntentsApi;
  readonly sessions: SessionsApi;
  readonly events: EventsApi;
  readonly webhooks: WebhooksApi;
  readonly policies: PoliciesApi;
  readonly risk: RiskApi;
  readonly compliance: ComplianceApi;
  readonly treasury: TreasuryApi;
  readonly sandbox: SandboxApi;
  readonly vaults: VaultsApi;
  readonly recon: ReconApi;
  readonly tokens: TokensApi;
  readonly modules: ModulesApi;
  readonly tenant: TenantApi;
  readonly accessTokens: AccessTokensApi;
  readonly service: ServiceApi;
  readonly changeControl: ChangeControlApi;
  readonly changeProposals: ChangeProposalsApi;
  readonly signing: SigningApi;
}

export const operations: Readonly<Record<keyof Api, Readonly<Record<string, Operation>>>> = {
  connections: {
    create: { id: 'createProviderConnection', method: 'POST', path: '/v1/provider-connections', repeat: 'keyed', input: 'body' },
    list: { id: 'listProviderConnections', method: 'GET', path: '/v1/provider-connections', repeat: 'always', input: 'query', list: 'provider_connections' },
    connect: { id: 'connectProvider', method: 'POST', path: '/v1/providers/connect', repeat: 'keyed', input: 'body' },
    providers: { id: 'listProviders', method: 'GET', path: '/v1/providers', repeat: 'always' },
    get: { id: 'getProviderConnection', method: 'GET', path: '/v1/provider-connections/:id', repeat: 'always' },
    update: { id: 'updateProviderConnection', method: 'PATCH', path: '/v1/provider-connections/:id', repeat: 'refused', input: 'body' },
    test: { id: 'testProviderConnection', method: 'POST', path: '/v1/provider-connections/:id/test', repeat: 'keyed' },
    disconnect: { id: 'disconnectProvider', method: 'POST', path: '/v1/provider-connections/:id/disconnect', repeat: 'keyed' },
  },
  wallets: {
    create: { id: 'createWallet', method: 'POST', path: '/v1/wallets', repeat: 'keyed', input: 'body' },
    list: { id: 'listWallets', method: 'GET', path: '/v1/wallets', repeat: 'always', input: 'query', list: 'wallets' },
    update: { id: 'updateWallet', method: 'PATCH', path: '/v1/wallets/:id', repeat: 'refused', input: 'body' },
    get: { id: 'getWallet', method: 'GET', path: '/v1/wallets/:id', repeat: 'always' },
    addAddress: { id: 'addReceiveAddress', method: 'POST', path: '/v1/wallets/:id/addresses', repeat: 'keyed' },
    addresses: { id: 'listReceiveAddresses', method: 'GET', path: '/v1/wallets/:id/addresses', repeat: 'always' },
    movements: { id: 'listWalletMovements', method: 'GET', path: '/v1/wallets/:id/movements', repeat: 'always', input: 'query', list: 'movements' },
    allowances: { id: 'listWalletAllowances', method: 'GET', path: '/v1/wallets/:id/allowances', repeat: 'always', input: 'query', list: 'allowances' },
    archive: { id: 'archiveWallet', method: 'POST', path: '/v1/wallets/:id/archive', repeat: 'keyed', input: 'body' },
    freeze: { id: 'freezeWallet', method: 'POST', path: '/v1/wallets/:id/freeze', repeat: 'keyed' },
    unfreeze: { id: 'unfreezeWallet', method: 'POST', path: '/v1/wallets/:id/unfreeze', repeat: 'keyed' },
  },
  intents: {
    create: { id: 'createTransactionIntent', method: 'POST', path: '/v1/wallets/:id/transaction-intents', repeat: 'keyed', input: 'body' },
    dryRun: { id: 'createTransactionIntent', method: 'POST', path: '/v1/wallets/:id/transaction-intents?dry_run=true', repeat: 'always', input: 'body' },
    list: { id: 'listTransactionIntents', method: 'GET', path: '/v1/wallets/:id/transaction-intents', repeat: 'always', input: 'query', list: 'transaction_intents' },
    estimate: { id: 'estimateTransactionIntent', method: 'POST', path: '/v1/wallets/:id/transaction-intents/estimate', repeat: 'refused', input: 'body' },
    signMessage: { id: 'createMessageIntent', method: 'POST', path: '/v1/wallets/:id/messages', repeat: 'keyed', input: 'body' },
    dryRunMessage: { id: 'createMessageIntent', method: 'POST', path: '/v1/wallets/:id/messages?dry_run=true', repeat: 'always', input: 'body' },
    callContract: { id: 'createContractCallIntent', method: 'POST', path: '/v1/wallets/:id/contract-calls', repeat: 'keyed', input: 'body' },
    dryRunContractCall: { id: 'createContractCallIntent', method: 'POST', path: '/v1/wallets/:id/contract-calls?dry_run=true', repeat: 'always', input: 'body' },
    listAll: { id: 'listAllTransactionIntents', method: 'GET', path: '/v1/transaction-intents', repeat: 'always', input: 'query', list: 'transaction_intents' },
    get: { id: 'getTransactionIntent', method: 'GET', path: '/v1/wallets/:id/transaction-intents/:txId', repeat: 'always' },
    approve: { id: 'approveTransactionIntent', method: 'POST', path: '/v1/wallets/:id/transaction-intents/:txId/approve', repeat: 'keyed', input: 'body' },
    cancel: { id: 'cancelTransactionIntent', method: 'POST', path: '/v1/wallets/:id/transaction-intents/:txId/cancel', repeat: 'keyed', input: 'body' },
    replace: { id: 'replaceTransactionIntent', method: 'POST', path: '/v1/wallets/:id/transaction-intents/:txId/replace', repeat: 'keyed', input: 'body' },
  },
  sessions: {
    list: { id: 'listSessions', method: 'GET', path: '/v1/sessions', repeat: 'always', input: 'query', list: 'sessions' },
    get: { id: 'getSession', method: 'GET', path: '/v1/sessions/:id', repeat: 'always' },
  },
  events: {
    list: { id: 'listEvents', method: 'GET', path: '/v1/events', repeat: 'always', input: 'query', list: 'events' },
    get: { id: 'getEvent', method: 'GET', path: '/v1/events/:id', repeat: 'always' },
  },
  webhooks: {
    create: { id: 'createWebhook', method: 'POST', path: '/v1/webhooks', repeat: 'keyed', input: 'body' },
    list: { id: 'listWebhooks', method: 'GET', path: '/v1/webhooks', repeat: 'always', input: 'query', list: 'webhooks' },
    get: { id: 'getWebhook', method: 'GET', path: '/v1/webhooks/:id', repeat: 'always' },
    update: { id: 'updateWebhook', method: 'PATCH', path: '/v1/webhooks/:id', repeat: 'refused', input: 'body' },
    delete: { id: 'deleteWebhook', method: 'DELETE', path: '/v1/webhooks/:id', repeat: 'refused' },
    rotateSecret: { id: 'rotateWebhookSecret', method: 'POST', path: '/v1/webhooks/:id/rotate-secret', repeat: 'keyed', input: 'body' },
    ping: { id: 'pingWebhook', method: 'POST', path: '/v1/webhooks/:id/ping', repeat: 'keyed' },
    deliveries: { id: 'listDeliveries', method: 'GET', path: '/v1/webhooks/:id/deliveries', repeat: 'always', input: 'query', list: 'deliveries' },
    delivery: { id: 'getDelivery', method: 'GET', path: '/v1/webhooks/:id/deliveries/:deliveryId', repeat: 'always' },
    redeliver: { id: 'redeliver', method: 'POST', path: '/v1/webhooks/:id/deliveries/:deliveryId/redeliver', repeat: 'keyed' },
    redeliverRange: { id: 'redeliverRange', method: 'POST', path: '/v1/webhooks/:id/redeliver', repeat: 'keyed', input: 'body' },
  },
  policies: {
    put: { id: 'putPolicy', method: 'POST', path: '/v1/policies', repeat: 'keyed', input: 'body' },
    list: { id: 'listPolicies', method: 'GET', path: '/v1/policies', repeat: 'always', input: 'query', list: 'policies' },
    get: { id: 'getPolicy', method: 'GET', path: '/v1/policies/:id', repeat: 'always', input: 'query' },
    evaluate: { id: 'evaluatePolicy', method: 'POST', path: '/v1/policies/:id/evaluate', repeat: 'keyed', input: 'body' },
    decisions: { id: 'listPolicyDecisions', method: 'GET', path: '/v1/policies/:id/decisions', repeat: 'always', input: 'query', list: 'decisions' },
    receiptKeys: { id: 'getPolicyReceiptKeys', method: 'GET', path: '/v1/.well-known/jwks.json', repeat: 'always' },
  },
  risk: {
    evaluate: { id: 'evaluateRisk', method: 'POST', path: '/v1/risk/evaluate', repeat: 'keyed', input: 'body' },
    score: { id: 'getRiskScore', method: 'GET', path: '/v1/risk/scores/:txId', repeat: 'always' },
    putRule: { id: 'putRiskRule', method: 'POST', path: '/v1/risk/rules', repeat: 'keyed', input: 'body' },
    rules: { id: 'listRiskRules', method: 'GET', path: '/v1/risk/rules', repeat: 'always', input: 'query', list: 'rules' },
    changeRule: { id: 'changeRiskRule', method: 'PATCH', path: '/v1/risk/rules/:id', repeat: 'refused', input: 'body' },
    deleteRule: { id: 'deleteRiskRule', method: 'DELETE', path: '/v1/risk/rules/:id', repeat: 'refused' },
  },
  compliance: {
    screen: { id: 'screenSubject', method: 'POST', path: '/v1/compliance/screen', repeat: 'keyed', input: 'body' },
    report: { id: 'getComplianceReport', method: 'GET', path: '/v1/compliance/reports/:id', repeat: 'always' },
    lists: { id: 'listComplianceLists', method: 'GET', path: '/v1/compliance/lists', repeat: 'always', input: 'query', list: 'lists' },
    putList: { id: 'putComplianceList', method: 'POST', path: '/v1/compliance/lists', repeat: 'keyed', input: 'body' },
    getList: { id: 'getComplianceList', method: 'GET', path: '/v1/compliance/lists/:id', repeat: 'always', input: 'query' },
  },
  treasury: {
    createStrategy: { id: 'createStrategy', method: 'POST', path: '/v1/treasury/strategies', repeat: 'keyed', input: 'body' },
    strategies: { id: 'listStrategies', method: 'GET', path: '/v1/treasury/strategies', repeat: 'always', input: 'query', list: 'strategies' },
    strategy: { id: 'getStrategy', method: 'GET', path: '/v1/treasury/strategies/:id', repeat: 'always', input: 'query' },
    putStrategyVersion: { id: 'putStrategyVersion', method: 'POST', path: '/v1/treasury/strategies/:id/versions', repeat: 'keyed', input: 'body' },
    archiveStrategy: { id: 'archiveStrategy', method: 'POST', path: '/v1/treasury/strategies/:id/archive', repeat: 'keyed' },
    positions: { id: 'listPositions', method: 'GET', path: '/v1/treasury/positions', repeat: 'always', input: 'query', list: 'positions' },
    rebalance: { id: 'rebalance', method: 'POST', path: '/v1/treasury/rebalance', repeat: 'keyed', input: 'body' },
    plans: { id: 'listPlans', method: 'GET', path: '/v1/treasury/plans', repeat: 'always', input: 'query', list: 'plans' },
    plan: { id: 'getPlan', method: 'GET', path: '/v1/treasury/plans/:id', repeat: 'always' },
    executePlan: { id: 'executePlan', method: 'POST', path: '/v1/treasury/plans/:id/execute', repeat: 'keyed' },
    cancelPlan: { id: 'cancelPlan', method: 'POST', path: '/v1/treasury/plans/:id/cancel', repeat: 'keyed' },
  },
  sandbox: {
    market: { id: 'getMarket', method: 'GET', path: '/v1/sandbox/market', repeat: 'always' },
    setMarket: { id: 'setMarket', method: 'POST', path: '/v1/sandbox/market', repeat: 'keyed', input: 'body' },
    addDrift: { id: 'addReconDrift', method: 'POST', path: '/v1/sandbox/provider-connections/:id/drift', repeat: 'refused', input: 'body' },
    drifts: { id: 'listReconDrifts', method: 'GET', path: '/v1/sandbox/provider-connections/:id/drift', repeat: 'always', list: 'drifts' },
    removeDrifts: { id: 'removeReconDrifts', method: 'DELETE', path: '/v1/sandbox/provider-connections/:id/drift', repeat: 'refused' },
    createFault: { id: 'createSandboxFault', method: 'POST', path: '/v1/sandbox/faults', repeat: 'refused', input: 'body' },
    faults: { id: 'listSandboxFaults', method: 'GET', path: '/v1/sandbox/faults', repeat: 'always', list: 'faults' },
    fault: { id: 'getSandboxFault', method: 'GET', path: '/v1/sandbox/faults/:id', repeat: 'always' },
    deleteFault: { id: 'deleteSandboxFault', method: 'DELETE', path: '/v1/sandbox/faults/:id', repeat: 'refused' },
    resetFaults: { id: 'resetSandboxFaults', method: 'POST', path: '/v1/sandbox/faults/reset', repeat: 'refused' },
    beginStep: { id: 'beginSandboxStep', method: 'POST', path: '/v1/sandbox/steps', repeat: 'refused', input: 'body' },
    nodes: { id: 'listSandboxNodes', method: 'GET', path: '/v1/sandbox/nodes', repeat: 'always', list: 'nodes' },
    crashNode: { id: 'crashSandboxNode', method: 'POST', path: '/v1/sandbox/nodes/:node/crash', repeat: 'refused', input: 'body' },
    restartNode: { id: 'restartSandboxNode', method: 'POST', path: '/v1/sandbox/nodes/:node/restart', repeat: 'refused' },
    pauseNode: { id: 'pauseSandboxNode', method: 'POST', path: '/v1/sandbox/nodes/:node/pause', repeat: 'refused' },
    resumeNode: { id: 'resumeSandboxNode', method: 'POST', path: '/v1/sandbox/nodes/:node/resume', repeat: 'refused' },
    session: { id: 'getSandboxSession', method: 'GET', path: '/v1/sandbox/sessions/:id', repeat: 'always', input: 'query' },
    previewPartial: { id: 'previewSandboxPartial', method: 'POST', path: '/v1/sandbox/sessions/:id/nodes/:node/partial', repeat: 'refused' },
    beginKey: { id: 'beginSandboxKey', method: 'POST', path: '/v1/sandbox/keys', repeat: 'refused', input: 'body' },
    refreshKey: { id: 'refreshSandboxKey', method: 'POST', path: '/v1/sandbox/keys/:id/refresh', repeat: 'refused', input: 'body' },
    keyVersions: { id: 'listSandboxKeyVersions', method: 'GET', path: '/v1/sandbox/keys/:id/versions', repeat: 'always', list: 'versions' },
    clock: { id: 'getSandboxClock', method: 'GET', path: '/v1/sandbox/clock', repeat: 'always' },
    advanceClock: { id: 'advanceSandboxClock', method: 'POST', path: '/v1/sandbox/clock', repeat: 'refused', input: 'body' },
    takeSnapshot: { id: 'takeSandboxSnapshot', method: 'POST', path: '/v1/sandbox/snapshots', repeat: 'refused', input: 'body' },
    snapshots: { id: 'listSandboxSnapshots', method: 'GET', path: '/v1/sandbox/snapshots', repeat: 'always', list: 'snapshots' },
    restoreSnapshot: { id: 'restoreSandboxSnapshot', method: 'POST', path: '/v1/sandbox/snapshots/:id/restore', repeat: 'refused' },
    deleteSnapshot: { id: 'deleteSandboxSnapshot', method: 'DELETE', path: '/v1/sandbox/snapshots/:id', repeat: 'refused' },
    reset: { id: 'resetSandbox', method: 'POST', path: '/v1/sandbox/reset', repeat: 'refused' },
    feeMarket: { id: 'getSandboxFeeMarket', method: 'GET', path: '/v1/sandbox/chains/:network/fee-market', repeat: 'always' },
    moveFeeMarket: { id: 'moveSandboxFeeMarket', method: 'POST', path: '/v1/sandbox/chains/:network/fee-market', repeat: 'refused', input: 'body' },
    confirmations: { id: 'getSandboxConfirmations', method: 'GET', path: '/v1/sandbox/chains/:network/confirmations', repeat: 'always' },
    setConfirmations: { id: 'setSandboxConfirmations', method: 'POST', path: '/v1/sandbox/chains/:network/confirmations', repeat: 'refused', input: 'body' },
    reorganize: { id: 'reorganizeSandboxChain', method: 'POST', path: '/v1/sandbox/chains/:network/reorg', repeat: 'refused', input: 'body' },
    recording: { id: 'readSandboxRecording', method: 'GET', path: '/v1/sandbox/recording', repeat: 'always', input: 'query' },
    receiver: { id: 'getSandboxReceiver', method: 'GET', path: '/v1/sandbox/receiver', repeat: 'always' },
    requests: { id: 'listSandboxRequests', method: 'GET', path: '/v1/sandbox/requests', repeat: 'always', input: 'query', list: 'requests' },
    request: { id: 'getSandboxRequest', method: 'GET', path: '/v1/sandbox/requests/:id', repeat: 'always' },
    queues: { id: 'getSandboxQueues', method: 'GET', path: '/v1/sandbox/queues', repeat: 'always' },
    reportLoad: { id: 'reportIntendedLoad', method: 'POST', path: '/v1/sandbox/load', repeat: 'refused', input: 'body' },
    startScenario: { id: 'startSandboxScenario', method: 'POST', path: '/v1/sandbox/scenarios', repeat: 'refused', input: 'body' },
    scenario: { id: 'getSandboxScenario', method: 'GET', path: '/v1/sandbox/scenarios', repeat: 'always' },
    endScenario: { id: 'endSandboxScenario', method: 'DELETE', path: '/v1/sandbox/scenarios', repeat: 'refused' },
    createInbox: { id: 'createSandboxInbox', method: 'POST', path: '/v1/sandbox/inboxes', repeat: 'refused', input: 'body' },
    inboxes: { id: 'listSandboxInboxes', method: 'GET', path: '/v1/sandbox/inboxes', repeat: 'always', list: 'inboxes' },
    inbox: { id: 'getSandboxInbox', method: 'GET', path: '/v1/sandbox/inboxes/:id', repeat: 'always' },
    deleteInbox: { id: 'deleteSandboxInbox', method: 'DELETE', path: '/v1/sandbox/inboxes/:id', repeat: 'refused' },
    issueToken: { id: 'issueSandboxToken', method: 'POST', path: '/v1/sandbox/tokens', repeat: 'refused', input: 'body' },
    tokenOwner: { id: 'readSandboxTokenOwner', method: 'POST', path: '/v1/sandbox/tokens/owner', repeat: 'refused', input: 'body' },
  },
  vaults: {
    create: { id: 'createVault', method: 'POST', path: '/v1/vaults', repeat: 'keyed', input: 'body' },
    list: { id: 'listVaults', method: 'GET', path: '/v1/vaults', repeat: 'always', input: 'query', list: 'vaults' },
    createKey: { id: 'createVaultKey', method: 'POST', path: '/v1/vaults/:id/keys', repeat: 'keyed', input: 'body' },
    keys: { id: 'listVaultKeys', method: 'GET', path: '/v1/vaults/:id/keys', repeat: 'always', input: 'query', list: 'keys' },
    get: { id: 'getVault', method: 'GET', path: '/v1/vaults/:id', repeat: 'always' },
    sign: { id: 'signVaultMessage', method: 'POST', path: '/v1/vaults/:id/sign', repeat: 'keyed', input: 'body' },
    dryRun: { id: 'signVaultMessage', method: 'POST', path: '/v1/vaults/:id/sign?dry_run=true', repeat: 'always', input: 'body' },
    archive: { id: 'archiveVault', method: 'POST', path: '/v1/vaults/:id/archive', repeat: 'keyed', input: 'body' },
  },
  recon: {
    createJob: { id: 'createReconJob', method: 'POST', path: '/v1/recon/jobs', repeat: 'keyed', input: 'body' },
    jobs: { id: 'listReconJobs', method: 'GET', path: '/v1/recon/jobs', repeat: 'always', input: 'query', list: 'jobs' },
    job: { id: 'getReconJob', method: 'GET', path: '/v1/recon/jobs/:id', repeat: 'always' },
    cancelJob: { id: 'cancelReconJob', method: 'POST', path: '/v1/recon/jobs/:id/cancel', repeat: 'keyed' },
    exceptions: { id: 'listReconExceptions', method: 'GET', path: '/v1/recon/exceptions', repeat: 'always', input: 'query', list: 'exceptions' },
    exception: { id: 'getReconException', method: 'GET', path: '/v1/recon/exceptions/:id', repeat: 'always' },
    resolveException: { id: 'resolveReconException', method: 'POST', path: '/v1/recon/exceptions/:id/resolve', repeat: 'keyed', input: 'body' },
  },
  tokens: {
    create: { id: 'createToken', method: 'POST', path: '/v1/tokens', repeat: 'keyed', input: 'body' },
    list: { id: 'listTokens', method: 'GET', path: '/v1/tokens', repeat: 'always', input: 'query', list: 'tokens' },
    get: { id: 'getToken', method: 'GET', path: '/v1/tokens/:id', repeat: 'always' },
    freeze: { id: 'freezeToken', method: 'POST', path: '/v1/tokens/:id/freeze', repeat: 'keyed', input: 'body' },
    unfreeze: { id: 'unfreezeToken', method: 'POST', path: '/v1/tokens/:id/unfreeze', repeat: 'keyed', input: 'body' },
    mint: { id: 'mintToken', method: 'POST', path: '/v1/tokens/:id/mint', repeat: 'keyed', input: 'body' },
    redeem: { id: 'redeemToken', method: 'POST', path: '/v1/tokens/:id/redeem', repeat: 'keyed', input: 'body' },
    orders: { id: 'listTokenOrders', method: 'GET', path: '/v1/tokens/:id/orders', repeat: 'always', input: 'query', list: 'orders' },
    order: { id: 'getTokenOrder', method: 'GET', path: '/v1/tokens/:id/orders/:orderId', repeat: 'always' },
    approveOrder: { id: 'approveTokenOrder', method: 'POST', path: '/v1/tokens/:id/orders/:orderId/approve', repeat: 'keyed', input: 'body' },
    cancelOrder: { id: 'cancelTokenOrder', method: 'POST', path: '/v1/tokens/:id/orders/:orderId/cancel', repeat: 'keyed', input: 'body' },
  },
  modules: {
    list: { id: 'listModules', method: 'GET', path: '/v1/modules', repeat: 'always' },
    requestAccess: { id: 'requestModuleAccess', method: 'POST', path: '/v1/modules/:module/access-requests', repeat: 'keyed', input: 'body' },
  },
  tenant: {
    get: { id: 'getTenant', method: 'GET', path: '/v1/tenant', repeat: 'always' },
    freeze: { id: 'freezeTenant', method: 'POST', path: '/v1/tenant/freeze', repeat: 'keyed', input: 'body' },
    unfreeze: { id: 'unfreezeTenant', method: 'POST', path: '/v1/tenant/unfreeze', repeat: 'keyed', input: 'body' },
  },
  accessTokens: {
    create: { id: 'createAccessToken', method: 'POST', path: '/v1/access-tokens', repeat: 'keyed', input: 'body' },
    list: { id: 'listAccessTokens', method: 'GET', path: '/v1/access-tokens', repeat: 'always', input: 'query', list: 'access_tokens' },
    get: { id: 'getAccessToken', method: 'GET', path: '/v1/access-tokens/:id', repeat: 'always' },
    rotate: { id: 'rotateAccessToken', method: 'POST', path: '/v1/access-tokens/:id/rotate', repeat: 'keyed' },
    revoke: { id: 'revokeAccessToken', method: 'POST', path: '/v1/access-tokens/:id/revoke', repeat: 'keyed' },
  },
  service: {
    me: { id: 'getMe', method: 'GET', path: '/v1/me', repeat: 'always' },
    health: { id: 'getHealth', method: 'GET', path: '/v1/health', repeat: 'always', answers: [200, 503] },
  },
  changeControl: {
    get: { id: 'getChangeControl', method: 'GET', path: '/v1/change-control', repeat: 'always' },
    put: { id: 'putChangeControl', method: 'POST', path: '/v1/change-control', repeat: 'keyed', input: 'body' },
  },
  changeProposals: {
    create: { id: 'createChangeProposal', method: 'POST', path: '/v1/change-proposals', repeat: 'keyed', input: 'body' },
    list: { id: 'listChangeProposals', method: 'GET', path: '/v1/change-proposals', repeat: 'always', input: 'query', list: 'change_proposals' },
    get: { id: 'getChangeProposal', method: 'GET', path: '/v1/change-proposals/:id', repeat: 'always' },
    approve: { id: 'approveChangeProposal', method: 'POST', path: '/v1/change-proposals/:id/approve', repeat: 'keyed', input: 'body' },
    cancel: { id: 'cancelChangeProposal', method: 'POST', path: '/v1/change-proposals/:id/cancel', repeat: 'keyed' },
  },
  signing: {
    initiateDkg: { id: 'initiateDkg', method: 'POST', path: '/v1/dkg/initiate', repeat: 'keyed', input: 'body' },
    exchangeDkgShares: { id: 'exchangeDkgShares', method: 'POST', path: '/v1/dkg/shares', repeat: 'keyed', input: 'body' },
    initiateSigning: { id: 'initiateSigning', method: 'POST', path: '/v1/signing/initiate', repeat: 'keyed', input: 'body' },
    submitSignatureShare: { id: 'submitSignatureShare', method: 'POST', path: '/v1/signing/share', repeat: 'keyed', input: 'body' },
    resumeSession: { id: 'resumeSession', method: 'POST', path: '/v1/sessions/resume', repeat: 'keyed', input: 'body' },
  },
};
