/**
 * A `Change` as the flat tokens that commit-script.ts takes. Pure. Documents are encoded once, as JSON; which indices a
 * record joins and leaves is the difference between its two versions, computed here.
 *
 * A change that makes no sense (a version that does not follow, one record twice, something beyond a limit) is our own
 * bug and throws before anything is sent.
 */
import { closedKeyName } from '../proto/closed-keys.ts';
import { eventTokenCount, eventTokens } from '../proto/event-log.ts';
import type { Change, Guard, IdempotencyMark, LedgerEntry, Put } from './contract.ts';
import { timeToken } from './query-tokens.ts';

/** Of one record or event as JSON. */
const documentBytesMax = 1 << 20;
const putsMax = 1_000;
const eventsMax = 1_000;
const keptMsMax = 10 * 366 * 24 * 3_600_000;

/** An answer can be asked for again this long after it was given. */
export const answerKeptMs = 24 * 3_600_000;

export function changeTokens(change: Change, mark: IdempotencyMark | undefined): string[] {
  const { puts = [], guards = [], removals = [], ledger = [], allocate, release, events = [], due = [] } = change;
  const { closesKeys = [] } = change;
  if (puts.length + removals.length > putsMax) throw new RangeError(`a change holds at most ${putsMax} records`);
  if (events.length > eventsMax) throw new RangeError(`a change holds at most ${eventsMax} events`);
  checkRecords(change);
  const joined: string[] = [];
  const left: string[] = [];
  const records: string[] = [];
  for (const put of puts) {
    const { before, after, type } = put;
    const standsIn = new Set(type.indices(after));
    const stoodIn = new Set(before === undefined ? [] : type.indices(before));
    for (const index of standsIn) if (!stoodIn.has(index)) joined.push(index, after.id);
    for (const index of stoodIn) if (!standsIn.has(index)) left.push(index, after.id);
    const { name, status } = type;
    records.push(after.id, String(after.version), status(after), name, encode(after), ...lifetime(put, standsIn));
  }
  for (const { type, before } of removals) {
    for (const index of new Set(type.indices(before))) left.push(index, before.id);
  }
  const tokens: string[] = mark
    ? [mark.keyHash, mark.owner, mark.answer, String(answerKeptMs)]
    : ['', '', '', String(answerKeptMs)];
  const section = (width: number, cells: readonly string[]): void => {
    tokens.push(String(cells.length / width));
    for (const cell of cells) tokens.push(cell);
  };
  section(2, [
    ...puts.flatMap(({ before, after }) => [after.id, before === undefined ? '' : String(before.version)]),
    ...removals.flatMap(({ before }) => [before.id, String(before.version)]),
    ...guards.flatMap((guard) => (guard.kind === 'version' ? [guard.id, versionToken(guard.version)] : [])),
  ]);
  section(
    2,
    guards.flatMap((guard) => (guard.kind === 'status' ? [guard.id, guard.status] : [])),
  );
  section(
    1,
    guards.flatMap((guard) => (guard.kind === 'emptyIndex' ? [guard.index] : [])),
  );
  section(4, guards.flatMap(countTokens));
  section(4, guards.flatMap(availableTokens));
  section(
    2,
    guards.flatMap((guard) => (guard.kind === 'claim' ? [guard.name, keptFor(guard.keepMs)] : [])),
  );
  section(4, ledgerTokens(ledger));
  section(7, records);
  section(
    1,
    removals.map(({ before }) => before.id),
  );
  section(2, joined);
  section(2, left);
  section(2, release ? [release.counter, String(release.number)] : []);
  section(2, allocate ? [allocate.counter, allocate.recordId] : []);
  section(
    2,
    due.flatMap(({ member, atMs }) => [member, atMs === undefined ? '' : String(atMs)]),
  );
  section(1, closesKeys.map(closedKeyName));
  section(1, change.balancesOf === undefined ? [] : [change.balancesOf]);
  section(
    eventTokenCount,
    events.flatMap((event) => eventTokens(event, encode(event.object))),
  );
  return tokens;
}

/** A record that does not exist has no version. */
function versionToken(version: number): string {
  return version === 0 ? '' : String(version);
}

function countTokens(guard: Guard): string[] {
  if (guard.kind !== 'count') return [];
  const { index, createdAfterMs, min, max } = guard;
  const since = createdAfterMs === undefined ? '' : timeToken(createdAfterMs);
  return [index, since, String(min), max === undefined ? '' : String(max)];
}

function availableTokens(guard: Guard): string[] {
  if (guard.kind !== 'available') return [];
  const { walletId, asset, min, max } = guard;
  if (min < 0n) throw new RangeError('a balance is never below zero');
  return [walletId, asset, String(min), max === undefined ? '' : String(max)];
}

/** Each wallet and asset once, with the sum of its entries: what counts is where the whole change leaves a balance. */
function ledgerTokens(ledger: readonly LedgerEntry[]): string[] {
  const sums = new Map<string, LedgerEntry>();
  for (const entry of ledger) {
    const key = `${entry.walletId} ${entry.asset}`;
    const sum = sums.get(key);
    sums.set(key, {
      ...entry,
      available: entry.available + (sum?.available ?? 0n),
      reserved: entry.reserved + (sum?.reserved ?? 0n),
    });
  }
  return [...sums.values()].flatMap(({ walletId, asset, available, reserved }) => [
    walletId,
    asset,
    String(available),
    String(reserved),
  ]);
}

/** How long the record stays, and what has to be taken out of which indices after that. */
function lifetime({ after, keepMs }: Put, standsIn: ReadonlySet<string>): [keepMs: string, sweep: string] {
  return keepMs === undefined ? ['', ''] : [keptFor(keepMs), JSON.stringify([after.id, ...standsIn])];
}

function keptFor(keepMs: number | undefined): string {
  if (keepMs === undefined) return '';
  if (!(keepMs > 0 && keepMs <= keptMsMax)) throw new RangeError('keepMs must be above 0 and at most ten years');
  return String(Math.ceil(keepMs));
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
    throw new Error('a number that is given back must be a whole number from 0');
  }
}

function encode(document: object): string {
  const json = JSON.stringify(document);
  // A character takes at most three bytes of UTF-8 for each unit of its length.
  if (json.length * 3 > documentBytesMax && Buffer.byteLength(json) > documentBytesMax) {
    throw new RangeError(`a document takes at most ${documentBytesMax} bytes`);
  }
  return json;
}
