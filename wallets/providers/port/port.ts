/**
 * The port between the control plane and the holder of the keys: our own signer cluster, the sandbox, or a hosted
 * custodian. Every adapter passes one conformance suite (test/wallets/providers/).
 *
 * Adapters return normalized terms; a custodian's own vocabulary stays in its folder and appears only in
 * `providerStatus` and in errors. Every call is idempotent by its id, so that it may be repeated after a
 * crash: the same wallet id gives the same wallet, the same intent id the same transfer.
 */

import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { TokenClaim, TokenTerms } from '../../networks/assets.ts';
import type { EvmMessage } from '../../networks/evm-messages.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { EvmCall } from '../../networks/token-calls.ts';
import type { FeeLevel, IntentKind, ProviderKind } from './kinds.ts';

export type { FeeLevel, IntentKind, ProviderKind } from './kinds.ts';

export interface CredentialField {
  readonly name: string;
  /** Other custodians' names for the same field, which are accepted and stored as `name`. */
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
  /** Any other names are accepted, too. */
  readonly takesAnyCredentials?: boolean;
  readonly networks: readonly NetworkId[];
}

/** The capability of an adapter that signs messages. */
export const messagesCapability = 'messages';

/** The capability of an adapter that deploys tenants' own tokens and moves their units. */
export const tokensCapability = 'tokens';

/** The part of a connection that an adapter reads. */
export interface ProviderConnection {
  readonly id: string;
  readonly environment: ClusterEnvironment;
}

/** The part of a wallet that an adapter reads. */
export interface HeldWallet {
  readonly id: string;
  readonly providerWalletId: string;
  readonly environment: ClusterEnvironment;
  readonly network: NetworkId;
  readonly addresses: readonly { readonly network: NetworkId; readonly address: string }[];
  /** Compressed, lowercase hex; null if the provider discloses none. */
  readonly publicKey: string | null;
  /** More addresses that receive, by index. */
  readonly receive?: readonly ReceiveAddress[];
}

/** A further address of a wallet, of a child of its key. */
export interface ReceiveAddress {
  readonly address: string;
  /** BIP-32, below the wallet's key. */
  readonly path: string;
  /** Compressed, lowercase hex. */
  readonly publicKey: string;
}

/** What a wallet lets another account move of its units of a token. */
export interface TokenAllowance {
  /** Lower case. */
  readonly contract: string;
  /** Lower case. */
  readonly spender: string;
  /** undefined: never used up. */
  readonly units: bigint | undefined;
}

/** An approved transfer, or another effect of an intent, with the fields that an adapter reads. */
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
  /** undefined: the terms of earlier versions, or its network has none. */
  readonly fees?: FeeTerms;
  readonly replaces?: ReplacedTransfer;
  /** What it signs instead of a transaction; only an adapter with the capability `messages` gets one. */
  readonly message?: EvmMessage;
  /** The call that it makes, as its caller encoded it; only for wallets of our cluster. */
  readonly call?: EvmCall;
  readonly policyReceipt: string | null;
  /** What its receipt decided, for the adapter that makes the bytes to be signed; undefined: nothing may be ordered for it. */
  readonly decided: DecidedTransaction | undefined;
  /** This adapter's own data from its last step. Null at first. */
  readonly submission: unknown;
  /** The minimum number of retries of the present step. */
  readonly attempts: number;
}

/** A transaction in the words of its policy receipt. */
export interface DecidedTransaction {
  readonly wallet_id: string;
  readonly kind: string;
  readonly asset: string;
  /** Decimal. */
  readonly amount: string;
  readonly network: string;
  readonly to: string;
  /** Of a transaction about a tenant's own token. */
  readonly token?: TokenClaim;
  /** Of a replacement: the intent whose transaction it replaces, and the one that their number or coins belong to. */
  readonly replaces?: { readonly id: string; readonly root: string };
  /** Of a message: what is signed, `0x` and 64 hex digits. */
  readonly message_hash?: string;
  /** Of a call of a contract. */
  readonly call?: EvmCall;
  /** The most that it may cost, decimal; receipts of an earlier version lack it. */
  readonly fee?: { readonly asset: string; readonly limit: string };
}

/** What a caller chose, in the words of a request: a level, or the terms of its network; nothing: the default level. */
export interface FeeChoice {
  readonly fee_level?: FeeLevel | undefined;
  /** EVM, wei a unit of gas: decimal integers. */
  readonly max_fee_per_gas?: string | undefined;
  readonly max_priority_fee_per_gas?: string | undefined;
  /** EVM: a decimal integer. */
  readonly gas_limit?: string | undefined;
  /** Bitcoin: a decimal integer. */
  readonly sats_per_vbyte?: string | undefined;
}

/** What is signed: the terms of its network. */
export interface FeeTerms {
  /** null: the caller named the terms. */
  readonly fee_level: FeeLevel | null;
  readonly max_fee_per_gas?: string;
  readonly max_priority_fee_per_gas?: string;
  /** Absent: what the transaction needs. */
  readonly gas_limit?: string;
  readonly sats_per_vbyte?: string;
}

/** A transfer whose transaction another one replaces. */
export interface ReplacedTransfer {
  /** The intent. */
  readonly id: string;
  /** The first intent of those that replace one another: its number and its coins are theirs. */
  readonly root: string;
  readonly txId: string;
  /** Its terms. */
  readonly fees?: FeeTerms;
}

/** The submission of a message that is signed. */
export interface SignedMessage {
  /** `0x`, r, s, and 27 or 28: 65 bytes. */
  readonly signature: string;
  readonly signingSessionIds: readonly string[];
}

export function readSignedMessage(submission: unknown): SignedMessage | undefined {
  const made = submission as Partial<SignedMessage> | null;
  const isMade = typeof made?.signature === 'string' && Array.isArray(made.signingSessionIds);
  return isMade ? (made as SignedMessage) : undefined;
}

/** The empty transaction that uses the number of a failed transfer. */
export interface FillerTransaction {
  /** Its id on its network. */
  readonly id: string;
  /** Signed, in the format of the network's own tools. */
  readonly rawTransaction: string;
  readonly signingSessionIds: readonly string[];
}

export interface NewBalance {
  readonly asset: string;
  readonly units: bigint;
}

/** A wallet created by the provider. */
export interface ProviderWallet {
  readonly providerWalletId: string;
  readonly addresses: readonly { readonly network: NetworkId; readonly address: string }[];
  readonly publicKey: string | null;
  /** Its initial balances, including assets with 0 units. */
  readonly balances: readonly NewBalance[];
}

export interface CallMeta {
  readonly tenant: string;
  readonly nowMs: number;
  readonly correlationId: string;
  readonly traceparent: string;
}

export interface WalletOrder {
  /** Our id: the same id gives the same wallet. */
  readonly walletId: string;
  readonly name: string;
  readonly network: NetworkId;
}

/** A transfer before its decision. */
export interface TransferDraft {
  readonly intentId: string;
  readonly kind: IntentKind;
  readonly wallet: HeldWallet;
  readonly asset: string;
  readonly amount: string;
  readonly units: bigint;
  readonly toAddress: string;
  readonly token?: TokenTerms;
  readonly call?: EvmCall;
  readonly fees?: FeeChoice;
  readonly replaces?: ReplacedTransfer;
}

export interface Quote {
  /** The highest fee of the transfer, reserved with the amount. Zero units: no fee. */
  readonly fee: NewBalance;
  /** The terms of that fee, where the network has any. */
  readonly fees?: FeeTerms;
}

/** An approved transfer: `submission` is the adapter's data from its last step, null at first. */
export interface Transfer {
  readonly intent: ApprovedTransfer;
  readonly wallet: HeldWallet;
  /** The number that `sequenceCounter` allocated; undefined without one. */
  readonly number: number | undefined;
}

export type TransferProgress =
  /** In progress. `providerTxId` is null until the provider accepts it. Ask again at `againAtMs`. */
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
      /** null: a message, which no network has. */
      readonly providerTxId: string | null;
      readonly providerStatus: string;
      readonly feePaid: NewBalance;
      /** If it has changed: the first poll may find a transfer completed. */
      readonly submission?: unknown;
      /** Its block may still be undone: ask again then. undefined: it is final. */
      readonly againAtMs?: number;
    }
  /** Permanent. `subStatus` `REPLACED`: another transaction has its place. `numberUsed`: the chain consumed the allocated number although the transfer failed; else it is released. */
  | {
      readonly stage: 'failed';
      readonly providerTxId: string | null;
      readonly providerStatus: string;
      readonly subStatus: string;
      readonly error: { readonly code: string; readonly message: string };
      readonly feePaid: NewBalance;
      readonly numberUsed: boolean;
      /** As in `completed`. */
      readonly submission?: unknown;
    };

/** The sub-status of a transaction that waits because its fee is below the market. */
export const belowMarketFee = 'BELOW_MARKET_FEE';
/** Of a transaction whose block was undone: a transfer that had completed completes anew. */
export const reorged = 'REORGED';
/** Of a completed transfer whose block may still be undone. */
export const notFinal = 'NOT_FINAL';

/** A number is used: by this transaction, or (undefined) by a foreign one. */
export interface FilledGap {
  /** The fee that the wallet paid. */
  readonly fee: NewBalance;
  readonly transaction: FillerTransaction | undefined;
}

export interface ProviderAdapter {
  readonly info: ProviderInfo;
  /**
   * Checks credentials: new ones, or with `isTest` those of a connection that exists. Throws ProviderRejected or
   * ProviderUnavailable. A sandbox also provides test wallets.
   */
  connect(
    meta: CallMeta,
    connectionId: string,
    credentials: Readonly<Record<string, string>>,
    environment: ClusterEnvironment,
    isTest: boolean,
  ): Promise<{ readonly testWallets: readonly Omit<WalletOrder, 'walletId'>[] }>;
  createWallet(meta: CallMeta, connection: ProviderConnection, order: WalletOrder): Promise<ProviderWallet>;
  /** Checks whether the provider would accept it now. Throws ProviderRejected or ProviderUnavailable; changes nothing. */
  quote(meta: CallMeta, draft: TransferDraft): Promise<Quote>;
  /** The counter that numbers this wallet's transfers without gaps (EVM account nonces); undefined: it needs no numbers. */
  sequenceCounter(wallet: HeldWallet): string | undefined;
  /** The wallet's receive address of this index. May be repeated. Absent: a wallet has one address. Throws ProviderRejected, ProviderUnavailable. */
  receiveAddress?(meta: CallMeta, wallet: HeldWallet, index: number): Promise<ReceiveAddress>;
  /** Which of the wallet's receive addresses ever got anything. Throws ProviderUnavailable. */
  usedAddresses?(wallet: HeldWallet): Promise<readonly boolean[]>;
  /** As the wallet's chain has them. Absent: it has none. Throws ProviderRejected, ProviderUnavailable. */
  allowances?(wallet: HeldWallet): Promise<readonly TokenAllowance[]>;
  /** Takes the next step of an approved transfer: submits it, or polls it. ProviderUnavailable: call again later. */
  advance(meta: CallMeta, transfer: Transfer): Promise<TransferProgress>;
  /**
   * Releases the provider's reservations for a transfer that was never submitted and never will be. May be repeated. Throws
   * ProviderUnavailable. Absent: it holds nothing.
   */
  abandon?(meta: CallMeta, transfer: Transfer): Promise<void>;
}

/** The provider refused: 422 while a request waits for it, a failed intent afterwards. Contains the provider's own text. */
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

/** The transfer that would be ordered is not the one that its policy receipt decided. Nothing was ordered. */
export class NotDecided extends Error {
  override readonly name = 'NotDecided';
}

/**
 * The provider does not answer, or asks for a later retry. `outcomeUnknown`: it may have received the request, so the request
 * may have taken effect; the same request again finds that effect.
 */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
  readonly retryAfterMs: number;
  readonly outcomeUnknown: boolean;

  constructor(message: string, retryAfterMs = 1_000, outcomeUnknown = false) {
    super(message);
    this.retryAfterMs = retryAfterMs;
    this.outcomeUnknown = outcomeUnknown;
  }
}
