-- Starts as many deliveries of a webhook as its window has room for: retries that are due first, then events behind the cursor.
-- One step: cursor, records and the list of what is outstanding agree always, however many relays do this at once.
-- Answers {'ok', more to do at once (1/0), events that are gone unseen, {{delivery id, tries so far, sequence}, …},
-- stream entries of new deliveries} or {'changed'} when the webhook is not enabled or not at this version.
--
-- failingWindow: the window while it fails. retryingMax: with so many waiting for a retry, no new ones. types: exact, or
-- beginnings that end in ".*"; none: every event. Events about pings are for the pinged webhook alone.
-- @include wallets/delivery/deliveries/trim-deliveries.lua
-- @keys prefixKey
-- @args webhookId, version, nowMs, window, failingWindow, retryingMax, retainedMax, retentionMs, types: json

-- Entries of the event log that one call reads, at most.
local scanned_max = 1000
-- Old deliveries that leave the log, at most, beyond as many as are made.
local trimmed_more = 16

-- The id of a new delivery (as deliveryIdOf makes it) and its record. The values are ours: no character needs escaping.
local function new_delivery(sequence, fields)
  local eventId, hash = fields[2], redis.sha1hex(fields[2] .. webhookId)
  local id = 'dlv_' .. string.sub(eventId, 5, 17) .. '-7' .. string.sub(hash, 1, 3) .. '-8' .. string.sub(hash, 4, 6)
    .. '-' .. string.sub(hash, 7, 18)
  return id, '{"id":"' .. id .. '","version":1,"webhookId":"' .. webhookId .. '","eventId":"' .. eventId
    .. '","eventType":"' .. fields[4] .. '","sequence":' .. sequence .. ',"status":"queued","attempts":[]'
    .. ',"attemptCount":0,"failedTries":0,"nextAttemptAtMs":null,"createdAtMs":' .. nowMs .. ',"updatedAtMs":' .. nowMs .. '}'
end

local p = prefixKey
local record = redis.call('HMGET', p .. 'r:' .. webhookId, 'v', 's')
if record[1] ~= version or record[2] ~= 'enabled' then return {'changed'} end
local state = redis.call('HMGET', p .. 'hk:' .. webhookId, 'c', 'f')
if not state[1] then return {'changed'} end
local out, retry, log = p .. 'hko:' .. webhookId, p .. 'hkr:' .. webhookId, p .. 'ix:deliveries:' .. webhookId
local room = tonumber(state[2] and failingWindow or window) - redis.call('ZCARD', out)
local jobs, entries, skipped, more = {}, {}, 0, 0
if room <= 0 then return {'ok', 0, 0, jobs, entries} end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', retry, '-inf', nowMs, 'LIMIT', 0, room)) do
  redis.call('ZREM', retry, id)
  local known = redis.call('HMGET', p .. 'r:' .. id, 't', 'q')
  if known[2] then
    redis.call('ZADD', out, nowMs, id)
    jobs[#jobs + 1] = {id, tonumber(known[1] or '0'), known[2]}
    room = room - 1
  end
end

local function matches(f)
  if f[4] == 'webhook.ping' then return f[12] == webhookId end
  if #types == 0 then return true end
  for _, name in ipairs(types) do
    if f[4] == name then return true end
    if string.sub(name, -2) == '.*' and string.sub(f[4], 1, #name - 1) == string.sub(name, 1, -2) then return true end
  end
  return false
end
if room > 0 and redis.call('ZCARD', retry) < tonumber(retryingMax) then
  local stream, cursor = p .. 'evt', tonumber(state[1])
  local last = tonumber(redis.call('HGET', p .. 'seq', 'n') or '0')
  local scanned = 0
  while room > 0 and cursor < last and scanned < scanned_max do
    local batch = redis.call('XRANGE', stream, string.format('%.0f-0', cursor + 1), '+', 'COUNT', #types > 0 and 100 or room)
    if #batch == 0 then
      skipped, cursor = skipped + last - cursor, last
    end
    for _, entry in ipairs(batch) do
      if room == 0 then break end
      local sequence = tonumber(string.match(entry[1], '^%d+'))
      skipped, cursor, scanned = skipped + sequence - cursor - 1, sequence, scanned + 1
      if matches(entry[2]) then
        local whole = string.format('%.0f', sequence)
        local id, document = new_delivery(whole, entry[2])
        redis.call('HSET', p .. 'r:' .. id, 'v', '1', 's', 'queued', 'k', 'delivery', 'd', document, 't', '0', 'q', whole)
        redis.call('ZADD', log, 0, id)
        redis.call('ZADD', log .. ':queued', 0, id)
        redis.call('ZADD', out, nowMs, id)
        jobs[#jobs + 1] = {id, 0, whole}
        entries[#entries + 1] = entry
        room = room - 1
      end
    end
  end
  redis.call('HSET', p .. 'hk:' .. webhookId, 'c', string.format('%.0f', cursor))
  if room > 0 and cursor < last then more = 1 end
end

trim_deliveries(p, webhookId, nowMs, retainedMax, retentionMs, #entries + trimmed_more)
return {'ok', more, skipped, jobs, entries}
