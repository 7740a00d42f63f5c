-- mine_or_wait(prefix, id, market, minedAtMs, retentionMs): mines a Bitcoin transaction that is stored and not mined, unless it pays less
-- than the market, whose price is `market` until it is moved: then its inputs are held for it.
-- @include wallets/providers/chains/bitcoin-output.lua
-- @include wallets/providers/chains/address-index.lua

-- Far beyond any time in milliseconds.
local for_good = '9000000000000000'

-- Of an unspent output: its satoshi, and the address that has it.
local function coin_of(p, outpoint)
  local sats, address = string.match(redis.call('GET', p .. 'utxo:' .. outpoint), '^(%d+):(.*)$')
  return sats, account_of(p, address)
end

local function hold_inputs(p, id, inputs)
  for outpoint in string.gmatch(inputs, '(%x+:%d+):%d+') do
    local sats, account = coin_of(p, outpoint)
    local holder = string.match(redis.call('HGET', p .. 'held:' .. account, outpoint) or '', '^%d+:%d+:(.*)$') or id
    redis.call('ZREM', p .. 'free:' .. account, outpoint)
    redis.call('HSET', p .. 'held:' .. account, outpoint, sats .. ':' .. for_good .. ':' .. holder)
    redis.call('SET', p .. 'spender:' .. outpoint, id)
  end
end

local function spend_inputs(p, asset, inputs, retentionMs)
  for outpoint in string.gmatch(inputs, '(%x+:%d+):%d+') do
    local sats, account = coin_of(p, outpoint)
    redis.call('DEL', p .. 'utxo:' .. outpoint, p .. 'spender:' .. outpoint)
    redis.call('ZREM', p .. 'free:' .. account, outpoint)
    redis.call('HINCRBY', p .. 'acct:' .. account, asset, '-' .. sats)
    local held = redis.call('HGET', p .. 'held:' .. account, outpoint)
    if held then
      redis.call('HDEL', p .. 'held:' .. account, outpoint)
      redis.call('PEXPIRE', p .. 'lock:' .. string.match(held, '^%d+:%d+:(.*)$'), retentionMs)
    end
  end
end

local function mine_or_wait(p, id, market, minedAtMs, retentionMs)
  local key = p .. 'tx:' .. id
  local tx = redis.call('HMGET', key, 'fee', 'vbytes', 'inputs', 'outputs', 'from', 'to', 'asset', 'failed')
  local price = tonumber(redis.call('GET', p .. 'market') or market)
  if tonumber(tx[1]) < price * tx[2] then
    redis.call('HSET', key, 'underpriced', '1')
    return hold_inputs(p, id, tx[3])
  end
  spend_inputs(p, tx[7], tx[3], retentionMs)
  local from, to, i = tx[5], tx[6], 0
  for sats, address in string.gmatch(tx[4], '(%d+):([^,]+)') do
    create_output(p, id, i, address, sats, tx[7])
    i = i + 1
    -- What goes back to the sender is change, unless it is what the transaction pays.
    local account = account_of(p, address)
    if tx[8] ~= '1' and (account ~= from or (i == 1 and account_of(p, to) == from)) then
      redis.call('HINCRBY', key, 'o:' .. account, sats)
      note(p, account, 'in', id, minedAtMs, retentionMs)
    end
  end
  note_mined(p, id, from, minedAtMs, retentionMs)
  redis.call('HDEL', key, 'underpriced', 'inputs', 'outputs')
  redis.call('HSET', key, 'minedAtMs', minedAtMs)
  redis.call('PEXPIRE', key, retentionMs)
end
