-- Lifetimes are in the service's time, which a sandbox moves. What has one carries its end, and every reader compares that with
-- the time. Redis drops it by the time of the machine, a day after its lifetime, and that decides nothing.

local drop_slack_ms = 86400000

-- lives(ends, now_ms): whether it stands at that time of the service. ends: its end; false or nil: it has none.
local function lives(ends, now_ms) return not ends or tonumber(ends) > tonumber(now_ms) end

-- end_text(now_ms, lifetime_ms): the end of what begins then.
local function end_text(now_ms, lifetime_ms) return string.format('%.0f', now_ms + lifetime_ms) end

-- dropped_after(key, lifetime_ms): Redis drops the key some time after its lifetime.
local function dropped_after(key, lifetime_ms) redis.call('PEXPIRE', key, lifetime_ms + drop_slack_ms) end
