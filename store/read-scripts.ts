/**
 * Reading as Redis scripts: a page of records or of events in one round trip. Each looks at a bounded number of entries
 * and says where to go on, so no call costs more because a tenant has much, or because a filter matches little.
 */

/** Ids that one listing looks at. */
export const listedIdsMax = 2_000;
/** Entries that one page of events looks at. */
export const readEventsMax = 1_000;
/** Ids in a batch when some will not match. */
const idBatch = 200;
const eventBatch = 100;
/**
 * An event that an earlier version has written may be stamped earlier than its neighbours: by no more than an unanswered
 * request is remembered (24 h), and an hour.
 */
const eventLateMs = 25 * 3_600_000;

/**
 * KEYS: the tenant's prefix. ARGV: newest/oldest, limit, id to go on after or empty, UUIDv7 time of the first and of the
 * one after the last or empty, with balances (1/0), ids to look at, number and names of the indices, of the alternatives.
 * Returns {more (1/0), id to go on after, ids looked at, {{id, document, balances}, …}}.
 *
 * It walks the smallest index and keeps the ids that stand in the others too. Ids whose record has expired are dropped
 * from the indices. Bounds are compared by Redis, by bytes; Lua would compare by locale.
 */
export const listScript = `
local p, limit, room = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[7])
local newest, withBalances = ARGV[1] == 'newest', ARGV[6] == '1'
local cursor = 8
local function names()
  local out = {}
  for k = 1, tonumber(ARGV[cursor]) do out[k] = p .. 'ix:' .. ARGV[cursor + k] end
  cursor = cursor + #out + 1
  return out
end
local all, any = names(), names()
local place, least
for k, key in ipairs(all) do
  local size = redis.call('ZCARD', key)
  if not least or size < least then place, least = k, size end
end
if least == 0 then return {0, '', 0, {}} end
local walked = table.remove(all, place)

local low, high = '-', '+'
if ARGV[4] ~= '' or ARGV[5] ~= '' then
  local prefix = string.match(redis.call('ZRANGE', walked, 0, 0)[1], '^[^_]*_') or ''
  if ARGV[4] ~= '' then low = '[' .. prefix .. ARGV[4] end
  if ARGV[5] ~= '' then high = '(' .. prefix .. ARGV[5] end
end
local function goOnAfter(id)
  if newest then high = '(' .. id else low = '(' .. id end
end
if ARGV[3] ~= '' then goOnAfter(ARGV[3]) end

local items, dead, looked, lastId = {}, {}, 0, ''
local function page(more, nextId)
  for _, id in ipairs(dead) do
    redis.call('ZREM', walked, id)
    for _, key in ipairs(all) do redis.call('ZREM', key, id) end
    for _, key in ipairs(any) do redis.call('ZREM', key, id) end
  end
  return {more, nextId, looked, items}
end
local function filter(ids)
  local out = {}
  for _, key in ipairs(all) do
    for k, score in ipairs(redis.call('ZMSCORE', key, unpack(ids))) do
      if not score then out[k] = true end
    end
  end
  if #any > 0 then
    local hit = {}
    for _, key in ipairs(any) do
      for k, score in ipairs(redis.call('ZMSCORE', key, unpack(ids))) do
        if score then hit[k] = true end
      end
    end
    for k = 1, #ids do out[k] = out[k] or not hit[k] end
  end
  return out
end
local batch = (#all == 0 and #any == 0) and limit + 1 or ${idBatch}
while true do
  local size = math.min(batch, room - looked)
  local ids
  if newest then ids = redis.call('ZRANGE', walked, high, low, 'BYLEX', 'REV', 'LIMIT', 0, size)
  else ids = redis.call('ZRANGE', walked, low, high, 'BYLEX', 'LIMIT', 0, size) end
  local out = #ids > 0 and filter(ids) or {}
  for k, id in ipairs(ids) do
    looked = looked + 1
    lastId = id
    if not out[k] then
      local document = redis.call('HGET', p .. 'r:' .. id, 'd')
      if not document then
        dead[#dead + 1] = id
      elseif #items == limit then
        return page(1, items[limit][1])
      else
        items[#items + 1] = {id, document, withBalances and redis.call('HGETALL', p .. 'bal:' .. id) or {}}
      end
    end
  end
  if #ids < size then return page(0, '') end
  if looked >= room then return page(1, lastId) end
  goOnAfter(lastId)
end
`;

/**
 * KEYS: the tenant's prefix. ARGV: id. Returns {kind, document, balances}, of one moment: a wallet and balances that never
 * stood together would be a state that never was.
 */
export const withBalancesScript = `
local record = redis.call('HMGET', KEYS[1] .. 'r:' .. ARGV[1], 'k', 'd')
return {record[1] or '', record[2] or '', redis.call('HGETALL', KEYS[1] .. 'bal:' .. ARGV[1])}
`;

/** `count_ids(index, time)`: how many ids an index holds, from a UUIDv7 time on; an empty time: all. */
export const countIdsLua = `
local function count_ids(index, time)
  if time == '' then return redis.call('ZCARD', index) end
  local first = redis.call('ZRANGE', index, 0, 0)[1]
  if not first then return 0 end
  local prefix = string.match(first, '^[^_]*_') or ''
  return redis.call('ZLEXCOUNT', index, '[' .. prefix .. time, '+')
end
`;

/** KEYS: an index. ARGV: UUIDv7 time of the first. Returns how many ids are as late or later. */
export const countScript = `
${countIdsLua}
return count_ids(KEYS[1], ARGV[1])
`;

/**
 * KEYS: the tenant's prefix. ARGV: sequence to go on after, limit, entries to look at, resource id or empty, first time
 * and time after the last or empty, number and names of the types, number (-1: all) and ids of the connections.
 * Returns {more (1/0), sequence to go on after, oldest kept sequence, last sequence, entries}.
 */
export const eventsScript = `
local p, after, limit, room = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stream = p .. 'evt'
local last = tonumber(redis.call('HGET', p .. 'seq', 'n') or '0')
local function whole(n) return string.format('%.0f', n) end
local function at(sequence)
  return redis.call('XRANGE', stream, whole(sequence) .. '-0', '+', 'COUNT', 1)[1]
end
local function sequenceOf(entry) return tonumber(string.match(entry[1], '^%d+')) end
local oldest = at(0)
local floor = oldest and sequenceOf(oldest) or last + 1
local from, before = tonumber(ARGV[5]), tonumber(ARGV[6])
local types, connections = {}, nil
local cursor = 7
for k = 1, tonumber(ARGV[cursor]) do types[k] = ARGV[cursor + k] end
cursor = cursor + #types + 1
if ARGV[cursor] ~= '-1' then
  connections = {}
  for k = 1, tonumber(ARGV[cursor]) do connections[ARGV[cursor + k]] = true end
end
local function matches(entry)
  local f = entry[2]
  if connections and not connections[f[20]] then return false end
  if ARGV[4] ~= '' and f[12] ~= ARGV[4] then return false end
  local time = tonumber(f[6])
  if (from and time < from) or (before and time >= before) then return false end
  if #types == 0 then return true end
  for _, name in ipairs(types) do
    if f[4] == name then return true end
    if string.sub(name, -2) == '.*' and string.sub(f[4], 1, #name - 1) == string.sub(name, 1, -2) then return true end
  end
  return false
end

local position = math.max(after + 1, floor)
if from then
  -- The latest time up to an entry never falls, so the first that can matter is found by halving.
  local high = last + 1
  while position < high do
    local middle = math.floor((position + high) / 2)
    if tonumber(at(middle)[2][8]) >= from then high = middle else position = middle + 1 end
  end
end
local out, looked, done = {}, 0, math.max(after, position - 1)
local filtered = #types > 0 or connections or from or before or ARGV[4] ~= ''
local batch = filtered and ${eventBatch} or limit + 1
while true do
  local size = math.min(batch, room - looked)
  local entries = redis.call('XRANGE', stream, whole(done + 1) .. '-0', '+', 'COUNT', size)
  for _, entry in ipairs(entries) do
    if before and tonumber(entry[2][8]) >= before + ${eventLateMs} then return {0, whole(last), floor, last, out} end
    if matches(entry) then
      if #out == limit then return {1, sequenceOf(out[limit]), floor, last, out} end
      out[#out + 1] = entry
    end
    done = sequenceOf(entry)
  end
  looked = looked + #entries
  if #entries < size then return {0, done, floor, last, out} end
  if looked >= room then return {done < last and 1 or 0, done, floor, last, out} end
end
`;
