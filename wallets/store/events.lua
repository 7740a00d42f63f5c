-- A page of events in one round trip. It scans a bounded number of entries and says where the next page begins.
-- Answers {'tampered', key} when a key holds what no script writes, or {more (1/0), sequence to go on after, oldest kept sequence, last sequence, entries}.
--
-- scannedMax: entries to scan. resourceId, eventId: or empty. fromMs, beforeMs: the first ms and the one after the last, or empty.
-- types: exact, or beginnings that end in ".*"; none: all. connections: ids; left out: all.
-- @keys prefixKey
-- @args after, pageMax, scannedMax, resourceId, eventId, fromMs, beforeMs, types: json, connections: json?

local event_batch = 100
-- An event that an earlier version has written may be stamped earlier than its neighbours: by no more than an unanswered
-- request is remembered (24 h), and an hour.
local event_late_ms = 25 * 3600000

local limit, room, stream = tonumber(pageMax), tonumber(scannedMax), prefixKey .. 'evt'
local last = tonumber(redis.call('HGET', prefixKey .. 'seq', 'n') or '0')
if not last then return {'tampered', 'seq'} end
local function whole(n) return string.format('%.0f', n) end
local function at(sequence)
  return redis.call('XRANGE', stream, whole(sequence) .. '-0', '+', 'COUNT', 1)[1]
end
local function sequence_of(entry) return tonumber(string.match(entry[1], '^%d+')) end
local oldest = at(0)
local floor = oldest and sequence_of(oldest) or last + 1
local from, before = tonumber(fromMs), tonumber(beforeMs)
local of_connections = connections and {}
for _, id in ipairs(connections or {}) do of_connections[id] = true end
local function matches(entry)
  local f = entry[2]
  if of_connections and not of_connections[f[20]] then return false end
  if resourceId ~= '' and f[12] ~= resourceId then return false end
  if eventId ~= '' and f[2] ~= eventId then return false end
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
local out, scanned, done = {}, 0, math.max(after, position - 1)
local filtered = #types > 0 or connections or from or before or resourceId ~= '' or eventId ~= ''
local batch = filtered and event_batch or limit + 1
while true do
  local size = math.min(batch, room - scanned)
  local entries = redis.call('XRANGE', stream, whole(done + 1) .. '-0', '+', 'COUNT', size)
  for _, entry in ipairs(entries) do
    if before and tonumber(entry[2][8]) >= before + event_late_ms then return {0, whole(last), floor, last, out} end
    if matches(entry) then
      if #out == limit then return {1, sequence_of(out[limit]), floor, last, out} end
      out[#out + 1] = entry
    end
    done = sequence_of(entry)
  end
  scanned = scanned + #entries
  if #entries < size then return {0, done, floor, last, out} end
  if scanned >= room then return {done < last and 1 or 0, done, floor, last, out} end
end
