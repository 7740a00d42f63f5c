-- Takes outstanding deliveries that were put on their way before a time: their jobs may be lost. They count as put there
-- now. Answers {{delivery id, tries so far, sequence}, …}.
-- @keys prefixKey
-- @args webhookId, beforeMs, nowMs, limit

local out, jobs = prefixKey .. 'hko:' .. webhookId, {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', out, '-inf', beforeMs, 'LIMIT', 0, limit)) do
  local known = redis.call('HMGET', prefixKey .. 'r:' .. id, 't', 'q', 's')
  if known[3] == 'queued' or known[3] == 'retrying' then
    redis.call('ZADD', out, nowMs, id)
    jobs[#jobs + 1] = {id, tonumber(known[1]), known[2]}
  else
    redis.call('ZREM', out, id)
  end
end
return jobs
