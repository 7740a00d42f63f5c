/** The registry of due work in Redis: a sorted set of tenants and a hash beside it, for each kind in one slot. */
import type { Redis } from 'ioredis';
import { onNewMaster } from './connect.ts';
import {
  claimedMax,
  type DueHandler,
  type DueKind,
  type DueWork,
  holdMs,
  lateWriteMs,
  recheckMs,
  registeredForMs,
  unsettledMs,
} from './due-work.ts';
import { type LuaCommand, luaCommand, luaScript } from './lua.ts';

interface Keys {
  readonly [name: string]: string;
  /** Sorted set: tenants by the earliest time at which work may be due. */
  readonly tenantsKey: string;
  /** Hash: the last registration of each tenant of the set, in ms of Redis's clock. */
  readonly registeredKey: string;
}

interface Register {
  readonly keys: Keys;
  readonly args: { readonly tenant: string; readonly atMs: number };
}

interface Claim {
  readonly keys: Keys;
  readonly args: { readonly nowMs: number; readonly heldUntilMs: number; readonly limit: number };
}

interface Settle {
  readonly keys: Keys;
  readonly args: {
    readonly tenant: string;
    readonly heldUntilMs: number;
    readonly claimedAtMs: string;
    readonly unsettledMs: number;
    readonly nextAtMs: number | '';
    readonly recheckAtMs: number;
  };
}

const registerScript = luaScript<Register, number>('core/redis/due-register.lua');
const claimScript = luaScript<Claim, readonly [claimedAtMs: string, tenants: readonly string[]]>(
  'core/redis/due-claim.lua',
);
const settleScript = luaScript<Settle, number>('core/redis/due-settle.lua');

export interface RedisDueWorkOptions {
  /** Converts Redis's answers and failures to the callers' form. */
  readonly asking?: <T>(reply: Promise<T>) => Promise<T>;
  /** Monotonic time, ms. */
  readonly elapsedMs?: () => number;
}

/** The most cached registrations; a tenant beyond them is registered once more than needed. */
const rememberedMax = 10_000;

interface Registration {
  readonly atMs: number;
  /** In ms of `elapsedMs`. */
  readonly sentMs: number;
}

/** For tests and tools: the Redis keys of a kind. */
export function dueKeys(kind: DueKind): Keys {
  return { tenantsKey: `sm:{due:${kind}}`, registeredKey: `sm:{due:${kind}}:registered` };
}

export class RedisDueWork implements DueWork {
  readonly #keys: Keys;
  readonly #register: LuaCommand<Register, number>;
  readonly #claim: LuaCommand<Claim, readonly [claimedAtMs: string, tenants: readonly string[]]>;
  readonly #settle: LuaCommand<Settle, number>;
  readonly #asking: <T>(reply: Promise<T>) => Promise<T>;
  readonly #elapsedMs: () => number;
  readonly #registrations = new Map<string, Registration>();
  #mayBeLost = false;

  constructor(redis: Redis, kind: DueKind, options: RedisDueWorkOptions = {}) {
    this.#keys = dueKeys(kind);
    this.#register = luaCommand(redis, registerScript);
    this.#claim = luaCommand(redis, claimScript);
    this.#settle = luaCommand(redis, settleScript);
    this.#asking = options.asking ?? ((reply) => reply);
    this.#elapsedMs = options.elapsedMs ?? (() => performance.now());
    onNewMaster(redis, this.#keys.tenantsKey, () => {
      this.#mayBeLost = true;
      // If it fails, the next call tries again.
      this.#registerLost().catch(() => undefined);
    });
  }

  async registered<T>(tenant: string, atMs: number, write: () => Promise<T>): Promise<T> {
    if (this.#mayBeLost) await this.#registerLost();
    const known = this.#registrations.get(tenant);
    const holds = known !== undefined && known.atMs <= atMs && this.#elapsedMs() - known.sentMs < registeredForMs;
    const { sentMs } = holds ? known : await this.#send(tenant, atMs);
    const result = await write();
    if (this.#elapsedMs() - sentMs > lateWriteMs) await this.#send(tenant, atMs);
    return result;
  }

  /** A new master may lack acknowledged writes of its predecessor: registers this process's recent tenants again, due now. */
  async #registerLost(): Promise<void> {
    const lately = [...this.#registrations].filter(([, { sentMs }]) => this.#elapsedMs() - sentMs < unsettledMs);
    await Promise.all(lately.map(([tenant]) => this.#send(tenant, 0)));
    this.#mayBeLost = false;
  }

  async #send(tenant: string, atMs: number): Promise<Registration> {
    const registration = { atMs, sentMs: this.#elapsedMs() };
    await this.#asking(this.#register(this.#keys, { tenant, atMs }));
    // Drops the oldest, which expires first.
    this.#registrations.delete(tenant);
    if (this.#registrations.size >= rememberedMax) {
      this.#registrations.delete(this.#registrations.keys().next().value!);
    }
    this.#registrations.set(tenant, registration);
    return registration;
  }

  async sweep(nowMs: number, handle: DueHandler, tenantsMax = claimedMax, byMs = nowMs): Promise<boolean> {
    if (this.#mayBeLost) await this.#registerLost();
    const heldUntilMs = nowMs + holdMs;
    const claim = { nowMs: byMs, heldUntilMs, limit: tenantsMax };
    const [claimedAtMs, tenants] = await this.#asking(this.#claim(this.#keys, claim));
    const recheckAtMs = nowMs + recheckMs;
    const settle = async (tenant: string): Promise<void> => {
      const held = { tenant, heldUntilMs, claimedAtMs, unsettledMs, recheckAtMs };
      let nextAtMs: number | undefined;
      try {
        nextAtMs = await handle(tenant, tenants.length);
      } catch (error) {
        await this.#asking(this.#settle(this.#keys, { ...held, nextAtMs: recheckAtMs }));
        throw error;
      }
      // Remaining due entries wait until the other due tenants have had their turn.
      const next = nextAtMs === undefined ? '' : Math.max(nextAtMs, nowMs);
      await this.#asking(this.#settle(this.#keys, { ...held, nextAtMs: next }));
    };
    const results = await Promise.allSettled(tenants.map(settle));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return tenants.length === tenantsMax;
  }

  clear(): void {
    this.#registrations.clear();
  }
}
