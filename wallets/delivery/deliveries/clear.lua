-- A webhook was removed: its deliveries go too, a bounded number at a time. Answers 1 when all is gone, 0 when there is
-- more, or when the webhook exists again.
-- @include wallets/delivery/deliveries/remove-delivery.lua
-- @keys prefixKey
-- @args webhookId, limit

local p = prefixKey
if redis.call('EXISTS', p .. 'r:' .. webhookId) == 1 then return 0 end
local log = p .. 'ix:deliveries:' .. webhookId
for _, id in ipairs(redis.call('ZRANGE', log, 0, limit - 1)) do
  remove_delivery(p, webhookId, id, redis.call('HGET', p .. 'r:' .. id, 's'))
end
if redis.call('EXISTS', log) == 1 then return 0 end
redis.call('DEL', p .. 'hk:' .. webhookId, p .. 'hko:' .. webhookId, p .. 'hkr:' .. webhookId)
redis.call('SREM', p .. 'hk', webhookId)
return 1
