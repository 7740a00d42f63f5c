-- Decides who runs an idempotent request: one at a time, and another when that one is gone.
-- Answers {'run', owner, seed, started}, {'answered', answer, balances shown as JSON or ''}, {'running', end of lease} or
-- {'otherBody'}.
-- nowMs: the service's time, by which the key ends after lifetimeMs. machineMs: the caller's machine's, for leases, which only
-- have to be longer than clocks differ.
-- @include core/redis/lifetime.lua
-- @keys markKey
-- @args bodyHash, nowMs, machineMs, leaseMs, owner, seed, lifetimeMs

local known = redis.call('HMGET', markKey, 'b', 's', 't', 'l', 'a', 'f', 'w', 'e')
local leased = known[4] and tonumber(known[4]) > tonumber(machineMs)
local ends = string.format('%.0f', machineMs + leaseMs)
-- A request that still runs keeps its key, however far a sandbox moved the time meanwhile.
if not lives(known[8], nowMs) and (known[5] or not leased) then
  redis.call('DEL', markKey)
  known = {}
end
if known[6] then redis.call('HDEL', markKey, 'f') end
-- A key that was set free takes any body; with the same one the attempt continues with its seed.
if not known[1] or (known[6] and known[1] ~= bodyHash) then
  redis.call('HSET', markKey, 'b', bodyHash, 'o', owner, 's', seed, 't', nowMs, 'l', ends,
    'e', end_text(nowMs, lifetimeMs))
  dropped_after(markKey, lifetimeMs)
  return {'run', owner, seed, nowMs}
end
if known[1] ~= bodyHash then return {'otherBody'} end
if known[5] then return {'answered', known[5], known[7] or ''} end
if leased then return {'running', known[4]} end
redis.call('HSET', markKey, 'o', owner, 'l', ends)
return {'run', owner, known[2], known[3]}
