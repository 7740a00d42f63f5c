-- What there is to do for a tenant's webhooks.
-- Answers {last sequence, {{webhook id, version, status, cursor or '', outstanding, retrying, earliest retry or '',
-- oldest outstanding since or '', when its log is to be trimmed or ''}, …}, ids of removed webhooks that have deliveries}.
-- @keys prefixKey
-- @args nowMs, retainedMax, retentionMs

-- The oldest final delivery leaves the log at once if there are too many, or when its time is over: its id begins with it.
local function trim_at(log)
  local excess = redis.call('ZCARD', log) > tonumber(retainedMax)
  local earliest = ''
  for _, status in ipairs({'delivered', 'failed'}) do
    local oldest = redis.call('ZRANGE', log .. ':' .. status, 0, 0)[1]
    if oldest then
      if excess then return nowMs end
      local at = tonumber(string.sub(oldest, 5, 12) .. string.sub(oldest, 14, 17), 16) + tonumber(retentionMs) + 1
      if earliest == '' or at < earliest then earliest = at end
    end
  end
  return earliest == '' and '' or string.format('%.0f', earliest)
end

local p = prefixKey
local webhooks, known = {}, {}
for _, id in ipairs(redis.call('ZRANGE', p .. 'ix:webhooks', 0, 199)) do
  local record = redis.call('HMGET', p .. 'r:' .. id, 'v', 's')
  if record[1] then
    known[id] = true
    local out, retry = p .. 'hko:' .. id, p .. 'hkr:' .. id
    webhooks[#webhooks + 1] = {id, record[1], record[2], redis.call('HGET', p .. 'hk:' .. id, 'c') or '',
      redis.call('ZCARD', out), redis.call('ZCARD', retry),
      redis.call('ZRANGE', retry, 0, 0, 'WITHSCORES')[2] or '', redis.call('ZRANGE', out, 0, 0, 'WITHSCORES')[2] or '',
      trim_at(p .. 'ix:deliveries:' .. id)}
  end
end
local removed = {}
for _, id in ipairs(redis.call('SMEMBERS', p .. 'hk')) do
  if not known[id] then removed[#removed + 1] = id end
end
return {redis.call('HGET', p .. 'seq', 'n') or '0', webhooks, removed}
