-- A page of a tenant's sessions in one cluster, newest first: at most `limit`, of the `scanMax` that follow a place.
-- Answers {records as flat fields, time and id of the place after which the next page begins, or empty}.
--
-- listKey: the cluster's sessions, by the time they began. kind: "signing", "dkg", or empty. states: as ",1,8,", or empty: all.
-- afterMs, afterId: the place; "+inf" and empty: from the newest on.
-- @keys listKey
-- @args prefix, kind, states, afterMs, afterId, limit, scanMax

local chunk = 100
local found, scanned, offset = {}, 0, 0
local placeMs, placeId = '', ''
while true do
  local page = redis.call('ZREVRANGEBYSCORE', listKey, afterMs, '-inf', 'WITHSCORES', 'LIMIT', offset, chunk)
  for i = 1, #page, 2 do
    local id, atMs = page[i], page[i + 1]
    -- Of sessions that began at one time, the page before has given those with higher ids.
    if atMs ~= afterMs or id < afterId then
      if scanned == tonumber(scanMax) then return {found, placeMs, placeId} end
      scanned = scanned + 1
      local signs = string.sub(id, 1, 4) == 'sig_'
      local wanted = kind == '' or (kind == 'signing') == signs
      local key = prefix .. 'session:' .. id
      local reads, state = true, false
      if wanted then reads, state = pcall(redis.call, 'HGET', key, 'state') end
      -- It is no hash any more: the coordinator says that about a record without its fields.
      if not reads then state = '' end
      if state and (states == '' or string.find(states, ',' .. state .. ',', 1, true)) then
        if #found == tonumber(limit) then return {found, placeMs, placeId} end
        found[#found + 1] = reads and redis.call('HGETALL', key) or {'state', ''}
        placeMs, placeId = atMs, id
      elseif #found < tonumber(limit) then
        placeMs, placeId = atMs, id
      end
    end
  end
  if #page < 2 * chunk then return {found, '', ''} end
  offset = offset + chunk
end
