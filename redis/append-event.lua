-- append_event(prefix, event, followed, balances): appends an event to the log of a tenant and returns its sequence.
-- `prefix` is the tenant's. With `followed`, another event of the same step comes after this one, and that one wakes the
-- readers. `balances`: stored beside the object (`bal`), or nil.
--
-- Clocks differ, and a change may be committed long after its clock was read: an event is never stamped earlier than the
-- one before it. `max` is the same time again, which entries of earlier versions had beside an earlier one of their own.
-- @shape event = id, type, atMs, resourceType, resourceId, resourceVersion, correlationId, provider, connectionId, object

-- What a log keeps: so many events, their bytes, and those of so long before its newest; whichever is least.
local events_kept = {count = 1000000, bytes = 1073741824, ms = 30 * 24 * 3600000}
-- After every so many events the oldest are checked; then at most twice as many are removed.
local check_events = 64
-- Beside its object: its other fields, and what Redis adds.
local event_extra_bytes = 320

-- Removes the oldest events beyond what is kept; answers the bytes of the rest.
local function trim_events(stream, bytes, latest)
  local since = latest - events_kept.ms
  local beyond = redis.call('XLEN', stream) - events_kept.count
  local function stays(entry)
    return beyond <= 0 and bytes <= events_kept.bytes and tonumber(entry[2][8]) >= since
  end
  local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
  if not first or stays(first) then return bytes end
  for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', 2 * check_events + 1)) do
    first = entry
    if stays(entry) then break end
    beyond, bytes = beyond - 1, bytes - event_extra_bytes - #entry[2][22] - #(entry[2][24] or '')
  end
  redis.call('XTRIM', stream, 'MINID', first[1])
  return bytes
end

local function append_event(prefix, event, followed, balances)
  local counter, stream, at = prefix .. 'seq', prefix .. 'evt', tonumber(event.atMs)
  local known = redis.call('HMGET', counter, 'n', 'm', 'b')
  local sequence, latest = tonumber(known[1] or '0') + 1, math.max(at, tonumber(known[2] or '0'))
  local whole, time = string.format('%.0f', sequence), string.format('%.0f', latest)
  local bytes = tonumber(known[3] or '0') + event_extra_bytes + #event.object + #(balances or '')
  local id = whole .. '-0'
  if balances then
    redis.call('XADD', stream, id,
      'id', event.id, 'type', event.type, 'at', time, 'max', time,
      'rt', event.resourceType, 'ri', event.resourceId, 'rv', event.resourceVersion, 'cor', event.correlationId,
      'pr', event.provider, 'con', event.connectionId, 'obj', event.object, 'bal', balances)
  else
    redis.call('XADD', stream, id,
      'id', event.id, 'type', event.type, 'at', time, 'max', time,
      'rt', event.resourceType, 'ri', event.resourceId, 'rv', event.resourceVersion, 'cor', event.correlationId,
      'pr', event.provider, 'con', event.connectionId, 'obj', event.object)
  end
  if sequence % check_events == 0 then bytes = trim_events(stream, bytes, latest) end
  -- Below zero: of events that an earlier version wrote, and did not count.
  redis.call('HSET', counter, 'n', whole, 'm', time, 'b', string.format('%.0f', math.max(0, bytes)))
  if not followed then
    -- The prefix is sm:{t:<tenant>}:
    redis.call('PUBLISH', 'sm:wake:' .. string.sub(prefix, 7, -3), whole)
  end
  return sequence
end
