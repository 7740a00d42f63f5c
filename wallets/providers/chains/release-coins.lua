-- Frees what a payment holds and did not spend, and keeps it from holding anything again: a step that began before may ask
-- afterwards. Answers 1, or 0 when it holds nothing.
-- @keys prefixKey
-- @args paymentId, retentionMs

local lockKey = prefixKey .. 'lock:' .. paymentId
local text = redis.call('GET', lockKey)
redis.call('SET', lockKey, '', 'PX', retentionMs)
if not text or text == '' then return 0 end
local address, coins = string.match(text, '^(.-)|(.*)$')
for outpoint, sats in string.gmatch(coins, '(%x+:%d+):(%d+)') do
  local holder = redis.call('HGET', prefixKey .. 'held:' .. address, outpoint)
  if holder and string.match(holder, '^%d+:%d+:(.*)$') == paymentId then
    redis.call('HDEL', prefixKey .. 'held:' .. address, outpoint)
    redis.call('ZADD', prefixKey .. 'free:' .. address, sats, outpoint)
  end
end
return 1
