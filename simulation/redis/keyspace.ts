/**
 * The data of an in-memory Redis (commands.ts has its commands). Pure except for the clock, which the caller supplies;
 * synchronous, so that a script is one step. Texts are strings of bytes, one character a byte.
 *
 * With `packing`, values that nothing has touched for a while are in blocks (blocks.ts), and keys that have expired are removed
 * although nothing reads them: for a service that runs for long.
 */
import { type Block, BlockReader, type Packing, packed, unpackedBlocks } from './blocks.ts';
import type { RedisClock } from './clock.ts';
import { EntryList, type StoredEntries } from './entry-list.ts';
import { type Scored, SortedSet } from './sorted-set.ts';

/** An error with Redis's wording. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

interface Stream {
  readonly entries: EntryList;
  lastSequence: number;
}

type Value =
  | { readonly kind: 'string'; text: string }
  | { readonly kind: 'hash'; readonly fields: Map<string, string> }
  | { readonly kind: 'zset'; readonly set: SortedSet }
  | { readonly kind: 'set'; readonly members: Set<string> }
  | { readonly kind: 'stream'; readonly stream: Stream };

type Kind = Value['kind'];
type Of<K extends Kind> = Extract<Value, { kind: K }>;

/** A text or a hash at a place of a block. */
interface PackedValue {
  readonly kind: 'packed';
  readonly of: 'string' | 'hash';
  readonly block: Block;
  readonly index: number;
}

interface Slot {
  value: Value | PackedValue;
  /** Unix ms; undefined: never. */
  expiresMs: number | undefined;
}

type StoredValue =
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'hash'; readonly fields: ReadonlyMap<string, string> }
  | { readonly kind: 'zset'; readonly scored: readonly Scored[] }
  | { readonly kind: 'set'; readonly members: ReadonlySet<string> }
  | { readonly kind: 'stream'; readonly entries: StoredEntries; readonly lastSequence: number }
  | PackedValue;

export type KeyspaceSnapshot = readonly {
  readonly key: string;
  readonly value: StoredValue;
  readonly expiresMs: number | undefined;
}[];

/** Entries are immutable, so copies share them. */
function valueToStore(value: Value | PackedValue): StoredValue {
  switch (value.kind) {
    case 'packed':
      return value;
    case 'string':
      return { kind: 'string', text: value.text };
    case 'hash':
      return { kind: 'hash', fields: new Map(value.fields) };
    case 'zset':
      return { kind: 'zset', scored: [...value.set.entries] };
    case 'set':
      return { kind: 'set', members: new Set(value.members) };
    case 'stream':
      return { kind: 'stream', entries: value.stream.entries.stored(), lastSequence: value.stream.lastSequence };
  }
}

export interface KeyspaceOptions {
  /** Receives published messages. */
  readonly publish?: (channel: string, message: string) => number;
  /** By default nothing is packed. */
  readonly packing?: Packing | undefined;
}

export class Keyspace {
  readonly #slots = new Map<string, Slot>();
  readonly #clock: RedisClock;
  readonly #publish: (channel: string, message: string) => number;
  readonly #packing: Packing | undefined;
  readonly #reader = new BlockReader();
  /** Keys of texts and hashes that were made or read lately, oldest first; only with `packing`. */
  readonly #touched = new Set<string>();
  /** The place of the search for expired keys. */
  #expiring = this.#slots.entries();

  constructor(clock: RedisClock, { publish = () => 0, packing }: KeyspaceOptions = {}) {
    this.#clock = clock;
    this.#publish = publish;
    this.#packing = packing;
  }

  get nowMs(): number {
    return this.#clock.nowMs();
  }

  publish(channel: string, message: string): number {
    return this.#publish(channel, message);
  }

  /** Empties everything. */
  clear(): void {
    this.#slots.clear();
    this.#touched.clear();
    this.#reader.forget();
  }

  /** The whole content, as plain values that can be cloned and stored. `only`: of these keys. */
  snapshot(only: (key: string) => boolean = () => true): KeyspaceSnapshot {
    return this.keys()
      .filter(only)
      .map((key) => {
        const { value, expiresMs } = this.#slots.get(key)!;
        return { key, value: valueToStore(value), expiresMs };
      });
  }

  /** Replaces the whole content. */
  restore(snapshot: KeyspaceSnapshot): void {
    this.clear();
    for (const { key, value, expiresMs } of snapshot) {
      this.#slots.set(key, { value: this.#valueFromStore(value), expiresMs });
      this.#touch(key, value.kind);
    }
  }

  /** The number of keys in memory, also of those whose time is over. */
  get held(): number {
    return this.#slots.size;
  }

  keys(): string[] {
    return [...this.#slots.keys()].filter((key) => this.#live(key) !== undefined);
  }

  /** The value of this kind; undefined: no such key. Throws WRONGTYPE for one of another kind. */
  find<K extends Kind>(key: string, kind: K): Of<K> | undefined {
    const value = this.#open(key);
    if (value === undefined) return undefined;
    if (value.kind !== kind) {
      throw new CommandError('WRONGTYPE Operation against a key holding the wrong kind of value');
    }
    return value as Of<K>;
  }

  /** null also for a value of another kind. */
  textOf(key: string): string | null {
    const value = this.#open(key);
    return value?.kind === 'string' ? value.text : null;
  }

  make<K extends Kind>(key: string, kind: K): Of<K> {
    const known = this.find(key, kind);
    if (known !== undefined) return known;
    const value = this.#makers[kind]();
    this.#slots.set(key, { value, expiresMs: undefined });
    this.#touch(key, kind);
    return value;
  }

  replace(key: string, text: string, expiresMs: number | undefined): void {
    this.#slots.set(key, { value: { kind: 'string', text }, expiresMs });
    this.#touch(key, 'string');
  }

  /** Removes an empty collection, as Redis does. */
  dropIfEmpty(key: string): void {
    const value = this.#slots.get(key)?.value;
    const isEmpty =
      (value?.kind === 'hash' && value.fields.size === 0) ||
      (value?.kind === 'zset' && value.set.size === 0) ||
      (value?.kind === 'set' && value.members.size === 0);
    if (isEmpty) this.#slots.delete(key);
  }

  exists(key: string): boolean {
    return this.#live(key) !== undefined;
  }

  remove(key: string): boolean {
    const existed = this.exists(key);
    this.#slots.delete(key);
    return existed;
  }

  /** False when there is no such key. `expiresMs` undefined: never. */
  expire(key: string, expiresMs: number | undefined): boolean {
    const slot = this.#live(key);
    if (slot === undefined) return false;
    slot.expiresMs = expiresMs;
    return true;
  }

  /** undefined: no such key; Infinity: never. */
  expiryOf(key: string): number | undefined {
    const slot = this.#live(key);
    return slot === undefined ? undefined : (slot.expiresMs ?? Number.POSITIVE_INFINITY);
  }

  /** The kind and the content of a key in one form, to compare with Redis; expiry left out. */
  contentOf(key: string): readonly [Kind, unknown] | undefined {
    const value = this.#open(key);
    switch (value?.kind) {
      case undefined:
        return undefined;
      case 'string':
        return [value.kind, value.text];
      case 'hash':
        return [value.kind, Object.fromEntries(value.fields)];
      case 'zset':
        return [value.kind, value.set.entries.map(({ member, score }) => [member, score])];
      case 'set':
        return [value.kind, [...value.members].sort()];
      case 'stream':
        return [
          value.kind,
          value.stream.entries
            .range(0, Number.POSITIVE_INFINITY)
            .map(({ sequence, fields }) => [`${sequence}-0`, fields]),
        ];
    }
  }

  #live(key: string): Slot | undefined {
    const slot = this.#slots.get(key);
    if (slot?.expiresMs === undefined || slot.expiresMs > this.#clock.nowMs()) return slot;
    this.#slots.delete(key);
    return undefined;
  }

  readonly #makers: { readonly [K in Kind]: () => Of<K> } = {
    string: () => ({ kind: 'string', text: '' }),
    hash: () => ({ kind: 'hash', fields: new Map() }),
    zset: () => ({ kind: 'zset', set: new SortedSet() }),
    set: () => ({ kind: 'set', members: new Set() }),
    stream: () => ({
      kind: 'stream',
      stream: { entries: new EntryList(this.#reader, this.#packing), lastSequence: 0 },
    }),
  };

  #valueFromStore(value: StoredValue): Value | PackedValue {
    switch (value.kind) {
      case 'packed':
        return value;
      case 'string':
        return { kind: 'string', text: value.text };
      case 'hash':
        return { kind: 'hash', fields: new Map(value.fields) };
      case 'zset': {
        const set = new SortedSet();
        for (const { member, score } of value.scored) set.add(member, score);
        return { kind: 'zset', set };
      }
      case 'set':
        return { kind: 'set', members: new Set(value.members) };
      case 'stream': {
        const { entries, lastSequence } = value;
        return {
          kind: 'stream',
          stream: { entries: new EntryList(this.#reader, this.#packing, entries), lastSequence },
        };
      }
    }
  }

  /** The value of a key, taken out of its block. */
  #open(key: string): Value | undefined {
    const slot = this.#live(key);
    if (slot === undefined || slot.value.kind !== 'packed') return slot?.value as Value | undefined;
    const { of, block, index } = slot.value;
    const words = this.#reader.values(block)[index]!;
    const value: Value =
      of === 'string' ? { kind: of, text: words[0]! } : { kind: of, fields: new Map(pairsOf(words)) };
    slot.value = value;
    this.#touch(key, of);
    return value;
  }

  #touch(key: string, kind: StoredValue['kind']): void {
    if (this.#packing === undefined) return;
    this.#removeExpired();
    if (kind !== 'string' && kind !== 'hash') return;
    // Last in the order again: what is made now is not packed now.
    this.#touched.delete(key);
    this.#touched.add(key);
    if (this.#touched.size > unpackedBlocks * this.#packing.values) this.#pack(this.#packing);
  }

  /** Moves the values that were touched longest ago into a block. */
  #pack({ values: count, charsMin }: Packing): void {
    const taken: { readonly slot: Slot; readonly of: PackedValue['of']; readonly words: readonly string[] }[] = [];
    let seen = 0;
    for (const key of this.#touched) {
      if (seen === count) break;
      seen += 1;
      this.#touched.delete(key);
      const slot = this.#live(key);
      const value = slot?.value;
      if (slot === undefined || (value?.kind !== 'string' && value?.kind !== 'hash')) continue;
      const words = value.kind === 'string' ? [value.text] : [...value.fields].flat();
      const chars = words.reduce((sum, word) => sum + word.length, 0);
      if (chars >= charsMin) taken.push({ slot, of: value.kind, words });
    }
    if (taken.length === 0) return;
    const block = packed(taken.map(({ words }) => words));
    for (const [index, { slot, of }] of taken.entries()) slot.value = { kind: 'packed', of, block, index };
  }

  /** Looks at a few keys more than are made, in a circle. */
  #removeExpired(): void {
    for (let looked = 0; looked < expiryLooks; looked += 1) {
      const next = this.#expiring.next();
      if (next.done === true) {
        this.#expiring = this.#slots.entries();
        return;
      }
      this.#live(next.value[0]);
    }
  }
}

const expiryLooks = 2;

/** `words` alternate between names and values. */
export function pairsOf(words: readonly string[]): (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < words.length; at += 2) pairs.push([words[at]!, words[at + 1]!]);
  return pairs;
}
