-- Removes all keys of this Redis in one step, but those that match one of `retained` (Lua patterns). Answers OK.
-- @keys none
-- @args retained: json

for _, key in ipairs(redis.call('KEYS', '*')) do
  local stays = false
  for _, pattern in ipairs(retained) do stays = stays or string.find(key, pattern) ~= nil end
  if not stays then redis.call('UNLINK', key) end
end
return redis.status_reply('OK')
