-- A page of records in one round trip. It scans a bounded number of ids and says where the next page begins, so it costs no more
-- because a tenant has much, or because a filter matches little.
-- Answers {more (1/0), id to go on after, ids scanned, {{id, {document, version, status}, balances}, …}}.
--
-- order: newest or oldest. afterId: id to go on after, or empty. fromTime, toTime: UUIDv7 time of the first id and of the
-- one after the last, or empty. withBalances: 1 or 0. scannedMax: ids to scan. nowMs: the service's time. all, any: names of
-- indices.
--
-- It walks the smallest index and keeps the ids that stand in the others too. Ids whose record is gone, or over, are dropped
-- from the indices. Bounds are compared by Redis, by bytes; Lua would compare by locale.
-- @include core/redis/lifetime.lua
-- @keys prefixKey
-- @args order, pageMax, afterId, fromTime, toTime, withBalances, scannedMax, nowMs, all: json, any: json

-- Ids in a batch when some will not match.
local id_batch = 200

local p, limit, room, newest = prefixKey, tonumber(pageMax), tonumber(scannedMax), order == 'newest'
for _, names in ipairs({all, any}) do
  for k, name in ipairs(names) do names[k] = p .. 'ix:' .. name end
end
local place, least
for k, key in ipairs(all) do
  local size = redis.call('ZCARD', key)
  if not least or size < least then place, least = k, size end
end
if least == 0 then return {0, '', 0, {}} end
local walked = table.remove(all, place)

local low, high = '-', '+'
if fromTime ~= '' or toTime ~= '' then
  local prefix = string.match(redis.call('ZRANGE', walked, 0, 0)[1], '^[^_]*_') or ''
  if fromTime ~= '' then low = '[' .. prefix .. fromTime end
  if toTime ~= '' then high = '(' .. prefix .. toTime end
end
local function go_on_after(id)
  if newest then high = '(' .. id else low = '(' .. id end
end
if afterId ~= '' then go_on_after(afterId) end

local items, dead, scanned, last_id = {}, {}, 0, ''
local function page(more, next_id)
  for _, id in ipairs(dead) do
    redis.call('ZREM', walked, id)
    for _, key in ipairs(all) do redis.call('ZREM', key, id) end
    for _, key in ipairs(any) do redis.call('ZREM', key, id) end
  end
  return {more, next_id, scanned, items}
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
local batch = (#all == 0 and #any == 0) and limit + 1 or id_batch
while true do
  local size = math.min(batch, room - scanned)
  local ids
  if newest then ids = redis.call('ZRANGE', walked, high, low, 'BYLEX', 'REV', 'LIMIT', 0, size)
  else ids = redis.call('ZRANGE', walked, low, high, 'BYLEX', 'LIMIT', 0, size) end
  local out = #ids > 0 and filter(ids) or {}
  for k, id in ipairs(ids) do
    scanned = scanned + 1
    last_id = id
    if not out[k] then
      local record = redis.call('HMGET', p .. 'r:' .. id, 'd', 'v', 's', 'e')
      if not record[1] or not lives(record[4], nowMs) then
        dead[#dead + 1] = id
      elseif #items == limit then
        return page(1, items[limit][1])
      else
        local shown = {record[1], record[2], record[3]}
        items[#items + 1] = {id, shown, withBalances == '1' and redis.call('HGETALL', p .. 'bal:' .. id) or {}}
      end
    end
  end
  if #ids < size then return page(0, '') end
  if scanned >= room then return page(1, last_id) end
  go_on_after(last_id)
end
