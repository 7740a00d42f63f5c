-- The clusters that have said that they are alive. Answers a list of {number, ms since it said so, id, entry, keys placed}.
-- @include core/redis/redis-clock.lua
-- @keys clustersKey, placedKey

local now = clock_ms()
local found = {}
local all = redis.call('HGETALL', clustersKey)
for at = 1, #all, 2 do
  local saidMs, id, entry = string.match(all[at + 1], '^(%d+) (%S+) (.*)$')
  local placed = redis.call('HGET', placedKey, all[at]) or '0'
  if saidMs then found[#found + 1] = {all[at], string.format('%.0f', now - tonumber(saidMs)), id, entry, placed} end
end
return found
