-- The fence against two coordinators of one cluster: each start has a higher number (fence.ts).

-- Whether a newer coordinator of this cluster has written for this tenant, or the fence is no number, which none has written.
-- If not, this one has now.
local function fenced(key, fence)
  local mine, seen = tonumber(fence), tonumber(redis.call('GET', key) or '0')
  if not seen or seen > mine then return true end
  if seen < mine then redis.call('SET', key, fence) end
  return false
end
