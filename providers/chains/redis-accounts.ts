/** The ledger of a chain with accounts, in Redis: what EVM and Solana share, the faucet. */
import type { FundedBy } from './chain.ts';
import type { AccountLedger } from './ledger.ts';
import { luaUnits, toDigits } from './lua-units.ts';
import { noteLua, RedisChain, script } from './redis-chain.ts';

/** KEYS: the faucet's mark, account. ARGV: prefix, asset, units, address; of a movement: transaction, sender, ms. */
const fundScript = script(`${luaUnits}${noteLua}
if redis.call('SET', KEYS[1], '1', 'NX') then
  redis.call('HSET', KEYS[2], ARGV[2], plus(amount(redis.call('HGET', KEYS[2], ARGV[2])), ARGV[3]))
  if ARGV[5] then note_funded(ARGV[1], ARGV[4], ARGV[2], ARGV[3], ARGV[5], ARGV[6], ARGV[7]) end
end
return 1
`);

export class RedisAccounts extends RedisChain implements AccountLedger {
  async fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void> {
    const movement = by === undefined ? [] : [by.txId, by.from, by.atMs];
    const args = [asset, toDigits(units), address, ...movement];
    await this.run(fundScript, [`fund:${key}:${asset}`, `acct:${address}`], args);
  }
}
