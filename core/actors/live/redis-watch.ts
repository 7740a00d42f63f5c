/**
 * Checks periodically with a test write whether a Redis accepts writes. At every change it logs the reason once and notifies
 * its listeners: so health and the start-up progress know the reason, and the log is not flooded.
 *
 * A refused connection does not always give a reason (protected mode closes it before the client library has sent a command):
 * then a separate connection reads Redis's message.
 */
import { connect } from 'node:net';
import type { Log } from './ports.ts';
import { closedRefusal, type RedisRefusal, redisName, redisRefusal } from './redis-refusal.ts';

/** Of an ioredis client, what is used here. */
export interface WatchedRedis {
  readonly status: string;
  set(key: string, value: string, unit: 'PX', milliseconds: number): Promise<unknown>;
  on(event: 'connect' | 'ready' | 'close' | 'error', listener: (error?: Error) => void): unknown;
}

export interface RedisWatchOptions {
  readonly redis: WatchedRedis;
  /** With its password: secret. */
  readonly url: string;
  readonly log: Log;
  /** The key that is written; it is gone after some seconds. */
  readonly probeKey: string;
  /** Called with every change; undefined: it takes writes. */
  readonly onChange?: (refusal: RedisRefusal | undefined) => void;
}

const healthyEveryMs = 2_000;
const troubledEveryMs = 250;
const probeTtlMs = 5_000;
const wordsWithinMs = 1_000;
const wordsCharsMax = 1_000;
const slow = 'TIMEOUT';

export class RedisWatch {
  readonly #options: RedisWatchOptions;
  readonly #name: string;
  /** The code of what was said last; undefined: nothing was. */
  #said: string | undefined;
  #trouble: string | undefined;
  /** Why the connection is not there; undefined: it did not say. */
  #lastError: RedisRefusal | undefined;
  #timeouts = 0;
  #checking = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: RedisWatchOptions) {
    this.#options = options;
    this.#name = redisName(options.url);
    this.#trouble = `${this.#name} has not answered yet`;
    const { redis } = options;
    redis.on('error', (error) => {
      this.#lastError = redisRefusal(error) ?? this.#lastError;
    });
    redis.on('connect', () => {
      this.#lastError = undefined;
    });
    for (const event of ['ready', 'close'] as const) redis.on(event, () => this.#check());
    this.#check();
  }

  /** One line; undefined while it takes writes. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    if (this.#checking || this.#stopped) return;
    this.#checking = true;
    clearTimeout(this.#timer);
    const found = await this.#probe();
    this.#checking = false;
    if (this.#stopped) return;
    this.#found(found);
    this.#timer = setTimeout(() => this.#check(), this.#trouble === undefined ? healthyEveryMs : troubledEveryMs);
    this.#timer.unref();
  }

  /** `unknown`: nothing is known yet. */
  async #probe(): Promise<RedisRefusal | 'takes writes' | 'unknown'> {
    const { redis, url, probeKey } = this.#options;
    if (redis.status === 'ready') {
      try {
        await redis.set(probeKey, '1', 'PX', probeTtlMs);
        return 'takes writes';
      } catch (error) {
        const refusal = redisRefusal(error);
        if (refusal !== undefined) return refusal;
      }
    }
    return this.#lastError ?? (await firstWords(url)) ?? 'unknown';
  }

  #found(found: RedisRefusal | 'takes writes' | 'unknown'): void {
    if (found === 'unknown') return;
    const { log, onChange } = this.#options;
    if (found === 'takes writes') {
      this.#timeouts = 0;
      if (this.#trouble === undefined) return;
      this.#trouble = undefined;
      log.info({ event: 'redis.usable' }, `${this.#name} takes writes`);
      this.#said = undefined;
      onChange?.(undefined);
      return;
    }
    // One slow answer is a busy machine's.
    this.#timeouts = found.code === slow ? this.#timeouts + 1 : 0;
    if (this.#timeouts === 1) return;
    if (this.#said === found.code) return;
    this.#said = found.code;
    this.#trouble = `${this.#name} ${found.text}`;
    log.warn({ event: 'redis.refuses', code: found.code }, `${this.#trouble}; retrying`);
    onChange?.(found);
  }
}

/**
 * Redis's message to a connection that only sends a greeting; undefined: no problem that Redis reports before authentication.
 * Never rejects.
 */
export function firstWords(url: string, withinMs = wordsWithinMs): Promise<RedisRefusal | undefined> {
  // For a Redis Cluster the first node represents all.
  const { protocol, hostname, port, password } = new URL(url.split(',')[0]!);
  if (protocol !== 'redis:') return Promise.resolve(undefined);
  return new Promise((resolve) => {
    let words = '';
    const socket = connect(Number(port || 6379), hostname.replace(/^\[|\]$/g, ''), () => socket.write('PING\r\n'));
    const end = (refusal: RedisRefusal | undefined) => {
      socket.destroy();
      resolve(refusal);
    };
    const heard = () => {
      const [line = ''] = words.split('\r\n', 1);
      if (line === '') return end(closedRefusal);
      // A Redis that restarted without its password asks every client for one.
      if (line.startsWith('+') || (line.startsWith('-NOAUTH') && password !== '')) return end(undefined);
      end(redisRefusal(new Error(line.startsWith('-') ? line.slice(1) : `Unknown RESP type "${line.slice(0, 20)}"`)));
    };
    socket.setTimeout(withinMs, () => end(redisRefusal(new Error('timed out'))));
    socket.on('data', (data) => {
      words += data.toString('latin1').slice(0, wordsCharsMax);
      if (words.includes('\r\n')) heard();
    });
    socket.on('error', (error) => end(redisRefusal(error)));
    socket.on('end', heard);
  });
}
