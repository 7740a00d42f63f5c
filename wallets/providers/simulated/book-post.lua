-- Writes a row into a wallet's book unless one with this name stands there. Rows that are too old leave the book.
--
-- settlesAtMs: when the row changes the balance; empty: never. effect: JSON, [row name, [[sum, digits], ...]].
-- @keys rowsKey, timesKey, dueKey
-- @args row, json, bookedAtMs, settlesAtMs, effect, oldestMs

local trimmed_max = 16
if redis.call('HSETNX', rowsKey, row, json) == 0 then return 0 end
redis.call('ZADD', timesKey, bookedAtMs, row)
if settlesAtMs ~= '' then redis.call('ZADD', dueKey, settlesAtMs, effect) end
for _, old in ipairs(redis.call('ZRANGEBYSCORE', timesKey, '-inf', oldestMs, 'LIMIT', 0, trimmed_max)) do
  redis.call('ZREM', timesKey, old)
  redis.call('HDEL', rowsKey, old)
end
return 1
