-- Registers a tenant of which something may be due from a time on (due-work.ts). An earlier time stays.
-- Answers 1.
-- @include core/redis/redis-clock.lua
-- @keys tenantsKey, registeredKey
-- @args tenant, atMs

redis.call('ZADD', tenantsKey, 'LT', atMs, tenant)
redis.call('HSET', registeredKey, tenant, string.format('%.0f', clock_ms()))
return 1
