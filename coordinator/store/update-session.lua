-- Writes the next epoch of a session, and its event if its state is new.
-- Answers {'OK'} or a refusal: {code, the record that stands against it, as flat fields}.
--
-- endingKey: the cluster's sessions that have not ended. keyKey: the record of the key that it made or binds. guardKey: the
-- intent's guard. openKey, closedKey: a wallet key's open sessions, and its end.
-- keyRecord: what is written there, or empty. boundScheme: the scheme in it, if the session binds a key that exists;
-- empty: it made the key. change: what this is to the wallet's key: "goesOn" and "completes" (it must not be closed),
-- "ends", or empty. endsAtMs: end of the session's lifetime, or empty.
-- @include redis/append-event.lua
-- @include coordinator/store/session-record.lua
-- @keys sessionKey, fenceKey, endingKey, keyKey?, guardKey?, openKey?, closedKey?
-- @args fence, retentionMs, keyRecord, sessionId, change, prefix, endsAtMs, boundScheme, session: session, event: event?

if fenced(fenceKey, fence) then return {'FENCED'} end
local standing = redis.call('HMGET', sessionKey, 'epoch', 'checkpointId')
if standing[2] == session.checkpointId then return {'OK'} end
if tonumber(standing[1] or '-1') ~= tonumber(session.epoch) - 1 then
  return {'EPOCH', redis.call('HGETALL', sessionKey)}
end
if change == 'goesOn' or change == 'completes' then
  if redis.call('EXISTS', closedKey) == 1 then return {'KEY_CLOSED'} end
end
if boundScheme ~= '' then
  local refused = bound_otherwise(keyKey, boundScheme)
  if refused then return refused end
end
if change == 'goesOn' then
  redis.call('ZADD', openKey, session.expiresMs, sessionId)
  redis.call('PEXPIRE', openKey, retentionMs)
elseif change ~= '' then
  redis.call('ZREM', openKey, sessionId)
end
if keyRecord ~= '' then redis.call('SET', keyKey, keyRecord) end
if guardKey then redis.call('PEXPIRE', guardKey, retentionMs) end
local deltas = {}
put(deltas, sessionKey, session, retentionMs)
usage_write(prefix, deltas)
if event then
  if endsAtMs == '' then redis.call('ZREM', endingKey, sessionId)
  else redis.call('ZADD', endingKey, endsAtMs, sessionId) end
  append_event(prefix, event)
end
return {'OK'}
