-- Writes changes of sessions of a tenant, in their order. Each is a step of its own: first every check, then every write; one
-- that is refused, or fails, has changed nothing and does not concern the others.
-- Answers for each {'OK'}, a refusal {code, the record that stands against it, as flat fields}, or {'ERROR', text}. TAMPERED: a key
-- of the tenant, which it names, holds what no script writes.
--
-- kind: "create" (a new session, which may bind its key), "update" (its next epoch, which may make or bind a key), or
-- "held": the next epoch of the session that holds the intent of the create after it, written by that one or not at all.
-- nowMs, retentionMs: by the service's time; an intent's guard holds as long as its session is retained.
-- guard: the intent's guard, one for all clusters, or empty. walletKey: the wallet key that it is a session of, or empty.
-- change: what that is to the wallet's key: "checked" and "listed" (its open sessions name the new one), "goesOn", "completes",
-- "ends", or empty; with "checked", "goesOn" and "completes" the key must not be closed. endsAtMs: end of the session's
-- lifetime, or empty. counted: "1" if the tenant's quota `bytesMax` counts. keyId, keyRecord: the key's record as it is written,
-- or empty. boundScheme: the scheme in it, if the session binds a key that exists; empty: it made the key. id: empty for no event.
-- endingKey: the cluster's sessions that have not ended. listKey: all its sessions, by the time they began.
-- @include core/redis/append-event.lua
-- @include coordinator/store/fence.lua
-- @include coordinator/store/session-record.lua
-- @shape sessionWrite = kind, sessionId, nowMs, guard, walletKey, change, endsAtMs, counted, keyId, keyRecord, boundScheme, ...session, ...event
-- @keys fenceKey, endingKey, listKey
-- @args fence, retentionMs, prefix, bytesMax, writes: sessionWrite[]

-- Sessions of one wallet key that have not ended, at most, before clients' new ones are refused: whatever ends them goes through all.
local open_max = 10000

local replies, events, deltas, listed_at_ms = {}, {}, {}, nil
local now_ms, fence_broken = clock_ms(), fenced(fenceKey, fence)

local logs = false
for _, write in ipairs(writes) do logs = logs or write.id ~= '' end
local log = logs and open_log(prefix)

local function session_key(id) return prefix .. 'session:' .. id end

local function is_closed(write) return redis.call('EXISTS', prefix .. 'closed:' .. write.walletKey) == 1 end

-- The refusal when the key is bound to another scheme than this session's.
local function bound_otherwise_to(write)
  if write.boundScheme == '' then return nil end
  return bound_otherwise(prefix .. 'key:' .. write.keyId, write.boundScheme)
end

-- Whether it is reached; nil: nothing says.
local function quota_reached()
  local bytes = usage_now(prefix)
  if not bytes then return nil end
  for _, delta in ipairs(deltas) do bytes = bytes + delta[2] end
  return bytes >= tonumber(bytesMax)
end

-- What stands against the guard of a new session: nil, or a refusal; and whether `held` ends with it.
local function guarded_otherwise(write, held, closed)
  local other = redis.call('GET', prefix .. write.guard)
  if not other or other == write.sessionId then return nil, false end
  local key = session_key(other)
  local found = redis.call('HMGET', key, 'state', 'expiresMs', 'epoch', 'cluster', 'checkpointMs')
  if not retained(found[5], retentionMs, write.nowMs) then return nil, false end
  local hold = hold_of(tonumber(found[1] or '0'), tonumber(write.nowMs) >= tonumber(found[2] or '0'))
  -- Only its own cluster ends a session: until then it may still sign.
  if hold ~= '' and elsewhere(found[4], write) then
    return {'INTENT_ELSEWHERE', {'sessionId', other, 'cluster', found[4] or '1'}}, false
  end
  if hold == 'keeps' then return {'INTENT_TAKEN', redis.call('HGETALL', key)}, false end
  if closed or hold == '' then return nil, false end
  if not held or held.sessionId ~= other or tonumber(held.epoch) ~= tonumber(found[3]) + 1 then
    return {'INTENT_HELD', redis.call('HGETALL', key)}, false
  end
  return nil, true
end

local function create(write, held)
  local key = session_key(write.sessionId)
  local standing = redis.call('HGET', key, 'checkpointId')
  if standing then
    if standing == write.checkpointId then return {'OK'} end
    return {'SESSION_EXISTS', redis.call('HGETALL', key)}
  end
  if write.counted == '1' and bytesMax ~= '' then
    local reached = quota_reached()
    if reached == nil then return {'TAMPERED', {'key', 'use'}} end
    if reached then return {'QUOTA'} end
  end
  local closed, ends = write.change == 'checked' and is_closed(write), false
  if write.guard ~= '' then
    local refused
    refused, ends = guarded_otherwise(write, held, closed)
    if refused then return refused end
  end
  if closed then return {'KEY_CLOSED'} end
  if write.counted == '1' and write.change ~= '' then
    local open = redis.call('ZCOUNT', prefix .. 'open:' .. write.walletKey, '(' .. write.nowMs, '+inf')
    if open >= open_max then return {'OPEN_QUOTA'} end
  end
  local refused = bound_otherwise_to(write)
  if refused then return refused end
  if write.keyRecord ~= '' then redis.call('SET', prefix .. 'key:' .. write.keyId, write.keyRecord) end
  if ends then
    unbook(deltas, session_key(held.sessionId))
    put(deltas, session_key(held.sessionId), held, retentionMs, now_ms)
    redis.call('ZREM', endingKey, held.sessionId)
    events[#events + 1] = held
  end
  if write.guard ~= '' then
    redis.call('SET', prefix .. write.guard, write.sessionId)
    dropped_after(prefix .. write.guard, retentionMs)
  end
  if write.change ~= '' then
    local open_key = prefix .. 'open:' .. write.walletKey
    redis.call('ZREMRANGEBYSCORE', open_key, '-inf', write.nowMs)
    redis.call('ZADD', open_key, write.expiresMs, write.sessionId)
    dropped_after(open_key, retentionMs)
  end
  if write.endsAtMs ~= '' then redis.call('ZADD', endingKey, write.endsAtMs, write.sessionId) end
  redis.call('ZADD', listKey, write.checkpointMs, write.sessionId)
  listed_at_ms = tonumber(write.nowMs)
  put(deltas, key, write, retentionMs, now_ms)
  events[#events + 1] = write
  return {'OK'}
end

local function update(write)
  local key, change = session_key(write.sessionId), write.change
  local standing = redis.call('HMGET', key, 'epoch', 'checkpointId')
  if standing[2] == write.checkpointId then return {'OK'} end
  if tonumber(standing[1] or '-1') ~= tonumber(write.epoch) - 1 then
    return {'EPOCH', redis.call('HGETALL', key)}
  end
  if (change == 'goesOn' or change == 'completes') and is_closed(write) then return {'KEY_CLOSED'} end
  local refused = bound_otherwise_to(write)
  if refused then return refused end
  if change == 'goesOn' then
    local open_key = prefix .. 'open:' .. write.walletKey
    redis.call('ZADD', open_key, write.expiresMs, write.sessionId)
    dropped_after(open_key, retentionMs)
  elseif change ~= '' then
    redis.call('ZREM', prefix .. 'open:' .. write.walletKey, write.sessionId)
  end
  if write.keyRecord ~= '' then redis.call('SET', prefix .. 'key:' .. write.keyId, write.keyRecord) end
  if write.guard ~= '' then dropped_after(prefix .. write.guard, retentionMs) end
  unbook(deltas, key)
  put(deltas, key, write, retentionMs, now_ms)
  if write.id ~= '' then
    if write.endsAtMs == '' then redis.call('ZREM', endingKey, write.sessionId)
    else redis.call('ZADD', endingKey, write.endsAtMs, write.sessionId) end
    events[#events + 1] = write
  end
  return {'OK'}
end

local held
for i, write in ipairs(writes) do
  if fence_broken then replies[i] = {'FENCED'}
  elseif logs and not log then replies[i] = {'TAMPERED', {'key', 'seq'}}
  elseif write.kind == 'held' then replies[i] = {'OK'}
  else
    local works, reply = pcall(write.kind == 'create' and create or update, write, held)
    -- Newer versions of Redis hand a table.
    replies[i] = works and reply or {'ERROR', type(reply) == 'table' and reply.err or reply}
  end
  held = write.kind == 'held' and write or nil
end
if #deltas > 0 then usage_write(prefix, deltas) end
if listed_at_ms then
  -- A session is kept for this long after its last change. What it has left in the list then, readers pass over.
  local listed_ms = 2 * tonumber(retentionMs)
  redis.call('ZREMRANGEBYSCORE', listKey, '-inf', listed_at_ms - listed_ms)
  dropped_after(listKey, listed_ms)
end
append_events(prefix, log, events)
return replies
