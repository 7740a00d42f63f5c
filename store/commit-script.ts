/**
 * A whole `Change` as one atomic step in Redis. First every check, then every write: a refusal has changed nothing, and
 * since Redis refuses for want of memory only before a script's first write, neither has a failure.
 *
 * KEYS: the tenant's prefix. ARGV: the idempotency mark (key hash or empty, owner, answer, ms to keep it), then sections
 * in the order of the code below, each a number of rows and the rows' tokens (made in change-tokens.ts).
 * Returns {'ok', sequence, number or '', balances shown as JSON or ''} or {refusal, what it is about}.
 *
 * Balances are integers of any size and Lua's numbers are doubles, so they are added as decimal strings, 15 digits at a
 * time: the sum of two such limbs and a carry is exact.
 */
import { appendEventLua, eventTokenCount } from '../proto/event-log.ts';
import { reservedSuffix } from './layout.ts';
import { countIdsLua } from './read-scripts.ts';

/** `moved(standing, delta)`: their sum as a decimal string, or nil below zero. `standing` has no sign. */
const movedLua = `
local limb, base = 15, 1e15
local function moved(standing, delta)
  local sign = 1
  if string.sub(delta, 1, 1) == '-' then
    sign, delta = -1, string.sub(delta, 2)
  end
  local out, carry, i, j = {}, 0, #standing, #delta
  while i > 0 or j > 0 or carry > 0 do
    local a = i > 0 and tonumber(string.sub(standing, math.max(1, i - limb + 1), i)) or 0
    local b = j > 0 and tonumber(string.sub(delta, math.max(1, j - limb + 1), j)) or 0
    local sum = a + sign * b + carry
    i, j, carry = i - limb, j - limb, 0
    if sum >= base then
      sum, carry = sum - base, 1
    elseif sum < 0 then
      if i <= 0 and j <= 0 then return nil end
      sum, carry = sum + base, -1
    end
    table.insert(out, 1, string.format('%015.0f', sum))
  end
  local digits = string.gsub(table.concat(out), '^0+', '')
  return digits == '' and '0' or digits
end
`;

/** Records that have expired leave their indices by the way of later changes: so many more each than it adds. */
const sweptMore = 8;
/** `below(a, b)`: whether one decimal integer without sign or leading zeros is below another. */
const belowLua = `
local function below(a, b)
  if #a ~= #b then return #a < #b end
  -- Limb by limb: Lua compares texts by locale.
  for from = 1, #a, limb do
    local x, y = tonumber(string.sub(a, from, from + limb - 1)), tonumber(string.sub(b, from, from + limb - 1))
    if x ~= y then return x < y end
  end
  return false
end
`;

/** Only when Redis has surely dropped the record. */
const sweepSlackMs = 1_000;

export const commitScript = `
${movedLua}
${belowLua}
${countIdsLua}
${appendEventLua}
local p = KEYS[1]
local cursor = 5
local function section(width)
  local first = cursor + 1
  cursor = first + tonumber(ARGV[cursor]) * width
  return first, cursor - 1
end
local first, last

-- Checks. The mark: of this owner, and without an answer.
local mark = p .. 'idem:' .. ARGV[1]
if ARGV[1] ~= '' then
  local known = redis.call('HMGET', mark, 'o', 'a')
  if known[1] ~= ARGV[2] or known[2] then return {'overtaken'} end
end
-- Versions: id, version or empty for none.
first, last = section(2)
for i = first, last, 2 do
  if (redis.call('HGET', p .. 'r:' .. ARGV[i], 'v') or '') ~= ARGV[i + 1] then return {'conflict', ARGV[i]} end
end
-- Statuses: id, status.
first, last = section(2)
for i = first, last, 2 do
  local status = redis.call('HGET', p .. 'r:' .. ARGV[i], 's')
  if not status then return {'conflict', ARGV[i]} end
  if status ~= ARGV[i + 1] then return {'status', ARGV[i], status} end
end
-- Empty indices: name. What has expired and was not swept yet does not count.
first, last = section(1)
for i = first, last do
  local from, ids = 0, nil
  repeat
    ids = redis.call('ZRANGE', p .. 'ix:' .. ARGV[i], from, from + 99)
    for _, id in ipairs(ids) do
      if redis.call('EXISTS', p .. 'r:' .. id) == 1 then return {'notEmpty', ARGV[i]} end
    end
    from = from + 100
  until #ids < 100
end
-- Counts: index, UUIDv7 time of the first or empty, fewest, most or empty.
first, last = section(4)
for i = first, last, 4 do
  local count = count_ids(p .. 'ix:' .. ARGV[i], ARGV[i + 1])
  if count < tonumber(ARGV[i + 2]) or (ARGV[i + 3] ~= '' and count > tonumber(ARGV[i + 3])) then
    return {'conflict', ARGV[i]}
  end
end
-- Available balances: wallet, asset, least, most or empty.
first, last = section(4)
for i = first, last, 4 do
  local available = redis.call('HGET', p .. 'bal:' .. ARGV[i], ARGV[i + 1]) or '0'
  if below(available, ARGV[i + 2]) or (ARGV[i + 3] ~= '' and below(ARGV[i + 3], available)) then
    return {'conflict', ARGV[i]}
  end
end
-- Claims: name, ms to keep it or empty.
local claimsFirst, claimsLast = section(2)
for i = claimsFirst, claimsLast, 2 do
  if redis.call('EXISTS', p .. 'claim:' .. ARGV[i]) == 1 then return {'claimed', ARGV[i]} end
end
-- Ledger: wallet, asset, delta available, delta reserved; each wallet and asset once.
local balances = {}
first, last = section(4)
for i = first, last, 4 do
  local key, held = p .. 'bal:' .. ARGV[i], ARGV[i + 1] .. '${reservedSuffix}'
  local standing = redis.call('HMGET', key, ARGV[i + 1], held)
  local available, reserved = moved(standing[1] or '0', ARGV[i + 2]), moved(standing[2] or '0', ARGV[i + 3])
  if not available or not reserved then return {'insufficient', ARGV[i], ARGV[i + 1]} end
  balances[#balances + 1] = {key, ARGV[i + 1], available, held, reserved}
end

-- Writes.
for i = claimsFirst, claimsLast, 2 do
  if ARGV[i + 1] == '' then redis.call('SET', p .. 'claim:' .. ARGV[i], '1')
  else redis.call('SET', p .. 'claim:' .. ARGV[i], '1', 'PX', ARGV[i + 1]) end
end
for _, balance in ipairs(balances) do redis.call('HSET', unpack(balance)) end
-- Records: id, version, status, kind, document, ms to keep it or empty, what to sweep after that.
local now, kept = nil, 0
first, last = section(7)
for i = first, last, 7 do
  local key = p .. 'r:' .. ARGV[i]
  redis.call('HSET', key, 'v', ARGV[i + 1], 's', ARGV[i + 2], 'k', ARGV[i + 3], 'd', ARGV[i + 4])
  if ARGV[i + 5] ~= '' then
    kept = kept + 1
    if not now then
      local time = redis.call('TIME')
      now = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    redis.call('PEXPIRE', key, ARGV[i + 5])
    redis.call('ZADD', p .. 'old', now + tonumber(ARGV[i + 5]) + ${sweepSlackMs}, ARGV[i + 6])
  elseif ARGV[i + 1] ~= '1' then
    redis.call('PERSIST', key)
  end
end
-- Removed records: id.
first, last = section(1)
for i = first, last do redis.call('DEL', p .. 'r:' .. ARGV[i]) end
-- Indices joined, then left: index, id.
first, last = section(2)
for i = first, last, 2 do redis.call('ZADD', p .. 'ix:' .. ARGV[i], 0, ARGV[i + 1]) end
first, last = section(2)
for i = first, last, 2 do redis.call('ZREM', p .. 'ix:' .. ARGV[i], ARGV[i + 1]) end
-- A number given back, then one taken: counter, number or record.
first, last = section(2)
for i = first, last, 2 do redis.call('ZADD', p .. 'free:' .. ARGV[i], ARGV[i + 1], ARGV[i + 1]) end
local number = ''
first, last = section(2)
for i = first, last, 2 do
  number = redis.call('ZPOPMIN', p .. 'free:' .. ARGV[i])[1]
  if not number then number = string.format('%.0f', redis.call('INCR', p .. 'ctr:' .. ARGV[i]) - 1) end
  redis.call('HSET', p .. 'r:' .. ARGV[i + 1], 'n', number)
end
-- Due: member, time or empty for never.
first, last = section(2)
for i = first, last, 2 do
  if ARGV[i + 1] == '' then redis.call('ZREM', p .. 'due', ARGV[i])
  else redis.call('ZADD', p .. 'due', ARGV[i + 1], ARGV[i]) end
end
-- Closed keys: name.
first, last = section(1)
for i = first, last do redis.call('SET', p .. ARGV[i], '1') end
-- What is shown of a wallet: its id.
local shown, snapshot = nil, ''
first, last = section(1)
if first <= last then
  shown = ARGV[first]
  local fields = redis.call('HGETALL', p .. 'bal:' .. shown)
  snapshot = #fields > 0 and cjson.encode(fields) or '[]'
end
local sequence = 0
first, last = section(${eventTokenCount})
for i = first, last, ${eventTokenCount} do
  local shows = shown and ARGV[i + 4] == shown
  sequence = append_event(p, i, i + ${eventTokenCount} <= last, shows and snapshot or nil)
end
if ARGV[1] ~= '' then
  redis.call('HSET', mark, 'a', ARGV[3])
  if shown then redis.call('HSET', mark, 'w', snapshot) end
  redis.call('PEXPIRE', mark, ARGV[4])
end
if now then
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', p .. 'old', '-inf', now, 'LIMIT', 0, kept + ${sweptMore})) do
    redis.call('ZREM', p .. 'old', member)
    local names = cjson.decode(member)
    -- A record that lives has been given more time since, and stands in the set with that.
    if redis.call('EXISTS', p .. 'r:' .. names[1]) == 0 then
      for k = 2, #names do redis.call('ZREM', p .. 'ix:' .. names[k], names[1]) end
    end
  end
end
return {'ok', sequence, number, snapshot}
`;
