-- clock_ms(): the time of this Redis, Unix ms; one time for the whole script.

local script_ms
local function clock_ms()
  if not script_ms then
    local time = redis.call('TIME')
    script_ms = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return script_ms
end
