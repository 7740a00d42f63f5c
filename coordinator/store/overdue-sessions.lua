-- Finds sessions of a tenant past their lifetime. Answers {their ids, end of the next lifetime or empty}.
-- Where the set and a session disagree, the session is right: it has left the store, or its lifetime was extended, or it is no hash
-- any more. So no session is found for ever, and none keeps others from their end.
-- @include coordinator/store/session-record.lua
-- @keys endingKey
-- @args prefix, nowMs, limit

local overdue = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', endingKey, '-inf', nowMs, 'LIMIT', 0, limit)) do
  local reads, found = pcall(redis.call, 'HMGET', prefix .. 'session:' .. id, 'state', 'expiresMs')
  local state = reads and tonumber(found[1] or '0')
  local expires_ms = has_lifetime(state) and tonumber(found[2])
  if not expires_ms then redis.call('ZREM', endingKey, id)
  elseif expires_ms > tonumber(nowMs) then redis.call('ZADD', endingKey, found[2], id)
  else overdue[#overdue + 1] = id end
end
return {overdue, redis.call('ZRANGE', endingKey, 0, 0, 'WITHSCORES')[2] or ''}
