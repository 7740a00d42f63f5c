/**
 * A `Change` as the argument that commit.lua takes. Pure. It encodes documents once, as JSON; the indices that a
 * record joins and leaves are the difference between its two versions, computed here.
 *
 * An invalid change (a version that does not follow, one record twice, a value beyond a limit) is a bug of signmesh and throws
 * before anything is sent.
 */

import { eventArguments } from '../../core/redis/event-log.ts';
import { closedKeyName } from '../../proto/closed-keys.ts';
import type { Change, Guard, LedgerEntry, Put } from './contract.ts';
import { packObject } from './event-text.ts';
import { storeKeys } from './layout.ts';
import { timeToken } from './query-arguments.ts';
import type { RecordSeal } from './secrets/record-seal.ts';

/** The limit of one record or event as JSON. */
const documentBytesMax = 1 << 20;
const putsMax = 1_000;
const eventsMax = 1_000;
const lifetimeMsMax = 10 * 366 * 24 * 3_600_000;

/** An answer can be repeated for this long. */
export const answerLifetimeMs = 24 * 3_600_000;

/** `change` of commit.lua. Parts that are empty are left out. */
export function changeArgument(tenant: string, change: Change, seal: RecordSeal): object {
  const { puts = [], guards = [], removals = [], ledger = [], events = [], due = [] } = change;
  const { closesKeys = [], balancesOf, allocate, release } = change;
  if (puts.length + removals.length > putsMax) throw new RangeError(`a change holds at most ${putsMax} records`);
  if (events.length > eventsMax) throw new RangeError(`a change holds at most ${eventsMax} events`);
  checkRecords(change);
  const joined: { index: string; id: string }[] = [];
  const left: { index: string; id: string }[] = [];
  const records: object[] = [];
  const versions: { id: string; version: string | undefined }[] = [];
  for (const put of puts) {
    const { before, after, type } = put;
    const { id } = after;
    const standsIn = new Set(type.indices(after));
    const stoodIn = new Set(before === undefined ? [] : type.indices(before));
    for (const index of standsIn) if (!stoodIn.has(index)) joined.push({ index, id });
    for (const index of stoodIn) if (!standsIn.has(index)) left.push({ index, id });
    versions.push({ id, version: before && String(before.version) });
    const version = String(after.version);
    records.push({
      ...{ id, version, status: type.status(after), kind: type.name, document: documentText(tenant, put, seal) },
      ...lifetime(put, standsIn),
    });
  }
  for (const { type, before } of removals) {
    versions.push({ id: before.id, version: String(before.version) });
    for (const index of new Set(type.indices(before))) left.push({ index, id: before.id });
  }
  const parts = {
    ...guardsArgument(guards, versions),
    ledger: ledgerSums(ledger),
    movements: ledger.flatMap(movementArgument),
    records,
    removed: removals.map(({ before }) => before.id),
    joined,
    left,
    due,
    closedKeys: closesKeys.map(closedKeyName),
    events: events.map((event) => eventArguments(event, packObject(encode(event.object)))),
  };
  const filled = Object.entries<readonly unknown[]>(parts).filter(([, rows]) => rows.length > 0);
  return { ...Object.fromEntries(filled), balancesOf, allocate, release };
}

/** `versions`: the expected versions of the change's records. */
function guardsArgument(guards: readonly Guard[], versions: { id: string; version: string | undefined }[]) {
  const parts = {
    versions,
    statuses: [] as object[],
    emptyIndices: [] as string[],
    counts: [] as object[],
    available: [] as object[],
    claims: [] as object[],
  };
  for (const guard of guards) {
    const { kind } = guard;
    if (kind === 'version') versions.push({ id: guard.id, version: versionOf(guard.version) });
    else if (kind === 'status') parts.statuses.push({ id: guard.id, status: guard.status });
    else if (kind === 'emptyIndex') parts.emptyIndices.push(guard.index);
    else if (kind === 'count') parts.counts.push(countRange(guard));
    else if (kind === 'available') parts.available.push(availableRange(guard));
    else parts.claims.push({ name: guard.name, lifetimeMs: checkedLifetime(guard.lifetimeMs) });
  }
  return parts;
}

/** A record that does not exist has no version. */
function versionOf(version: number): string | undefined {
  return version === 0 ? undefined : String(version);
}

function countRange({ index, createdAfterMs, min, max }: Guard & { kind: 'count' }): object {
  return { index, since: createdAfterMs === undefined ? '' : timeToken(createdAfterMs), min, max };
}

function availableRange({ walletId, asset, min, max }: Guard & { kind: 'available' }): object {
  if (min < 0n) throw new RangeError('a balance is never below zero');
  return { walletId, asset, min: String(min), max: max?.toString() };
}

const isWallet = /^wal_/;

/** In the order of the entries. */
function movementArgument({ walletId, asset, available, reserved, movement }: LedgerEntry): object[] {
  const units = available + reserved;
  if (units === 0n) return [];
  if (movement !== undefined) return [{ walletId, asset, units: String(units), cause: JSON.stringify(movement) }];
  if (isWallet.test(walletId))
    throw new Error(`the balance of ${walletId} changes by ${units} ${asset} without a cause`);
  return [];
}

/** Each wallet and asset once, with the sum of its entries: the store checks the balance after the whole change. */
function ledgerSums(ledger: readonly LedgerEntry[]): object[] {
  const sums = new Map<string, LedgerEntry>();
  for (const entry of ledger) {
    const key = `${entry.walletId} ${entry.asset}`;
    const sum = sums.get(key);
    const { walletId, asset, overdraws = sum?.overdraws } = entry;
    sums.set(key, {
      ...{ walletId, asset },
      available: entry.available + (sum?.available ?? 0n),
      reserved: entry.reserved + (sum?.reserved ?? 0n),
      ...(overdraws && { overdraws }),
    });
  }
  return [...sums.values()].map((sum) => ({
    ...sum,
    available: String(sum.available),
    reserved: String(sum.reserved),
  }));
}

/** The lifetime of the record, and the index entries to remove after it. */
function lifetime({ after, lifetimeMs }: Put, standsIn: ReadonlySet<string>): object {
  return lifetimeMs === undefined
    ? {}
    : { lifetimeMs: checkedLifetime(lifetimeMs), sweep: JSON.stringify([after.id, ...standsIn]) };
}

function checkedLifetime(lifetimeMs: number | undefined): number | undefined {
  if (lifetimeMs === undefined) return undefined;
  if (!(lifetimeMs > 0 && lifetimeMs <= lifetimeMsMax))
    throw new RangeError('lifetimeMs must be above 0 and at most ten years');
  return Math.ceil(lifetimeMs);
}

function checkRecords({ puts = [], removals = [], guards = [], allocate, release }: Change): void {
  const seen = new Set<string>();
  const once = (id: string): void => {
    if (id === '' || seen.has(id)) throw new Error(`a change names the record "${id}" twice, or it has no id`);
    seen.add(id);
  };
  for (const { before, after } of puts) {
    once(after.id);
    if (before !== undefined && before.id !== after.id) throw new Error(`the record ${before.id} has changed its id`);
    if (after.version !== (before?.version ?? 0) + 1) throw new Error(`the version of ${after.id} does not follow`);
  }
  for (const { before } of removals) once(before.id);
  const claims = guards.flatMap((guard) => (guard.kind === 'claim' ? [guard.name] : []));
  if (new Set(claims).size < claims.length) throw new Error('a change claims a name twice');
  if (allocate !== undefined && !puts.some(({ after }) => after.id === allocate.recordId)) {
    throw new Error(`the record ${allocate.recordId} that gets a number is not in the change`);
  }
  if (release !== undefined && !(Number.isSafeInteger(release.number) && release.number >= 0)) {
    throw new Error('a released number must be a whole number from 0');
  }
}

function documentText(tenant: string, { type, after }: Put, seal: RecordSeal): string {
  const json = encode(after);
  const text = type.isPacked?.(after) === true ? packObject(json) : json;
  return type.isUnsealed === true
    ? text
    : seal.seal({ key: storeKeys.record(tenant, after.id), kind: type.name }, text);
}

function encode(document: object): string {
  const json = JSON.stringify(document);
  // A character takes at most three bytes of UTF-8 for each unit of its length.
  if (json.length * 3 > documentBytesMax && Buffer.byteLength(json) > documentBytesMax) {
    throw new RangeError(`a document takes at most ${documentBytesMax} bytes`);
  }
  return json;
}
