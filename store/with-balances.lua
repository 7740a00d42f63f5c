-- A wallet and its balances, of one moment: a wallet and balances that never stood together would be a state that never
-- was. Answers {kind, document, balances}.
-- @keys prefixKey
-- @args id

local record = redis.call('HMGET', prefixKey .. 'r:' .. id, 'k', 'd')
return {record[1] or '', record[2] or '', redis.call('HGETALL', prefixKey .. 'bal:' .. id)}
