-- Accepts a Bitcoin transaction, unless it is known, and mines it unless it must wait. Answers a rejection (BitcoinRefusal, ledger.ts),
-- or OK and the transaction's fields. It takes the place of the waiting ones that spend an input of it, if it pays more than each by a
-- satoshi for each of its virtual bytes. Not mined yet, it and what it descends from are at most ancestorsMax transactions and
-- ancestorVbytesMax virtual bytes.
-- outpoints: inputs as "<txid>:<index>". outputs: a list of {address, sats}. market: the price until it is moved.
-- @include wallets/providers/chains/bitcoin-mining.lua
-- @shape transaction = id, asset, from, to, units, fee, vbytes, fails
-- @keys prefixKey
-- @args market, nowMs, minedAtMs, retentionMs, ancestorsMax, ancestorVbytesMax, tx: transaction, outpoints: json, outputs: json

local p, key = prefixKey, prefixKey .. 'tx:' .. tx.id
local function replace(id, spends)
  local rival = p .. 'tx:' .. id
  local inputs = redis.call('HGET', rival, 'inputs')
  if not inputs then return end
  for outpoint in string.gmatch(inputs, '(%x+:%d+):%d+') do
    redis.call('DEL', p .. 'spender:' .. outpoint)
    if not spends[outpoint] then
      local sats, account = coin_of(p, outpoint)
      redis.call('HDEL', p .. 'held:' .. account, outpoint)
      redis.call('ZADD', p .. 'free:' .. account, sats, outpoint)
    end
  end
  redis.call('HDEL', rival, 'underpriced', 'inputs', 'outputs')
  redis.call('HSET', rival, 'replacedBy', tx.id, 'failed', '1')
  redis.call('PEXPIRE', rival, retentionMs)
end
local parents = {}
local function is_chain_too_long()
  local count, vbytes, seen, from = 1, tonumber(tx.vbytes), {}, {}
  for _, outpoint in ipairs(outpoints) do from[#from + 1] = string.match(outpoint, '^%x+') end
  local own = #from
  local i = 1
  while i <= #from and count <= tonumber(ancestorsMax) do
    local id = from[i]
    local known = not seen[id] and redis.call('HMGET', p .. 'tx:' .. id, 'minedAtMs', 'vbytes', 'parents') or {}
    if known[1] and known[2] and tonumber(known[1]) > tonumber(nowMs) then
      count, vbytes = count + 1, vbytes + known[2]
      if i <= own then parents[#parents + 1] = id end
      for parent in string.gmatch(known[3] or '', '%x+') do from[#from + 1] = parent end
    end
    seen[id] = true
    i = i + 1
  end
  return count > tonumber(ancestorsMax) or vbytes > tonumber(ancestorVbytesMax)
end
if redis.call('EXISTS', key) == 0 then
  local spends, inputs, rivals = {}, {}, {}
  for i, outpoint in ipairs(outpoints) do
    local spent = redis.call('GET', p .. 'utxo:' .. outpoint)
    if not spent then return {'missing_input'} end
    inputs[i] = outpoint .. ':' .. string.match(spent, '^%d+')
    spends[outpoint] = true
    local rival = redis.call('GET', p .. 'spender:' .. outpoint)
    if rival then
      rivals[#rivals + 1] = rival
      if tonumber(tx.fee) < redis.call('HGET', p .. 'tx:' .. rival, 'fee') + tx.vbytes then return {'input_used'} end
    end
  end
  if is_chain_too_long() then return {'too_long_chain'} end
  for _, rival in ipairs(rivals) do replace(rival, spends) end
  local paid = {}
  for i, output in ipairs(outputs) do paid[i] = output.sats .. ':' .. output.address end
  redis.call('HSET', key, 'from', account_of(p, tx.from), 'to', tx.to, 'asset', tx.asset, 'units', tx.units, 'fee', tx.fee, 'vbytes', tx.vbytes,
    'failed', tx.fails, 'inputs', table.concat(inputs, ','), 'outputs', table.concat(paid, ','))
  if #parents > 0 then redis.call('HSET', key, 'parents', table.concat(parents, ',')) end
  mine_or_wait(p, tx.id, market, minedAtMs, retentionMs)
end
return {'OK', unpack(redis.call('HGETALL', key))}
