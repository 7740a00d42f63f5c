-- A delivery goes from one state to another.
-- Answers {'ok', failing since or '', events are behind the cursor or retries are due (1/0)} or {'conflict'}.
--
-- version, statusBefore: as it was read. record: as it is written. place: "out", "retry" or empty, with its score.
-- endpoint: what the receiver did: "failed", "answered" or empty.
-- @keys prefixKey
-- @args webhookId, id, version, statusBefore, statusAfter, record, tries, place, placeMs, endpoint, nowMs

local p = prefixKey
local key, out, retry = p .. 'r:' .. id, p .. 'hko:' .. webhookId, p .. 'hkr:' .. webhookId
local log, state = p .. 'ix:deliveries:' .. webhookId, p .. 'hk:' .. webhookId
if redis.call('HGET', key, 'v') ~= version then return {'conflict'} end
redis.call('HSET', key, 'v', string.format('%.0f', version + 1), 's', statusAfter, 'd', record, 't', tries)
if statusBefore ~= statusAfter then
  redis.call('ZREM', log .. ':' .. statusBefore, id)
  redis.call('ZADD', log .. ':' .. statusAfter, 0, id)
end
if place ~= 'out' then redis.call('ZREM', out, id) else redis.call('ZADD', out, placeMs, id) end
if place ~= 'retry' then redis.call('ZREM', retry, id) else redis.call('ZADD', retry, placeMs, id) end
if endpoint == 'failed' then redis.call('HSETNX', state, 'f', nowMs) end
if endpoint == 'answered' then redis.call('HDEL', state, 'f') end
local known = redis.call('HMGET', state, 'c', 'f')
local behind = known[1] and tonumber(known[1]) < tonumber(redis.call('HGET', p .. 'seq', 'n') or '0')
if not behind then behind = redis.call('ZCOUNT', retry, '-inf', nowMs) > 0 end
return {'ok', known[2] or '', behind and 1 or 0}
