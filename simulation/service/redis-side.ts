/**
 * The Redis of a simulated world, and a process's connection to it: its latency and its faults. The commands of one connection
 * arrive in order, and so do their answers, as on a socket.
 */
import type { Redis } from 'ioredis';
import type { RandomBytes } from '../../core/actors/contract.ts';
import { RedisReach } from '../cluster/store-side.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';
import type { Packing } from '../redis/blocks.ts';
import { MemoryRedis, type RedisLink } from '../redis/memory-redis.ts';
import type { ProcessLife } from './process-life.ts';

/** The latency of one direction, in whole milliseconds, drawn for each command and each answer. */
export interface WayMs {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Gets each reply of Redis, also one that is lost on its way. `reply` throws for an error. */
export type ReplyListener = (name: string, reply: () => unknown) => void;

/** The live client's timeout (gateway/redis.ts). */
const commandTimeoutMs = 1_000;

export class SimRedis {
  readonly memory: MemoryRedis;
  /** Whether processes reach it, coordinators too. */
  readonly reach = new RedisReach();
  readonly #time: VirtualTime;
  readonly #way: WayMs;
  readonly #replied: ReplyListener | undefined;

  constructor(time: VirtualTime, way: WayMs, packing?: Packing, replied?: ReplyListener) {
    this.#time = time;
    this.#way = way;
    this.#replied = replied;
    this.memory = new MemoryRedis({ nowMs: () => Math.floor(time.nowMs()) }, packing);
  }

  /** After this time, and not before Redis is back. */
  after(ms: number, run: () => void): void {
    this.#time.after(ms, () => this.reach.whenUp(run));
  }

  /** A connection of this process, as the gateway's: it fails at once while Redis is unreachable. */
  client(life: ProcessLife, random: RandomBytes): Redis {
    const towards = new Line(this.#time, this.#way, random);
    const back = new Line(this.#time, this.#way, random);
    const link: RedisLink = {
      command: (perform, name) =>
        life.call('redis', name, (fate, answer) => {
          const failLater = (text: string) =>
            this.#time.after(commandTimeoutMs, () => answer(failing(new Error(text))), true);
          if (!this.reach.isUp) {
            const text = "Stream isn't writeable and enableOfflineQueue options is false";
            this.#time.after(1, () => answer(failing(new Error(text))));
            return;
          }
          if (fate.fate === 'lost') {
            failLater('Command timed out');
            return;
          }
          towards.carry(fate.delayMs ?? 0, () => {
            if (!this.reach.isUp) {
              back.carry(0, () => answer(failing(new Error('Connection is closed.'))));
              return;
            }
            if (fate.fate === 'refused') {
              const text = "OOM command not allowed when used memory > 'maxmemory'.";
              back.carry(0, () => answer(failing(replyError(text))));
              return;
            }
            const settle = outcome(perform);
            this.#replied?.(name, settle);
            if (fate.fate === 'unanswered') failLater('Command timed out');
            else back.carry(0, () => answer(settle));
          });
        }),
      push: (deliver) => back.carry(0, () => life.enter(deliver)),
    };
    return this.memory.client(link);
  }
}

/** One direction of a connection. */
class Line {
  readonly #time: VirtualTime;
  readonly #way: WayMs;
  readonly #random: RandomBytes;
  #lastMs = 0;

  constructor(time: VirtualTime, way: WayMs, random: RandomBytes) {
    this.#time = time;
    this.#way = way;
    this.#random = random;
  }

  carry(delayMs: number, arrive: () => void): void {
    const { minMs, maxMs } = this.#way;
    const drawnMs = maxMs > minMs ? minMs + (this.#random(1)[0]! % (maxMs - minMs + 1)) : minMs;
    const nowMs = this.#time.nowMs();
    this.#lastMs = Math.max(this.#lastMs, nowMs + drawnMs + delayMs);
    this.#time.after(this.#lastMs - nowMs, arrive);
  }
}

function outcome<T>(perform: () => T): () => T {
  try {
    const value = perform();
    return () => value;
  } catch (error) {
    return failing(error);
  }
}

/** ioredis's message for a refusal of Redis. */
function replyError(text: string): Error {
  return Object.assign(new Error(text), { name: 'ReplyError' });
}

function failing(error: unknown): () => never {
  return () => {
    throw error;
  };
}
