-- Keeps a record unless one stands there. Answers what stands there: {JSON, number in its family}.
-- ttlMs: 0 for ever.
-- @keys recordKey, counterKey
-- @args json, ttlMs

local found = redis.call('HMGET', recordKey, 'd', 'n')
if found[1] then return found end
local number = redis.call('INCR', counterKey)
redis.call('HSET', recordKey, 'd', json, 'n', number)
if ttlMs ~= '0' then redis.call('PEXPIRE', recordKey, ttlMs) end
return {json, tostring(number)}
