-- Mines a Bitcoin transaction that waits, if the market has fallen. Answers the transaction's fields.
-- @include wallets/providers/chains/bitcoin-mining.lua
-- @keys prefixKey
-- @args id, market, minedAtMs, retentionMs

local key = prefixKey .. 'tx:' .. id
if redis.call('HEXISTS', key, 'underpriced') == 1 then mine_or_wait(prefixKey, id, market, minedAtMs, retentionMs) end
return redis.call('HGETALL', key)
