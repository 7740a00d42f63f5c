-- The faucet of Bitcoin: adds outputs, once for each fundKey and asset. Answers 1.
-- sats: of each output. by: the transaction that this is, a movement of the address.
-- @include wallets/providers/chains/bitcoin-output.lua
-- @include wallets/providers/chains/address-index.lua
-- @keys prefixKey
-- @args fundKey, txid, asset, address, retentionMs, sats: json, by: funded_by?

if redis.call('SET', prefixKey .. 'fund:' .. fundKey .. ':' .. asset, '1', 'NX') then
  local sum = 0
  for i, each in ipairs(sats) do
    create_output(prefixKey, txid, i - 1, address, each, asset)
    sum = sum + tonumber(each)
  end
  if by then note_funded(prefixKey, account_of(prefixKey, address), asset, string.format('%.0f', sum), by, retentionMs) end
end
return 1
