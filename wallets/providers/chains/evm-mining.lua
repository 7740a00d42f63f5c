-- mine_queued(prefix, account, nativeAsset, minedAtMs, retentionMs): mines an EVM account's waiting transactions, from its
-- nonce on, until one is missing.
-- @include wallets/providers/chains/units.lua
-- @include wallets/providers/chains/address-index.lua

-- Performs a transaction's effect. False: it reverts, and nothing has changed.
local function perform(prefix, account, tx)
  local contract = prefix .. 'token:' .. tx.asset
  if tx.effect == 'deploy' then
    redis.call('HSET', contract, 'owner', tx.from, 'name', tx.name, 'symbol', tx.symbol, 'decimals', tx.decimals,
      'cap', tx.cap, 'left', tx.cap)
    return true
  end
  local payer, paid = account, tx.asset
  local receiver, received = prefix .. 'acct:' .. tx.to, tx.asset
  if tx.effect == 'mint' then
    if redis.call('HGET', contract, 'owner') ~= tx.from then return false end
    payer, paid = contract, 'left'
  elseif tx.effect == 'burn' then
    receiver, received = contract, 'left'
  end
  local held = amount(redis.call('HGET', payer, paid))
  if held < tx.units then return false end
  redis.call('HSET', payer, paid, minus(held, tx.units))
  redis.call('HSET', receiver, received, plus(amount(redis.call('HGET', receiver, received)), tx.units))
  return true
end

local function fields_of(key)
  local flat, fields = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

local function mine_queued(prefix, account, nativeAsset, minedAtMs, retentionMs)
  local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
  while true do
    local next = redis.call('HGET', account, 'q:' .. nonce)
    if not next then break end
    local key = prefix .. 'tx:' .. next
    local tx = fields_of(key)
    local coin = amount(redis.call('HGET', account, nativeAsset))
    local covered = coin >= tx.needed
    local fee = coin < tx.fee and coin or tx.fee
    redis.call('HSET', account, nativeAsset, minus(coin, fee))
    local failed = not covered or tx.fails == '1' or not perform(prefix, account, tx)
    redis.call('HSET', key, 'minedAtMs', minedAtMs, 'failed', failed and '1' or '0', 'fee', fee)
    if not covered then redis.call('HSET', key, 'uncovered', '1') end
    redis.call('PEXPIRE', key, retentionMs)
    note(prefix, tx.from, 'out', next, minedAtMs, retentionMs)
    if not failed then note(prefix, tx.to, 'in', next, minedAtMs, retentionMs) end
    redis.call('HDEL', account, 'q:' .. nonce)
    nonce = nonce + 1
    redis.call('HSET', account, 'nonce', nonce)
  end
end
