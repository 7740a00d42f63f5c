-- Keeps a record unless one stands there. Answers what stands there: {JSON, number in its family}.
-- keepMs: 0 for ever.
-- @keys recordKey, counterKey
-- @args json, keepMs

local found = redis.call('HMGET', recordKey, 'd', 'n')
if found[1] then return found end
local number = redis.call('INCR', counterKey)
redis.call('HSET', recordKey, 'd', json, 'n', number)
if keepMs ~= '0' then redis.call('PEXPIRE', recordKey, keepMs) end
return {json, tostring(number)}
