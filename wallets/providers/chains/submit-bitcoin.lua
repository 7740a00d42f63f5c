-- Performs a Bitcoin transaction, unless it is known: spends its inputs, adds its outputs. Answers missing_input, or OK and
-- the transaction's fields.
-- outpoints: inputs as "<txid>:<index>". outputs: a list of {address, sats}.
-- @include wallets/providers/chains/bitcoin-output.lua
-- @include wallets/providers/chains/address-index.lua
-- @shape transaction = id, asset, from, to, units, fee, fails
-- @keys prefixKey
-- @args minedAtMs, retentionMs, tx: transaction, outpoints: json, outputs: json

local p, key, from = prefixKey, prefixKey .. 'tx:' .. tx.id, account_of(prefixKey, tx.from)
if redis.call('EXISTS', key) == 0 then
  local spent = {}
  for i, outpoint in ipairs(outpoints) do
    spent[i] = redis.call('GET', p .. 'utxo:' .. outpoint)
    if not spent[i] then return {'missing_input'} end
  end
  for i, outpoint in ipairs(outpoints) do
    local sats, address = string.match(spent[i], '^(%d+):(.*)$')
    address = account_of(p, address)
    redis.call('DEL', p .. 'utxo:' .. outpoint)
    redis.call('ZREM', p .. 'free:' .. address, outpoint)
    redis.call('HINCRBY', p .. 'acct:' .. address, tx.asset, '-' .. sats)
    local held = redis.call('HGET', p .. 'held:' .. address, outpoint)
    if held then
      redis.call('HDEL', p .. 'held:' .. address, outpoint)
      redis.call('PEXPIRE', p .. 'lock:' .. string.match(held, '^%d+:%d+:(.*)$'), retentionMs)
    end
  end
  for i, output in ipairs(outputs) do
    create_output(p, tx.id, i - 1, output.address, output.sats, tx.asset)
    local account = account_of(p, output.address)
    -- What goes back to the sender is change, unless it is what the transaction pays.
    if tx.fails ~= '1' and (account ~= from or i == 1) then
      redis.call('HINCRBY', key, 'o:' .. account, output.sats)
      note(p, account, 'in', tx.id, minedAtMs, retentionMs)
    end
  end
  note(p, from, 'out', tx.id, minedAtMs, retentionMs)
  redis.call('HSET', key, 'from', from, 'to', tx.to, 'asset', tx.asset, 'units', tx.units, 'fee', tx.fee,
    'failed', tx.fails, 'minedAtMs', minedAtMs)
  redis.call('PEXPIRE', key, retentionMs)
end
return {'OK', unpack(redis.call('HGETALL', key))}
