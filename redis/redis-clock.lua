-- clock_ms(): the time of this Redis, Unix ms.

local function clock_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
