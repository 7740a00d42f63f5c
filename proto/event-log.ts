/**
 * The event log of a tenant: one stream, two writers (the gateway's tenant store, the coordinator's session store). Both share this file: the keys, the tokens of an event, and the Lua code that appends it. A script that changes something includes that code. So change, event and
 * sequence are one step, and the sequence has no gaps, with any writer.
 *
 * The log retains the last 1,000,000 events of a tenant and those of the last 30 days before its newest one, whichever is
 * less; trimmed by the way, a bounded number at a time. Time is counted from the events themselves: clocks differ.
 *
 * A channel of the tenant wakes followers (the relay of webhooks, streams to clients). It only saves time: when a message is lost, the event is still in the log.
 */

/** What all Redis keys of a tenant begin with; ends in a colon. Its hash tag puts them in one slot. */
export function tenantPrefix(tenant: string): string {
  return `sm:{t:${tenant}}:`;
}

/** An event before it has its sequence. */
export interface LoggedEvent {
  /** evt_… */
  readonly id: string;
  /** e.g. "transaction_intent.approved". */
  readonly type: string;
  /** As it is logged it is never earlier than that of the event before. */
  readonly atMs: number;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly correlationId: string;
  /** Provider kind, or null. */
  readonly provider: string | null;
  /** The provider connection that it is about, or null. Not shown: tokens limited to connections see only theirs. */
  readonly connectionId: string | null;
  /** The resource as the API shows it. Never a secret. */
  readonly object: object;
}

/** Tokens of an event: see `eventTokens`. */
export const eventTokenCount = 10;

/** Channels are `sm:wake:<tenant>`; a message is the sequence of the last event of a step. */
export const wakePrefix = 'sm:wake:';

const keptEvents = 1_000_000;
const keptMs = 30 * 24 * 3_600_000;
/** Every so many events it is looked whether the oldest are too old; then at most twice as many go. */
const ageCheckEvents = 64;

/** As `append_event` takes them. `json`: the object, encoded. */
export function eventTokens(event: LoggedEvent, json: string = JSON.stringify(event.object)): string[] {
  const { id, type, atMs, resource, correlationId, provider, connectionId } = event;
  return [
    id,
    type,
    String(atMs),
    resource.type,
    resource.id,
    String(resource.version),
    correlationId,
    provider ?? '',
    connectionId ?? '',
    json,
  ];
}

/**
 * Defines `append_event(prefix, i, followed, balances)`: appends the event whose ten tokens begin at ARGV[i] and returns
 * its sequence. `prefix` is the tenant's. With `followed` another event of the same step comes after it, and that one wakes
 * who follows. `balances`: written beside the object (`bal`), or nil.
 *
 * Clocks differ, and a change may be committed long after its clock was read: an event is never stamped earlier than the
 * one before it. `max` is the same time again, which entries of earlier versions had beside an earlier one of their own.
 */
export const appendEventLua = `
local function append_event(prefix, i, followed, balances)
  local counter, stream, at = prefix .. 'seq', prefix .. 'evt', tonumber(ARGV[i + 2])
  local sequence = redis.call('HINCRBY', counter, 'n', 1)
  local latest = tonumber(redis.call('HGET', counter, 'm') or '0')
  if at > latest then
    latest = at
    redis.call('HSET', counter, 'm', latest)
  end
  local time = string.format('%.0f', latest)
  local entry = {'XADD', stream, 'MAXLEN', '~', ${keptEvents}, string.format('%.0f-0', sequence),
    'id', ARGV[i], 'type', ARGV[i + 1], 'at', time, 'max', time,
    'rt', ARGV[i + 3], 'ri', ARGV[i + 4], 'rv', ARGV[i + 5], 'cor', ARGV[i + 6],
    'pr', ARGV[i + 7], 'con', ARGV[i + 8], 'obj', ARGV[i + 9]}
  if balances then
    entry[#entry + 1] = 'bal'
    entry[#entry + 1] = balances
  end
  redis.call(unpack(entry))
  if sequence % ${ageCheckEvents} == 0 then
    local since = latest - ${keptMs}
    local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
    if oldest and tonumber(oldest[2][8]) < since then
      for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', ${2 * ageCheckEvents} + 1)) do
        oldest = entry
        if tonumber(entry[2][8]) >= since then break end
      end
      redis.call('XTRIM', stream, 'MINID', oldest[1])
    end
  end
  if not followed then
    local tenant = string.sub(prefix, ${tenantPrefix('').indexOf('}') + 1}, -3)
    redis.call('PUBLISH', '${wakePrefix}' .. tenant, string.format('%.0f', sequence))
  end
  return sequence
end
`;
