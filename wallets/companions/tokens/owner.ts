/**
 * The decision of tokens when the signing of an order's intent begins: it checks cap and reserve, and the commit that begins
 * signing guards the checked values and reserves the backing until the order ends. So no two orders use the same part of cap or
 * reserve, and a refused order has signed nothing.
 */
import { tokenAssetId } from '../../custody/assets/token-assets.ts';
import type { IntentOwner, SigningLeave } from '../../custody/intents/public.ts';
import { merge } from '../../store/changes.ts';
import type { TenantStore } from '../../store/contract.ts';
import { orderChange } from './effects.ts';
import { beginOrder, rejectOrder } from './machine.ts';
import { type OrderRecord, orderType, type ReserveCheck, supplyOf, tokenType } from './record.ts';
import { checkReserve } from './reserve.ts';

export function orderOwner(store: TenantStore): IntentOwner {
  return {
    decidesAbout: ({ token }) => token && tokenAssetId(token.symbol),
    async beforeSigning(tenant, intent, reporter): Promise<SigningLeave> {
      const { nowMs } = reporter;
      const order = await store.read(tenant, orderType, intent.origin!.id);
      if (order?.status !== 'reserve_check' || order.draft.id !== intent.id) {
        return { kind: 'refused', subStatus: 'ORDER_OVER', message: 'the order of this intent is over', change: {} };
      }
      const refused = (code: string, message: string, check: ReserveCheck | null = null): SigningLeave => ({
        kind: 'refused',
        subStatus: code,
        message,
        change: orderChange(reporter, rejectOrder(order, code, { code, message }, nowMs, check)),
      });
      const found = await store.readWithBalances(tenant, tokenType, order.tokenId);
      if (found === undefined) throw new Error(`the token of ${order.id} is missing`);
      const { record: token, balances } = found;
      if (token.status !== 'active') return refused('TOKEN_FROZEN', 'the token is frozen');
      const supply = supplyOf(token, balances);
      const units = BigInt(order.units);
      if (order.kind === 'mint' && units > supply.left) {
        return refused('CAP_EXCEEDED', 'the supply would pass the cap of the token');
      }
      const checked = await checkReserve({ store, tenant, nowMs }, order, supply);
      if (checked.kind === 'refused') return refused(checked.code, checked.message, checked.check);
      const { check, change: held } = checked;
      const change = merge(orderChange(reporter, beginOrder(order, check, nowMs)), held, {
        guards: [{ kind: 'version', id: token.id, version: token.version }],
      });
      return { kind: 'granted', change: order.kind === 'mint' ? merge(change, taking(order, supply.left)) : change };
    },
  };
}

/** The mint's part of the cap. No other order may have used the cap since: the reserve check used the remaining amount. */
function taking({ tokenId: walletId, asset, units }: OrderRecord, left: bigint) {
  return {
    guards: [{ kind: 'available', walletId, asset, min: left, max: undefined } as const],
    ledger: [{ walletId, asset, available: -BigInt(units), reserved: BigInt(units) }],
  };
}
