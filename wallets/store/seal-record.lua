-- Gives a record of an earlier version its MAC, unless it has changed since it was read. Answers 1, or 0 if it has.
-- before, after: the stored text (secrets/record-seal.ts).
-- @include core/redis/usage.lua
-- @keys prefixKey
-- @args id, before, after

local key = prefixKey .. 'r:' .. id
if redis.call('HGET', key, 'd') ~= before then return 0 end
redis.call('HSET', key, 'd', after)
local deltas = {}
usage_book(deltas, #after - #before, redis.call('PEXPIRETIME', key))
usage_write(prefixKey, deltas)
return 1
