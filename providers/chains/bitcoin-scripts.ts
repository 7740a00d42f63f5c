/**
 * What Bitcoin's chain keeps in Redis beside redis-chain.ts, and the scripts that change it:
 *
 *   utxo:<txid>:<index>   "<sats>:<address>", an unspent output
 *   free:<address>        sorted set, the address's unspent outputs that no payment holds, by sats
 *   held:<address>        hash, those that a payment holds: output → "<sats>:<until ms>:<payment id>"
 *   lock:<payment id>     what the payment holds, "<address>|<txid>:<index>:<sats>,…"; kept a while after it is spent
 *   acct:<address>        its balance
 */
import { retentionMs } from './chain.ts';
import { noteLua, script } from './redis-chain.ts';

/** An output appears. */
const create = `
local function create(prefix, txid, index, address, sats, asset)
  local outpoint = txid .. ':' .. index
  redis.call('SET', prefix .. 'utxo:' .. outpoint, sats .. ':' .. address)
  redis.call('ZADD', prefix .. 'free:' .. address, sats, outpoint)
  redis.call('HINCRBY', prefix .. 'acct:' .. address, asset, sats)
end
`;

/**
 * KEYS: transaction. ARGV: prefix, txid, asset, from, to, units, fee, fails (1/0), mined at ms, how many inputs; each
 * input as "<txid>:<index>"; then for each output its address and sats. Answers with a rejection, or OK and the
 * transaction's fields.
 */
export const submitBitcoin = script(`${create}${noteLua}
local prefix, asset = ARGV[1], ARGV[3]
if redis.call('EXISTS', KEYS[1]) == 0 then
  local inputs = tonumber(ARGV[10])
  local spent = {}
  for i = 1, inputs do
    spent[i] = redis.call('GET', prefix .. 'utxo:' .. ARGV[10 + i])
    if not spent[i] then return {'missing_input'} end
  end
  for i = 1, inputs do
    local outpoint = ARGV[10 + i]
    local sats, address = string.match(spent[i], '^(%d+):(.*)$')
    redis.call('DEL', prefix .. 'utxo:' .. outpoint)
    redis.call('ZREM', prefix .. 'free:' .. address, outpoint)
    redis.call('HINCRBY', prefix .. 'acct:' .. address, asset, '-' .. sats)
    local held = redis.call('HGET', prefix .. 'held:' .. address, outpoint)
    if held then
      redis.call('HDEL', prefix .. 'held:' .. address, outpoint)
      redis.call('PEXPIRE', prefix .. 'lock:' .. string.match(held, '^%d+:%d+:(.*)$'), ${retentionMs})
    end
  end
  local index, from = 0, ARGV[4]
  for i = 11 + inputs, #ARGV, 2 do
    create(prefix, ARGV[2], index, ARGV[i], ARGV[i + 1], asset)
    -- What goes back to the sender is change, unless it is what the transaction pays.
    if ARGV[8] ~= '1' and (ARGV[i] ~= from or (index == 0 and ARGV[5] == from)) then
      redis.call('HINCRBY', KEYS[1], 'o:' .. ARGV[i], ARGV[i + 1])
      note(prefix, ARGV[i], 'in', ARGV[2], ARGV[9])
    end
    index = index + 1
  end
  note(prefix, from, 'out', ARGV[2], ARGV[9])
  redis.call('HSET', KEYS[1], 'from', ARGV[4], 'to', ARGV[5], 'asset', asset, 'units', ARGV[6], 'fee', ARGV[7],
    'failed', ARGV[8], 'minedAtMs', ARGV[9])
  redis.call('PEXPIRE', KEYS[1], ${retentionMs})
end
return {'OK', unpack(redis.call('HGETALL', KEYS[1]))}
`);

/**
 * KEYS: the faucet's mark. ARGV: prefix, txid, asset, address; transaction, sender and ms of a movement, or three empty
 * ones; then the sats of each output.
 */
export const fundBitcoin = script(`${create}${noteLua}
if redis.call('SET', KEYS[1], '1', 'NX') then
  local sum = 0
  for i = 8, #ARGV do
    create(ARGV[1], ARGV[2], i - 8, ARGV[4], ARGV[i], ARGV[3])
    sum = sum + tonumber(ARGV[i])
  end
  if ARGV[5] ~= '' then
    note_funded(ARGV[1], ARGV[4], ARGV[3], string.format('%.0f', sum), ARGV[5], ARGV[6], ARGV[7])
  end
end
return 1
`);

/**
 * Takes the largest free outputs until they cover `sats`, which grows with each of them. What a payment has held for too
 * long, and did not spend, is free again: should that payment come back, its transaction finds an input spent.
 * KEYS: lock, free, held. ARGV: prefix, payment id, address, sats, sats more an input, inputs at most, now ms, until ms.
 * Answers OK and the lock, WAIT (others hold outputs that may come back, or their change), TOO_MANY or INSUFFICIENT.
 */
export const holdCoins = script(`
local function hold(outpoint, sats) redis.call('HSET', KEYS[3], outpoint, sats .. ':' .. ARGV[8] .. ':' .. ARGV[2]) end
local known = redis.call('GET', KEYS[1])
if known then
  for outpoint, sats in string.gmatch(known, '(%x+:%d+):(%d+)') do
    local held = redis.call('HGET', KEYS[3], outpoint)
    if held and string.match(held, '^%d+:%d+:(.*)$') == ARGV[2] then hold(outpoint, sats) end
  end
  return {'OK', known}
end
local inputsMax = tonumber(ARGV[6])
local function choose()
  local needed, sum, lock = tonumber(ARGV[4]), 0, {}
  local coins = redis.call('ZREVRANGE', KEYS[2], 0, inputsMax - 1, 'WITHSCORES')
  for i = 1, #coins, 2 do
    sum = sum + tonumber(coins[i + 1])
    needed = needed + tonumber(ARGV[5])
    lock[#lock + 1] = coins[i] .. ':' .. coins[i + 1]
    if sum >= needed then
      for j = 1, i, 2 do
        redis.call('ZREM', KEYS[2], coins[j])
        hold(coins[j], coins[j + 1])
      end
      local text = ARGV[3] .. '|' .. table.concat(lock, ',')
      redis.call('SET', KEYS[1], text)
      return {'OK', text}
    end
  end
end
local chosen = choose()
if chosen then return chosen end
local held = redis.call('HGETALL', KEYS[3])
local reclaimed = false
for i = 1, #held, 2 do
  local sats, untilMs = string.match(held[i + 1], '^(%d+):(%d+):')
  if tonumber(untilMs) <= tonumber(ARGV[7]) then
    redis.call('HDEL', KEYS[3], held[i])
    redis.call('ZADD', KEYS[2], sats, held[i])
    reclaimed = true
  end
end
chosen = reclaimed and choose()
if chosen then return chosen end
if redis.call('EXISTS', KEYS[3]) == 1 then return {'WAIT'} end
if redis.call('ZCARD', KEYS[2]) > inputsMax then return {'TOO_MANY'} end
return {'INSUFFICIENT'}
`);

/**
 * The sats of the largest free outputs, one more than asked for, and of all held ones. KEYS: free, held. ARGV: prefix,
 * number.
 */
export const largestCoins = script(`
local out = {}
local coins = redis.call('ZREVRANGE', KEYS[1], 0, tonumber(ARGV[2]), 'WITHSCORES')
for i = 2, #coins, 2 do out[#out + 1] = string.format('%.0f', coins[i]) end
for _, held in ipairs(redis.call('HVALS', KEYS[2])) do out[#out + 1] = string.match(held, '^%d+') end
return out
`);

/** Gives back what a payment holds and did not spend. KEYS: lock. ARGV: prefix, payment id. */
export const releaseCoins = script(`
local text = redis.call('GET', KEYS[1])
if not text then return 0 end
local address, coins = string.match(text, '^(.-)|(.*)$')
for outpoint, sats in string.gmatch(coins, '(%x+:%d+):(%d+)') do
  local holder = redis.call('HGET', ARGV[1] .. 'held:' .. address, outpoint)
  if holder and string.match(holder, '^%d+:%d+:(.*)$') == ARGV[2] then
    redis.call('HDEL', ARGV[1] .. 'held:' .. address, outpoint)
    redis.call('ZADD', ARGV[1] .. 'free:' .. address, sats, outpoint)
  end
end
redis.call('DEL', KEYS[1])
return 1
`);
