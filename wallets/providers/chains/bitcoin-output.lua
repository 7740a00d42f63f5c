-- account_of(prefix, address): the address that has its coins: itself, or the one that it is watched for (watch-address.lua).
-- create_output(prefix, txid, index, address, sats, asset): adds an unspent output and its value.

local function account_of(prefix, address) return redis.call('GET', prefix .. 'own:' .. address) or address end

local function create_output(prefix, txid, index, address, sats, asset)
  local outpoint, account = txid .. ':' .. index, account_of(prefix, address)
  if account ~= address then redis.call('SET', prefix .. 'used:' .. address, '1') end
  redis.call('SET', prefix .. 'utxo:' .. outpoint, sats .. ':' .. address)
  redis.call('ZADD', prefix .. 'free:' .. account, sats, outpoint)
  redis.call('HINCRBY', prefix .. 'acct:' .. account, asset, sats)
end
