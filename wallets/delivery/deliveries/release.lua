-- Takes a delivery out of its webhook's list of outstanding ones: a final one; with `how` "hold" also one that is not, and
-- which then waits among the retries, due at once, until its webhook is enabled again. Answers 1 if it stood there.
-- how: "drop" or "hold".
-- @keys prefixKey
-- @args webhookId, id, how, nowMs

local status = redis.call('HGET', prefixKey .. 'r:' .. id, 's')
local moving = status == 'queued' or status == 'retrying'
if moving and how == 'drop' then return 0 end
local was = redis.call('ZREM', prefixKey .. 'hko:' .. webhookId, id)
if moving and was == 1 then redis.call('ZADD', prefixKey .. 'hkr:' .. webhookId, nowMs, id) end
return was
