-- Amounts on a chain. Lua's numbers are doubles, and a wallet holds more wei than they count exactly: so amounts are texts
-- of 42 digits (lua-units.ts), worked on in three limbs of 14. Texts of one length compare as the amounts do.
-- amount(field): an absent field is zero. plus(a, b), minus(a, b): errors outside 0 to 10^42 - 1. times(a, b): of whole numbers, a
-- below 10^7, b below 10^15.

local zero = string.rep('0', 42)
local limb = 1e14
local function amount(field) return field or zero end
local function limbs(a) return tonumber(string.sub(a, 1, 14)), tonumber(string.sub(a, 15, 28)), tonumber(string.sub(a, 29, 42)) end
local function joined(high, middle, low)
  if low >= limb then low, middle = low - limb, middle + 1 elseif low < 0 then low, middle = low + limb, middle - 1 end
  if middle >= limb then middle, high = middle - limb, high + 1 elseif middle < 0 then middle, high = middle + limb, high - 1 end
  if high < 0 or high >= limb then error('amount out of range') end
  return string.format('%014.0f%014.0f%014.0f', high, middle, low)
end
local function plus(a, b)
  local a1, a2, a3 = limbs(a)
  local b1, b2, b3 = limbs(b)
  return joined(a1 + b1, a2 + b2, a3 + b3)
end
local function minus(a, b)
  local a1, a2, a3 = limbs(a)
  local b1, b2, b3 = limbs(b)
  return joined(a1 - b1, a2 - b2, a3 - b3)
end
local function times(a, b)
  local high = math.floor(b / 1e7)
  return plus(string.format('%035.0f', a * high) .. '0000000', string.format('%042.0f', a * (b - high * 1e7)))
end
