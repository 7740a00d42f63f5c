/** The ledger of the simulated EVM chain in Redis (see evm.ts for its rules). */
import { retentionMs } from './chain.ts';
import {
  type EvmLedger,
  type EvmRefusal,
  type LedgerTransaction,
  type NewEvmTransaction,
  queuedAheadMax,
  queuedMaxMs,
  type TokenContract,
} from './ledger.ts';
import { luaUnits, toDigits } from './lua-units.ts';
import { RedisAccounts } from './redis-accounts.ts';
import { fromFlat, noteLua, script } from './redis-chain.ts';

/** Does what a transaction is for. False: it reverts, and nothing has changed. */
const performLua = `
local function perform(prefix, account, tx)
  local contract = prefix .. 'token:' .. tx.asset
  if tx.effect == 'deploy' then
    redis.call('HSET', contract, 'owner', tx.from, 'name', tx.name, 'symbol', tx.symbol, 'decimals', tx.decimals,
      'cap', tx.cap, 'left', tx.cap)
    return true
  end
  local payer, paid = account, tx.asset
  local receiver, received = prefix .. 'acct:' .. tx.to, tx.asset
  if tx.effect == 'mint' then
    if redis.call('HGET', contract, 'owner') ~= tx.from then return false end
    payer, paid = contract, 'left'
  elseif tx.effect == 'burn' then
    receiver, received = contract, 'left'
  end
  local held = amount(redis.call('HGET', payer, paid))
  if held < tx.units then return false end
  redis.call('HSET', payer, paid, minus(held, tx.units))
  redis.call('HSET', receiver, received, plus(amount(redis.call('HGET', receiver, received)), tx.units))
  return true
end
`;

/** Mines the transactions whose turn has come. */
const mineLua = `
local function fields_of(key)
  local flat, fields = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end
local function mine_queued(prefix, account, native, minedAtMs, retentionMs)
  local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
  while true do
    local next = redis.call('HGET', account, 'q:' .. nonce)
    if not next then break end
    local key = prefix .. 'tx:' .. next
    local tx = fields_of(key)
    local coin = amount(redis.call('HGET', account, native))
    local covered = coin >= tx.needed
    local fee = coin < tx.fee and coin or tx.fee
    redis.call('HSET', account, native, minus(coin, fee))
    local failed = not covered or tx.fails == '1' or not perform(prefix, account, tx)
    redis.call('HSET', key, 'minedAtMs', minedAtMs, 'failed', failed and '1' or '0', 'fee', fee)
    if not covered then redis.call('HSET', key, 'uncovered', '1') end
    redis.call('PEXPIRE', key, retentionMs)
    note(prefix, tx.from, 'out', next, minedAtMs)
    if not failed then note(prefix, tx.to, 'in', next, minedAtMs) end
    redis.call('HDEL', account, 'q:' .. nonce)
    nonce = nonce + 1
    redis.call('HSET', account, 'nonce', nonce)
  end
end
`;

/**
 * KEYS: transaction, sender's account. ARGV: prefix, hash, from, to, asset, units, coin needed, fee, nonce, fails (1/0),
 * mined at ms, kept ms, native asset, now ms, effect, needs a contract (1/0), and with a deployment name, symbol, decimals
 * and cap. Answers with a rejection, or OK and the transaction's fields.
 */
const submitScript = script(`${luaUnits}${performLua}${noteLua}${mineLua}
local prefix, hash, native = ARGV[1], ARGV[2], ARGV[13]
local account = KEYS[2]
local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
local mine = tonumber(ARGV[9])
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[16] == '1' and redis.call('EXISTS', prefix .. 'token:' .. ARGV[5]) == 0 then return {'no_contract'} end
  if mine < nonce then return {'nonce_too_low'} end
  if mine > nonce + ${queuedAheadMax} then return {'nonce_too_high'} end
  if redis.call('HEXISTS', account, 'q:' .. mine) == 1 then return {'nonce_used'} end
  if amount(redis.call('HGET', account, native)) < ARGV[7] then return {'insufficient_funds'} end
  redis.call('HSET', KEYS[1], 'from', ARGV[3], 'to', ARGV[4], 'asset', ARGV[5], 'units', ARGV[6], 'needed', ARGV[7],
    'fee', ARGV[8], 'nonce', ARGV[9], 'fails', ARGV[10], 'queuedAtMs', ARGV[14], 'effect', ARGV[15])
  if ARGV[17] then
    redis.call('HSET', KEYS[1], 'name', ARGV[17], 'symbol', ARGV[18], 'decimals', ARGV[19], 'cap', ARGV[20])
  end
  redis.call('HSET', account, 'q:' .. mine, hash)
end
mine_queued(prefix, account, native, ARGV[11], ARGV[12])
return {'OK', unpack(redis.call('HGETALL', KEYS[1]))}
`);

/**
 * KEYS: a transaction that waits, sender's account. ARGV: prefix, mined at ms, kept ms, native asset, now ms, waits at
 * most ms. Answers with the transaction's fields.
 */
const advanceScript = script(`${luaUnits}${performLua}${noteLua}${mineLua}
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
        tx.effect,
        tx.needsContract ? 1 : 0,
        ...(tx.token === undefined ? [] : [tx.token.name, tx.token.symbol, tx.token.decimals, toDigits(tx.token.cap)]),
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

  async token(contract: string): Promise<TokenContract | undefined> {
    const { owner, name, symbol, decimals, cap, left } = await this.fields(`token:${contract}`);
    if (owner === undefined) return undefined;
    const supply = BigInt(cap!) - BigInt(left!);
    return { owner, name: name!, symbol: symbol!, decimals: Number(decimals), cap: BigInt(cap!), supply };
  }

  override async balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    const fields = Object.entries(await this.fields(`acct:${address}`));
    return new Map(
      fields
        .filter(([name]) => name !== 'nonce' && !name.startsWith('q:'))
        .map(([asset, units]) => [asset, BigInt(units)]),
    );
  }

  async nonce(address: string): Promise<number> {
    return Number((await this.fields(`acct:${address}`)).nonce ?? 0);
  }
}
