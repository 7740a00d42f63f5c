/** Redis's replies as the contract's values. Pure. */

import {
  type Balance,
  type Balances,
  type BookedMovement,
  type CommitOutcome,
  type EventPage,
  type IdempotencyStart,
  type MovementCause,
  type RecordType,
  type StoredEvent,
  StoreTampered,
  type Versioned,
} from './contract.ts';
import { unpackObject } from './event-text.ts';
import { reservedSuffix } from './layout.ts';
import { type RecordSeal, unsealed } from './secrets/record-seal.ts';
import { type AssetView, withBalances } from './shown-balances.ts';

export type CommitReply = readonly [kind: string, first: string | number, second: string, shown: string];
export type ListReply = readonly [
  more: number,
  nextId: string,
  scanned: number,
  items: readonly (readonly [
    id: string,
    record: readonly [document: string, version: string | null, status: string | null],
    balances: readonly string[],
  ])[],
];
export type StreamReply = readonly [id: string, fields: readonly string[]];
export type EventsReply = readonly [
  /** Or `tampered`, and the key. */
  more: number | 'tampered',
  done: number | string,
  floor: number,
  last: number,
  entries: readonly StreamReply[],
];
export type BeginReply = readonly [kind: string, first: string, seed: string, startedMs: string];

/** A record in Redis: the fields that scripts compare, and its text. */
export interface StoredRecord {
  readonly key: string;
  readonly id: string;
  readonly version: string | null;
  readonly status: string | null;
  readonly document: string;
}

/** A record as it was written. Throws StoreTampered for another text, and for a version or status word that is not the text's. */
export function recordOf<T extends Versioned>(stored: StoredRecord, type: RecordType<T>, seal: RecordSeal): T {
  const { key, id, version, status, document } = stored;
  if (type.isUnsealed === true) return asWritten(id, () => withId(documentOf<T>(document), id));
  const text = seal.open({ key, kind: type.name }, document);
  if (text === undefined)
    throw new StoreTampered(id, new TypeError('its MAC does not hold'), foundIn(document, version));
  const record = asWritten(id, () => withId(documentOf<T>(text), id));
  if (String(record.version) !== version || type.status(record) !== status) {
    throw new StoreTampered(id, new TypeError('its version or status is not the one of its text'), {
      ...record,
      version: Number(version),
    });
  }
  return record;
}

function withId<T extends Versioned>(record: T | null, id: string): T {
  if (record?.id !== id || !Number.isSafeInteger(record.version)) {
    throw new TypeError('it is not a record with this id');
  }
  return record;
}

/** With the version that a change of it must name. */
function foundIn(document: string, version: string | null): Versioned | undefined {
  try {
    const found = documentOf<Versioned | null>(unsealed(document));
    return typeof found === 'object' && found !== null ? { ...found, version: Number(version) } : undefined;
  } catch {
    return undefined;
  }
}

/** A caller's key named __proto__ is a plain own property, as JSON.parse makes it. */
function documentOf<T>(text: string): T {
  return JSON.parse(unpackObject(text)) as T;
}

function asWritten<T>(id: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StoreTampered(id, error);
  }
}

/** From the fields and values of the balances' hash, one after the other. Throws StoreTampered for other values than numbers. */
export function balancesOf(fields: readonly string[], id: string): Balances {
  return asWritten(id, () => balancesIn(fields));
}

function balancesIn(fields: readonly string[]): Balances {
  const balances = new Map<string, Balance>();
  for (let i = 0; i < fields.length; i += 2) {
    const field = fields[i]!;
    const units = BigInt(fields[i + 1]!);
    const isReserved = field.endsWith(reservedSuffix);
    const asset = isReserved ? field.slice(0, -reservedSuffix.length) : field;
    const { available, reserved } = balances.get(asset) ?? { available: 0n, reserved: 0n };
    balances.set(asset, isReserved ? { available, reserved: units } : { available: units, reserved });
  }
  // See LedgerEntry.
  for (const [asset, { available, reserved }] of balances) {
    if (available < 0n) balances.set(asset, { available: 0n, reserved: reserved + available });
  }
  return balances;
}

/** From the balances that a script stored with an event or an answer; undefined for none. */
function shownBalances(json: string | undefined, id: string): Balances | undefined {
  return json === undefined || json === '' ? undefined : asWritten(id, () => balancesIn(JSON.parse(json) as string[]));
}

export function commitOutcome([kind, first, second, shown]: CommitReply): CommitOutcome {
  const about = String(first);
  switch (kind) {
    case 'ok':
      return {
        committed: true,
        sequence: Number(first),
        allocated: second === '' ? undefined : Number(second),
        balances: shownBalances(shown, 'the balances of a wallet'),
      };
    case 'overtaken':
      return { committed: false, refusal: { kind } };
    case 'conflict':
      return { committed: false, refusal: { kind, id: about } };
    case 'status':
      return { committed: false, refusal: { kind, id: about, status: second } };
    case 'notEmpty':
      return { committed: false, refusal: { kind, index: about } };
    case 'claimed':
      return { committed: false, refusal: { kind, name: about } };
    case 'full':
      return { committed: false, refusal: { kind, bytes: Number(first) } };
    case 'insufficient':
      return { committed: false, refusal: { kind, walletId: about, asset: second } };
    case 'tampered':
      throw tamperedKey(about);
    default:
      throw new Error(`the commit script answered ${kind}`);
  }
}

/** Of the tenant: what is in it is no number. */
function tamperedKey(name: string): StoreTampered {
  return new StoreTampered(`the tenant's key ${name}`, new TypeError('it does not hold what this service writes'));
}

export function eventPage([more, done, floorSequence, lastSequence, entries]: EventsReply): EventPage {
  if (more === 'tampered') throw tamperedKey(String(done));
  return {
    events: entries.map(eventOf),
    hasMore: more === 1,
    nextAfterSequence: Number(done),
    floorSequence,
    lastSequence,
  };
}

/** The fields have the order in which `append_to` writes them. */
export function eventOf([entryId, fields]: StreamReply): StoredEvent {
  const value = (place: number): string => fields[2 * place + 1]!;
  const object = asWritten(value(0), () => documentOf<object>(value(10)));
  const balances = shownBalances(fields[2 * 11 + 1], value(0));
  return {
    sequence: Number.parseInt(entryId, 10),
    id: value(0),
    type: value(1),
    atMs: Number(value(2)),
    resource: { type: value(4), id: value(5), version: Number(value(6)) },
    correlationId: value(7),
    provider: value(8) === '' ? null : value(8),
    connectionId: value(9) === '' ? null : value(9),
    object: balances === undefined ? object : withBalances(object as { assets: readonly AssetView[] }, balances),
  };
}

/** The fields have the order in which add-movement.lua writes them. */
export function movementOf([entryId, fields]: StreamReply): BookedMovement {
  return asWritten(`the movement ${entryId}`, () => ({
    number: Number.parseInt(entryId, 10),
    asset: fields[1]!,
    units: BigInt(fields[3]!),
    balance: BigInt(fields[5]!),
    atMs: Number(fields[7]),
    ...(JSON.parse(fields[9]!) as MovementCause),
  }));
}

export function idempotencyStart([kind, first, seed, startedMs]: BeginReply): IdempotencyStart {
  switch (kind) {
    case 'run':
      if (!/^[0-9a-f]{32}$/.test(seed) || !/^\d{1,15}$/.test(startedMs)) throw tamperedMark();
      return { kind, owner: first, seed: new Uint8Array(Buffer.from(seed, 'hex')), startedMs: Number(startedMs) };
    case 'answered':
      return { kind, answer: first, balances: shownBalances(seed, markName) };
    case 'running':
      return { kind, leaseEndsMs: Number(first) };
    case 'otherBody':
      return { kind };
    default:
      throw new Error(`the idempotency script answered ${kind}`);
  }
}

const markName = 'the answer of an idempotency key';

function tamperedMark(): StoreTampered {
  return new StoreTampered(markName, new TypeError('it does not hold what this service writes'));
}
