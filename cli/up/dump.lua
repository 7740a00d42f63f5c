-- Answers all keys of this Redis in one step: {key, remaining ms (-1: for ever), value as of DUMP, …}.
-- @keys none

local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  found[#found + 1] = key
  found[#found + 1] = redis.call('PTTL', key)
  found[#found + 1] = redis.call('DUMP', key)
end
return found
