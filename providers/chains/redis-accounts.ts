/** The ledger of a chain with accounts, in Redis: what EVM and Solana share, the faucet. */
import type { AccountLedger } from './ledger.ts';
import { luaUnits, toDigits } from './lua-units.ts';
import { RedisChain, script } from './redis-chain.ts';

/** KEYS: the faucet's mark, account. ARGV: prefix, asset, units. */
const fundScript = script(`${luaUnits}
if redis.call('SET', KEYS[1], '1', 'NX') then
  redis.call('HSET', KEYS[2], ARGV[2], plus(amount(redis.call('HGET', KEYS[2], ARGV[2])), ARGV[3]))
end
return 1
`);

export class RedisAccounts extends RedisChain implements AccountLedger {
  async fund(key: string, address: string, asset: string, units: bigint): Promise<void> {
    await this.run(fundScript, [`fund:${key}:${asset}`, `acct:${address}`], [asset, toDigits(units)]);
  }
}
