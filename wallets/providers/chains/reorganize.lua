-- Undoes the blocks from fromMs to nowMs: their transactions are in the next block. Answers FINAL and how many blocks it would undo,
-- since others are too old or have final transactions, and changes nothing; or OK and the number of the moved transactions.
-- finality: of a transaction without its own number.
-- @include wallets/providers/chains/address-index.lua
-- @keys prefixKey
-- @args fromMs, nowMs, nextMs, blockMs, finality

if (math.floor((nowMs - fromMs) / blockMs) + 1) * blockMs > reorgMs then return {'FINAL', math.floor(reorgMs / blockMs)} end
local undone = redis.call('ZRANGEBYSCORE', prefixKey .. 'mined', fromMs, nowMs, 'WITHSCORES')
local least
for i = 1, #undone, 2 do
  local own = redis.call('HMGET', prefixKey .. 'tx:' .. undone[i], 'finality', 'confirmations')
  local needed = own[1] or own[2] or finality
  local depth = math.floor((nowMs - undone[i + 1]) / blockMs) + 1
  if depth >= tonumber(needed) and not (least and least < depth) then least = depth - 1 end
end
if least then return {'FINAL', least} end
for i = 1, #undone, 2 do
  local id = undone[i]
  local tx = prefixKey .. 'tx:' .. id
  local function move(address, direction)
    local index, name = prefixKey .. 'at:' .. address, direction .. ':' .. id
    if redis.call('ZSCORE', index, name) then redis.call('ZADD', index, nextMs, name) end
  end
  local names = redis.call('HMGET', tx, 'from', 'to', 'owner')
  if names[1] then
    redis.call('HSET', tx, 'minedAtMs', nextMs)
    redis.call('HINCRBY', tx, 'reorganized', 1)
    redis.call('ZADD', prefixKey .. 'mined', nextMs, id)
    move(names[1], 'out')
    move(names[2], 'in')
    if names[3] then move(names[3], 'out') end
    for _, field in ipairs(redis.call('HKEYS', tx)) do
      local account = string.match(field, '^o:(.*)$')
      if account then move(account, 'in') end
    end
  end
end
return {'OK', #undone / 2}
