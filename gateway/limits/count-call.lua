-- Counts a call in a window that opens with its first call. Returns the calls of this window so far, this one included, and
-- the milliseconds that the window still lasts.
-- @keys counterKey
-- @args windowMs

local calls = redis.call('INCR', counterKey)
local left_ms = redis.call('PTTL', counterKey)
if left_ms < 0 then
  left_ms = tonumber(windowMs)
  redis.call('PEXPIRE', counterKey, windowMs)
end
return { calls, left_ms }
