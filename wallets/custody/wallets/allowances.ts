/** What a wallet lets other accounts move of its tokens (`approve` of ERC-20): what its chain has, and not what was asked for. */
import type { Static } from 'typebox';
import { readPage } from '../../../gateway/api/pages.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { canonicalAddress } from '../../networks/addresses.ts';
import { formatAmount } from '../../networks/amounts.ts';
import type { TokenAllowance } from '../../providers/port/port.ts';
import { findAssetAt } from '../assets/token-assets.ts';
import { askingProvider, refusal } from '../provider-calls/refusals.ts';
import type { WalletDeps } from './create.ts';
import { readWallet } from './read.ts';
import type { AllowanceQuery, WalletAllowance } from './schemas.ts';

/** Throws ServiceError: 404, 422 where no wallet has any, 503. */
export async function listAllowances(
  deps: WalletDeps,
  context: RequestContext,
  walletId: string,
  query: Static<typeof AllowanceQuery>,
): Promise<Answer> {
  const { record } = await readWallet(context, walletId);
  const { provider, network } = record;
  const page = readPage(context, `wallets/${walletId}/allowances`, query);
  const adapter = deps.adapters.get(provider);
  if (adapter?.allowances === undefined) {
    const name = adapter?.info.displayName ?? provider;
    throw refusal('not_supported', `${name} shows no allowances: only wallets of our cluster have them`);
  }
  const all = await askingProvider(provider, () => adapter.allowances!(record));
  const { limit, afterId = '' } = page.query;
  const left = all.filter((one) => placeOf(one) > afterId).sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  const shown = left.slice(0, limit);
  const hasMore = left.length > limit;
  const allowances: Static<typeof WalletAllowance>[] = [];
  for (const { contract, spender, units } of shown) {
    // A wallet calls no contract but those of assets that its tenant has.
    const { symbol, decimals } = (await findAssetAt(context, network, contract))!;
    allowances.push({
      asset: symbol,
      contract: canonicalAddress(network, contract),
      spender: canonicalAddress(network, spender),
      amount: units === undefined ? null : formatAmount(units, decimals),
    });
  }
  return {
    status: 200,
    body: {
      allowances,
      has_more: hasMore,
      next_cursor: hasMore ? page.cursorOf(placeOf(shown.at(-1)!)) : null,
    },
  };
}

function placeOf({ contract, spender }: TokenAllowance): string {
  return `${contract}:${spender}`;
}
