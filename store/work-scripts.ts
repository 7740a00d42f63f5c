/**
 * Who runs a request or a piece of due work, as Redis scripts: at most one at a time, and another one when it is gone.
 * Times are the caller's; leases only have to be longer than clocks differ.
 */

/**
 * KEYS: the idempotency key's hash. ARGV: body hash, now, lease ms, owner, seed, ms to keep it.
 * Returns {'run', owner, seed, started}, {'answered', answer, balances shown as JSON or ''}, {'running', end of lease} or {'otherBody'}.
 */
export const beginScript = `
local known = redis.call('HMGET', KEYS[1], 'b', 's', 't', 'l', 'a', 'f', 'w')
local ends = string.format('%.0f', ARGV[2] + ARGV[3])
if known[6] then redis.call('HDEL', KEYS[1], 'f') end
-- A key that was set free takes any body; with the same one the attempt continues with its seed.
if not known[1] or (known[6] and known[1] ~= ARGV[1]) then
  redis.call('HSET', KEYS[1], 'b', ARGV[1], 'o', ARGV[4], 's', ARGV[5], 't', ARGV[2], 'l', ends)
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  return {'run', ARGV[4], ARGV[5], ARGV[2]}
end
if known[1] ~= ARGV[1] then return {'otherBody'} end
if known[5] then return {'answered', known[5], known[7] or ''} end
if tonumber(known[4]) > tonumber(ARGV[2]) then return {'running', known[4]} end
redis.call('HSET', KEYS[1], 'o', ARGV[4], 'l', ends)
return {'run', ARGV[4], known[2], known[3]}
`;

/**
 * KEYS: the idempotency key's hash. ARGV: owner, answered (1/0), answer, ms to keep it. Returns 1, or 0 when it is not
 * the owner's any more: an answer that stands is never changed and never dropped.
 */
export const settleScript = `
local known = redis.call('HMGET', KEYS[1], 'o', 'a')
if known[1] ~= ARGV[1] then return 0 end
if known[2] then return ARGV[2] == '1' and known[2] == ARGV[3] and 1 or 0 end
if ARGV[2] == '1' then
  redis.call('HSET', KEYS[1], 'a', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
else
  -- Free, without an owner: a change of the earlier owner that is still under way is refused.
  redis.call('HSET', KEYS[1], 'o', '', 'l', '0', 'f', '1')
end
return 1
`;

/** KEYS: the tenant's prefix. ARGV: now, lease ms, limit. Returns {nothing is left in the set (1/0), members}. */
export const takeDueScript = `
local key = KEYS[1] .. 'due'
local members = redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
local again = string.format('%.0f', ARGV[1] + ARGV[2])
for _, member in ipairs(members) do redis.call('ZADD', key, again, member) end
return {redis.call('EXISTS', key) == 0 and 1 or 0, members}
`;

/** KEYS: the tenants that may have due work. ARGV: tenant, time. Forgets the tenant if it was last named before then. */
export const forgetTenantScript = `
local named = redis.call('ZSCORE', KEYS[1], ARGV[1])
if named and tonumber(named) < tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0
`;
