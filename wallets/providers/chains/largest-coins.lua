-- Answers the sats of an address's largest free outputs, one more than `count`, and of all held ones.
-- @keys prefixKey
-- @args address, count

local out = {}
local coins = redis.call('ZREVRANGE', prefixKey .. 'free:' .. address, 0, tonumber(count), 'WITHSCORES')
for i = 2, #coins, 2 do out[#out + 1] = string.format('%.0f', coins[i]) end
for _, held in ipairs(redis.call('HVALS', prefixKey .. 'held:' .. address)) do out[#out + 1] = string.match(held, '^%d+') end
return out
