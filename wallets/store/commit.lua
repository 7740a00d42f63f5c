-- Performs a change in one atomic step. First every check, then every write: a refusal has changed nothing, and since
-- Redis refuses for want of memory only before a script's first write, neither has a failure.
-- Answers {'ok', sequence, number or '', balances shown as JSON or ''} or {refusal, what it is about}.
-- With change.bytesMax it is refused, as 'full', when the tenant stores that much already. 'tampered' names a key of the tenant
-- that holds what no script writes.
--
-- nowMs: the service's time, from which records, claims and the answer have their lifetimes (core/redis/lifetime.lua).
-- prefixKey: the tenant's prefix. keyHash: the idempotency key that gets the answer, or empty. change: see
-- change-arguments.ts, which makes it; parts that a change does not have are absent.
-- @include core/redis/redis-clock.lua
-- @include core/redis/lifetime.lua
-- @include core/redis/append-event.lua
-- @include core/redis/usage.lua
-- @include wallets/store/count-ids.lua
-- @include wallets/store/add-movement.lua
-- @keys prefixKey
-- @args keyHash, owner, answer, answerLifetimeMs, nowMs, change: json

-- Of expired records, so many more leave their indices with each change than it adds.
local swept_more = 8
-- Beside their text: names of fields and keys, places in indices, and what Redis adds.
local record_extra_bytes, answer_extra_bytes, movement_extra_bytes = 512, 256, 192
-- Behind the asset in the name of the field that holds what is reserved.
local reserved_suffix = '|r'

local limb = 15
-- Whether one decimal integer without sign or leading zeros is below another.
local function below(a, b)
  if #a ~= #b then return #a < #b end
  -- Limb by limb: Lua compares texts by locale.
  for from = 1, #a, limb do
    local x, y = tonumber(string.sub(a, from, from + limb - 1)), tonumber(string.sub(b, from, from + limb - 1))
    if x ~= y then return x < y end
  end
  return false
end

local p, none = prefixKey, {}
-- A field of a record, or nil: no such record, or its lifetime is over.
local function field_of(id, field)
  local found = redis.call('HMGET', p .. 'r:' .. id, field, 'e')
  return lives(found[2], nowMs) and found[1] or nil
end

-- Checks. The mark: of this owner, and without an answer.
local mark = p .. 'idem:' .. keyHash
if keyHash ~= '' then
  local known = redis.call('HMGET', mark, 'o', 'a')
  if known[1] ~= owner or known[2] then return {'overtaken'} end
end
if change.bytesMax then
  local stored = usage_now(p)
  if not stored then return {'tampered', 'use'} end
  if stored >= change.bytesMax then return {'full', string.format('%.0f', stored)} end
end
for _, expected in ipairs(change.versions or none) do
  -- Without a version: no such record.
  local version = field_of(expected.id, 'v')
  if version ~= expected.version then return {'conflict', expected.id} end
end
for _, expected in ipairs(change.statuses or none) do
  local status = field_of(expected.id, 's')
  if not status then return {'conflict', expected.id} end
  if status ~= expected.status then return {'status', expected.id, status} end
end
for _, index in ipairs(change.emptyIndices or none) do
  -- What has expired and was not swept yet does not count.
  local from, ids = 0, nil
  repeat
    ids = redis.call('ZRANGE', p .. 'ix:' .. index, from, from + 99)
    for _, id in ipairs(ids) do
      if field_of(id, 'v') then return {'notEmpty', index} end
    end
    from = from + 100
  until #ids < 100
end
for _, range in ipairs(change.counts or none) do
  local count = count_ids(p .. 'ix:' .. range.index, range.since)
  if count < range.min or (range.max and count > range.max) then return {'conflict', range.index} end
end
for _, range in ipairs(change.available or none) do
  local available = redis.call('HGET', p .. 'bal:' .. range.walletId, range.asset) or '0'
  if is_negative(available) then available = '0' end
  if below(available, range.min) or (range.max and below(range.max, available)) then
    return {'conflict', range.walletId}
  end
end
for _, claim in ipairs(change.claims or none) do
  -- The end of the claim; '1': it has none, or an earlier version wrote it.
  local standing = redis.call('GET', p .. 'claim:' .. claim.name)
  if standing and (standing == '1' or lives(standing, nowMs)) then return {'claimed', claim.name} end
end
-- Each wallet and asset stands in the ledger once.
local balances, totals = {}, {}
for _, entry in ipairs(change.ledger or none) do
  local key, held = p .. 'bal:' .. entry.walletId, entry.asset .. reserved_suffix
  local standing = redis.call('HMGET', key, entry.asset, held)
  local available, reserved = summed(standing[1] or '0', entry.available), moved(standing[2] or '0', entry.reserved)
  -- What an allowance has taken of reserved units is missing from what is available, until these come back.
  local lacks = is_negative(available) and is_negative(entry.available) and not entry.overdraws
  if lacks or not reserved or is_negative(summed(available, reserved)) then return {'insufficient', entry.walletId, entry.asset} end
  balances[#balances + 1] = {key, entry.asset, available, held, reserved}
  totals[entry.walletId .. ' ' .. entry.asset] = summed(standing[1] or '0', standing[2] or '0')
end
for _, movement in ipairs(change.movements or none) do
  local of = movement.walletId .. ' ' .. movement.asset
  local after = moved(totals[of], movement.units)
  if not after then return {'insufficient', movement.walletId, movement.asset} end
  totals[of], movement.balance = after, after
end

local log = change.events and open_log(p)
if change.events and not log then return {'tampered', 'seq'} end

-- Writes.
for _, claim in ipairs(change.claims or none) do
  local key = p .. 'claim:' .. claim.name
  redis.call('SET', key, claim.lifetimeMs and end_text(nowMs, claim.lifetimeMs) or '1')
  if claim.lifetimeMs then dropped_after(key, claim.lifetimeMs) end
end
local now, expiring, deltas = nil, 0, {}
-- Before the balances: a wallet of an earlier version begins with what it has now.
for _, movement in ipairs(change.movements or none) do
  add_movement(p, movement, nowMs)
  usage_book(deltas, #movement.cause + movement_extra_bytes, -1)
end
for _, balance in ipairs(balances) do redis.call('HSET', unpack(balance)) end
-- Takes a stored record out of what the tenant stores. Answers whether it would have expired.
local function unbook(key)
  local stored, expires = redis.call('HSTRLEN', key, 'd'), redis.call('PEXPIRETIME', key)
  -- Earlier versions wrote no end, and had Redis drop the record with its lifetime.
  local slack = redis.call('HEXISTS', key, 'e') == 1 and drop_slack_ms or 0
  if stored > 0 then usage_book(deltas, -(stored + record_extra_bytes), expires - slack) end
  return expires >= 0
end
for _, record in ipairs(change.records or none) do
  local key = p .. 'r:' .. record.id
  -- A new record may follow one of its id whose lifetime is over.
  local would_expire = (record.version ~= '1' or record.lifetimeMs) and unbook(key)
  if would_expire and record.version == '1' then redis.call('DEL', key) end
  redis.call('HSET', key, 'v', record.version, 's', record.status, 'k', record.kind, 'd', record.document)
  if record.lifetimeMs then
    expiring = expiring + 1
    now = now or clock_ms()
    redis.call('HSET', key, 'e', end_text(nowMs, record.lifetimeMs))
    dropped_after(key, record.lifetimeMs)
    redis.call('ZADD', p .. 'old', end_text(nowMs, record.lifetimeMs), record.sweep)
  elseif would_expire then
    redis.call('HDEL', key, 'e')
    redis.call('PERSIST', key)
  end
  usage_book(deltas, #record.document + record_extra_bytes, record.lifetimeMs and now + record.lifetimeMs or -1)
end
for _, id in ipairs(change.removed or none) do
  unbook(p .. 'r:' .. id)
  redis.call('DEL', p .. 'r:' .. id)
end
for _, entry in ipairs(change.joined or none) do redis.call('ZADD', p .. 'ix:' .. entry.index, 0, entry.id) end
for _, entry in ipairs(change.left or none) do redis.call('ZREM', p .. 'ix:' .. entry.index, entry.id) end
-- A number is given back before one is taken.
local release, allocate, number = change.release, change.allocate, ''
if release then redis.call('ZADD', p .. 'free:' .. release.counter, release.number, release.number) end
if allocate then
  number = redis.call('ZPOPMIN', p .. 'free:' .. allocate.counter)[1]
  if not number then number = string.format('%.0f', redis.call('INCR', p .. 'ctr:' .. allocate.counter) - 1) end
  redis.call('HSET', p .. 'r:' .. allocate.recordId, 'n', number)
end
for _, entry in ipairs(change.due or none) do
  if entry.atMs then redis.call('ZADD', p .. 'due', entry.atMs, entry.member)
  else redis.call('ZREM', p .. 'due', entry.member) end
end
for _, name in ipairs(change.closedKeys or none) do redis.call('SET', p .. name, '1') end
local shown, snapshot = change.balancesOf, ''
if shown then
  local fields = redis.call('HGETALL', p .. 'bal:' .. shown)
  snapshot = #fields > 0 and cjson.encode(fields) or '[]'
end
local sequence = append_events(p, log, change.events or none, shown, snapshot)
if keyHash ~= '' then
  redis.call('HSET', mark, 'a', answer, 'e', end_text(nowMs, answerLifetimeMs))
  if shown then redis.call('HSET', mark, 'w', snapshot) end
  dropped_after(mark, answerLifetimeMs)
  usage_book(deltas, #answer + answer_extra_bytes, clock_ms() + answerLifetimeMs)
end
if #deltas > 0 then usage_write(p, deltas) end
if now then
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', p .. 'old', '-inf', nowMs, 'LIMIT', 0, expiring + swept_more)) do
    redis.call('ZREM', p .. 'old', member)
    -- What no script has added goes without more.
    local reads, names = pcall(cjson.decode, member)
    -- A record that lives has been given more time since, and stands in the set with that.
    if reads and type(names) == 'table' and type(names[1]) == 'string' and not field_of(names[1], 'v') then
      for k = 2, #names do redis.call('ZREM', p .. 'ix:' .. names[k], names[1]) end
    end
  end
end
return {'ok', sequence, number, snapshot}
