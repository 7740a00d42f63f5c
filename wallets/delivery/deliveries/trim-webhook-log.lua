-- Takes old final deliveries out of the log of a webhook. Answers how many went.
-- @include wallets/delivery/deliveries/trim-deliveries.lua
-- @keys prefixKey
-- @args webhookId, nowMs, retainedMax, retentionMs, limit

return trim_deliveries(prefixKey, webhookId, nowMs, retainedMax, retentionMs, tonumber(limit))
