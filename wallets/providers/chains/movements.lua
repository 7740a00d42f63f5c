-- A page of the index of an address. Answers for each movement its name, its time and its transaction's fields.
-- afterName, afterMs: of the movement to continue after, or empty: the first at fromMs or later.
-- @keys prefixKey
-- @args address, fromMs, afterName, afterMs, limit

local key = prefixKey .. 'at:' .. address
local rank = afterName ~= '' and redis.call('ZRANK', key, afterName)
local start = rank and rank + 1 or redis.call('ZCOUNT', key, '-inf', '(' .. (afterName ~= '' and afterMs or fromMs))
local page = redis.call('ZRANGE', key, start, start + tonumber(limit) - 1, 'WITHSCORES')
local out = {}
for k = 1, #page, 2 do
  local fields = redis.call('HGETALL', prefixKey .. 'tx:' .. string.match(page[k], '^%a+:(.*)$'))
  if #fields > 0 then out[#out + 1] = {page[k], page[k + 1], fields} end
end
return out
