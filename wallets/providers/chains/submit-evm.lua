-- Queues a transaction of an EVM account, unless it is known, and mines what is next. Answers a rejection (EvmRefusal,
-- ledger.ts), or OK and the transaction's fields.
-- needed: the coin that it needs in all. maxFee, tip: wei a unit of gas. market: the price until it is moved. fails,
-- needsContract, outOfGas: 1 or 0. queuedAheadMax: how far its nonce may lie ahead. token: of a deployment. owner: of transferFrom, whose
-- units it moves. allowance: of approve, a decimal integer of any size. Both else empty.
-- @include wallets/providers/chains/evm-mining.lua
-- @shape transaction = id, from, to, asset, units, needed, fee, gas, maxFee, tip, nonce, fails, outOfGas, effect, owner, allowance
-- @shape token = name, symbol, decimals, cap
-- @keys prefixKey
-- @args nativeAsset, market, nowMs, minedAtMs, retentionMs, queuedAheadMax, needsContract, tx: transaction, token: token?

local key, account = prefixKey .. 'tx:' .. tx.id, prefixKey .. 'acct:' .. tx.from
local expected, nonce = tonumber(redis.call('HGET', account, 'nonce') or '0'), tonumber(tx.nonce)
if redis.call('EXISTS', key) == 0 then
  if needsContract == '1' and redis.call('EXISTS', prefixKey .. 'token:' .. tx.asset) == 0 then return {'no_contract'} end
  if nonce < expected then return {'nonce_too_low'} end
  if nonce > expected + queuedAheadMax then return {'nonce_too_high'} end
  local waiting = redis.call('HGET', account, 'q:' .. nonce)
  if waiting then
    local old = redis.call('HMGET', prefixKey .. 'tx:' .. waiting, 'maxFee', 'tip')
    if not old[1] or tx.maxFee * 10 < old[1] * 11 or tx.tip * 10 < old[2] * 11 then return {'nonce_used'} end
  end
  if amount(redis.call('HGET', account, nativeAsset)) < tx.needed then return {'insufficient_funds'} end
  if waiting then
    redis.call('HSET', prefixKey .. 'tx:' .. waiting, 'replacedBy', tx.id, 'failed', '1')
    redis.call('HDEL', prefixKey .. 'tx:' .. waiting, 'underpriced')
    redis.call('PEXPIRE', prefixKey .. 'tx:' .. waiting, retentionMs)
  end
  redis.call('HSET', key, 'from', tx.from, 'to', tx.to, 'asset', tx.asset, 'units', tx.units, 'needed', tx.needed,
    'fee', tx.fee, 'gas', tx.gas, 'maxFee', tx.maxFee, 'tip', tx.tip, 'nonce', tx.nonce, 'fails', tx.fails, 'queuedAtMs', nowMs, 'effect', tx.effect)
  for _, name in ipairs({'owner', 'allowance'}) do
    if tx[name] ~= '' then redis.call('HSET', key, name, tx[name]) end
  end
  if tx.outOfGas == '1' then redis.call('HSET', key, 'outOfGas', '1') end
  if token then
    redis.call('HSET', key, 'name', token.name, 'symbol', token.symbol, 'decimals', token.decimals, 'cap', token.cap)
  end
  redis.call('HSET', account, 'q:' .. nonce, tx.id)
end
mine_queued(prefixKey, account, nativeAsset, market, minedAtMs, retentionMs)
return {'OK', unpack(redis.call('HGETALL', key))}
