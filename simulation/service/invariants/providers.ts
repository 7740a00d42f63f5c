/**
 * The books of the other side: chains and simulated custodians report the movements, and the tenant's wallets must agree. Every
 * outgoing movement has an approved intent, none happens twice, and at rest both sides have the same balance.
 */

import { formatAmount } from '../../../wallets/networks/amounts.ts';
import { assetOf } from '../../../wallets/networks/assets.ts';
import { openChains } from '../../../wallets/providers/chains/public.ts';
import { redisLedgers } from '../../../wallets/providers/chains/redis-ledgers.ts';
import type { ProviderKind } from '../../../wallets/providers/port/kinds.ts';
import type { CallMeta, HeldWallet } from '../../../wallets/providers/port/port.ts';
import { effectOf, type Movement } from '../../../wallets/providers/port/statement.ts';
import { RedisCustodianBooks } from '../../../wallets/providers/simulated/redis-custodian-books.ts';
import { providerStatements } from '../../../wallets/providers/statements.ts';
import type { MemoryRedis } from '../../redis/memory-redis.ts';
import type { BookedIntent } from './books.ts';
import { decimal, signed, type ToldWallet } from './documented-ledger.ts';
import { Finding, found } from './finding.ts';

export interface BookedWallet extends ToldWallet {
  readonly name: string;
  readonly provider: ProviderKind;
  readonly provider_wallet_id: string;
  readonly network: HeldWallet['network'];
  readonly addresses: HeldWallet['addresses'];
  readonly public_key: string | null;
}

export interface MovedIntent extends BookedIntent {
  readonly kind: string;
  readonly destination: { readonly address: string };
  readonly gap_transaction: { readonly provider_tx_id: string } | null;
  readonly status_history: readonly { readonly status: string }[];
}

const pageRows = 500;
/** A gateway whose clock is ahead books in the future. */
const clocksOffMs = 3_600_000;

/** A wallet's movement, as the API shows it. */
export interface ShownMovement {
  readonly number: number;
  readonly asset: string;
  readonly amount: string;
  readonly balance: string;
  readonly tx_id: string | null;
}

/**
 * The other side's difference about a wallet; undefined: they agree. Throws a Finding for a permanent difference. `intents`: of all
 * tenants, since an allowance lets another one take units.
 */
export async function disagreement(
  tenant: string,
  memory: MemoryRedis,
  blockMs: number,
  nowMs: number,
  wallets: readonly BookedWallet[],
  intents: readonly MovedIntent[],
  movementsOf: (wallet: BookedWallet) => Promise<readonly ShownMovement[]>,
): Promise<string | undefined> {
  const redis = memory.client();
  const chains = openChains({ ledgers: redisLedgers(redis), blockMs });
  const statements = providerStatements({ books: (kind) => new RedisCustodianBooks(redis, kind), chains });
  const meta: CallMeta = { tenant, nowMs, correlationId: 'check', traceparent: '' };
  for (const wallet of wallets) {
    const side = statements.get(wallet.provider);
    if (side === undefined) throw new Error(`no statements of ${wallet.provider}`);
    const held: HeldWallet = {
      id: wallet.id,
      providerWalletId: wallet.provider_wallet_id,
      environment: 'sandbox',
      network: wallet.network,
      addresses: wallet.addresses,
      publicKey: wallet.public_key,
    };
    const movements: Movement[] = [];
    for (let after: string | undefined, isLast = false; !isLast; ) {
      const page = await side.page(meta, held, { fromMs: 0, toMs: nowMs + clocksOffMs, after, limit: pageRows });
      movements.push(...page.movements);
      after = page.next;
      isLast = after === undefined;
    }
    const own = intents.filter(({ wallet_id: id }) => id === wallet.id);
    // The venue exchanges assets in its own wallets, without a transfer.
    if (!wallet.name.startsWith('Venue ')) checkMovements(wallet, movements, own, side.joinsBy, intents);
    const other = otherBalance(wallet, await side.balances(meta, held));
    if (other !== undefined) return other;
    const shown = await movementsOf(wallet);
    checkSums(wallet, shown);
    const moved = side.joinsBy === 'tx_id' ? otherMovement(wallet, movements, shown) : undefined;
    if (moved !== undefined) return moved;
  }
  return undefined;
}

/** "Those of an asset add up to its balance", each with the balance after it, numbered without gaps. Newest first. */
export function checkSums({ id }: BookedWallet, movements: readonly ShownMovement[]): void {
  const sums = new Map<string, bigint>();
  for (const [at, { number, asset, amount, balance }] of movements.toReversed().entries()) {
    const sum = (sums.get(asset) ?? 0n) + signed(amount);
    sums.set(asset, sum);
    if (number === at + 1 && sum === decimal(balance)) continue;
    found('books-as-documented', `movement ${number} of ${id} is the ${at + 1}th, and leaves ${balance} ${asset}`);
  }
}

/** What the chain moved in each transaction, against the movements that name it. */
export function otherMovement(
  { id, assets }: BookedWallet,
  theirs: readonly Movement[],
  ours: readonly ShownMovement[],
): string | undefined {
  const sums = new Map<string, bigint>();
  const add = (txId: string, symbol: string, units: bigint): void => {
    const key = `${txId} ${symbol}`;
    if (assetOf(symbol) !== undefined) sums.set(key, (sums.get(key) ?? 0n) + units);
  };
  for (const { tx_id: txId, asset, amount } of ours) if (txId !== null) add(txId, asset, signed(amount));
  for (const movement of theirs) {
    for (const { asset, units } of effectOf(movement)) {
      if (assetOf(asset) !== undefined) add(movement.key, asset, -signed(formatAmount(units, decimalsOf(asset))));
    }
  }
  for (const { symbol, balance } of assets) {
    const held = ours.find(({ asset }) => asset === symbol)?.balance ?? '0';
    if (decimal(held) !== decimal(balance)) return `${id} has ${balance} ${symbol}, its movements leave ${held}`;
  }
  const [key] = [...sums].find(([, units]) => units !== 0n) ?? [];
  return key && `the movements of ${id} and its chain differ in ${key} by ${sums.get(key)}`;
}

function checkMovements(
  { id: walletId, provider, addresses }: BookedWallet,
  movements: readonly Movement[],
  intents: readonly MovedIntent[],
  joinsBy: 'reference' | 'tx_id',
  all: readonly MovedIntent[],
): void {
  const keyOf = (intent: MovedIntent) => (joinsBy === 'reference' ? intent.id : intent.provider_tx_id);
  const seen = new Set<string>();
  for (const movement of movements) {
    if (movement.direction !== 'out') continue;
    const about = `${provider} moved ${movement.key} out of ${walletId}`;
    if (seen.has(movement.key)) found('providers-agree', `${about} twice`);
    seen.add(movement.key);
    if (intents.some(({ gap_transaction: gap }) => gap?.provider_tx_id === movement.key)) continue;
    const intent = intents.find((one) => keyOf(one) === movement.key);
    if (intent === undefined && all.some((one) => takes(one, addresses, movement))) continue;
    if (intent === undefined) throw new Finding('providers-agree', `${about}, for which no intent stands`);
    const passed = intent.status_history.map(({ status }) => status);
    if (!passed.includes('approved')) found('providers-agree', `${about} for ${intent.id}, which was never approved`);
    if (movement.hasMoved && intent.status !== 'completed') {
      found('providers-agree', `${about} for ${intent.id}, which is ${intent.status}`);
    }
    // The movement of a token operation is in its receipt, not in the coin's book.
    if (intent.kind !== 'transfer') continue;
    const amount = formatAmount(movement.units, decimalsOf(movement.asset));
    if (decimal(amount) !== decimal(intent.amount) || movement.asset !== intent.asset) {
      found(
        'providers-agree',
        `${about}: ${amount} ${movement.asset}, and ${intent.id} is of ${intent.amount} ${intent.asset}`,
      );
    }
    const { counterparty } = movement;
    if (counterparty !== null && counterparty.toLowerCase() !== intent.destination.address.toLowerCase()) {
      found('providers-agree', `${about} to ${counterparty}, and ${intent.id} names ${intent.destination.address}`);
    }
  }
  const unpaid = intents.find(
    (intent) => intent.message == null && intent.status === 'completed' && !seen.has(keyOf(intent) ?? ''),
  );
  if (unpaid !== undefined) found('providers-agree', `${unpaid.id} is completed, and ${provider} knows nothing of it`);
}

/** Whether a wallet, of any tenant, took it, as an allowance let it. */
function takes(
  { call, status, provider_tx_id: txId }: MovedIntent,
  addresses: BookedWallet['addresses'],
  { key, units }: Movement,
): boolean {
  if (call?.function !== 'transferFrom' || status !== 'completed' || txId !== key) return false;
  const { from, amount } = call.arguments;
  return amount === String(units) && addresses.some(({ address }) => address.toLowerCase() === from);
}

function otherBalance({ id, provider, assets }: BookedWallet, theirs: ReadonlyMap<string, bigint>): string | undefined {
  for (const { symbol, balance } of assets) {
    // The tenant's tokens: other checks cover their orders and supply.
    if (assetOf(symbol) === undefined) continue;
    const other = formatAmount(theirs.get(symbol) ?? 0n, decimalsOf(symbol));
    if (decimal(other) === decimal(balance)) continue;
    return `${id} owns ${balance} ${symbol} here, and ${other} at ${provider}`;
  }
  return undefined;
}

function decimalsOf(symbol: string): number {
  const asset = assetOf(symbol);
  if (asset === undefined) throw new Error(`there is no asset ${symbol}`);
  return asset.decimals;
}
