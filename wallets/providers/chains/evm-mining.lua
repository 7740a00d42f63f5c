-- mine_queued(prefix, account, nativeAsset, market, minedAtMs, retentionMs): mines an EVM account's waiting transactions, from its
-- nonce on, until one is missing or pays less than the market, whose price is `market` until it is moved.
-- @include wallets/providers/chains/units.lua
-- @include wallets/providers/chains/address-index.lua

-- An allowance at least as large as what an account can hold is never used up.
local unlimited = string.rep('9', 42)
local function allow(prefix, asset, owner, spender, allowed)
  local key, field = prefix .. 'allow:' .. owner, asset .. ':' .. spender
  if allowed == zero then redis.call('HDEL', key, field) else redis.call('HSET', key, field, allowed) end
end
-- False: the spender may not move so many units.
local function use_allowance(prefix, tx)
  local allowed = amount(redis.call('HGET', prefix .. 'allow:' .. tx.owner, tx.asset .. ':' .. tx.from))
  if allowed < tx.units then return false end
  if allowed ~= unlimited then allow(prefix, tx.asset, tx.owner, tx.from, minus(allowed, tx.units)) end
  return true
end

-- Performs a transaction's effect. False: it reverts, and nothing has changed.
local function perform(prefix, account, tx)
  local contract = prefix .. 'token:' .. tx.asset
  if tx.effect == 'deploy' then
    redis.call('HSET', contract, 'owner', tx.from, 'name', tx.name, 'symbol', tx.symbol, 'decimals', tx.decimals,
      'cap', tx.cap, 'left', tx.cap)
    return true
  end
  if tx.effect == 'approve' then
    local digits = #tx.allowance
    allow(prefix, tx.asset, tx.from, tx.to, digits > 42 and unlimited or string.rep('0', 42 - digits) .. tx.allowance)
    return true
  end
  local payer, paid = account, tx.asset
  local receiver, received = prefix .. 'acct:' .. tx.to, tx.asset
  if tx.effect == 'mint' then
    if redis.call('HGET', contract, 'owner') ~= tx.from then return false end
    payer, paid = contract, 'left'
  elseif tx.effect == 'burn' then
    receiver, received = contract, 'left'
  elseif tx.effect == 'transferFrom' then
    payer = prefix .. 'acct:' .. tx.owner
  end
  local held = amount(redis.call('HGET', payer, paid))
  if held < tx.units or (tx.effect == 'transferFrom' and not use_allowance(prefix, tx)) then return false end
  redis.call('HSET', payer, paid, minus(held, tx.units))
  redis.call('HSET', receiver, received, plus(amount(redis.call('HGET', receiver, received)), tx.units))
  return true
end

local function fields_of(key)
  local flat, fields = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

-- The largest fee, or what the market and the tip cost if that is less. One of an earlier version has its fee alone.
local function fee_of(tx, price)
  if not tx.maxFee then return tx.fee end
  local paid = price + tx.tip
  return times(tonumber(tx.gas), paid < tonumber(tx.maxFee) and paid or tonumber(tx.maxFee))
end

local function mine_queued(prefix, account, nativeAsset, market, minedAtMs, retentionMs)
  local price = tonumber(redis.call('GET', prefix .. 'market') or market)
  local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
  while true do
    local next = redis.call('HGET', account, 'q:' .. nonce)
    if not next then break end
    local key = prefix .. 'tx:' .. next
    local tx = fields_of(key)
    if tx.maxFee and tonumber(tx.maxFee) < price then
      redis.call('HSET', key, 'underpriced', '1')
      break
    end
    local coin = amount(redis.call('HGET', account, nativeAsset))
    local covered = coin >= tx.needed
    local full = fee_of(tx, price)
    local fee = coin < full and coin or full
    redis.call('HSET', account, nativeAsset, minus(coin, fee))
    local failed = not covered or tx.fails == '1' or not perform(prefix, account, tx)
    redis.call('HSET', key, 'minedAtMs', minedAtMs, 'failed', failed and '1' or '0', 'fee', fee)
    if not covered then redis.call('HSET', key, 'uncovered', '1') end
    redis.call('HDEL', key, 'underpriced')
    redis.call('PEXPIRE', key, retentionMs)
    note_mined(prefix, next, tx.from, minedAtMs, retentionMs)
    if not failed and tx.effect ~= 'approve' then note(prefix, tx.to, 'in', next, minedAtMs, retentionMs) end
    if not failed and tx.owner then note(prefix, tx.owner, 'out', next, minedAtMs, retentionMs) end
    redis.call('HDEL', account, 'q:' .. nonce)
    nonce = nonce + 1
    redis.call('HSET', account, 'nonce', nonce)
  end
end
