-- create_output(prefix, txid, index, address, sats, asset): adds an unspent output and its value.

local function create_output(prefix, txid, index, address, sats, asset)
  local outpoint = txid .. ':' .. index
  redis.call('SET', prefix .. 'utxo:' .. outpoint, sats .. ':' .. address)
  redis.call('ZADD', prefix .. 'free:' .. address, sats, outpoint)
  redis.call('HINCRBY', prefix .. 'acct:' .. address, asset, sats)
end
