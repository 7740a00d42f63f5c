-- Ends the run of an idempotent request. Answers 1, or 0 when it is not the owner's any more: an answer that stands is
-- never changed and never dropped. answered: 1, or 0: the key is free again.
-- nowMs: the service's time, from which an answer has lifetimeMs.
-- @include core/redis/lifetime.lua
-- @keys markKey
-- @args owner, answered, answer, nowMs, lifetimeMs

local known = redis.call('HMGET', markKey, 'o', 'a')
if known[1] ~= owner then return 0 end
if known[2] then return answered == '1' and known[2] == answer and 1 or 0 end
if answered == '1' then
  redis.call('HSET', markKey, 'a', answer, 'e', end_text(nowMs, lifetimeMs))
  dropped_after(markKey, lifetimeMs)
else
  -- Free, and without an owner: a change of the earlier owner that is still under way is refused.
  redis.call('HSET', markKey, 'o', '', 'l', '0', 'f', '1')
end
return 1
