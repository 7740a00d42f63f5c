-- remove_delivery(p, webhookId, id, status): a delivery leaves the log. `status`: or nil.

local function remove_delivery(p, webhookId, id, status)
  redis.call('DEL', p .. 'r:' .. id)
  redis.call('ZREM', p .. 'ix:deliveries:' .. webhookId, id)
  if status then redis.call('ZREM', p .. 'ix:deliveries:' .. webhookId .. ':' .. status, id) end
end
