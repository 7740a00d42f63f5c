-- Mines what is next in an EVM account, and drops a transaction of it that has waited for longer than queuedMaxMs.
-- Answers the transaction's fields.
-- @include wallets/providers/chains/evm-mining.lua
-- @keys prefixKey
-- @args id, from, nativeAsset, market, nowMs, minedAtMs, retentionMs, queuedMaxMs

local key, account = prefixKey .. 'tx:' .. id, prefixKey .. 'acct:' .. from
mine_queued(prefixKey, account, nativeAsset, market, minedAtMs, retentionMs)
local tx = redis.call('HMGET', key, 'minedAtMs', 'queuedAtMs', 'nonce', 'dropped', 'underpriced', 'replacedBy')
if tx[3] and not tx[1] and not tx[4] and not tx[5] and not tx[6] then
  if not tx[2] then redis.call('HSET', key, 'queuedAtMs', nowMs)
  elseif nowMs - tx[2] >= tonumber(queuedMaxMs) then
    redis.call('HDEL', account, 'q:' .. tx[3])
    redis.call('HSET', key, 'dropped', '1', 'failed', '1')
    redis.call('PEXPIRE', key, retentionMs)
  end
end
return redis.call('HGETALL', key)
