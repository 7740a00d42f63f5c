/**
 * Builders for the parts of a `Change`, for every module.
 *
 * A record type is declared for its own record, a `Put` for any record. Only this file casts between the two: the functions
 * check that type and records match, which a `Put` cannot express.
 */
import type { Change, Put, RecordType, Versioned } from './contract.ts';

type Removal = NonNullable<Change['removals']>[number];

/** A new record, at version 1. `lifetimeMs`: it leaves the store that long after this change. */
export function create<T extends Versioned>(type: RecordType<T>, after: T, lifetimeMs?: number): Put {
  return { type: anyType(type), before: undefined, after, ...(lifetimeMs === undefined ? {} : { lifetimeMs }) };
}

/** A record before and after a change, one version higher. */
export function update<T extends Versioned>(type: RecordType<T>, before: T, after: T, lifetimeMs?: number): Put {
  return { type: anyType(type), before, after, ...(lifetimeMs === undefined ? {} : { lifetimeMs }) };
}

/** Removes a record, as it was read, from the store. */
export function remove<T extends Versioned>(type: RecordType<T>, before: T): Removal {
  return { type: anyType(type), before };
}

/**
 * Merges changes into one. Throws when two of them allocate, release, or show a wallet: one change can hold only one of each,
 * and dropping the other would lose a number, or show old balances.
 */
export function merge(...changes: readonly Change[]): Change {
  const allocate = atMostOne(
    changes.flatMap(({ allocate }) => allocate ?? []),
    'allocations',
  );
  const release = atMostOne(
    changes.flatMap(({ release }) => release ?? []),
    'releases',
  );
  const balancesOf = atMostOne(
    changes.flatMap(({ balancesOf }) => balancesOf ?? []),
    'wallets to show',
  );
  return {
    puts: changes.flatMap(({ puts }) => puts ?? []),
    guards: changes.flatMap(({ guards }) => guards ?? []),
    ledger: changes.flatMap(({ ledger }) => ledger ?? []),
    removals: changes.flatMap(({ removals }) => removals ?? []),
    events: changes.flatMap(({ events }) => events ?? []),
    due: changes.flatMap(({ due }) => due ?? []),
    closesKeys: changes.flatMap(({ closesKeys }) => closesKeys ?? []),
    ...(balancesOf === undefined ? {} : { balancesOf }),
    ...(allocate === undefined ? {} : { allocate }),
    ...(release === undefined ? {} : { release }),
  };
}

function atMostOne<T>(items: readonly T[], what: string): T | undefined {
  if (items.length > 1) throw new Error(`a change cannot hold two ${what}`);
  return items[0];
}

/** Sound as long as the type only gets records of its own kind, which the callers above guarantee. */
function anyType<T extends Versioned>(type: RecordType<T>): RecordType<Versioned> {
  return type as unknown as RecordType<Versioned>;
}
