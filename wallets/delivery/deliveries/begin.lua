-- A webhook's first cursor, unless another process was first. Answers 1 if it was set.
-- @keys prefixKey
-- @args webhookId, cursor

redis.call('SADD', prefixKey .. 'hk', webhookId)
return redis.call('HSETNX', prefixKey .. 'hk:' .. webhookId, 'c', cursor)
