-- A wallet and its balances, of one moment: a wallet and balances that never stood together would be a state that never
-- was. Answers {kind, document, version, status, balances}.
-- @include core/redis/lifetime.lua
-- @keys prefixKey
-- @args id, nowMs

local record = redis.call('HMGET', prefixKey .. 'r:' .. id, 'k', 'd', 'v', 's', 'e')
if not lives(record[5], nowMs) then record = {} end
return {record[1] or '', record[2] or '', record[3] or '', record[4] or '', redis.call('HGETALL', prefixKey .. 'bal:' .. id)}
