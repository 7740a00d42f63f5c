-- What a tenant stores, in bytes, kept in the step that writes it: the hash `use` under the tenant's prefix. `all` is the
-- sum over its records and sessions; a field for each hour (since 1970) holds what expires in that hour, since Redis drops such
-- records by itself; `hour` is the latest whose bytes were given back. So the sum is right to the hour, and reading it costs
-- the same whatever is stored. An hour that is booked out twice, since a clock jumped, evens out when it comes.
-- @include core/redis/redis-clock.lua

local hour_ms = 3600000

local function hour_text(hour) return string.format('%.0f', hour) end

-- usage_now(prefix): the bytes that count now, those of hours that have passed left out. nil: it holds what no script writes.
local function usage_now(prefix)
  local key, hour = prefix .. 'use', math.floor(clock_ms() / hour_ms)
  local known = redis.call('HMGET', key, 'all', 'hour')
  local all = tonumber(known[1] or '0')
  if not all or known[2] == hour_text(hour) then return all end
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    local at = tonumber(fields[i])
    if at and at <= hour then all = all - (tonumber(fields[i + 1]) or 0) end
  end
  return all
end

-- usage_book(deltas, bytes, expires_ms): notes in the list `deltas` that so many bytes have come (or gone, below 0) of a
-- record that expires then; a negative time: never.
local function usage_book(deltas, bytes, expires_ms)
  local hour = expires_ms < 0 and -1 or math.floor(expires_ms / hour_ms) + 1
  for _, delta in ipairs(deltas) do
    if delta[1] == hour then
      delta[2] = delta[2] + bytes
      return
    end
  end
  deltas[#deltas + 1] = {hour, bytes}
end

local function usage_add(key, field, bytes) return redis.call('HINCRBY', key, field, hour_text(bytes)) end

-- usage_write(prefix, deltas): writes what was noted, and gives back the hours that have passed. It comes after other writes, so
-- a field that holds what no script writes is left as it is: usage_now finds it.
local function usage_write(prefix, deltas)
  local key, hour, sum = prefix .. 'use', math.floor(clock_ms() / hour_ms), 0
  for _, delta in ipairs(deltas) do
    sum = sum + delta[2]
    if delta[2] ~= 0 and delta[1] >= 0 then pcall(usage_add, key, hour_text(delta[1]), delta[2]) end
  end
  if redis.call('HGET', key, 'hour') ~= hour_text(hour) then
    local fields = redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
      local at = tonumber(fields[i])
      if at and at <= hour then
        sum = sum - (tonumber(fields[i + 1]) or 0)
        redis.call('HDEL', key, fields[i])
      end
    end
    redis.call('HSET', key, 'hour', hour_text(hour))
  end
  local works, all = pcall(usage_add, key, 'all', sum)
  -- A tenant that stores nothing leaves nothing.
  if works and all == 0 then redis.call('DEL', key) end
end
