-- How much waits for a webhook.
-- Answers {outstanding, retrying, cursor or '', last sequence, failing since or ''}.
-- @keys prefixKey
-- @args webhookId

local state = redis.call('HMGET', prefixKey .. 'hk:' .. webhookId, 'c', 'f')
return {redis.call('ZCARD', prefixKey .. 'hko:' .. webhookId), redis.call('ZCARD', prefixKey .. 'hkr:' .. webhookId),
  state[1] or '', redis.call('HGET', prefixKey .. 'seq', 'n') or '0', state[2] or ''}
