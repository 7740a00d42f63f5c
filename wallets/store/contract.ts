/**
 * The tenant store: all state of the wallet control plane, and the one way to change it.
 *
 * A handler reads, decides, and returns a `Change` as data. The store performs it in one atomic step, or refuses it
 * without any effect: records under compare-and-set, their indices, balances, events with their sequence, due
 * times, and the answer for an idempotency key. So a change never exists without its event, and
 * two gateways cannot both win. All keys of a tenant carry its hash tag (see layout.ts).
 */

import type { MachineMs, ServiceMs } from '../../core/actors/contract.ts';
import type { DueHandler } from '../../core/redis/due-work.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';

/** The fields of every record. `version` starts at 1 and rises by one with every change. */
export interface Versioned {
  readonly id: string;
  readonly version: number;
}

/** A kind of record: its indices, and the status word that guards may compare. */
export interface RecordType<T extends Versioned> {
  /** e.g. "wallet": names the kind in events and errors. */
  readonly name: string;
  /** The word that a `status` guard compares; empty when the kind has none. */
  readonly status: (record: T) => string;
  /**
   * Names of the indices that list the record, e.g. ["wallets", "wallets:status:active"]. An index orders ids by
   * creation time (ids are UUIDv7). The store adds and removes the difference between two versions.
   */
  readonly indices: (record: T) => readonly string[];
  /** Whether the store packs it (event-text.ts): for long records that rarely change. No by default. */
  readonly isPacked?: (record: T) => boolean;
  /**
   * A script of Redis makes it, so it has no MAC (secrets/record-seal.ts): nothing that is decided may rely on it. No by default.
   */
  readonly isUnsealed?: true;
}

export interface Put {
  readonly type: RecordType<Versioned>;
  /** undefined: the id must not exist. Otherwise the stored version must be this one's. */
  readonly before: Versioned | undefined;
  /** Its version is `before`'s plus one, or 1. JSON values only. */
  readonly after: Versioned;
  /** The record ends this long after this change, by the service's time; undefined: never. */
  readonly lifetimeMs?: number;
}

/** A precondition of the change. */
export type Guard =
  | { readonly kind: 'status'; readonly id: string; readonly status: string }
  /** Version 0: no such record exists. */
  | { readonly kind: 'version'; readonly id: string; readonly version: number }
  /** No record is in this index. */
  | { readonly kind: 'emptyIndex'; readonly index: string }
  /**
   * The index holds `min` to `max` ids, from a time on if given; `count` stays within this range. `max` undefined: no upper
   * limit. Records in it must never expire.
   */
  | {
      readonly kind: 'count';
      readonly index: string;
      readonly createdAfterMs?: number;
      readonly min: number;
      readonly max: number | undefined;
    }
  /** The available balance is within this range, smallest units, before the change's own ledger entries. */
  | {
      readonly kind: 'available';
      readonly walletId: string;
      readonly asset: string;
      readonly min: bigint;
      readonly max: bigint | undefined;
    }
  /** The name is not claimed yet; the change claims it (for `lifetimeMs`, or permanently). */
  | { readonly kind: 'claim'; readonly name: string; readonly lifetimeMs?: number };

export const movementKinds = [
  'opening',
  'deposit',
  'transfer',
  'mint',
  'burn',
  'fee',
  'exchange',
  'reorg',
  'correction',
] as const;

/** Why a balance changes. */
export interface MovementCause {
  readonly kind: (typeof movementKinds)[number];
  /** Id of the intent, deposit, exchange or exception; null: a wallet began with it. */
  readonly of: string | null;
  /** Of its network. */
  readonly txId: string | null;
  /** Address at the other end; null: none is known. */
  readonly counterparty: string | null;
}

/**
 * A movement as commit.lua has written it, with the balance: the units of a wallet's movements of an asset add up to its balance.
 */
export interface BookedMovement extends MovementCause {
  /** Of the wallet, from 1, without gaps, in the order of the commits. */
  readonly number: number;
  readonly asset: string;
  /** Smallest units; below zero: they left the wallet. */
  readonly units: bigint;
  /** The balance after it, available and reserved. */
  readonly balance: bigint;
  readonly atMs: number;
}

/**
 * Deltas of a wallet's balance of one asset, in the asset's smallest units. The balance is available + reserved. A delta
 * that would make either negative refuses the whole change, unless it `overdraws`: then available may get negative by what is
 * reserved. It is read as nothing available, and so much less reserved.
 */
export interface LedgerEntry {
  readonly walletId: string;
  /** Asset symbol. */
  readonly asset: string;
  readonly available: bigint;
  readonly reserved: bigint;
  /** What the change writes as a movement of their sum: needed when a wallet's balance changes, absent for a reservation. */
  readonly movement?: MovementCause;
  readonly overdraws?: true;
}

/** A numbered resource of a tenant, e.g. an account's sequence numbers: the lowest released number, else the next one. */
export interface Allocation {
  readonly counter: string;
  /** The record that gets the number; it must be among the puts. Its number is read with `numberOf`. */
  readonly recordId: string;
}

/** Gives a number back: the next allocation takes it. */
export interface Release {
  readonly counter: string;
  readonly number: number;
}

/** The coordinator writes events of the same shape into the same log. */
export type NewEvent = LoggedEvent;

/** Work that falls due at a time, e.g. {member: "intent/txi_…", atMs}; atMs undefined: no more. */
export interface DueEntry {
  readonly member: string;
  readonly atMs: number | undefined;
}

export interface Change {
  readonly puts?: readonly Put[];
  readonly guards?: readonly Guard[];
  readonly ledger?: readonly LedgerEntry[];
  /**
   * The id of the wallet that the events of this change show, and its answer if it has one: they show the balances after this
   * change, whatever else is committed at the same time. Both contain the wallet in the form of its view.
   */
  readonly balancesOf?: string;
  readonly allocate?: Allocation;
  readonly release?: Release;
  /** Ids of records that leave the store (webhooks, say), with the record as it was read. */
  readonly removals?: readonly { readonly type: RecordType<Versioned>; readonly before: Versioned }[];
  readonly events?: readonly NewEvent[];
  readonly due?: readonly DueEntry[];
  /** A client creates a resource: refused when the tenant has reached its storage quota (`RedisTenantStore`). */
  readonly counted?: boolean;
  /** Keys of wallets that this change closes permanently: the coordinator signs nothing with them. */
  readonly closesKeys?: readonly string[];
}

/** The answer to an idempotent request, stored with its effect. `body` is already sealed: it may hold a secret. */
export interface IdempotencyMark {
  readonly keyHash: string;
  /** The owner of the request's lease; if it differs, another owner has taken over. */
  readonly owner: string;
  /** Sealed answer. */
  readonly answer: string;
}

export type CommitOutcome =
  | {
      readonly committed: true;
      /** The sequence of the last event, or 0 without events. */
      readonly sequence: number;
      /** The number of `allocate`. */
      readonly allocated: number | undefined;
      /** Of the wallet in `balancesOf`. */
      readonly balances: Balances | undefined;
    }
  | { readonly committed: false; readonly refusal: CommitRefusal };

export type CommitRefusal =
  /**
   * A value that was read has changed: a record is not at the expected version, exists already, or is gone; a count or a
   * balance left its range. Read and decide again. `id`: the record, the index of the count, or the wallet of the balance.
   */
  | { readonly kind: 'conflict'; readonly id: string }
  | { readonly kind: 'status'; readonly id: string; readonly status: string }
  | { readonly kind: 'notEmpty'; readonly index: string }
  | { readonly kind: 'claimed'; readonly name: string }
  | { readonly kind: 'insufficient'; readonly walletId: string; readonly asset: string }
  /** The tenant has reached its quota; `bytes`: the bytes that it stored. */
  | { readonly kind: 'full'; readonly bytes: number }
  /**
   * The idempotency key has another owner: this request took too long. Or it already has its answer, perhaps from this very
   * commit, whose reply was lost. `beginIdempotent` tells which.
   */
  | { readonly kind: 'overtaken' };

export interface Balance {
  readonly available: bigint;
  readonly reserved: bigint;
}

/** Of one wallet, by asset symbol. */
export type Balances = ReadonlyMap<string, Balance>;

export interface ListQuery {
  /** Records that are in all of these indices. At least one. */
  readonly indices: readonly string[];
  /** And in at least one of these, if given. */
  readonly anyOf?: readonly string[];
  readonly order: 'newest' | 'oldest';
  /** 1 to 100. */
  readonly limit: number;
  /** The last id of the previous page. */
  readonly afterId?: string;
  /**
   * Only ids of this time range, milliseconds: UUIDv7 ids contain their creation time. The first millisecond of the
   * range, and the first one after it.
   */
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
  /** Also the balances, by listed id. */
  readonly withBalances?: boolean;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** By item id; empty unless asked for. */
  readonly balances: ReadonlyMap<string, Balances>;
  /** A page may be shorter than its limit and still have more: a page scans a bounded number of ids. */
  readonly hasMore: boolean;
  readonly nextId: string | undefined;
}

export interface StoredEvent extends NewEvent {
  /** Rises by one per tenant, from 1, without gaps. */
  readonly sequence: number;
}

export interface EventQuery {
  /** Events with a higher sequence. */
  readonly afterSequence: number;
  /** 1 to 1,000. */
  readonly limit: number;
  /** Exact, or a prefix that ends in ".*". Empty: all. */
  readonly types: readonly string[];
  readonly resourceId?: string;
  /** The one event of this id. */
  readonly eventId?: string;
  /** Only events about these provider connections. */
  readonly connectionIds?: readonly string[];
  /** The first millisecond of the range, and the first one after it. */
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  readonly hasMore: boolean;
  /** The start of the next page, also when this one is empty. */
  readonly nextAfterSequence: number;
  /** The oldest stored sequence; 1 while nothing was dropped. */
  readonly floorSequence: number;
  readonly lastSequence: number;
}

export type IdempotencyStart =
  /** This request runs now. `seed` and `startedMs` are from the first attempt, by any gateway: ids derived from them repeat. */
  | { readonly kind: 'run'; readonly owner: string; readonly seed: Uint8Array; readonly startedMs: number }
  /** `balances`: of the wallet in the answer, after its change. */
  | { readonly kind: 'answered'; readonly answer: string; readonly balances: Balances | undefined }
  /** Another request with this key runs now; from `leaseEndsMs` of the machine's time on another may take it over. */
  | { readonly kind: 'running'; readonly leaseEndsMs: number }
  | { readonly kind: 'otherBody' };

/** Throws StoreUnavailable when Redis does not answer; then the fate of a change is unknown. */
export interface TenantStore {
  /** undefined also when the id names a record of another kind. */
  read<T extends Versioned>(tenant: string, type: RecordType<T>, id: string): Promise<T | undefined>;
  /** In the order of the ids; undefined where there is none. */
  readMany<T extends Versioned>(
    tenant: string,
    type: RecordType<T>,
    ids: readonly string[],
  ): Promise<readonly (T | undefined)[]>;
  /** The number that `allocate` gave this record. */
  numberOf(tenant: string, id: string): Promise<number | undefined>;
  /** A wallet and its balances, as they were at one moment. */
  readWithBalances<T extends Versioned>(
    tenant: string,
    type: RecordType<T>,
    id: string,
  ): Promise<{ readonly record: T; readonly balances: Balances } | undefined>;
  list<T extends Versioned>(tenant: string, type: RecordType<T>, query: ListQuery): Promise<Page<T>>;
  /** Movements of a wallet below a number, by default all, newest first; 1 to 100. */
  movements(tenant: string, walletId: string, limit: number, below?: number): Promise<readonly BookedMovement[]>;
  /** The number of records in an index, from a time on if given. */
  count(tenant: string, index: string, createdAfterMs?: number): Promise<number>;
  commit(tenant: string, change: Change, mark?: IdempotencyMark): Promise<CommitOutcome>;
  events(tenant: string, query: EventQuery): Promise<EventPage>;
  /** When the tenant began (tenant-beginning.ts): by now. */
  beganAtMs(tenant: string, nowMs: number): Promise<number>;

  /** The key lives by the service's time, the lease of the request that runs by the machine's. */
  beginIdempotent(
    tenant: string,
    keyHash: string,
    bodyHash: string,
    nowMs: ServiceMs,
    machineMs: MachineMs,
  ): Promise<IdempotencyStart>;
  /**
   * Stores an answer without a change, or (undefined) frees the key. False when another owner has the key, or when it has
   * another answer, which stays.
   */
  settleIdempotent(tenant: string, keyHash: string, owner: string, answer: string | undefined): Promise<boolean>;

  /**
   * Handles tenants that have due work; the number of other tenants does not matter. See DueWork.sweep. `byMs`: also those that
   * have some by this later time, as far as one claim goes.
   */
  sweepDue(nowMs: number, handle: DueHandler, byMs?: number): Promise<boolean>;
  /**
   * Entries due by now, earliest first, then those of `early`; each is due again after `leaseMs`, unless its change says
   * otherwise.
   */
  takeDue(tenant: string, nowMs: number, leaseMs: number, limit: number, early?: EarlyDue): Promise<DueTaken>;
}

/** Entries that are taken before they are due: with this prefix, due by this time. */
export interface EarlyDue {
  readonly prefix: string;
  readonly byMs: number;
}

export interface DueTaken {
  readonly members: readonly string[];
  /** When the tenant's next entry is due; undefined: it has none. */
  readonly nextAtMs: number | undefined;
}

/** Redis did not answer in time. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** Redis refused the command, or never got it: it changed nothing. Otherwise its fate is unknown. */
  readonly changedNothing: boolean;

  constructor(message: string, options: ErrorOptions & { readonly changedNothing?: boolean } = {}) {
    super(message, options);
    this.changedNothing = options.changedNothing ?? false;
  }
}

/** What is stored is not what a store of this service writes: something else changed it in Redis. */
export class StoreTampered extends Error {
  override readonly name = 'StoreTampered';
  /** The record; undefined: Redis does not say which key. */
  readonly recordId: string | undefined;
  /** What is stored, if it can be read at all. Nothing in it can be relied on. */
  readonly found: Versioned | undefined;

  constructor(recordId: string | undefined, cause: unknown, found?: Versioned) {
    const name = recordId ?? 'a key of Redis';
    super(`${name} was changed by something else than this service (${String(cause)})`, { cause });
    this.recordId = recordId;
    this.found = found;
  }
}

/** What `show` makes of a record. Throws StoreTampered with the record's id when it lacks the fields of its kind. */
export function shownRecord<T>(id: string, show: () => T): T {
  try {
    return show();
  } catch (error) {
    throw error instanceof StoreTampered ? error : new StoreTampered(id, error);
  }
}

/** Maps addresses to wallets, over all tenants: a transfer between two wallets of ours finds its receiver here. */
export interface AddressBook {
  /** Call it before the wallet is committed; the first owner keeps the address. */
  register(network: string, address: string, owner: AddressOwner): Promise<void>;
  ownerOf(network: string, address: string): Promise<AddressOwner | undefined>;
}

export interface AddressOwner {
  readonly tenant: string;
  readonly walletId: string;
}
