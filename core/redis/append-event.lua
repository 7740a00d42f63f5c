-- append_events(prefix, log, events, shown, balances): appends the events of one step to the log of a tenant, wakes its readers
-- once (and the relays if it has webhooks, or records of removed ones), and returns the sequence of the last; without events
-- it does nothing and returns 0. `prefix` is the tenant's. An event of the resource `shown` gets `balances` beside its object
-- (`bal`); nil: none does. `log`: of open_log(prefix), which scripts call before their first write, since it may find no log.
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

-- The log as it stands: what was appended last, and the bytes that it keeps. nil: `seq` holds what no script writes.
local function open_log(prefix)
  local known = redis.call('HMGET', prefix .. 'seq', 'n', 'm', 'b')
  local sequence, latest, bytes = tonumber(known[1] or '0'), tonumber(known[2] or '0'), tonumber(known[3] or '0')
  if not sequence or not latest or not bytes then return nil end
  return {stream = prefix .. 'evt', sequence = sequence, latest = latest, bytes = bytes}
end

local function append_to(log, event, balances)
  log.sequence, log.latest = log.sequence + 1, math.max(tonumber(event.atMs), log.latest)
  log.bytes = log.bytes + event_extra_bytes + #event.object + #(balances or '')
  local id, time = string.format('%.0f-0', log.sequence), string.format('%.0f', log.latest)
  if balances then
    redis.call('XADD', log.stream, id,
      'id', event.id, 'type', event.type, 'at', time, 'max', time,
      'rt', event.resourceType, 'ri', event.resourceId, 'rv', event.resourceVersion, 'cor', event.correlationId,
      'pr', event.provider, 'con', event.connectionId, 'obj', event.object, 'bal', balances)
  else
    redis.call('XADD', log.stream, id,
      'id', event.id, 'type', event.type, 'at', time, 'max', time,
      'rt', event.resourceType, 'ri', event.resourceId, 'rv', event.resourceVersion, 'cor', event.correlationId,
      'pr', event.provider, 'con', event.connectionId, 'obj', event.object)
  end
  if log.sequence % check_events == 0 then log.bytes = trim_events(log.stream, log.bytes, log.latest) end
end

local function close_log(log, prefix)
  local whole = string.format('%.0f', log.sequence)
  -- Below zero: of events that an earlier version wrote, and did not count.
  redis.call('HSET', prefix .. 'seq', 'n', whole, 'm', string.format('%.0f', log.latest),
    'b', string.format('%.0f', math.max(0, log.bytes)))
  -- The prefix is sm:{t:<tenant>}:
  local tenant = string.sub(prefix, 7, -3)
  redis.call('PUBLISH', 'sm:wake:' .. tenant, whole)
  if redis.call('EXISTS', prefix .. 'ix:webhooks', prefix .. 'hk') > 0 then
    redis.call('PUBLISH', 'sm:relay:' .. tenant, whole)
  end
end

local function append_events(prefix, log, events, shown, balances)
  if #events == 0 then return 0 end
  for _, event in ipairs(events) do append_to(log, event, shown and event.resourceId == shown and balances or nil) end
  close_log(log, prefix)
  return log.sequence
end
