/**
 * Reserves: parses a caller's reserve, and checks whether it covers an order when its signing begins. A mint needs the sum of
 * all units in circulation, being minted, and of this order; a redemption needs its own amount, which will be paid out. One
 * unit of the reserve asset backs one unit of the token, whatever decimals both have.
 */
import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { FieldIssue } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { findAsset } from '../../custody/assets/token-assets.ts';
import { findWallet } from '../../custody/intents/public.ts';
import { walletType } from '../../custody/wallets/public.ts';
import { amountTakes, formatAmount, parseAmount } from '../../networks/amounts.ts';
import { merge } from '../../store/changes.ts';
import type { Change, Guard, TenantStore } from '../../store/contract.ts';
import type { OrderRecord, Reserve, ReserveCheck, Supply } from './record.ts';
import { findHold, holding } from './reserve-hold.ts';
import type { MintBody } from './schemas.ts';

type Reference = Static<typeof MintBody>['reserve_reference'];

const attestationDecimals = 18;

/** Throws ServiceError 400, and 404 for a wallet that the caller does not see. */
export async function readReserve(context: RequestContext, token: string, reference: Reference): Promise<Reserve> {
  const { type, asset, wallet_id: walletId, reference: name, amount, expires_at: expiresAt } = reference;
  const issues: FieldIssue[] = [];
  const needs = (field: string, isThere: boolean, isWanted: boolean) => {
    if (isThere !== isWanted) {
      issues.push({ field: `reserve_reference.${field}`, issue: isWanted ? 'missing_required' : 'not_applicable' });
    }
  };
  needs('wallet_id', walletId !== undefined, type === 'wallet');
  needs('reference', name !== undefined, type === 'attestation');
  needs('amount', amount !== undefined, type === 'attestation');
  needs('expires_at', expiresAt !== undefined, type === 'attestation');
  if (asset === token)
    issues.push({ field: 'reserve_reference.asset', issue: 'invalid_value', message: 'a token cannot back itself' });
  if (issues.length > 0) throw invalidFields(issues);
  if (type === 'attestation') {
    const units = parseAmount(amount!, attestationDecimals);
    if (typeof units === 'string')
      throw invalidFields([
        { field: 'reserve_reference.amount', issue: units, message: amountTakes(units, attestationDecimals) },
      ]);
    const expiresAtMs = Date.parse(expiresAt!);
    if (expiresAtMs <= context.nowMs) {
      throw invalidFields([
        { field: 'reserve_reference.expires_at', issue: 'too_small', message: 'the attestation has expired' },
      ]);
    }
    return { type, reference: name!, asset, decimals: attestationDecimals, units: units.toString(), expiresAtMs };
  }
  const { wallet } = await findWallet(context, walletId!);
  const known = await findAsset(context, asset);
  if (known === undefined || known.network !== wallet.network) {
    throw invalidFields([
      { field: 'reserve_reference.asset', issue: 'unknown_asset', message: 'takes an asset of the wallet’s network' },
    ]);
  }
  return { type, walletId: wallet.id, asset, decimals: known.decimals };
}

export type Checked =
  /** `change` keeps it true: guards until the commit, and the reserved amount until the order is over. */
  | { readonly kind: 'covered'; readonly check: ReserveCheck; readonly change: Change }
  | {
      readonly kind: 'refused';
      readonly check: ReserveCheck | null;
      readonly code: string;
      readonly message: string;
    };

/** `supply`: before the order. */
export async function checkReserve(
  { store, tenant, nowMs }: { readonly store: TenantStore; readonly tenant: string; readonly nowMs: number },
  order: OrderRecord,
  { circulating, minting }: Supply,
): Promise<Checked> {
  const { kind, units, decimals, reserve } = order;
  const hold = await findHold(store, tenant, order);
  if (hold.takenBy !== undefined) {
    const { symbol } = hold.takenBy;
    return {
      kind: 'refused',
      check: null,
      code: 'RESERVE_TAKEN',
      message: `the reserve backs the token ${symbol}, of which units are in circulation or being minted`,
    };
  }
  const backed = kind === 'mint' ? circulating + minting + BigInt(units) : BigInt(units);
  const required = scaledUp(backed, decimals, reserve.decimals);
  const found = (held: bigint): ReserveCheck => ({
    requiredUnits: required.toString(),
    heldUnits: held.toString(),
    atMs: nowMs,
  });
  const tooLittle = (held: bigint): Checked => ({
    kind: 'refused',
    check: found(held),
    code: 'RESERVE_INSUFFICIENT',
    message: `the reserve holds ${formatAmount(held, reserve.decimals)} ${reserve.asset}, and ${formatAmount(required, reserve.decimals)} are needed`,
  });
  if (reserve.type === 'attestation') {
    const held = BigInt(reserve.units);
    if (nowMs >= reserve.expiresAtMs) {
      return { kind: 'refused', check: found(held), code: 'RESERVE_EXPIRED', message: 'the attestation has expired' };
    }
    if (held < required) return tooLittle(held);
    return { kind: 'covered', check: found(held), change: holding(hold, order, required) };
  }
  const { walletId, asset } = reserve;
  const wallet = await store.readWithBalances(tenant, walletType, walletId);
  if (wallet === undefined || wallet.record.status === 'archived') {
    return {
      kind: 'refused',
      check: null,
      code: 'RESERVE_UNAVAILABLE',
      message: 'the wallet of the reserve is archived',
    };
  }
  const available = wallet.balances.get(asset)?.available ?? 0n;
  const held = available + hold.heldUnits;
  if (held < required) return tooLittle(held);
  const guards: Guard[] =
    required > hold.heldUnits
      ? [{ kind: 'available', walletId, asset, min: required - hold.heldUnits, max: undefined }]
      : [];
  return { kind: 'covered', check: found(held), change: merge(holding(hold, order, required), { guards }) };
}

/** The same amount in units of other decimals, rounded up. */
export function scaledUp(units: bigint, from: number, to: number): bigint {
  if (to >= from) return units * 10n ** BigInt(to - from);
  const divisor = 10n ** BigInt(from - to);
  return (units + divisor - 1n) / divisor;
}
