-- What the scripts of sessions share.
-- @include core/redis/lifetime.lua
-- @include core/redis/usage.lua
-- @shape session = epoch, state, reasonCode, message, checkpointId, checkpointMs, expiresMs, data, cluster, mac

-- Numbers of svc.mesh.v1.ReceiptState.
local ACCEPTED, PENDING_HUMAN_APPROVAL, RESUMED, BACKEND_COMPLETED, BACKEND_FAILED = 1, 3, 4, 8, 9
-- Characters of the MAC before a key's JSON.
local mac_chars = 22

-- Whether a stored session is another cluster's than this one. Records of earlier versions name none: they are of cluster 1.
local function elsewhere(cluster, session)
  return tonumber(cluster or '1') ~= tonumber(session.cluster)
end

-- Whether a session in this state ends by itself at the end of its lifetime.
local function has_lifetime(state)
  return state == ACCEPTED or state == PENDING_HUMAN_APPROVAL or state == RESUMED or state == BACKEND_FAILED
end

-- The answer of a session that has an intent to another one that wants it: holdOf of layout.ts.
local function hold_of(state, over)
  if state == BACKEND_COMPLETED then return 'keeps' end
  if not has_lifetime(state) then return '' end
  return (over or state == BACKEND_FAILED) and 'yields' or 'keeps'
end

-- Beside its text: the names of its fields and its key, its intent's guard, and what Redis adds.
local session_extra_bytes = 768

-- Whether a stored session stays readable: so long after its last change, by the service's time.
local function retained(checkpoint_ms, retention_ms, now_ms)
  return lives(checkpoint_ms and end_text(checkpoint_ms, retention_ms), now_ms)
end

-- Books out of `deltas` (core/redis/usage.lua) what the session of this key takes.
local function unbook(deltas, key)
  local stored = redis.call('HSTRLEN', key, 'data')
  if stored == 0 then return end
  stored = stored + redis.call('HSTRLEN', key, 'message') + session_extra_bytes
  usage_book(deltas, -stored, redis.call('PEXPIRETIME', key) - drop_slack_ms)
end

-- Writes a session, and books in `deltas` what it takes. now_ms: by the clock of this Redis.
local function put(deltas, key, session, retention_ms, now_ms)
  usage_book(deltas, #session.data + #session.message + session_extra_bytes, now_ms + retention_ms)
  redis.call('HSET', key, 'epoch', session.epoch, 'state', session.state, 'reasonCode', session.reasonCode,
    'message', session.message, 'checkpointId', session.checkpointId, 'checkpointMs', session.checkpointMs,
    'expiresMs', session.expiresMs, 'data', session.data, 'cluster', session.cluster, 'mac', session.mac)
  dropped_after(key, retention_ms)
end

-- The refusal when the stored key is gone, bound to another scheme, or refreshed (boundName of layout.ts); nil: it may be bound to
-- this one.
local function bound_otherwise(key, scheme)
  local stored = redis.call('GET', key)
  if not stored then return {'KEY_BOUND'} end
  -- What cannot be read is refused likewise: the coordinator finds out why.
  local reads, record = pcall(cjson.decode, string.sub(stored, mac_chars + 1))
  local standing = reads and type(record) == 'table' and record.scheme
  if standing and record.version then standing = standing .. '/' .. string.format('%d', record.version) end
  if standing ~= '' and standing ~= scheme then return {'KEY_BOUND', {stored}} end
  return nil
end
