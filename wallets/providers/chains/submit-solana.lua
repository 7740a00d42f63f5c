-- Performs a Solana transaction, once for each message. Answers INSUFFICIENT, RENT (an account would hold less than the least that it
-- may), or OK, the id of the message's transaction and its fields.
-- needed: amount and fee. fails: 1 or 0; one that fails pays its fee alone.
-- @include wallets/providers/chains/units.lua
-- @include wallets/providers/chains/address-index.lua
-- @shape transaction = id, messageHash, from, to, asset, units, needed, fee, fails
-- @keys prefixKey
-- @args minedAtMs, retentionMs, rentExempt, tx: transaction

local key, message = prefixKey .. 'tx:' .. tx.id, prefixKey .. 'msg:' .. tx.messageHash
local sender, receiver = prefixKey .. 'acct:' .. tx.from, prefixKey .. 'acct:' .. tx.to
local first = redis.call('GET', message)
if first then return {'OK', first, unpack(redis.call('HGETALL', prefixKey .. 'tx:' .. first))} end
local held = amount(redis.call('HGET', sender, tx.asset))
if held < tx.needed then return {'INSUFFICIENT'} end
local pays_itself = tx.fails == '1' or sender == receiver
local left = minus(held, pays_itself and tx.fee or tx.needed)
-- An account below the minimum may only lose.
if left ~= zero and left < rentExempt and held >= rentExempt then return {'RENT'} end
if not pays_itself then
  local paid = plus(amount(redis.call('HGET', receiver, tx.asset)), tx.units)
  if tx.units ~= zero and paid < rentExempt then return {'RENT'} end
  redis.call('HSET', receiver, tx.asset, paid)
end
redis.call('HSET', sender, tx.asset, left)
redis.call('HSET', key, 'from', tx.from, 'to', tx.to, 'asset', tx.asset, 'units', tx.units, 'fee', tx.fee,
  'minedAtMs', minedAtMs, 'failed', tx.fails)
redis.call('PEXPIRE', key, retentionMs)
note_mined(prefixKey, tx.id, tx.from, minedAtMs, retentionMs)
if tx.fails ~= '1' then note(prefixKey, tx.to, 'in', tx.id, minedAtMs, retentionMs) end
redis.call('SET', message, tx.id, 'PX', retentionMs)
return {'OK', tx.id, unpack(redis.call('HGETALL', key))}
