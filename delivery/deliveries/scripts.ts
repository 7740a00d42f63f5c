/**
 * The outbox of webhooks as Redis scripts. A webhook's outbox is the tenant's event log itself and a cursor into it, so
 * nothing is copied when a change is committed, nothing can be lost between the two, and what waits costs nothing.
 *
 * KEYS of all of them: the tenant's prefix. Names of keys: see keys.ts and store/layout.ts.
 */

/** The id of a new delivery (see `deliveryIdOf`) and its record as JSON. The values are ours: no character needs escaping. */
const newDeliveryLua = `
local function new_delivery(webhookId, sequence, fields, now)
  local eventId, hash = fields[2], redis.sha1hex(fields[2] .. webhookId)
  local id = 'dlv_' .. string.sub(eventId, 5, 17) .. '-7' .. string.sub(hash, 1, 3) .. '-8' .. string.sub(hash, 4, 6)
    .. '-' .. string.sub(hash, 7, 18)
  return id, '{"id":"' .. id .. '","version":1,"webhookId":"' .. webhookId .. '","eventId":"' .. eventId
    .. '","eventType":"' .. fields[4] .. '","sequence":' .. sequence .. ',"status":"queued","attempts":[]'
    .. ',"attemptCount":0,"failedTries":0,"nextAttemptAtMs":null,"createdAtMs":' .. now .. ',"updatedAtMs":' .. now .. '}'
end
`;

/** A delivery leaves the log. */
const forgetLua = `
local function forget(webhookId, id, status)
  redis.call('DEL', p .. 'r:' .. id)
  redis.call('ZREM', p .. 'ix:deliveries:' .. webhookId, id)
  if status then redis.call('ZREM', p .. 'ix:deliveries:' .. webhookId .. ':' .. status, id) end
end
`;

/**
 * What there is to do for a tenant's webhooks. ARGV: none.
 * Returns {last sequence, {{webhook id, version, status, cursor or '', outstanding, retrying, earliest retry or '',
 * oldest outstanding since or ''}, …}, ids of removed webhooks that still have something}.
 */
export const lookScript = `
local p = KEYS[1]
local webhooks, known = {}, {}
for _, id in ipairs(redis.call('ZRANGE', p .. 'ix:webhooks', 0, 199)) do
  local record = redis.call('HMGET', p .. 'r:' .. id, 'v', 's')
  if record[1] then
    known[id] = true
    local out, retry = p .. 'hko:' .. id, p .. 'hkr:' .. id
    webhooks[#webhooks + 1] = {id, record[1], record[2], redis.call('HGET', p .. 'hk:' .. id, 'c') or '',
      redis.call('ZCARD', out), redis.call('ZCARD', retry),
      redis.call('ZRANGE', retry, 0, 0, 'WITHSCORES')[2] or '', redis.call('ZRANGE', out, 0, 0, 'WITHSCORES')[2] or ''}
  end
end
local gone = {}
for _, id in ipairs(redis.call('SMEMBERS', p .. 'hk')) do
  if not known[id] then gone[#gone + 1] = id end
end
return {redis.call('HGET', p .. 'seq', 'n') or '0', webhooks, gone}
`;

/** A webhook's first cursor; another process may have been first. ARGV: webhook id, cursor. */
export const beginScript = `
redis.call('SADD', KEYS[1] .. 'hk', ARGV[1])
return redis.call('HSETNX', KEYS[1] .. 'hk:' .. ARGV[1], 'c', ARGV[2])
`;

/**
 * Takes old final deliveries out of a webhook's log: beyond `keptMax`, and older than `keptMs`. What is on its way stays,
 * however old; what failed stays longer than what arrived. Returns how many went.
 */
const trimLua = `
${forgetLua}
local function trim(webhookId, now, keptMax, keptMs, limit)
  local log, gone = p .. 'ix:deliveries:' .. webhookId, 0
  local excess = redis.call('ZCARD', log) - tonumber(keptMax)
  local time = string.format('%012x', math.max(0, tonumber(now) - tonumber(keptMs)))
  local oldest = '(dlv_' .. string.sub(time, 1, 8) .. '-' .. string.sub(time, 9)
  for _, status in ipairs({'delivered', 'failed'}) do
    for _, id in ipairs(redis.call('ZRANGE', log .. ':' .. status, 0, limit - 1)) do
      if gone >= excess and redis.call('ZLEXCOUNT', log .. ':' .. status, '[' .. id, oldest) == 0 then break end
      forget(webhookId, id, status)
      gone = gone + 1
    end
  end
  return gone
end
`;

/** ARGV: webhook id, now, deliveries kept, ms that they are kept, limit. Returns how many went. */
export const trimScript = `
local p = KEYS[1]
${trimLua}
return trim(ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]))
`;

/** Entries of the event log that one pump looks at. */
const lookedMax = 1_000;
/** Old deliveries that leave the log with one pump, at most, beyond as many as it makes. */
const trimmedMore = 16;

/**
 * Takes as much on for a webhook as its window has room for: retries that are due first, then events behind the cursor.
 * One step: cursor, records and the list of what is outstanding agree always, however many relays pump at once.
 *
 * ARGV: webhook id, its version, now, window, window while it fails, waiting retries at most, deliveries kept, ms that
 * they are kept, number of types, types. No types: every event. Events about pings are for the pinged webhook alone.
 * Returns {'ok', more to do at once (1/0), events that are gone unseen, {{delivery id, tries so far, sequence}, …},
 * stream entries of new deliveries} or {'changed'} when the webhook is not enabled or not at this version.
 */
export const pumpScript = `
local p, webhookId, now = KEYS[1], ARGV[1], ARGV[3]
${newDeliveryLua}
${trimLua}
local record = redis.call('HMGET', p .. 'r:' .. webhookId, 'v', 's')
if record[1] ~= ARGV[2] or record[2] ~= 'enabled' then return {'changed'} end
local state = redis.call('HMGET', p .. 'hk:' .. webhookId, 'c', 'f')
if not state[1] then return {'changed'} end
local out, retry, log = p .. 'hko:' .. webhookId, p .. 'hkr:' .. webhookId, p .. 'ix:deliveries:' .. webhookId
local room = tonumber(state[2] and ARGV[5] or ARGV[4]) - redis.call('ZCARD', out)
local jobs, entries, skipped, more = {}, {}, 0, 0
if room <= 0 then return {'ok', 0, 0, jobs, entries} end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', retry, '-inf', now, 'LIMIT', 0, room)) do
  redis.call('ZREM', retry, id)
  local known = redis.call('HMGET', p .. 'r:' .. id, 't', 'q')
  if known[2] then
    redis.call('ZADD', out, now, id)
    jobs[#jobs + 1] = {id, tonumber(known[1] or '0'), known[2]}
    room = room - 1
  end
end

local types = {}
for k = 1, tonumber(ARGV[9]) do types[k] = ARGV[9 + k] end
local function matches(f)
  if f[4] == 'webhook.ping' then return f[12] == webhookId end
  if #types == 0 then return true end
  for _, name in ipairs(types) do
    if f[4] == name then return true end
    if string.sub(name, -2) == '.*' and string.sub(f[4], 1, #name - 1) == string.sub(name, 1, -2) then return true end
  end
  return false
end
if room > 0 and redis.call('ZCARD', retry) < tonumber(ARGV[6]) then
  local stream, cursor = p .. 'evt', tonumber(state[1])
  local last = tonumber(redis.call('HGET', p .. 'seq', 'n') or '0')
  local looked = 0
  while room > 0 and cursor < last and looked < ${lookedMax} do
    local batch = redis.call('XRANGE', stream, string.format('%.0f-0', cursor + 1), '+', 'COUNT', #types > 0 and 100 or room)
    if #batch == 0 then
      skipped, cursor = skipped + last - cursor, last
    end
    for _, entry in ipairs(batch) do
      if room == 0 then break end
      local sequence = tonumber(string.match(entry[1], '^%d+'))
      skipped, cursor, looked = skipped + sequence - cursor - 1, sequence, looked + 1
      if matches(entry[2]) then
        local whole = string.format('%.0f', sequence)
        local id, document = new_delivery(webhookId, whole, entry[2], now)
        redis.call('HSET', p .. 'r:' .. id, 'v', '1', 's', 'queued', 'k', 'delivery', 'd', document, 't', '0', 'q', whole)
        redis.call('ZADD', log, 0, id)
        redis.call('ZADD', log .. ':queued', 0, id)
        redis.call('ZADD', out, now, id)
        jobs[#jobs + 1] = {id, 0, whole}
        entries[#entries + 1] = entry
        room = room - 1
      end
    end
  end
  redis.call('HSET', p .. 'hk:' .. webhookId, 'c', string.format('%.0f', cursor))
  if room > 0 and cursor < last then more = 1 end
end

trim(webhookId, now, ARGV[7], ARGV[8], #entries + ${trimmedMore})
return {'ok', more, skipped, jobs, entries}
`;

/**
 * A delivery goes from one state to another. ARGV: webhook id, delivery id, version before, status before, status after,
 * record after, tries so far, place ('out', 'retry' or empty), its score, what the endpoint did ('failed', 'answered' or
 * empty), now.
 * Returns {'ok', failing since or '', events are behind the cursor or retries are due (1/0)} or {'conflict'}.
 */
export const moveScript = `
local p, webhookId, id, now = KEYS[1], ARGV[1], ARGV[2], ARGV[11]
local key, out, retry = p .. 'r:' .. id, p .. 'hko:' .. webhookId, p .. 'hkr:' .. webhookId
local log, state = p .. 'ix:deliveries:' .. webhookId, p .. 'hk:' .. webhookId
if redis.call('HGET', key, 'v') ~= ARGV[3] then return {'conflict'} end
redis.call('HSET', key, 'v', string.format('%.0f', ARGV[3] + 1), 's', ARGV[5], 'd', ARGV[6], 't', ARGV[7])
if ARGV[4] ~= ARGV[5] then
  redis.call('ZREM', log .. ':' .. ARGV[4], id)
  redis.call('ZADD', log .. ':' .. ARGV[5], 0, id)
end
if ARGV[8] ~= 'out' then redis.call('ZREM', out, id) else redis.call('ZADD', out, ARGV[9], id) end
if ARGV[8] ~= 'retry' then redis.call('ZREM', retry, id) else redis.call('ZADD', retry, ARGV[9], id) end
if ARGV[10] == 'failed' then redis.call('HSETNX', state, 'f', now) end
if ARGV[10] == 'answered' then redis.call('HDEL', state, 'f') end
local known = redis.call('HMGET', state, 'c', 'f')
local behind = known[1] and tonumber(known[1]) < tonumber(redis.call('HGET', p .. 'seq', 'n') or '0')
if not behind then behind = redis.call('ZCOUNT', retry, '-inf', now) > 0 end
return {'ok', known[2] or '', behind and 1 or 0}
`;

/**
 * What stands in a webhook's list of outstanding deliveries and should not wait there: final ones leave it; with 'hold'
 * the delivery waits among the retries, due at once, until its webhook is enabled again.
 * ARGV: webhook id, delivery id, 'drop' or 'hold', now.
 */
export const releaseScript = `
local p, webhookId, id = KEYS[1], ARGV[1], ARGV[2]
local status = redis.call('HGET', p .. 'r:' .. id, 's')
local moving = status == 'queued' or status == 'retrying'
if moving and ARGV[3] == 'drop' then return 0 end
local was = redis.call('ZREM', p .. 'hko:' .. webhookId, id)
if moving and was == 1 then redis.call('ZADD', p .. 'hkr:' .. webhookId, ARGV[4], id) end
return was
`;

/**
 * Outstanding deliveries that were put on their way before a time: their jobs may be lost. They count as put there now.
 * ARGV: webhook id, time, now, limit. Returns {{delivery id, tries so far, sequence}, …}.
 */
export const overdueScript = `
local p, out, jobs = KEYS[1], KEYS[1] .. 'hko:' .. ARGV[1], {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', out, '-inf', ARGV[2], 'LIMIT', 0, ARGV[4])) do
  local known = redis.call('HMGET', p .. 'r:' .. id, 't', 'q', 's')
  if known[3] == 'queued' or known[3] == 'retrying' then
    redis.call('ZADD', out, ARGV[3], id)
    jobs[#jobs + 1] = {id, tonumber(known[1]), known[2]}
  else
    redis.call('ZREM', out, id)
  end
end
return jobs
`;

/**
 * A webhook was removed: its deliveries go too, a bounded number at a time. ARGV: webhook id, limit. Returns 1 when all
 * is gone, 0 when there is more (or the webhook is there again).
 */
export const clearScript = `
local p, webhookId = KEYS[1], ARGV[1]
${forgetLua}
if redis.call('EXISTS', p .. 'r:' .. webhookId) == 1 then return 0 end
local log = p .. 'ix:deliveries:' .. webhookId
for _, id in ipairs(redis.call('ZRANGE', log, 0, ARGV[2] - 1)) do
  forget(webhookId, id, redis.call('HGET', p .. 'r:' .. id, 's'))
end
if redis.call('EXISTS', log) == 1 then return 0 end
redis.call('DEL', p .. 'hk:' .. webhookId, p .. 'hko:' .. webhookId, p .. 'hkr:' .. webhookId)
redis.call('SREM', p .. 'hk', webhookId)
return 1
`;

/** ARGV: webhook id. Returns {outstanding, retrying, cursor or '', last sequence, failing since or ''}. */
export const depthScript = `
local p, webhookId = KEYS[1], ARGV[1]
local state = redis.call('HMGET', p .. 'hk:' .. webhookId, 'c', 'f')
return {redis.call('ZCARD', p .. 'hko:' .. webhookId), redis.call('ZCARD', p .. 'hkr:' .. webhookId), state[1] or '',
  redis.call('HGET', p .. 'seq', 'n') or '0', state[2] or ''}
`;

/** KEYS: the tenants that may have webhooks. ARGV: tenant, time. Forgets the tenant if it was last named before then. */
export const forgetTenantScript = `
local named = redis.call('ZSCORE', KEYS[1], ARGV[1])
if named and tonumber(named) < tonumber(ARGV[2]) then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0
`;
