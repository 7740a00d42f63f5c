-- The faucet of a chain with accounts: adds an amount, once for each fundKey and asset. Answers 1.
-- by: the transaction that this is, a movement of the address.
-- @include wallets/providers/chains/units.lua
-- @include wallets/providers/chains/address-index.lua
-- @keys prefixKey
-- @args fundKey, address, asset, units, retentionMs, by: funded_by?

if redis.call('SET', prefixKey .. 'fund:' .. fundKey .. ':' .. asset, '1', 'NX') then
  local account = prefixKey .. 'acct:' .. address
  redis.call('HSET', account, asset, plus(amount(redis.call('HGET', account, asset)), units))
  if by then note_funded(prefixKey, address, asset, units, by, retentionMs) end
end
return 1
