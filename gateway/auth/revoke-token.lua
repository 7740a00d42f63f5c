-- Revokes a token, once: of calls that revoke or rotate it at the same time one gets 1. 0: it is revoked already, or removed.
-- @keys recordKey
-- @args revokedAt, mac

local revoked = redis.call('HGET', recordKey, 'revoked_at')
if not revoked or revoked ~= '' then return 0 end
redis.call('HSET', recordKey, 'revoked_at', revokedAt, 'mac', mac)
return 1
