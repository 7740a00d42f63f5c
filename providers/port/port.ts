/**
 * The port between the control plane and the holder of the keys: our own signer cluster, the sandbox, or a hosted
 * custodian. Every adapter passes one conformance suite (test/providers/).
 *
 * Adapters speak in normalized words; a custodian's own vocabulary stays inside its folder and shows only in
 * `providerStatus` and in errors. Every call is idempotent by the id it is given, so that it may be repeated after a
 * crash: the same wallet id makes the same wallet, the same intent id the same transfer.
 */

import type { TokenTerms } from '../../networks/assets.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import type { IntentKind, ProviderKind } from './kinds.ts';

export type { IntentKind, ProviderKind } from './kinds.ts';

export interface CredentialField {
  readonly name: string;
  /** Other names that it is taken under, and stored under `name`: what other custodians call the same. */
  readonly aliases?: readonly string[];
  readonly required: boolean;
  readonly secret: boolean;
  readonly description: string;
}

export interface ProviderInfo {
  readonly kind: ProviderKind;
  readonly displayName: string;
  readonly hosting: 'hosted' | 'self_hosted' | 'sandbox';
  readonly environments: readonly ClusterEnvironment[];
  /** e.g. "wallets:create", "transfers", "policy_receipts". */
  readonly capabilities: readonly string[];
  readonly credentialFields: readonly CredentialField[];
  /** Any other names are taken as well. */
  readonly takesAnyCredentials?: boolean;
  readonly networks: readonly NetworkId[];
}

/** Of an adapter that deploys tenants' own tokens and moves their units. */
export const tokensCapability = 'tokens';

/** A connection, as far as an adapter reads it. */
export interface ProviderConnection {
  readonly id: string;
  readonly environment: ClusterEnvironment;
}

/** A wallet, as far as an adapter reads it. */
export interface HeldWallet {
  readonly id: string;
  readonly providerWalletId: string;
  readonly environment: ClusterEnvironment;
  readonly network: NetworkId;
  readonly addresses: readonly { readonly network: NetworkId; readonly address: string }[];
  /** Compressed, lowercase hex; null if the provider shows none. */
  readonly publicKey: string | null;
}

/** An approved transfer, or what else an intent does, as far as an adapter reads it. */
export interface ApprovedTransfer {
  readonly id: string;
  /** Only a `transfer` reaches an adapter without the capability `tokens`. */
  readonly kind: IntentKind;
  readonly network: NetworkId;
  /** Symbol: of the registry, or of `token`. A `deploy` names the network's coin, and moves 0 of it. */
  readonly asset: string;
  /** Decimal, normalized. */
  readonly amount: string;
  /** The amount in the asset's smallest units, a decimal integer. */
  readonly units: string;
  readonly destination: { readonly address: string };
  /** The tenant's own token that it deploys or moves; only an adapter with the capability `tokens` gets one. */
  readonly token?: TokenTerms;
  readonly policyReceipt: string | null;
  /** What this adapter said last; only it reads it. Null at first. */
  readonly submission: unknown;
  /** Times that the present step was tried again, at least. */
  readonly attempts: number;
}

/** The empty transaction that has taken a number which a failed transfer left behind. */
export interface FillerTransaction {
  /** Its id on its network. */
  readonly id: string;
  /** Signed, as the network's own tools take it. */
  readonly rawTransaction: string;
  readonly signingSessionIds: readonly string[];
}

export interface NewBalance {
  readonly asset: string;
  readonly units: bigint;
}

/** A wallet as the provider made it. */
export interface ProviderWallet {
  readonly providerWalletId: string;
  readonly addresses: readonly { readonly network: NetworkId; readonly address: string }[];
  readonly publicKey: string | null;
  /** What it holds from the beginning; an asset with 0 units is shown too. */
  readonly balances: readonly NewBalance[];
}

export interface CallMeta {
  readonly tenant: string;
  readonly nowMs: number;
  readonly correlationId: string;
  readonly traceparent: string;
}

export interface WalletOrder {
  /** Our id: the same id, the same wallet. */
  readonly walletId: string;
  readonly name: string;
  readonly network: NetworkId;
}

/** A transfer that is about to be decided. */
export interface TransferDraft {
  readonly intentId: string;
  readonly kind: IntentKind;
  readonly wallet: HeldWallet;
  readonly asset: string;
  readonly amount: string;
  readonly units: bigint;
  readonly toAddress: string;
  readonly token?: TokenTerms;
}

export interface Quote {
  /** The most that the transfer can cost, set aside with the amount. Zero units: no fee. */
  readonly fee: NewBalance;
}

/** A transfer that was approved: `submission` is what the adapter said last, null at first. */
export interface Transfer {
  readonly intent: ApprovedTransfer;
  readonly wallet: HeldWallet;
  /** The number that `sequenceCounter` allocated; undefined without one. */
  readonly number: number | undefined;
}

export type Progress =
  /** On its way. `providerTxId` is null until the provider took it. Ask again at `againAtMs`. */
  | {
      readonly stage: 'signing' | 'broadcasting' | 'confirming';
      readonly providerTxId: string | null;
      readonly providerStatus: string;
      readonly subStatus: string | null;
      readonly submission: unknown;
      readonly againAtMs: number;
    }
  | {
      readonly stage: 'completed';
      readonly providerTxId: string;
      readonly providerStatus: string;
      readonly feePaid: NewBalance;
      /** Where it differs from what was said before: a transfer may be found completed at the first look. */
      readonly submission?: unknown;
    }
  /** For good. `numberUsed`: the chain consumed the allocated number although the transfer failed; else it is released. */
  | {
      readonly stage: 'failed';
      readonly providerTxId: string | null;
      readonly providerStatus: string;
      readonly subStatus: string;
      readonly error: { readonly code: string; readonly message: string };
      readonly feePaid: NewBalance;
      readonly numberUsed: boolean;
      /** As with `completed`. */
      readonly submission?: unknown;
    };

/** A number is taken: by this transaction, or (undefined) by one of another's making. */
export interface FilledGap {
  /** What the wallet has paid for it. */
  readonly fee: NewBalance;
  readonly transaction: FillerTransaction | undefined;
}

export interface ProviderAdapter {
  readonly info: ProviderInfo;
  /** Checks credentials with the provider. Throws ProviderRejected or ProviderUnavailable. Test wallets come with a sandbox. */
  connect(
    meta: CallMeta,
    connectionId: string,
    credentials: Readonly<Record<string, string>>,
    environment: ClusterEnvironment,
  ): Promise<{ readonly testWallets: readonly Omit<WalletOrder, 'walletId'>[] }>;
  createWallet(meta: CallMeta, connection: ProviderConnection, order: WalletOrder): Promise<ProviderWallet>;
  /** Would the provider take it now? Throws ProviderRejected or ProviderUnavailable; changes nothing. */
  quote(meta: CallMeta, draft: TransferDraft): Promise<Quote>;
  /** The counter that numbers this wallet's transfers without gaps (EVM account nonces); undefined: none is needed. */
  sequenceCounter(wallet: HeldWallet): string | undefined;
  /** Takes the next step of an approved transfer: submits it, or asks how it stands. ProviderUnavailable: ask again later. */
  advance(meta: CallMeta, transfer: Transfer): Promise<Progress>;
  /**
   * Gives back what the provider holds for a transfer that was never submitted and never will be. May be repeated. Throws
   * ProviderUnavailable. Absent: it holds nothing.
   */
  abandon?(meta: CallMeta, transfer: Transfer): Promise<void>;
}

/** The provider said no: 422 while a request waits for it, a failed intent afterwards. Carries the provider's own words. */
export class ProviderRejected extends Error {
  override readonly name = 'ProviderRejected';
  /** The field of our request at fault, e.g. "amount"; empty: none. */
  readonly field: string;
  /** The normalized reason, lower snake, e.g. "insufficient_funds". */
  readonly issue: string;
  readonly providerCode: string;

  constructor(message: string, options: { field?: string; issue: string; providerCode: string }) {
    super(message);
    this.field = options.field ?? '';
    this.issue = options.issue;
    this.providerCode = options.providerCode;
  }
}

/** The provider does not answer, or asks to come back later. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 1_000) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}
