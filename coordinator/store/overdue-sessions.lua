-- Finds sessions of a tenant past their lifetime. Answers {their ids, end of the next lifetime or empty}.
-- Where the set and a session disagree, the session is right: it has left the store, or its lifetime was extended. So no session
-- is found for ever.
-- @include coordinator/store/session-record.lua
-- @keys endingKey
-- @args prefix, nowMs, limit

local overdue = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', endingKey, '-inf', nowMs, 'LIMIT', 0, limit)) do
  local found = redis.call('HMGET', prefix .. 'session:' .. id, 'state', 'expiresMs')
  local state = tonumber(found[1] or '0')
  local ends = state == ACCEPTED or state == PENDING_HUMAN_APPROVAL or state == RESUMED or state == BACKEND_FAILED
  if not ends then redis.call('ZREM', endingKey, id)
  elseif tonumber(found[2]) > tonumber(nowMs) then redis.call('ZADD', endingKey, found[2], id)
  else overdue[#overdue + 1] = id end
end
return {overdue, redis.call('ZRANGE', endingKey, 0, 0, 'WITHSCORES')[2] or ''}
