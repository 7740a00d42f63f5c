-- Settles a claimed tenant: its next time, or none (due-work.ts). Answers 1, or 0 when the claim does not hold any more.
-- claimedAtMs: as the claim has answered. nextAtMs: empty when no entry is left. recheckAtMs: the latest time of the
-- next claim while writes may be under way.
-- @keys tenantsKey, registeredKey
-- @args tenant, heldUntilMs, claimedAtMs, unsettledMs, nextAtMs, recheckAtMs

local standing = redis.call('ZSCORE', tenantsKey, tenant)
if not standing or tonumber(standing) ~= tonumber(heldUntilMs) then return 0 end
local registered = redis.call('HGET', registeredKey, tenant)
if registered and tonumber(claimedAtMs) - tonumber(registered) < tonumber(unsettledMs) then
  if nextAtMs == '' or tonumber(nextAtMs) > tonumber(recheckAtMs) then nextAtMs = recheckAtMs end
end
if nextAtMs == '' then
  redis.call('ZREM', tenantsKey, tenant)
  redis.call('HDEL', registeredKey, tenant)
else
  redis.call('ZADD', tenantsKey, nextAtMs, tenant)
end
return 1
