-- Queues a transaction of an EVM account, unless it is known, and mines what is next. Answers a rejection (EvmRefusal,
-- ledger.ts), or OK and the transaction's fields.
-- needed: the coin that it needs in all. fails, needsContract: 1 or 0. queuedAheadMax: how far its nonce may lie ahead.
-- token: of a deployment.
-- @include wallets/providers/chains/evm-mining.lua
-- @shape transaction = id, from, to, asset, units, needed, fee, nonce, fails, effect
-- @shape token = name, symbol, decimals, cap
-- @keys prefixKey
-- @args nativeAsset, nowMs, minedAtMs, retentionMs, queuedAheadMax, needsContract, tx: transaction, token: token?

local key, account = prefixKey .. 'tx:' .. tx.id, prefixKey .. 'acct:' .. tx.from
local expected, nonce = tonumber(redis.call('HGET', account, 'nonce') or '0'), tonumber(tx.nonce)
if redis.call('EXISTS', key) == 0 then
  if needsContract == '1' and redis.call('EXISTS', prefixKey .. 'token:' .. tx.asset) == 0 then return {'no_contract'} end
  if nonce < expected then return {'nonce_too_low'} end
  if nonce > expected + queuedAheadMax then return {'nonce_too_high'} end
  if redis.call('HEXISTS', account, 'q:' .. nonce) == 1 then return {'nonce_used'} end
  if amount(redis.call('HGET', account, nativeAsset)) < tx.needed then return {'insufficient_funds'} end
  redis.call('HSET', key, 'from', tx.from, 'to', tx.to, 'asset', tx.asset, 'units', tx.units, 'needed', tx.needed,
    'fee', tx.fee, 'nonce', tx.nonce, 'fails', tx.fails, 'queuedAtMs', nowMs, 'effect', tx.effect)
  if token then
    redis.call('HSET', key, 'name', token.name, 'symbol', token.symbol, 'decimals', token.decimals, 'cap', token.cap)
  end
  redis.call('HSET', account, 'q:' .. nonce, tx.id)
end
mine_queued(prefixKey, account, nativeAsset, minedAtMs, retentionMs)
return {'OK', unpack(redis.call('HGETALL', key))}
