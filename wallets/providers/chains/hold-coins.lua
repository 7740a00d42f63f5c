-- Holds the largest free outputs of an address for a payment, until they cover `sats`, which grows with each of them.
-- What a payment has held for too long, and did not spend, is free again: should that payment come back, its transaction
-- finds an input spent. Answers OK and the lock, WAIT (others hold outputs that may come back, or their change), TOO_MANY,
-- INSUFFICIENT, or RELEASED for a payment that was given up.
-- satsPerInput: sats more an input. inputsMax: inputs at most. untilMs: end of the hold.
-- @keys prefixKey
-- @args paymentId, address, sats, satsPerInput, inputsMax, nowMs, untilMs

local lockKey, freeKey, heldKey = prefixKey .. 'lock:' .. paymentId, prefixKey .. 'free:' .. address, prefixKey .. 'held:' .. address
local function hold(outpoint, value) redis.call('HSET', heldKey, outpoint, value .. ':' .. untilMs .. ':' .. paymentId) end
-- A waiting transaction holds its inputs for longer.
local function is_own(held) return string.match(held, '^%d+:%d+:(.*)$') == paymentId and tonumber(string.match(held, '^%d+:(%d+)')) < tonumber(untilMs) end
local known = redis.call('GET', lockKey)
if known == '' then return {'RELEASED'} end
if known then
  for outpoint, value in string.gmatch(known, '(%x+:%d+):(%d+)') do
    local held = redis.call('HGET', heldKey, outpoint)
    if held and is_own(held) then hold(outpoint, value) end
  end
  return {'OK', known}
end
local function choose()
  local needed, sum, lock = tonumber(sats), 0, {}
  local coins = redis.call('ZREVRANGE', freeKey, 0, inputsMax - 1, 'WITHSCORES')
  for i = 1, #coins, 2 do
    sum = sum + tonumber(coins[i + 1])
    needed = needed + tonumber(satsPerInput)
    lock[#lock + 1] = coins[i] .. ':' .. coins[i + 1]
    if sum >= needed then
      for j = 1, i, 2 do
        redis.call('ZREM', freeKey, coins[j])
        hold(coins[j], coins[j + 1])
      end
      local text = address .. '|' .. table.concat(lock, ',')
      redis.call('SET', lockKey, text)
      return {'OK', text}
    end
  end
end
local chosen = choose()
if chosen then return chosen end
local held = redis.call('HGETALL', heldKey)
local reclaimed = false
for i = 1, #held, 2 do
  local value, heldUntilMs = string.match(held[i + 1], '^(%d+):(%d+):')
  if tonumber(heldUntilMs) <= tonumber(nowMs) then
    redis.call('HDEL', heldKey, held[i])
    redis.call('ZADD', freeKey, value, held[i])
    reclaimed = true
  end
end
chosen = reclaimed and choose()
if chosen then return chosen end
if redis.call('EXISTS', heldKey) == 1 then return {'WAIT'} end
if redis.call('ZCARD', freeKey) > tonumber(inputsMax) then return {'TOO_MANY'} end
return {'INSUFFICIENT'}
