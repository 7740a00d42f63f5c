/**
 * The Redis commands that the ports use, one function for each, with the answers of Redis: null for nothing, numbers, texts,
 * lists. Commands, and forms of them, that no port uses throw UnknownCommand.
 */
import { CommandError, type Keyspace, pairsOf } from './keyspace.ts';
import { general } from './lua-library.ts';
import type { SortedSet } from './sorted-set.ts';

export class UnknownCommand extends Error {
  override readonly name = 'UnknownCommand';
}

export type RedisReply = null | number | string | readonly RedisReply[] | { readonly status: string };

const ok: RedisReply = Object.freeze({ status: 'OK' });

/** Throws UnknownCommand, or a CommandError as Redis would answer. */
export function perform(space: Keyspace, command: string, args: readonly string[]): RedisReply {
  const run = commands[command.toUpperCase()];
  if (run === undefined) throw new UnknownCommand(`the in-memory Redis has no command ${command}`);
  return run(space, args);
}

type Command = (space: Keyspace, args: readonly string[]) => RedisReply;

function whole(text: string | undefined): number {
  if (text === undefined || !/^-?\d+$/.test(text))
    throw new CommandError('ERR value is not an integer or out of range');
  return Number(text);
}

/** A score: a number, or one of both infinities. */
function float(text: string | undefined): number {
  if (text === '-inf') return Number.NEGATIVE_INFINITY;
  if (text === '+inf' || text === 'inf') return Number.POSITIVE_INFINITY;
  const value = Number(text);
  if (text === undefined || text.trim() === '' || Number.isNaN(value))
    throw new CommandError('ERR value is not a valid float');
  return value;
}

/** 64-bit, as decimal text. */
function increased(standing: string | undefined, by: string): string {
  if (!/^-?\d+$/.test(by) || (standing !== undefined && !/^-?\d+$/.test(standing))) {
    throw new CommandError('ERR value is not an integer or out of range');
  }
  const sum = BigInt(standing ?? 0) + BigInt(by);
  if (BigInt.asIntN(64, sum) !== sum) throw new CommandError('ERR increment or decrement would overflow');
  return String(sum);
}

/** Formats a score as Redis 7.0; later versions write fractions, which no port uses, in their shortest form. */
function scoreText(score: number): string {
  return Number.isSafeInteger(score) ? String(score) : general(score, 17);
}

/** The entries between two positions; negative ones count from the end. */
function slice<T>(items: readonly T[], from: number, to: number): T[] {
  const first = from < 0 ? Math.max(0, items.length + from) : from;
  const last = to < 0 ? items.length + to : to;
  return items.slice(first, last + 1);
}

function withScores(entries: readonly { member: string; score: number }[], scores: boolean): string[] {
  if (!scores) return entries.map(({ member }) => member);
  return entries.flatMap(({ member, score }) => [member, scoreText(score)]);
}

interface RangeOptions {
  readonly scores: boolean;
  readonly reverse: boolean;
  readonly by: 'rank' | 'score' | 'lex';
  readonly offset: number;
  /** Negative: all. */
  readonly count: number;
}

function rangeOptions(words: readonly string[]): RangeOptions {
  let [scores, reverse, offset, count] = [false, false, 0, -1];
  let by: RangeOptions['by'] = 'rank';
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]!.toUpperCase();
    if (word === 'WITHSCORES') scores = true;
    else if (word === 'REV') reverse = true;
    else if (word === 'BYLEX') by = 'lex';
    else if (word === 'BYSCORE') by = 'score';
    else if (word === 'LIMIT') {
      [offset, count] = [whole(words[at + 1]), whole(words[at + 2])];
      at += 2;
    } else throw new UnknownCommand(`the in-memory Redis has no range option ${word}`);
  }
  return { scores, reverse, by, offset, count };
}

/** The positions of the first entry within a bound and of the first beyond it. */
function span(set: SortedSet | undefined, low: string, high: string, by: 'score' | 'lex'): readonly [number, number] {
  if (by === 'score') {
    const [from, fromOpen] = scoreBound(low);
    const [to, toOpen] = scoreBound(high);
    if (set === undefined) return [0, 0];
    return [
      set.firstFrom(({ score }) => (fromOpen ? score > from : score >= from)),
      set.firstFrom(({ score }) => (toOpen ? score >= to : score > to)),
    ];
  }
  const below =
    (bound: string) =>
    ({ member }: { member: string }) => {
      if (bound === '-') return true;
      if (bound === '+') return false;
      return bound.startsWith('[') ? member >= bound.slice(1) : member > bound.slice(1);
    };
  const beyond =
    (bound: string) =>
    ({ member }: { member: string }) => {
      if (bound === '-') return true;
      if (bound === '+') return false;
      return bound.startsWith('[') ? member > bound.slice(1) : member >= bound.slice(1);
    };
  if (set === undefined) return [0, 0];
  return [set.firstFrom(below(low)), set.firstFrom(beyond(high))];
}

function scoreBound(text: string): readonly [number, boolean] {
  return text.startsWith('(') ? [float(text.slice(1)), true] : [float(text), false];
}

function range(set: SortedSet | undefined, low: string, high: string, options: RangeOptions): string[] {
  const { scores, reverse, by, offset, count } = options;
  if (by === 'rank') {
    const entries = set?.entries ?? [];
    return withScores(slice(reverse ? [...entries].reverse() : entries, whole(low), whole(high)), scores);
  }
  const [from, to] = reverse ? span(set, high, low, by) : span(set, low, high, by);
  if (set === undefined || from >= to) return [];
  // Copies only the requested range: a set may be large.
  const length = to - from;
  const taken = count < 0 ? length - offset : Math.min(count, length - offset);
  if (taken <= 0 || offset < 0) return [];
  const part = reverse
    ? set.entries.slice(to - offset - taken, to - offset).reverse()
    : set.entries.slice(from + offset, from + offset + taken);
  return withScores(part, scores);
}

function streamId(text: string): number {
  if (text === '-') return 0;
  if (text === '+') return Number.POSITIVE_INFINITY;
  const [, sequence, part] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  if (sequence === undefined || (part !== undefined && part !== '0')) {
    throw new UnknownCommand(`the in-memory Redis has no stream id ${text}`);
  }
  return Number(sequence);
}

function evenPairs(words: readonly string[]): readonly (readonly [string, string])[] {
  if (words.length % 2 !== 0) throw new CommandError('ERR wrong number of arguments');
  return pairsOf(words);
}

const commands: Readonly<Record<string, Command>> = {
  PING: () => ({ status: 'PONG' }),
  TIME: (space) => {
    const ms = space.nowMs;
    return [String(Math.floor(ms / 1000)), String(Math.floor((ms % 1000) * 1000))];
  },
  FLUSHDB: (space) => {
    space.clear();
    return ok;
  },
  /** In one page. */
  SCAN: (space, [, match, pattern]) => {
    if (match?.toUpperCase() !== 'MATCH') throw new UnknownCommand('SCAN without MATCH');
    const parts = pattern!.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const matching = new RegExp(`^${parts.join('.*')}$`);
    return ['0', space.keys().filter((key) => matching.test(key))];
  },
  DBSIZE: (space) => space.keys().length,
  KEYS: (space, [pattern]) => {
    if (!/^[^*?[\\]*\*$/.test(pattern!)) throw new UnknownCommand(`KEYS ${pattern}`);
    return space.keys().filter((key) => key.startsWith(pattern!.slice(0, -1)));
  },
  TYPE: (space, [key]) => ({ status: space.contentOf(key!)?.[0] ?? 'none' }),
  PUBLISH: (space, [channel, message]) => space.publish(channel!, message!),

  EXISTS: (space, keys) => keys.filter((key) => space.exists(key)).length,
  DEL: (space, keys) => keys.filter((key) => space.remove(key)).length,
  UNLINK: (space, keys) => keys.filter((key) => space.remove(key)).length,
  PEXPIRE: (space, [key, ms]) => {
    const forMs = whole(ms);
    if (forMs <= 0) return space.remove(key!) ? 1 : 0;
    return space.expire(key!, space.nowMs + forMs) ? 1 : 0;
  },
  PERSIST: (space, [key]) => {
    const expiry = space.expiryOf(key!);
    if (expiry === undefined || expiry === Number.POSITIVE_INFINITY) return 0;
    return space.expire(key!, undefined) ? 1 : 0;
  },
  PEXPIRETIME: (space, [key]) => {
    const expiry = space.expiryOf(key!);
    if (expiry === undefined) return -2;
    return expiry === Number.POSITIVE_INFINITY ? -1 : Math.floor(expiry);
  },
  PTTL: (space, [key]) => {
    const expiry = space.expiryOf(key!);
    if (expiry === undefined) return -2;
    return expiry === Number.POSITIVE_INFINITY ? -1 : expiry - space.nowMs;
  },

  GET: (space, [key]) => space.find(key!, 'string')?.text ?? null,
  MGET: (space, keys) => keys.map((key) => space.textOf(key)),
  MSET: (space, words) => {
    for (let at = 0; at < words.length; at += 2) space.replace(words[at]!, words[at + 1]!, undefined);
    return ok;
  },
  SET: (space, [key, text, ...options]) => {
    let [expiresMs, onlyNew]: [number | undefined, boolean] = [undefined, false];
    for (let at = 0; at < options.length; at += 1) {
      const word = options[at]!.toUpperCase();
      if (word === 'NX') onlyNew = true;
      else if (word === 'PX' || word === 'EX') {
        expiresMs = space.nowMs + whole(options[at + 1]) * (word === 'EX' ? 1000 : 1);
        at += 1;
      } else throw new UnknownCommand(`the in-memory Redis has no option ${word} of SET`);
    }
    if (onlyNew && space.exists(key!)) return null;
    space.replace(key!, text!, expiresMs);
    return ok;
  },
  SETNX: (space, [key, text]) => {
    if (space.exists(key!)) return 0;
    space.replace(key!, text!, undefined);
    return 1;
  },
  INCR: (space, [key]) => {
    const text = increased(space.find(key!, 'string')?.text, '1');
    space.make(key!, 'string').text = text;
    return Number(text);
  },

  HSET: (space, words) => {
    const { fields } = space.make(words[0]!, 'hash');
    if (words.length % 2 !== 1) throw new CommandError('ERR wrong number of arguments');
    const before = fields.size;
    for (let at = 1; at < words.length; at += 2) fields.set(words[at]!, words[at + 1]!);
    return fields.size - before;
  },
  HSETNX: (space, [key, field, text]) => {
    const { fields } = space.make(key!, 'hash');
    if (fields.has(field!)) return 0;
    fields.set(field!, text!);
    return 1;
  },
  HGET: (space, [key, field]) => space.find(key!, 'hash')?.fields.get(field!) ?? null,
  HMGET: (space, [key, ...names]) => {
    const fields = space.find(key!, 'hash')?.fields;
    return names.map((name) => fields?.get(name) ?? null);
  },
  HGETALL: (space, [key]) => [...(space.find(key!, 'hash')?.fields ?? [])].flat(),
  HKEYS: (space, [key]) => [...(space.find(key!, 'hash')?.fields.keys() ?? [])],
  HVALS: (space, [key]) => [...(space.find(key!, 'hash')?.fields.values() ?? [])],
  HLEN: (space, [key]) => space.find(key!, 'hash')?.fields.size ?? 0,
  HEXISTS: (space, [key, field]) => (space.find(key!, 'hash')?.fields.has(field!) ? 1 : 0),
  HSTRLEN: (space, [key, field]) => space.find(key!, 'hash')?.fields.get(field!)?.length ?? 0,
  HDEL: (space, [key, ...names]) => {
    const fields = space.find(key!, 'hash')?.fields;
    const removed = names.filter((name) => fields?.delete(name)).length;
    space.dropIfEmpty(key!);
    return removed;
  },
  HINCRBY: (space, [key, field, by]) => {
    increased(undefined, by!);
    const text = increased(space.find(key!, 'hash')?.fields.get(field!), by!);
    space.make(key!, 'hash').fields.set(field!, text);
    return Number(text);
  },

  SADD: (space, [key, ...members]) => {
    const standing = space.make(key!, 'set').members;
    const before = standing.size;
    for (const member of members) standing.add(member);
    return standing.size - before;
  },
  SREM: (space, [key, ...members]) => {
    const standing = space.find(key!, 'set')?.members;
    const removed = members.filter((member) => standing?.delete(member)).length;
    space.dropIfEmpty(key!);
    return removed;
  },
  SMEMBERS: (space, [key]) => [...(space.find(key!, 'set')?.members ?? [])],

  ZADD: (space, [key, ...words]) => {
    const option = words[0]!.toUpperCase();
    const isLower = option === 'LT';
    if (/^(NX|XX|GT|CH|INCR)$/.test(option))
      throw new UnknownCommand(`the in-memory Redis has no option ${option} of ZADD`);
    // Reads all scores before any change.
    const entries = evenPairs(isLower ? words.slice(1) : words).map(([score, member]) => ({
      score: float(score),
      member,
    }));
    const { set } = space.make(key!, 'zset');
    let added = 0;
    for (const { score, member } of entries) {
      const known = set.score(member);
      if (isLower && known !== undefined && known <= score) continue;
      if (set.add(member, score)) added += 1;
    }
    return added;
  },
  ZREM: (space, [key, ...members]) => {
    const set = space.find(key!, 'zset')?.set;
    const removed = members.filter((member) => set?.remove(member)).length;
    space.dropIfEmpty(key!);
    return removed;
  },
  ZCARD: (space, [key]) => space.find(key!, 'zset')?.set.size ?? 0,
  ZSCORE: (space, [key, member]) => {
    const score = space.find(key!, 'zset')?.set.score(member!);
    return score === undefined ? null : scoreText(score);
  },
  ZMSCORE: (space, [key, ...members]) => {
    const set = space.find(key!, 'zset')?.set;
    return members.map((member) => {
      const score = set?.score(member);
      return score === undefined ? null : scoreText(score);
    });
  },
  ZRANK: (space, [key, member]) => space.find(key!, 'zset')?.set.rank(member!) ?? null,
  ZRANGE: (space, [key, low, high, ...options]) =>
    range(space.find(key!, 'zset')?.set, low!, high!, rangeOptions(options)),
  ZREVRANGE: (space, [key, low, high, ...options]) =>
    range(space.find(key!, 'zset')?.set, low!, high!, { ...rangeOptions(options), reverse: true }),
  ZRANGEBYSCORE: (space, [key, low, high, ...options]) =>
    range(space.find(key!, 'zset')?.set, low!, high!, { ...rangeOptions(options), by: 'score' }),
  ZREVRANGEBYSCORE: (space, [key, high, low, ...options]) =>
    range(space.find(key!, 'zset')?.set, high!, low!, { ...rangeOptions(options), by: 'score', reverse: true }),
  ZCOUNT: (space, [key, low, high]) => {
    const set = space.find(key!, 'zset')?.set;
    const [from, to] = span(set, low!, high!, 'score');
    return Math.max(0, to - from);
  },
  ZLEXCOUNT: (space, [key, low, high]) => {
    const set = space.find(key!, 'zset')?.set;
    const [from, to] = span(set, low!, high!, 'lex');
    return Math.max(0, to - from);
  },
  ZPOPMIN: (space, [key]) => {
    const set = space.find(key!, 'zset')?.set;
    const [first] = set?.entries ?? [];
    if (first === undefined) return [];
    set!.remove(first.member);
    space.dropIfEmpty(key!);
    return [first.member, scoreText(first.score)];
  },
  ZREMRANGEBYSCORE: (space, [key, low, high]) => {
    const set = space.find(key!, 'zset')?.set;
    const [from, to] = span(set, low!, high!, 'score');
    const gone = (set?.entries ?? []).slice(from, to).map(({ member }) => member);
    for (const member of gone) set?.remove(member);
    space.dropIfEmpty(key!);
    return gone.length;
  },

  XADD: (space, [key, ...words]) => {
    const [id, ...fields] = words;
    const { stream } = space.make(key!, 'stream');
    const sequence = streamId(id!);
    if (sequence <= stream.lastSequence) {
      throw new CommandError('ERR The ID specified in XADD is equal or smaller than the target stream top item');
    }
    stream.lastSequence = sequence;
    stream.entries.push({ sequence, fields });
    return id!;
  },
  XLEN: (space, [key]) => space.find(key!, 'stream')?.stream.entries.size ?? 0,
  XRANGE: (space, [key, low, high, option, count]) => {
    if (option !== undefined && option.toUpperCase() !== 'COUNT') throw new UnknownCommand(`XRANGE with ${option}`);
    const entries = space.find(key!, 'stream')?.stream.entries;
    const most = count === undefined ? undefined : Math.max(0, whole(count));
    const found = entries?.range(streamId(low!), streamId(high!), most) ?? [];
    return found.map(({ sequence, fields }) => [`${sequence}-0`, fields]);
  },
  XTRIM: (space, [key, option, id]) => {
    if (option!.toUpperCase() !== 'MINID') throw new UnknownCommand(`XTRIM with ${option}`);
    return space.find(key!, 'stream')?.stream.entries.trimBelow(streamId(id!)) ?? 0;
  },
};
