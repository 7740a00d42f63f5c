-- append_event(prefix, event, followed, balances): appends an event to the log of a tenant and returns its sequence.
-- `prefix` is the tenant's. With `followed`, another event of the same step comes after this one, and that one wakes the
-- readers. `balances`: stored beside the object (`bal`), or nil.
--
-- Clocks differ, and a change may be committed long after its clock was read: an event is never stamped earlier than the
-- one before it. `max` is the same time again, which entries of earlier versions had beside an earlier one of their own.
-- @shape event = id, type, atMs, resourceType, resourceId, resourceVersion, correlationId, provider, connectionId, object

local events_max = 1000000
local events_kept_ms = 30 * 24 * 3600000
-- After every so many events the oldest are checked; then at most twice as many are removed.
local age_check_events = 64

local function append_event(prefix, event, followed, balances)
  local counter, stream, at = prefix .. 'seq', prefix .. 'evt', tonumber(event.atMs)
  local known = redis.call('HMGET', counter, 'n', 'm')
  local sequence, latest = tonumber(known[1] or '0') + 1, math.max(at, tonumber(known[2] or '0'))
  local whole, time = string.format('%.0f', sequence), string.format('%.0f', latest)
  redis.call('HSET', counter, 'n', whole, 'm', time)
  local id = whole .. '-0'
  if balances then
    redis.call('XADD', stream, 'MAXLEN', '~', events_max, id,
      'id', event.id, 'type', event.type, 'at', time, 'max', time,
      'rt', event.resourceType, 'ri', event.resourceId, 'rv', event.resourceVersion, 'cor', event.correlationId,
      'pr', event.provider, 'con', event.connectionId, 'obj', event.object, 'bal', balances)
  else
    redis.call('XADD', stream, 'MAXLEN', '~', events_max, id,
      'id', event.id, 'type', event.type, 'at', time, 'max', time,
      'rt', event.resourceType, 'ri', event.resourceId, 'rv', event.resourceVersion, 'cor', event.correlationId,
      'pr', event.provider, 'con', event.connectionId, 'obj', event.object)
  end
  if sequence % age_check_events == 0 then
    local since = latest - events_kept_ms
    local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
    if oldest and tonumber(oldest[2][8]) < since then
      for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', 2 * age_check_events + 1)) do
        oldest = entry
        if tonumber(entry[2][8]) >= since then break end
      end
      redis.call('XTRIM', stream, 'MINID', oldest[1])
    end
  end
  if not followed then
    -- The prefix is sm:{t:<tenant>}:
    redis.call('PUBLISH', 'sm:wake:' .. string.sub(prefix, 7, -3), whole)
  end
  return sequence
end
