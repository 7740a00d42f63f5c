-- Decides who runs an idempotent request: one at a time, and another when that one is gone.
-- Answers {'run', owner, seed, started}, {'answered', answer, balances shown as JSON or ''}, {'running', end of lease} or
-- {'otherBody'}. Times are the caller's; leases only have to be longer than clocks differ.
-- @keys markKey
-- @args bodyHash, nowMs, leaseMs, owner, seed, ttlMs

local known = redis.call('HMGET', markKey, 'b', 's', 't', 'l', 'a', 'f', 'w')
local ends = string.format('%.0f', nowMs + leaseMs)
if known[6] then redis.call('HDEL', markKey, 'f') end
-- A key that was set free takes any body; with the same one the attempt continues with its seed.
if not known[1] or (known[6] and known[1] ~= bodyHash) then
  redis.call('HSET', markKey, 'b', bodyHash, 'o', owner, 's', seed, 't', nowMs, 'l', ends)
  redis.call('PEXPIRE', markKey, ttlMs)
  return {'run', owner, seed, nowMs}
end
if known[1] ~= bodyHash then return {'otherBody'} end
if known[5] then return {'answered', known[5], known[7] or ''} end
if tonumber(known[4]) > tonumber(nowMs) then return {'running', known[4]} end
redis.call('HSET', markKey, 'o', owner, 'l', ends)
return {'run', owner, known[2], known[3]}
