/** The ledger of the simulated EVM chain in Redis (see evm.ts for its rules). */
import { retentionMs } from './chain.ts';
import {
  type EvmLedger,
  type EvmRefusal,
  type LedgerTransaction,
  type NewEvmTransaction,
  queuedAheadMax,
  queuedMaxMs,
} from './ledger.ts';
import { luaUnits, toDigits } from './lua-units.ts';
import { RedisAccounts } from './redis-accounts.ts';
import { fromFlat, script } from './redis-chain.ts';

/** Mines whatever's turn has come. */
const mineLua = `
local function mine_queued(prefix, account, native, minedAtMs, retentionMs)
  local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
  while true do
    local next = redis.call('HGET', account, 'q:' .. nonce)
    if not next then break end
    local key = prefix .. 'tx:' .. next
    local tx = redis.call('HMGET', key, 'to', 'asset', 'units', 'needed', 'fee', 'fails')
    local coin = amount(redis.call('HGET', account, native))
    local covered = coin >= tx[4]
    local fee = coin < tx[5] and coin or tx[5]
    redis.call('HSET', account, native, minus(coin, fee))
    local held = amount(redis.call('HGET', account, tx[2]))
    local failed = not covered or tx[6] == '1' or held < tx[3]
    if not failed then
      redis.call('HSET', account, tx[2], minus(held, tx[3]))
      local receiver = prefix .. 'acct:' .. tx[1]
      redis.call('HSET', receiver, tx[2], plus(amount(redis.call('HGET', receiver, tx[2])), tx[3]))
    end
    redis.call('HSET', key, 'minedAtMs', minedAtMs, 'failed', failed and '1' or '0', 'fee', fee)
    if not covered then redis.call('HSET', key, 'uncovered', '1') end
    redis.call('PEXPIRE', key, retentionMs)
    redis.call('HDEL', account, 'q:' .. nonce)
    nonce = nonce + 1
    redis.call('HSET', account, 'nonce', nonce)
  end
end
`;

/**
 * KEYS: transaction, sender's account. ARGV: prefix, hash, from, to, asset, units, coin needed, fee, nonce, fails (1/0),
 * mined at ms, kept ms, native asset, now ms. Answers with a rejection, or OK and the transaction's fields.
 */
const submitScript = script(`${luaUnits}${mineLua}
local prefix, hash, native = ARGV[1], ARGV[2], ARGV[13]
local account = KEYS[2]
local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
local mine = tonumber(ARGV[9])
if redis.call('EXISTS', KEYS[1]) == 0 then
  if mine < nonce then return {'nonce_too_low'} end
  if mine > nonce + ${queuedAheadMax} then return {'nonce_too_high'} end
  if redis.call('HEXISTS', account, 'q:' .. mine) == 1 then return {'nonce_used'} end
  if amount(redis.call('HGET', account, native)) < ARGV[7] then return {'insufficient_funds'} end
  redis.call('HSET', KEYS[1], 'from', ARGV[3], 'to', ARGV[4], 'asset', ARGV[5], 'units', ARGV[6], 'needed', ARGV[7],
    'fee', ARGV[8], 'nonce', ARGV[9], 'fails', ARGV[10], 'queuedAtMs', ARGV[14])
  redis.call('HSET', account, 'q:' .. mine, hash)
end
mine_queued(prefix, account, native, ARGV[11], ARGV[12])
return {'OK', unpack(redis.call('HGETALL', KEYS[1]))}
`);

/**
 * KEYS: a transaction that waits, sender's account. ARGV: prefix, mined at ms, kept ms, native asset, now ms, waits at
 * most ms. Answers with the transaction's fields.
 */
const advanceScript = script(`${luaUnits}${mineLua}
mine_queued(ARGV[1], KEYS[2], ARGV[4], ARGV[2], ARGV[3])
local tx = redis.call('HMGET', KEYS[1], 'minedAtMs', 'queuedAtMs', 'nonce', 'dropped')
if tx[3] and not tx[1] and not tx[4] then
  if not tx[2] then redis.call('HSET', KEYS[1], 'queuedAtMs', ARGV[5])
  elseif tonumber(ARGV[5]) - tonumber(tx[2]) >= tonumber(ARGV[6]) then
    redis.call('HDEL', KEYS[2], 'q:' .. tx[3])
    redis.call('HSET', KEYS[1], 'dropped', '1', 'failed', '1')
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
end
return redis.call('HGETALL', KEYS[1])
`);

export class RedisEvmLedger extends RedisAccounts implements EvmLedger {
  async submit(tx: NewEvmTransaction): Promise<LedgerTransaction | EvmRefusal> {
    const [verdict, ...fields] = await this.run<['OK' | EvmRefusal, ...string[]]>(
      submitScript,
      [`tx:${tx.id}`, `acct:${tx.from}`],
      [
        tx.id,
        tx.from,
        tx.to,
        tx.asset,
        toDigits(tx.units),
        toDigits(tx.coinNeeded),
        toDigits(tx.feeUnits),
        tx.nonce,
        tx.fails ? 1 : 0,
        tx.minedAtMs,
        retentionMs,
        this.nativeAsset,
        tx.nowMs,
      ],
    );
    return verdict === 'OK' ? fromFlat(tx.id, fields) : verdict;
  }

  async advance(id: string, from: string, nowMs: number, minedAtMs: number): Promise<LedgerTransaction> {
    const fields = await this.run<string[]>(
      advanceScript,
      [`tx:${id}`, `acct:${from}`],
      [minedAtMs, retentionMs, this.nativeAsset, nowMs, queuedMaxMs],
    );
    return fromFlat(id, fields);
  }

  async nonce(address: string): Promise<number> {
    return Number((await this.fields(`acct:${address}`)).nonce ?? 0);
  }
}
