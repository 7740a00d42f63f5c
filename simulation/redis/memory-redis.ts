/**
 * Redis in memory, for the simulated world: the part of ioredis's client that the ports use. Every
 * client of one `MemoryRedis` sees the same keys. Scripts are the `.lua` files themselves, compiled (lua-compiler.ts), so
 * that no logic exists twice. test/simulation/redis/ compares commands, scripts and stores with a real Redis.
 *
 * It refuses, like a Redis Cluster, a script or a command that touches keys of several hash tags (../../core/redis/slots.ts).
 *
 * It models no connections and no faults: a world gives each process a client, and passes its calls through `link`, which
 * may hold, lose or refuse a command or its answer.
 */
import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { oneTag } from '../../core/redis/slots.ts';
import type { Packing } from './blocks.ts';
import type { RedisClock } from './clock.ts';
import { perform, type RedisReply } from './commands.ts';
import { Keyspace } from './keyspace.ts';
import { type Compiled, compileLua } from './lua-compiler.ts';
import { fromBytes, general, LuaTable, toBytes } from './lua-library.ts';

export interface RedisLink {
  /**
   * Carries a command, or the script of that path, to Redis and its answer back. `perform` runs it synchronously; the link
   * calls it once, now or later, or never.
   */
  command<T>(perform: () => T, name: string): Promise<T>;
  /** Delivers a published message to a subscriber, later or never. Without it, at once. */
  push?(deliver: () => void): void;
}

const atOnce: RedisLink = { command: async (perform) => perform() };

type Word = string | number | Uint8Array;

export class MemoryRedis {
  readonly space: Keyspace;
  readonly #listeners = new Set<(channel: string, message: string) => void>();

  /** `packing`: for a service that runs for long (keyspace.ts). */
  constructor(clock: RedisClock, packing?: Packing) {
    const publish = (channel: string, message: string) => {
      for (const listener of [...this.#listeners]) listener(channel, message);
      return this.#listeners.size;
    };
    this.space = new Keyspace(clock, { publish, packing });
  }

  /** A client of a process. Features of ioredis that this class lacks are undefined there. */
  client(link: RedisLink = atOnce): Redis {
    return new MemoryClient(this.space, link, this.#listeners) as unknown as Redis;
  }
}

class MemoryClient extends EventEmitter {
  /** As in ioredis. */
  readonly status = 'ready';
  readonly #space: Keyspace;
  readonly #link: RedisLink;
  readonly #listeners: Set<(channel: string, message: string) => void>;
  readonly #subscribed = new Map<string, (channel: string, message: string) => void>();

  constructor(space: Keyspace, link: RedisLink, listeners: Set<(channel: string, message: string) => void>) {
    super();
    this.#space = space;
    this.#link = link;
    this.#listeners = listeners;
    for (const name of plainCommands)
      this.#define(name, (words) => {
        oneTag(name, words);
        return fromReply(perform(this.#space, name, words), fromBytes);
      });
    this.#define('call', ([name, ...words]) => fromReply(perform(this.#space, name!, words), fromBytes));
    this.#define('hgetall', (words) => {
      const flat = perform(this.#space, 'HGETALL', words) as readonly string[];
      return Object.fromEntries(
        flat.flatMap((field, at) => (at % 2 === 0 ? [[fromBytes(field), fromBytes(flat[at + 1]!)]] : [])),
      );
    });
  }

  defineCommand(name: string, { lua, numberOfKeys }: { readonly lua: string; readonly numberOfKeys: number }): void {
    const run = (words: readonly string[]) => {
      const keys = words.slice(0, numberOfKeys);
      const tag = oneTag('MGET', keys);
      // Compiles at the first call: most processes use few of their registered scripts.
      return compiled(lua)(keys, words.slice(numberOfKeys), (command, args) => {
        // Most arguments are texts already.
        const texts = args.every(isText) ? args : args.map(argumentText);
        if (tag !== undefined) oneTag(command, texts, tag);
        return toLua(perform(this.#space, command, texts));
      });
    };
    this.#define(name, (words) => fromLua(run(words), fromBytes));
    this.#define(`${name}Buffer`, (words) => fromLua(run(words), (text) => Buffer.from(text, 'latin1')));
  }

  async psubscribe(pattern: string): Promise<number> {
    if (!/^[^*?[]*\*$/.test(pattern)) throw new Error(`the in-memory Redis has no pattern ${pattern}`);
    const prefix = pattern.slice(0, -1);
    this.#hear(pattern, (channel, message) => {
      if (channel.startsWith(prefix)) this.#push(() => this.emit('pmessage', pattern, channel, message));
    });
    return this.#subscribed.size;
  }

  async subscribe(...names: readonly string[]): Promise<number> {
    for (const name of names) {
      this.#hear(name, (channel, message) => {
        if (name === channel) this.#push(() => this.emit('message', channel, message));
      });
    }
    return this.#subscribed.size;
  }

  async unsubscribe(...names: readonly string[]): Promise<number> {
    for (const name of names) this.#unhear(name);
    return this.#subscribed.size;
  }

  duplicate(): Redis {
    return new MemoryClient(this.#space, this.#link, this.#listeners) as unknown as Redis;
  }

  async quit(): Promise<'OK'> {
    this.disconnect();
    return 'OK';
  }

  disconnect(): void {
    for (const name of [...this.#subscribed.keys()]) this.#unhear(name);
  }

  /** A second subscription to the same channel has no effect. */
  #hear(name: string, listener: (channel: string, message: string) => void): void {
    if (this.#subscribed.has(name)) return;
    this.#subscribed.set(name, listener);
    this.#listeners.add(listener);
  }

  #unhear(name: string): void {
    const listener = this.#subscribed.get(name);
    if (listener !== undefined) this.#listeners.delete(listener);
    this.#subscribed.delete(name);
  }

  #push(deliver: () => void): void {
    if (this.#link.push === undefined) deliver();
    else this.#link.push(deliver);
  }

  #define(name: string, perform: (words: readonly string[]) => unknown): void {
    Object.defineProperty(this, name, {
      configurable: true,
      // A call takes effect when it reaches Redis, so its arguments are copied now.
      value: (...words: readonly (Word | readonly Word[] | Readonly<Record<string, Word>>)[]) => {
        const texts: string[] = [];
        for (const word of words) {
          if (typeof word === 'string') texts.push(toBytes(word));
          else if (typeof word === 'number') texts.push(String(word));
          else texts.push(...wordTexts(word));
        }
        return this.#link.command(() => perform(texts), name);
      },
    });
  }
}

const plainCommands = [
  ...['get', 'set', 'setnx', 'mget', 'mset', 'incr', 'del', 'unlink', 'exists', 'pexpire', 'pttl', 'ping', 'publish'],
  ...['keys', 'scan', 'type', 'dbsize', 'flushdb', 'time', 'hkeys', 'hexists', 'xadd'],
  ...['hget', 'hmget', 'hset', 'hsetnx', 'hdel', 'hvals', 'hlen', 'hincrby', 'sadd', 'srem', 'smembers'],
  ...['zadd', 'zrem', 'zcard', 'zscore', 'zrange', 'zrangebyscore', 'zcount', 'xrange'],
];

const scripts = new Map<string, Compiled>();

function compiled(lua: string): Compiled {
  const known = scripts.get(lua);
  if (known !== undefined) return known;
  const made = compileLua(lua);
  scripts.set(lua, made);
  return made;
}

function wordTexts(word: Word | readonly Word[] | Readonly<Record<string, Word>>): string[] {
  if (typeof word === 'string') return [toBytes(word)];
  if (typeof word === 'number') return [String(word)];
  if (word instanceof Uint8Array) return [Buffer.from(word).toString('latin1')];
  if (Array.isArray(word)) return word.flatMap(wordTexts);
  return Object.entries(word).flatMap(([field, value]) => [toBytes(field), ...wordTexts(value)]);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A script's number as Redis writes it into a command. */
function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : general(value, 17);
  throw new Error('Lua redis lib command arguments must be strings or integers');
}

/** The client's form of a reply. `made`: converts each text. */
function fromReply(reply: RedisReply, made: (text: string) => unknown): unknown {
  if (typeof reply === 'string') return made(reply);
  if (reply === null || typeof reply === 'number') return reply;
  if (Array.isArray(reply)) return reply.map((each) => fromReply(each as RedisReply, made));
  return (reply as { readonly status: string }).status;
}

/** The script's form of a command's reply. */
function toLua(reply: RedisReply): unknown {
  if (reply === null) return false;
  if (typeof reply === 'string' || typeof reply === 'number') return reply;
  if (Array.isArray(reply)) return new LuaTable(reply.map((each) => toLua(each as RedisReply)));
  const status = new LuaTable();
  status.set('ok', (reply as { readonly status: string }).status);
  return status;
}

/** The client's form of a script's result: numbers lose their fraction, a list ends at its first nil. */
function fromLua(value: unknown, made: (text: string) => unknown): unknown {
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  if (typeof value === 'string') return made(value);
  if (!(value instanceof LuaTable)) return null;
  const [status, error] = [value.get('ok'), value.get('err')];
  if (typeof error === 'string') throw new Error(error);
  if (typeof status === 'string') return status;
  const nil = value.items.indexOf(undefined);
  const items = nil < 0 ? value.items : value.items.slice(0, nil);
  return items.map((each) => fromLua(each, made));
}
