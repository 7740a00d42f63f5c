/** The ledger of the simulated Solana chain in Redis. */
import { retentionMs } from './chain.ts';
import type { LedgerTransaction, NewSolanaTransaction, SolanaLedger } from './ledger.ts';
import { luaUnits, toDigits } from './lua-units.ts';
import { RedisAccounts } from './redis-accounts.ts';
import { fromFlat, noteLua, script } from './redis-chain.ts';

/**
 * KEYS: transaction, message, sender's account, receiver's account. ARGV: prefix, id, from, to, asset, lamports, needed,
 * fee, fails (1/0), mined at ms, kept ms. Answers INSUFFICIENT, or OK, the id and the transaction's fields.
 */
const submitScript = script(`${luaUnits}${noteLua}
local first = redis.call('GET', KEYS[2])
if first then return {'OK', first, unpack(redis.call('HGETALL', ARGV[1] .. 'tx:' .. first))} end
local asset = ARGV[5]
local held = amount(redis.call('HGET', KEYS[3], asset))
if held < ARGV[7] then return {'INSUFFICIENT'} end
if ARGV[9] == '1' then
  redis.call('HSET', KEYS[3], asset, minus(held, ARGV[8]))
else
  redis.call('HSET', KEYS[3], asset, minus(held, ARGV[7]))
  redis.call('HSET', KEYS[4], asset, plus(amount(redis.call('HGET', KEYS[4], asset)), ARGV[6]))
end
redis.call('HSET', KEYS[1], 'from', ARGV[3], 'to', ARGV[4], 'asset', asset, 'units', ARGV[6], 'fee', ARGV[8],
  'minedAtMs', ARGV[10], 'failed', ARGV[9])
redis.call('PEXPIRE', KEYS[1], ARGV[11])
note(ARGV[1], ARGV[3], 'out', ARGV[2], ARGV[10])
if ARGV[9] ~= '1' then note(ARGV[1], ARGV[4], 'in', ARGV[2], ARGV[10]) end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[11])
return {'OK', ARGV[2], unpack(redis.call('HGETALL', KEYS[1]))}
`);

export class RedisSolanaLedger extends RedisAccounts implements SolanaLedger {
  async submit(tx: NewSolanaTransaction): Promise<LedgerTransaction | undefined> {
    const [verdict, id, ...fields] = await this.run<[string, string, ...string[]]>(
      submitScript,
      [`tx:${tx.id}`, `msg:${tx.messageHash}`, `acct:${tx.from}`, `acct:${tx.to}`],
      [
        tx.id,
        tx.from,
        tx.to,
        tx.asset,
        toDigits(tx.units),
        toDigits(tx.units + tx.feeUnits),
        toDigits(tx.feeUnits),
        tx.fails ? 1 : 0,
        tx.minedAtMs,
        retentionMs,
      ],
    );
    return verdict === 'OK' ? fromFlat(id, fields) : undefined;
  }
}
