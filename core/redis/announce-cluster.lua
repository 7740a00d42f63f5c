-- A cluster says that it is alive, and how it is. Answers {'OK'}, or {'TAKEN', the id of the cluster that has its number}.
-- One that has not said so for `silentMs` leaves its number to another.
-- @include core/redis/redis-clock.lua
-- @keys clustersKey
-- @args number, clusterId, silentMs, entry

local now = clock_ms()
local standing = redis.call('HGET', clustersKey, number)
if standing then
  local saidMs, id = string.match(standing, '^(%d+) (%S+) ')
  if id ~= clusterId and now - tonumber(saidMs) < tonumber(silentMs) then return {'TAKEN', id} end
end
redis.call('HSET', clustersKey, number, string.format('%.0f', now) .. ' ' .. clusterId .. ' ' .. entry)
return {'OK'}
