-- The movements of a wallet: a stream whose entries are numbered from 1 without gaps, written in the step that changes the balance.
-- moved(standing, delta): the sum of two decimal integers, or nil below zero; `standing` has no sign.
-- summed(a, b): the sum of two decimal integers, which may be below zero as is_negative(text) says.
-- open_movements(prefix, wallet, atMs): the number of the last one, or 0. A wallet of an earlier version, which has balances and no
-- movements, gets one for each balance first.
-- add_movement(prefix, movement, atMs): adds one.
-- @shape movement = walletId, asset, units, cause, balance
--
-- Balances are integers of any size and Lua's numbers are doubles, so they are decimal strings, worked on 15 digits at a
-- time: the sum of two such limbs and a carry is exact.

local function moved(standing, delta)
  local limb, base = 15, 1e15
  local sign = 1
  if string.sub(delta, 1, 1) == '-' then
    sign, delta = -1, string.sub(delta, 2)
  end
  local out, carry, i, j = {}, 0, #standing, #delta
  while i > 0 or j > 0 or carry > 0 do
    local a = i > 0 and tonumber(string.sub(standing, math.max(1, i - limb + 1), i)) or 0
    local b = j > 0 and tonumber(string.sub(delta, math.max(1, j - limb + 1), j)) or 0
    local sum = a + sign * b + carry
    i, j, carry = i - limb, j - limb, 0
    if sum >= base then
      sum, carry = sum - base, 1
    elseif sum < 0 then
      if i <= 0 and j <= 0 then return nil end
      sum, carry = sum + base, -1
    end
    table.insert(out, 1, string.format('%015.0f', sum))
  end
  local digits = string.gsub(table.concat(out), '^0+', '')
  return digits == '' and '0' or digits
end

local function is_negative(text) return string.sub(text, 1, 1) == '-' end
local function negated(text) return is_negative(text) and string.sub(text, 2) or '-' .. text end
local function summed(a, b)
  if is_negative(a) then a, b = b, a end
  if is_negative(a) then return negated(moved(negated(a), negated(b))) end
  return moved(a, b) or negated(moved(negated(b), '-' .. a))
end

local function append_movement(prefix, movement, number, atMs)
  redis.call('XADD', prefix .. 'mov:' .. movement.walletId, string.format('%.0f-0', number), 'a', movement.asset,
    'u', movement.units, 'b', movement.balance, 't', atMs, 'c', movement.cause)
end

local function open_movements(prefix, wallet, atMs)
  local last = redis.call('XLEN', prefix .. 'mov:' .. wallet)
  if last > 0 then return last end
  local fields, names, held = redis.call('HGETALL', prefix .. 'bal:' .. wallet), {}, {}
  for i = 1, #fields, 2 do
    local asset = string.match(fields[i], '^(.*)|r$') or fields[i]
    if not held[asset] then names[#names + 1] = asset end
    held[asset] = moved(held[asset] or '0', fields[i + 1])
  end
  for _, asset in ipairs(names) do
    if held[asset] ~= '0' then
      last = last + 1
      append_movement(prefix, {walletId = wallet, asset = asset, units = held[asset], balance = held[asset],
        cause = '{"kind":"opening","of":null,"txId":null,"counterparty":null}'}, last, atMs)
    end
  end
  return last
end

local function add_movement(prefix, movement, atMs)
  append_movement(prefix, movement, open_movements(prefix, movement.walletId, atMs) + 1, atMs)
end
