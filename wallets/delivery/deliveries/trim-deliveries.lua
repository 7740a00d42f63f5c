-- trim_deliveries(p, webhookId, now, retainedMax, retentionMs, limit): takes old final deliveries out of a webhook's log, those
-- beyond `retainedMax` and those older than `retentionMs`, `limit` of each status at most. What is on its way stays, however old;
-- what failed stays longer than what arrived. Returns how many went.
-- @include wallets/delivery/deliveries/remove-delivery.lua

local function trim_deliveries(p, webhookId, now, retainedMax, retentionMs, limit)
  local log, gone = p .. 'ix:deliveries:' .. webhookId, 0
  local excess = redis.call('ZCARD', log) - tonumber(retainedMax)
  local time = string.format('%012x', math.max(0, tonumber(now) - tonumber(retentionMs)))
  local oldest = '(dlv_' .. string.sub(time, 1, 8) .. '-' .. string.sub(time, 9)
  for _, status in ipairs({'delivered', 'failed'}) do
    for _, id in ipairs(redis.call('ZRANGE', log .. ':' .. status, 0, limit - 1)) do
      if gone >= excess and redis.call('ZLEXCOUNT', log .. ':' .. status, '[' .. id, oldest) == 0 then break end
      remove_delivery(p, webhookId, id, status)
      gone = gone + 1
    end
  end
  return gone
end
