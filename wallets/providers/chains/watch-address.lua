-- From now on the coins of an address are an account's, which is another address of the same wallet. Answers 1.
-- @keys prefixKey
-- @args address, account

redis.call('SETNX', prefixKey .. 'own:' .. address, account)
return 1
