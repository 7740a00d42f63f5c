-- Claims tenants whose time has come: until the end of the hold no other claims them (due-work.ts).
-- Answers {now by the clock of Redis, in ms, the tenants; those that wait longest first}.
-- @include core/redis/redis-clock.lua
-- @keys tenantsKey, registeredKey
-- @args nowMs, heldUntilMs, limit

local tenants = redis.call('ZRANGEBYSCORE', tenantsKey, '-inf', nowMs, 'LIMIT', 0, limit)
for _, tenant in ipairs(tenants) do redis.call('ZADD', tenantsKey, heldUntilMs, tenant) end
return {string.format('%.0f', clock_ms()), tenants}
