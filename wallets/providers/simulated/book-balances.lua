-- Adds what has settled by now to a wallet's sums. Answers with all sums, as HGETALL does.
--
-- A sum is a text of 42 digits, worked on in three limbs of 14: Lua's numbers are doubles.
-- @keys sumsKey, dueKey
-- @args nowMs

local limb, zero = 1e14, string.rep('0', 42)
local function plus(a, b)
  local out, carry = {}, 0
  for from = 29, 1, -14 do
    local sum = tonumber(string.sub(a, from, from + 13)) + tonumber(string.sub(b, from, from + 13)) + carry
    carry = sum >= limb and 1 or 0
    table.insert(out, 1, string.format('%014.0f', sum - carry * limb))
  end
  return table.concat(out)
end

while true do
  local due = redis.call('ZRANGEBYSCORE', dueKey, '-inf', nowMs, 'LIMIT', 0, 100)
  for _, effect in ipairs(due) do
    for _, part in ipairs(cjson.decode(effect)[2]) do
      redis.call('HSET', sumsKey, part[1], plus(redis.call('HGET', sumsKey, part[1]) or zero, part[2]))
    end
    redis.call('ZREM', dueKey, effect)
  end
  if #due < 100 then return redis.call('HGETALL', sumsKey) end
end
