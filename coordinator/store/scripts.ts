/**
 * The writes of the coordinator, as Redis scripts: each is one atomic step, with the event of the change in it.
 *
 * All are safe to repeat: a write whose answer was lost and which is sent again finds its own checkpoint and says OK; its
 * event is not written again. All compare the fence: a coordinator that was paused while a newer one started cannot write
 * any more. First every check, then every write: what is refused has changed nothing. State numbers are those of
 * svc.mesh.v1.ReceiptState.
 */
import { appendEventLua, eventTokenCount } from '../../proto/event-log.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { macChars } from './record-macs.ts';

const S = ReceiptState;

/** What `put` takes: the fields of a session, in the order of `sessionArguments` (layout.ts). */
const fieldCount = 9;

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
    'expiresMs', ARGV[first + 6], 'data', ARGV[first + 7], 'mac', ARGV[first + 8])
  redis.call('PEXPIRE', key, ARGV[2])
end
-- The refusal when the stored key is gone, or bound to another scheme; nil: it may be bound to this one.
local function bound_otherwise(key, scheme)
  local stored = redis.call('GET', key)
  if not stored then return {'KEY_BOUND'} end
  -- Its MAC stands first. What does not even read is refused likewise: the coordinator sees why.
  local reads, key = pcall(cjson.decode, string.sub(stored, ${macChars + 1}))
  local standing = reads and type(key) == 'table' and key.scheme
  if standing ~= '' and standing ~= scheme then return {'KEY_BOUND', {stored}} end
  return nil
end
`;

const create = { session: 12, event: 12 + fieldCount, ends: 12 + fieldCount + eventTokenCount } as const;

/**
 * KEYS: session, fence, intent guard (the session key again: none), and of a wallet's key: its open sessions, its end;
 * the record of the key that the session binds (the session key again: none).
 * ARGV: fence, retention ms, now ms, session id, guarded (1/0), the tenant's prefix, what the wallet's key is to this
 * session ("checked": must not be closed; "listed": its open sessions name this one; empty: neither), end of its lifetime
 * or empty, id of the session that ends with this one's beginning or empty, the key's record as this session binds it and
 * the scheme in it or twice empty; then the session's fields and its event, and those of the session that ends.
 */
export const createSession = `${common}${appendEventLua}
if fenced(KEYS[2], tonumber(ARGV[1])) then return {'FENCED'} end
local standing = redis.call('HGET', KEYS[1], 'checkpointId')
if standing then
  if standing == ARGV[${create.session + 4}] then return {'OK'} end
  return {'SESSION_EXISTS', redis.call('HGETALL', KEYS[1])}
end
local prefix, ending = ARGV[6], ARGV[6] .. 'ending'
local closed = ARGV[7] == 'checked' and redis.call('EXISTS', KEYS[5]) == 1
local ends = false
if ARGV[5] == '1' then
  local other = redis.call('GET', KEYS[3])
  if other and other ~= ARGV[4] then
    local key = prefix .. 'session:' .. other
    local held = redis.call('HMGET', key, 'state', 'expiresMs', 'epoch')
    local state = tonumber(held[1] or '0')
    local over = tonumber(ARGV[3]) >= tonumber(held[2] or '0')
    local live = state == ${S.ACCEPTED} or state == ${S.PENDING_HUMAN_APPROVAL} or state == ${S.RESUMED}
    if state == ${S.BACKEND_COMPLETED} or (live and not over) then
      return {'INTENT_TAKEN', redis.call('HGETALL', key)}
    end
    if closed then return {'KEY_CLOSED'} end
    if live or state == ${S.BACKEND_FAILED} then
      if ARGV[9] ~= other or tonumber(ARGV[${create.ends}]) ~= tonumber(held[3]) + 1 then
        return {'INTENT_HELD', redis.call('HGETALL', key)}
      end
      ends = key
    end
  end
end
if closed then return {'KEY_CLOSED'} end
if ARGV[10] ~= '' then
  local refused = bound_otherwise(KEYS[6], ARGV[11])
  if refused then return refused end
  redis.call('SET', KEYS[6], ARGV[10])
end
if ends then
  put(ends, ${create.ends})
  redis.call('ZREM', ending, ARGV[9])
  append_event(prefix, ${create.ends + fieldCount})
end
if ARGV[5] == '1' then redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[2]) end
if ARGV[7] ~= '' then
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[3])
  redis.call('ZADD', KEYS[4], ARGV[${create.session + 6}], ARGV[4])
  redis.call('PEXPIRE', KEYS[4], ARGV[2])
end
if ARGV[8] ~= '' then redis.call('ZADD', ending, ARGV[8], ARGV[4]) end
put(KEYS[1], ${create.session})
append_event(prefix, ${create.event})
return {'OK'}
`;

const update = { session: 10, event: 10 + fieldCount } as const;

/**
 * KEYS: session, fence, key record (the session key again: none), intent guard (the session key again: none), and of a
 * wallet's key: its open sessions, its end.
 * ARGV: fence, retention ms, key record or empty, guarded (1/0), session id, what this change is to the wallet's key
 * ("goesOn" and "completes": it must not be closed; "ends"; empty: nothing), the tenant's prefix, end of the session's
 * lifetime or empty, the scheme in the key record if the session binds a key that is there (empty: it made the key); then
 * the session's fields and, of a new state, its event.
 */
export const updateSession = `${common}${appendEventLua}
if fenced(KEYS[2], tonumber(ARGV[1])) then return {'FENCED'} end
local standing = redis.call('HMGET', KEYS[1], 'epoch', 'checkpointId')
if standing[2] == ARGV[${update.session + 4}] then return {'OK'} end
if tonumber(standing[1] or '-1') ~= tonumber(ARGV[${update.session}]) - 1 then
  return {'EPOCH', redis.call('HGETALL', KEYS[1])}
end
if ARGV[6] == 'goesOn' or ARGV[6] == 'completes' then
  if redis.call('EXISTS', KEYS[6]) == 1 then return {'KEY_CLOSED'} end
end
if ARGV[9] ~= '' then
  local refused = bound_otherwise(KEYS[3], ARGV[9])
  if refused then return refused end
end
if ARGV[6] == 'goesOn' then
  redis.call('ZADD', KEYS[5], ARGV[${update.session + 6}], ARGV[5])
  redis.call('PEXPIRE', KEYS[5], ARGV[2])
elseif ARGV[6] ~= '' then
  redis.call('ZREM', KEYS[5], ARGV[5])
end
if ARGV[3] ~= '' then redis.call('SET', KEYS[3], ARGV[3]) end
if ARGV[4] == '1' then redis.call('PEXPIRE', KEYS[4], ARGV[2]) end
put(KEYS[1], ${update.session})
if ARGV[${update.event}] then
  if ARGV[8] == '' then redis.call('ZREM', ARGV[7] .. 'ending', ARGV[5])
  else redis.call('ZADD', ARGV[7] .. 'ending', ARGV[8], ARGV[5]) end
  append_event(ARGV[7], ${update.event})
end
return {'OK'}
`;

/** KEYS: fence, the key's end. ARGV: fence. It changes no session; each that is open is then ended by itself. */
export const closeKey = `${common}
if fenced(KEYS[1], tonumber(ARGV[1])) then return {'FENCED'} end
redis.call('SET', KEYS[2], '1')
return {'OK'}
`;

/**
 * KEYS: the sessions of a tenant that have not ended. ARGV: the tenant's prefix, now ms, how many at most.
 * Returns {ids of those past their lifetime, end of the next lifetime or empty}. Where the set and a session disagree, the
 * session is right (it has left the store, or a version of this program wrote it that kept no such set): so nothing is
 * named for ever.
 */
export const overdueSessions = `
local overdue = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])) do
  local session = redis.call('HMGET', ARGV[1] .. 'session:' .. id, 'state', 'expiresMs')
  local state = tonumber(session[1] or '0')
  local ends = state == ${S.ACCEPTED} or state == ${S.PENDING_HUMAN_APPROVAL} or state == ${S.RESUMED} or state == ${S.BACKEND_FAILED}
  if not ends then redis.call('ZREM', KEYS[1], id)
  elseif tonumber(session[2]) > tonumber(ARGV[2]) then redis.call('ZADD', KEYS[1], session[2], id)
  else overdue[#overdue + 1] = id end
end
return {overdue, redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or ''}
`;
