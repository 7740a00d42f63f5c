-- Creates a session with its event; ends the session that held its intent, if `endedSession` says how; binds its key.
-- Answers {'OK'} or a refusal: {code, the record that stands against it, as flat fields}.
--
-- endingKey: the cluster's sessions that have not ended. guardKey: the intent's guard, one for all clusters. openKey,
-- closedKey: a wallet key's open sessions, and its end. boundKey: the record of the key that the session binds.
-- opening: what the wallet's key is to this session: "checked" (it must not be closed), "listed" (its open sessions name
-- this one) or empty. endsAtMs: end of its lifetime, or empty. endedId: the session that ends with this one's beginning,
-- or empty. bytesMax: what the tenant may store, or empty. boundRecord: the key's record as this session binds it, boundScheme: the scheme in it; or both empty.
-- @include redis/append-event.lua
-- @include coordinator/store/session-record.lua
-- @keys sessionKey, fenceKey, endingKey, guardKey?, openKey?, closedKey?, boundKey?
-- @args fence, retentionMs, nowMs, sessionId, prefix, opening, endsAtMs, endedId, boundRecord, boundScheme, bytesMax
-- @args session: session, event: event, endedSession: session?, endedEvent: event?

if fenced(fenceKey, fence) then return {'FENCED'} end
local standing = redis.call('HGET', sessionKey, 'checkpointId')
if standing then
  if standing == session.checkpointId then return {'OK'} end
  return {'SESSION_EXISTS', redis.call('HGETALL', sessionKey)}
end
if bytesMax ~= '' and usage_now(prefix) >= tonumber(bytesMax) then return {'QUOTA'} end
local closed = opening == 'checked' and redis.call('EXISTS', closedKey) == 1
local ended_key
if guardKey then
  local other = redis.call('GET', guardKey)
  if other and other ~= sessionId then
    local key = prefix .. 'session:' .. other
    local held = redis.call('HMGET', key, 'state', 'expiresMs', 'epoch', 'cluster')
    local state = tonumber(held[1] or '0')
    local over = tonumber(nowMs) >= tonumber(held[2] or '0')
    local live = state == ACCEPTED or state == PENDING_HUMAN_APPROVAL or state == RESUMED
    -- Only its own cluster ends a session: until then it may still sign.
    if (live or state == BACKEND_COMPLETED or state == BACKEND_FAILED) and elsewhere(held[4], session) then
      return {'INTENT_ELSEWHERE', {'sessionId', other, 'cluster', held[4] or '1'}}
    end
    if state == BACKEND_COMPLETED or (live and not over) then
      return {'INTENT_TAKEN', redis.call('HGETALL', key)}
    end
    if closed then return {'KEY_CLOSED'} end
    if live or state == BACKEND_FAILED then
      if endedId ~= other or tonumber(endedSession.epoch) ~= tonumber(held[3]) + 1 then
        return {'INTENT_HELD', redis.call('HGETALL', key)}
      end
      ended_key = key
    end
  end
end
if closed then return {'KEY_CLOSED'} end
if boundRecord ~= '' then
  local refused = bound_otherwise(boundKey, boundScheme)
  if refused then return refused end
  redis.call('SET', boundKey, boundRecord)
end
local deltas = {}
if ended_key then
  put(deltas, ended_key, endedSession, retentionMs)
  redis.call('ZREM', endingKey, endedId)
  append_event(prefix, endedEvent)
end
if guardKey then redis.call('SET', guardKey, sessionId, 'PX', retentionMs) end
if opening ~= '' then
  redis.call('ZREMRANGEBYSCORE', openKey, '-inf', nowMs)
  redis.call('ZADD', openKey, session.expiresMs, sessionId)
  redis.call('PEXPIRE', openKey, retentionMs)
end
if endsAtMs ~= '' then redis.call('ZADD', endingKey, endsAtMs, sessionId) end
put(deltas, sessionKey, session, retentionMs)
usage_write(prefix, deltas)
append_event(prefix, event)
return {'OK'}
