-- Takes a tenant's entries that are due, earliest first, and of those that fall due until byMs the ones with the prefix.
-- Leases them: each is due again at the end of its lease. byMs: not above nowMs for none.
-- Answers {when the next one is due or empty, their members}.
-- @keys prefixKey
-- @args nowMs, byMs, earlyPrefix, leaseMs, limit

local key = prefixKey .. 'due'
local members = redis.call('ZRANGEBYSCORE', key, '-inf', nowMs, 'LIMIT', 0, limit)
if tonumber(byMs) > tonumber(nowMs) then
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. nowMs, byMs)) do
    if #members >= tonumber(limit) then break end
    if string.sub(member, 1, #earlyPrefix) == earlyPrefix then members[#members + 1] = member end
  end
end
local again = string.format('%.0f', nowMs + leaseMs)
for _, member in ipairs(members) do redis.call('ZADD', key, again, member) end
return {redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or '', members}
