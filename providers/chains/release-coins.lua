-- Frees what a payment holds and did not spend. Answers 1, or 0 when it has no lock.
-- @keys prefixKey
-- @args paymentId

local lockKey = prefixKey .. 'lock:' .. paymentId
local text = redis.call('GET', lockKey)
if not text then return 0 end
local address, coins = string.match(text, '^(.-)|(.*)$')
for outpoint, sats in string.gmatch(coins, '(%x+:%d+):(%d+)') do
  local holder = redis.call('HGET', prefixKey .. 'held:' .. address, outpoint)
  if holder and string.match(holder, '^%d+:%d+:(.*)$') == paymentId then
    redis.call('HDEL', prefixKey .. 'held:' .. address, outpoint)
    redis.call('ZADD', prefixKey .. 'free:' .. address, sats, outpoint)
  end
end
redis.call('DEL', lockKey)
return 1
