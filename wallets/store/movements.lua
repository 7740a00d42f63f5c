-- A page of a wallet's movements, as entries of its stream, oldest first: those just below a number, or the newest.
-- below: number, or 0 for the newest.
-- @include wallets/store/add-movement.lua
-- @keys prefixKey
-- @args walletId, below, limit, nowMs

local last = open_movements(prefixKey, walletId, nowMs)
if tonumber(below) > 0 then last = math.min(last, below - 1) end
if last < 1 then return {} end
local first = math.max(1, last - limit + 1)
return redis.call('XRANGE', prefixKey .. 'mov:' .. walletId, string.format('%.0f-0', first), string.format('%.0f-0', last))
