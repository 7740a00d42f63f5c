/**
 * The ports of the live world: the system's clock and timers, the operating system's randomness, and the log that the
 * runtime writes to (a pino logger fits as it is).
 */
import { randomFillSync } from 'node:crypto';
import type { Clock, MachineMs, Ports, RandomBytes, Timers } from '../contract.ts';

/** Structured logging: plain public fields, then a sentence. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLog: Log = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} });

let clockOffsetMs = 0;

/** The service's time: the system's clock, and the offset of this process. */
export const systemClock: Clock = Object.freeze({ nowMs: () => Date.now() + clockOffsetMs });

/** Sets the total offset of this process in milliseconds. Timers do not change. */
export function shiftSystemClock(offsetMs: number): void {
  clockOffsetMs = offsetMs;
}

export const systemTimers: Timers = Object.freeze({
  epochMs: () => Date.now() as MachineMs,
  elapsedMs: () => performance.now(),
  start: (afterMs: number, run: () => void) => {
    const timer = setTimeout(run, afterMs);
    return () => clearTimeout(timer);
  },
});

const poolBytes = 8192;
const pool = Buffer.alloc(poolBytes);
let poolUsedBytes = poolBytes;

/**
 * `length` fresh bytes of the operating system's generator. One call to the system fills a pool for many draws; bytes
 * that were handed out are wiped from the pool, since they may be nonces. The caller owns what it gets.
 */
export const systemRandom: RandomBytes = (length) => {
  if (length > poolBytes) return randomFillSync(new Uint8Array(length));
  if (poolUsedBytes + length > poolBytes) {
    randomFillSync(pool);
    poolUsedBytes = 0;
  }
  const end = poolUsedBytes + length;
  const bytes = new Uint8Array(length);
  bytes.set(pool.subarray(poolUsedBytes, end));
  pool.fill(0, poolUsedBytes, end);
  poolUsedBytes = end;
  return bytes;
};

export const systemPorts: Ports = Object.freeze({ clock: systemClock, timers: systemTimers, random: systemRandom });
