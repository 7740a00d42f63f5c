-- The index of an address: mined transactions by the time of their blocks.
-- note(prefix, address, direction, id, minedAtMs, retentionMs): adds a mined transaction, and drops what is too old.
-- note_mined(prefix, id, sender, minedAtMs, retentionMs): for its sender, and for a reorganisation, which may take its block away.
-- note_funded(prefix, address, asset, units, by, retentionMs): adds money from outside as the transaction that it is.
-- @shape funded_by = txId, from, atMs

local function note(prefix, address, direction, id, minedAtMs, retentionMs)
  local key = prefix .. 'at:' .. address
  redis.call('ZADD', key, minedAtMs, direction .. ':' .. id)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', minedAtMs - retentionMs)
end

-- The longest time whose blocks can be undone: at least one of the slowest chain.
local reorgMs = 600000
local function note_mined(prefix, id, sender, minedAtMs, retentionMs)
  note(prefix, sender, 'out', id, minedAtMs, retentionMs)
  redis.call('ZADD', prefix .. 'mined', minedAtMs, id)
  redis.call('ZREMRANGEBYSCORE', prefix .. 'mined', '-inf', minedAtMs - reorgMs)
  for _, depth in ipairs({'confirmations', 'finality'}) do
    local blocks = redis.call('GET', prefix .. depth)
    if blocks then redis.call('HSET', prefix .. 'tx:' .. id, depth, blocks) end
  end
end

local function note_funded(prefix, address, asset, units, by, retentionMs)
  local tx = prefix .. 'tx:' .. by.txId
  redis.call('HSET', tx, 'from', by.from, 'to', address, 'asset', asset, 'units', units, 'fee', '0', 'failed', '0',
    'minedAtMs', by.atMs)
  redis.call('PEXPIRE', tx, retentionMs)
  note(prefix, address, 'in', by.txId, by.atMs, retentionMs)
end
