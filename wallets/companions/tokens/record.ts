/**
 * Tokens and their orders as stored. The ledger holds the mintable amount, under the token's id and symbol: `available` is
 * neither in circulation nor being minted, `reserved` is being minted. They begin as the cap and 0, so the ledger itself keeps
 * the supply between zero and the cap.
 */

import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { becoming, unchangedIn } from '../../../gateway/api/state-changes.ts';
import type { IntentDraft, Vote } from '../../custody/intents/public.ts';
import type { TokenTerms } from '../../networks/assets.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { Balances, RecordType, Versioned } from '../../store/contract.ts';
import { isFinal, type OrderStatus } from './states.ts';

export const tokenStatuses = ['deploying', 'active', 'frozen', 'failed'] as const;
export type TokenStatus = (typeof tokenStatuses)[number];

/** By operation; repeated, a freezing changes nothing. */
export const tokenStates = {
  order: unchangedIn<TokenStatus>('active'),
  freeze: becoming<TokenStatus>('frozen', 'active', 'frozen'),
  unfreeze: becoming<TokenStatus>('active', 'frozen', 'active'),
};

export interface OwnTokenRecord extends Versioned, TokenTerms {
  readonly status: TokenStatus;
  readonly issuerWalletId: string;
  /** The connection of the issuer's wallet. */
  readonly connectionId: string;
  readonly provider: ProviderKind;
  /** The transaction that deploys its contract. */
  readonly intentId: string;
  /** The reason why it was never deployed. */
  readonly error: TokenFailure | null;
  readonly freezeReason: string | null;
  readonly metadata: MetadataValue;
  readonly correlationId: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface TokenFailure {
  readonly code: string;
  readonly message: string;
}

export const tokenType: RecordType<OwnTokenRecord> = {
  name: 'token',
  status: ({ status }) => status,
  indices: ({ connectionId, status }) => ['tokens', `tokens:status:${status}`, `tokens:connection:${connectionId}`],
};

/** The backing of a token: one unit of the reserve asset for each unit of the token. */
export type Reserve =
  | { readonly type: 'wallet'; readonly walletId: string; readonly asset: string; readonly decimals: number }
  | {
      readonly type: 'attestation';
      /** The attestor's reference. */
      readonly reference: string;
      readonly asset: string;
      readonly decimals: number;
      /** Smallest units of the asset. */
      readonly units: string;
      readonly expiresAtMs: number;
    };

/** The result of the reserve check, in smallest units of the reserve asset. */
export interface ReserveCheck {
  readonly requiredUnits: string;
  readonly heldUnits: string;
  readonly atMs: number;
}

export const orderKinds = ['mint', 'redeem'] as const;
export type OrderKind = (typeof orderKinds)[number];

export interface OrderRecord extends Versioned {
  readonly kind: OrderKind;
  readonly tokenId: string;
  /** The connection of the token's issuer. */
  readonly connectionId: string;
  readonly provider: ProviderKind;
  readonly status: OrderStatus;
  readonly subStatus: string | null;
  readonly asset: string;
  readonly decimals: number;
  readonly amount: string;
  /** Smallest units, a decimal integer. */
  readonly units: string;
  readonly reserve: Reserve;
  readonly reserveCheck: ReserveCheck | null;
  /** Its transaction as decided; it becomes an intent when the order is approved: one order, one intent id. */
  readonly draft: IntentDraft;
  readonly initiator: string;
  readonly approvals: readonly Vote[];
  readonly approvalsRequired: number;
  readonly approvers: readonly string[];
  readonly error: TokenFailure | null;
  readonly metadata: MetadataValue;
  readonly correlationId: string;
  readonly statusHistory: readonly {
    readonly status: OrderStatus;
    readonly subStatus: string | null;
    readonly atMs: number;
  }[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** After it an order that awaits approval is rejected. */
  readonly expiresAtMs: number;
}

export const orderType: RecordType<OrderRecord> = {
  name: 'token_order',
  status: ({ status }) => status,
  indices: ({ tokenId, kind, status }) => [
    `token_orders:${tokenId}`,
    `token_orders:${tokenId}:status:${status}`,
    `token_orders:${tokenId}:kind:${kind}`,
    ...(isFinal(status) ? [] : [openOrdersIndex(tokenId)]),
  ],
};

export function openOrdersIndex(tokenId: string): string {
  return `token_orders:open:${tokenId}`;
}

/** The amounts left to mint, being minted, and in circulation: smallest units. */
export interface Supply {
  readonly left: bigint;
  readonly minting: bigint;
  readonly circulating: bigint;
}

export function supplyOf({ id, symbol, status, supplyCap }: OwnTokenRecord, balances: Balances): Supply {
  if (status === 'deploying' || status === 'failed') return { left: BigInt(supplyCap), minting: 0n, circulating: 0n };
  const account = balances.get(symbol);
  const { available: left, reserved: minting } = account ?? { available: 0n, reserved: 0n };
  const circulating = BigInt(supplyCap) - left - minting;
  if (circulating < 0n) throw new Error(`the supply of ${id} is below zero`);
  return { left, minting, circulating };
}

/** The intent id of a token or an order: the same UUID under another prefix. */
export function intentIdOf(id: string): string {
  return `txi_${id.slice(id.indexOf('_') + 1)}`;
}

export const tokenOrigin = 'token';
export const orderOrigin = 'token-order';
