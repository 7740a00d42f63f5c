-- Takes a tenant's entries that are due, earliest first, and leases them: each is due again at the end of its lease.
-- Answers {when the next one is due or empty, their members}.
-- @keys prefixKey
-- @args nowMs, leaseMs, limit

local key = prefixKey .. 'due'
local members = redis.call('ZRANGEBYSCORE', key, '-inf', nowMs, 'LIMIT', 0, limit)
local again = string.format('%.0f', nowMs + leaseMs)
for _, member in ipairs(members) do redis.call('ZADD', key, again, member) end
return {redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or '', members}
