-- Performs a Solana transaction, once for each message. Answers INSUFFICIENT, or OK, the id of the message's transaction and
-- its fields.
-- needed: amount and fee. fails: 1 or 0; one that fails pays its fee alone.
-- @include wallets/providers/chains/units.lua
-- @include wallets/providers/chains/address-index.lua
-- @shape transaction = id, messageHash, from, to, asset, units, needed, fee, fails
-- @keys prefixKey
-- @args minedAtMs, retentionMs, tx: transaction

local key, message = prefixKey .. 'tx:' .. tx.id, prefixKey .. 'msg:' .. tx.messageHash
local sender, receiver = prefixKey .. 'acct:' .. tx.from, prefixKey .. 'acct:' .. tx.to
local first = redis.call('GET', message)
if first then return {'OK', first, unpack(redis.call('HGETALL', prefixKey .. 'tx:' .. first))} end
local held = amount(redis.call('HGET', sender, tx.asset))
if held < tx.needed then return {'INSUFFICIENT'} end
if tx.fails == '1' then
  redis.call('HSET', sender, tx.asset, minus(held, tx.fee))
else
  redis.call('HSET', sender, tx.asset, minus(held, tx.needed))
  redis.call('HSET', receiver, tx.asset, plus(amount(redis.call('HGET', receiver, tx.asset)), tx.units))
end
redis.call('HSET', key, 'from', tx.from, 'to', tx.to, 'asset', tx.asset, 'units', tx.units, 'fee', tx.fee,
  'minedAtMs', minedAtMs, 'failed', tx.fails)
redis.call('PEXPIRE', key, retentionMs)
note(prefixKey, tx.from, 'out', tx.id, minedAtMs, retentionMs)
if tx.fails ~= '1' then note(prefixKey, tx.to, 'in', tx.id, minedAtMs, retentionMs) end
redis.call('SET', message, tx.id, 'PX', retentionMs)
return {'OK', tx.id, unpack(redis.call('HGETALL', key))}
