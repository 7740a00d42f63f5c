/** Listings and event queries as the arguments that list.lua and events.lua take. Pure. */
import type { EventQuery, ListQuery } from './contract.ts';

/** Ids that one listing scans, at most. */
const listedIdsMax = 2_000;
/** Entries that one page of events scans, at most. */
const readEventsMax = 1_000;
const pageMax = 100;
const indicesMax = 200;
const typesMax = 100;

/**
 * `createdAfterMs` is the first millisecond of the range and `createdBeforeMs` the first one after it. `scannedMax`: ids
 * to scan, at most.
 */
export function listArguments(query: ListQuery, nowMs: number, scannedMax = listedIdsMax) {
  const { indices, anyOf, order, limit, afterId, createdAfterMs, createdBeforeMs, withBalances } = query;
  checkLimit(limit, pageMax);
  if (indices.length === 0) throw new RangeError('a listing names at least one index');
  if (anyOf?.length === 0) throw new RangeError('a listing with alternatives names at least one');
  if (indices.length + (anyOf?.length ?? 0) > indicesMax) throw new RangeError('a listing names too many indices');
  // A single alternative is another required index, and the one scanned if it is the smallest.
  const all = new Set(anyOf?.length === 1 ? [...indices, ...anyOf] : indices);
  const any = anyOf === undefined || anyOf.length === 1 ? [] : anyOf;
  return {
    order,
    pageMax: limit,
    afterId: afterId === undefined || isOutside(query, afterId) ? '' : afterId,
    fromTime: createdAfterMs === undefined ? '' : timeToken(createdAfterMs),
    toTime: createdBeforeMs === undefined ? '' : timeToken(createdBeforeMs),
    withBalances: withBalances === true ? 1 : 0,
    scannedMax,
    nowMs,
    all: [...all],
    any,
  };
}

/** The common prefix of UUIDv7s of this millisecond. */
export function timeToken(timeMs: number): string {
  const bounded = Math.min(Math.max(0, Math.floor(timeMs)), 2 ** 48 - 1);
  const hex = bounded.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** Whether the id to continue after is before the range, in the listing's order: then the page starts at the range's start. */
function isOutside({ order, createdAfterMs, createdBeforeMs }: ListQuery, afterId: string): boolean {
  const time = afterId.slice(afterId.indexOf('_') + 1);
  if (order === 'newest') return createdBeforeMs !== undefined && time >= timeToken(createdBeforeMs);
  return createdAfterMs !== undefined && time < timeToken(createdAfterMs);
}

/** `limit` up to 1,000: the relay of webhooks reads more at once than a client may. */
export function eventQueryArguments(query: EventQuery) {
  const { afterSequence, limit, types, resourceId, eventId, connectionIds, createdAfterMs, createdBeforeMs } = query;
  checkLimit(limit, readEventsMax);
  if (types.length > typesMax) throw new RangeError(`a query names at most ${typesMax} types`);
  if (!Number.isSafeInteger(afterSequence) || afterSequence < 0) throw new RangeError('a sequence is a whole number');
  return {
    after: afterSequence,
    pageMax: limit,
    scannedMax: readEventsMax,
    resourceId: resourceId ?? '',
    eventId: eventId ?? '',
    fromMs: createdAfterMs ?? '',
    beforeMs: createdBeforeMs ?? '',
    types,
    connections: connectionIds,
  };
}

function checkLimit(limit: number, max: number): void {
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= max)) throw new RangeError(`limit must be 1 to ${max}`);
}
