/**
 * The writes of the coordinator, as Redis scripts: each is one atomic step.
 *
 * All are safe to repeat: a write whose answer was lost and which is sent again finds its own checkpoint and says OK.
 * All compare the fence: a coordinator that was paused while a newer one started cannot write any more. State numbers
 * are those of svc.mesh.v1.ReceiptState.
 */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { reasonCodes } from '../../proto/reason-codes.ts';

const S = ReceiptState;

const common = `
local function fenced(key, mine)
  local seen = tonumber(redis.call('GET', key) or '0')
  if seen > mine then return true end
  if seen < mine then redis.call('SET', key, mine) end
  return false
end
local function put(key, first)
  redis.call('HSET', key, 'epoch', ARGV[first], 'state', ARGV[first + 1], 'reasonCode', ARGV[first + 2],
    'message', ARGV[first + 3], 'checkpointId', ARGV[first + 4], 'checkpointMs', ARGV[first + 5],
    'expiresMs', ARGV[first + 6], 'data', ARGV[first + 7])
end
`;

/**
 * KEYS: session, fence, intent guard (the session key again: none), and of a wallet's key: its open sessions, its end.
 * ARGV: fence, retention ms, now ms, session id, guarded (1/0), session key prefix, checkpoint id and message for a
 * session that gives way, what the wallet's key is to this session ("checked": must not be closed; "listed": its open
 * sessions name this one; empty: neither), then the session's fields.
 */
export const createSession = `${common}
if fenced(KEYS[2], tonumber(ARGV[1])) then return {'FENCED'} end
local standing = redis.call('HGET', KEYS[1], 'checkpointId')
if standing then
  if standing == ARGV[14] then return {'OK'} end
  return {'SESSION_EXISTS', redis.call('HGETALL', KEYS[1])}
end
local closed = ARGV[9] == 'checked' and redis.call('EXISTS', KEYS[5]) == 1
if ARGV[5] == '1' then
  local other = redis.call('GET', KEYS[3])
  if other and other ~= ARGV[4] then
    local key = ARGV[6] .. other
    local state = tonumber(redis.call('HGET', key, 'state') or '0')
    local over = tonumber(ARGV[3]) >= tonumber(redis.call('HGET', key, 'expiresMs') or '0')
    local live = state == ${S.ACCEPTED} or state == ${S.PENDING_HUMAN_APPROVAL} or state == ${S.RESUMED}
    if state == ${S.BACKEND_COMPLETED} or (live and not over) then
      return {'INTENT_TAKEN', redis.call('HGETALL', key)}
    end
    if closed then return {'KEY_CLOSED'} end
    if live or state == ${S.BACKEND_FAILED} then
      redis.call('HINCRBY', key, 'epoch', 1)
      if over then
        redis.call('HSET', key, 'state', ${S.EXPIRED}, 'reasonCode', 'SESSION_EXPIRED', 'message', ${JSON.stringify(reasonCodes.SESSION_EXPIRED.text)},
          'checkpointId', ARGV[7], 'checkpointMs', ARGV[3])
      else
        redis.call('HSET', key, 'state', ${S.REVOKED}, 'reasonCode', 'SESSION_REVOKED', 'message', ARGV[8],
          'checkpointId', ARGV[7], 'checkpointMs', ARGV[3])
      end
    end
  end
  if closed then return {'KEY_CLOSED'} end
  redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[2])
end
if closed then return {'KEY_CLOSED'} end
if ARGV[9] ~= '' then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[3])
  redis.call('ZADD', KEYS[4], ARGV[16], ARGV[4])
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
end
put(KEYS[1], 10)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'OK'}
`;

/**
 * KEYS: session, fence, key record (the session key again: none), intent guard (the session key again: none), and of a
 * wallet's key: its open sessions, its end.
 * ARGV: fence, retention ms, key record or empty, guarded (1/0), session id, what this change is to the wallet's key
 * ("goesOn" and "completes": it must not be closed; "ends"; empty: nothing), then the session's fields.
 */
export const updateSession = `${common}
if fenced(KEYS[2], tonumber(ARGV[1])) then return {'FENCED'} end
local standing = redis.call('HMGET', KEYS[1], 'epoch', 'checkpointId')
if standing[2] == ARGV[11] then return {'OK'} end
if tonumber(standing[1] or '-1') ~= tonumber(ARGV[7]) - 1 then
  return {'EPOCH', redis.call('HGETALL', KEYS[1])}
end
if ARGV[6] == 'goesOn' or ARGV[6] == 'completes' then
  if redis.call('EXISTS', KEYS[6]) == 1 then return {'KEY_CLOSED'} end
end
if ARGV[6] == 'goesOn' then
  redis.call('ZADD', KEYS[5], ARGV[13], ARGV[5])
  redis.call('PEXPIRE', KEYS[5], ARGV[2])
elseif ARGV[6] ~= '' then
  redis.call('ZREM', KEYS[5], ARGV[5])
end
if ARGV[3] ~= '' then redis.call('SET', KEYS[3], ARGV[3]) end
if ARGV[4] == '1' then redis.call('PEXPIRE', KEYS[4], ARGV[2]) end
put(KEYS[1], 7)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {'OK'}
`;

/** KEYS: fence, the key's end. ARGV: fence. */
export const closeKey = `${common}
if fenced(KEYS[1], tonumber(ARGV[1])) then return {'FENCED'} end
redis.call('SET', KEYS[2], '1')
return {'OK'}
`;
