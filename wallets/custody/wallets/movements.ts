/** The movements of a wallet, by their numbers: a page neither loses nor repeats any while the wallet gets more. */
import type { Static } from 'typebox';
import { readPage } from '../../../gateway/api/pages.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import { formatAmount } from '../../networks/amounts.ts';
import { type BookedMovement, shownRecord } from '../../store/contract.ts';
import type { ShownAsset } from '../../store/shown-balances.ts';
import { readWallet } from './read.ts';
import type { MovementQuery, WalletMovement } from './schemas.ts';
import { shownAssets } from './view.ts';

/** Throws ServiceError 404. */
export async function listMovements(
  context: RequestContext,
  walletId: string,
  query: Static<typeof MovementQuery>,
): Promise<Answer> {
  const { record } = await readWallet(context, walletId);
  const page = readPage(context, `wallets/${walletId}/movements`, query, (place) => /^[1-9]\d{0,15}$/.test(place));
  const { limit, afterId } = page.query;
  const found = await context.store.movements(
    context.tenant,
    walletId,
    limit,
    afterId === undefined ? undefined : Number(afterId),
  );
  const last = found.at(-1);
  const hasMore = last !== undefined && last.number > 1;
  const assets = new Map(shownAssets(record).map((asset) => [asset.symbol, asset]));
  return {
    status: 200,
    body: {
      movements: found.map((movement) => shownRecord(walletId, () => movementView(movement, assets))),
      has_more: hasMore,
      next_cursor: hasMore ? page.cursorOf(String(last.number)) : null,
    },
  };
}

function movementView(
  movement: BookedMovement,
  assets: ReadonlyMap<string, ShownAsset>,
): Static<typeof WalletMovement> {
  const { number, kind, asset, units, balance, of, txId, counterparty, atMs } = movement;
  const { decimals } = assets.get(asset)!;
  return {
    ...{ number, kind, asset, counterparty },
    amount: formatAmount(units, decimals),
    balance: formatAmount(balance, decimals),
    source_id: of,
    tx_id: txId,
    created_at: timestamp(atMs),
  };
}
