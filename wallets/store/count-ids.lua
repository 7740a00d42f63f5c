-- count_ids(index, time): how many ids an index holds, from a UUIDv7 time on. An empty time: all.

local function count_ids(index, time)
  if time == '' then return redis.call('ZCARD', index) end
  local first = redis.call('ZRANGE', index, 0, 0)[1]
  if not first then return 0 end
  local prefix = string.match(first, '^[^_]*_') or ''
  return redis.call('ZLEXCOUNT', index, '[' .. prefix .. time, '+')
end
