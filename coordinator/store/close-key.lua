-- Ends the key of a wallet. It changes no session; each that is open is then ended by itself.
-- Answers {'OK'} or {'FENCED'}.
-- @include coordinator/store/fence.lua
-- @include coordinator/store/session-record.lua
-- @keys fenceKey, closedKey
-- @args fence

if fenced(fenceKey, fence) then return {'FENCED'} end
redis.call('SET', closedKey, '1')
return {'OK'}
