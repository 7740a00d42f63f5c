-- A page of a wallet's book, oldest first. Answers with {names and times, rows}.
--
-- after, afterMs: name and time of the row to go on behind; empty: from fromMs on.
-- @keys timesKey, rowsKey
-- @args fromMs, after, afterMs, limit

local rank = after ~= '' and redis.call('ZRANK', timesKey, after)
local first = after ~= '' and '(' .. afterMs or '(' .. fromMs
-- The row may have left the book meanwhile: those of its millisecond come again rather than not at all.
local start = rank and rank + 1 or redis.call('ZCOUNT', timesKey, '-inf', first)
local page = redis.call('ZRANGE', timesKey, start, start + tonumber(limit) - 1, 'WITHSCORES')
local names = {}
for k = 1, #page, 2 do names[#names + 1] = page[k] end
return {page, #names > 0 and redis.call('HMGET', rowsKey, unpack(names)) or {}}
