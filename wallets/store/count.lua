-- Counts the ids of an index. fromTime: UUIDv7 time of the first. Answers how many are as late or later.
-- @include wallets/store/count-ids.lua
-- @keys indexKey
-- @args fromTime

return count_ids(indexKey, fromTime)
