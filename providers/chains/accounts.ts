/** What the chains with accounts, EVM and Solana, share: balances, and the faucet. */
import { assetsOn } from '../../networks/assets.ts';
import { type ChainStore, script } from './chain-store.ts';
import { luaUnits, toDigits } from './lua-units.ts';

/** KEYS: the faucet's mark, account. ARGV: prefix, asset, units. */
const fundScript = script(`${luaUnits}
if redis.call('SET', KEYS[1], '1', 'NX') then
  redis.call('HSET', KEYS[2], ARGV[2], plus(amount(redis.call('HGET', KEYS[2], ARGV[2])), ARGV[3]))
end
return 1
`);

/** `address` as the chain names its accounts. */
export async function fundAccount(
  store: ChainStore,
  key: string,
  address: string,
  asset: string,
  units: bigint,
): Promise<void> {
  await store.run(fundScript, [`fund:${key}:${asset}`, `acct:${address}`], [asset, toDigits(units)]);
}

export async function accountBalances(store: ChainStore, address: string): Promise<ReadonlyMap<string, bigint>> {
  const fields = await store.fields(`acct:${address}`);
  return new Map(assetsOn(store.network).map(({ symbol }) => [symbol, BigInt(fields[symbol] ?? 0)]));
}
