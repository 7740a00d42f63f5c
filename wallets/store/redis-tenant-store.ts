/**
 * The tenant store on Redis. A change is one script and one round trip (commit.lua), so is a page of a listing; one record
 * is one HMGET. This process caches only its registrations of tenants with due work.
 *
 * An idempotent commit that is sent again after a lost reply is refused as `overtaken`: the key has its answer, and
 * `beginIdempotent` returns it.
 */
import type { Redis } from 'ioredis';
import type { Clock, MachineMs, Ports, RandomBytes, ServiceMs } from '../../core/actors/contract.ts';
import { type Log, silentLog } from '../../core/actors/live/ports.ts';
import type { DueHandler, DueWork } from '../../core/redis/due-work.ts';
import { RedisDueWork } from '../../core/redis/redis-due-work.ts';
import { asking } from './asking-redis.ts';
import { answerLifetimeMs, changeArgument } from './commit-argument.ts';
import {
  type Balances,
  type BookedMovement,
  type Change,
  type CommitOutcome,
  type DueTaken,
  type EarlyDue,
  type EventPage,
  type EventQuery,
  type IdempotencyMark,
  type IdempotencyStart,
  type ListQuery,
  type NewEvent,
  type Page,
  type RecordType,
  StoreTampered,
  type TenantStore,
  type Versioned,
} from './contract.ts';
import { storeKeys, tenantPrefix } from './layout.ts';
import { eventQueryArguments, listArguments, timeToken } from './query-arguments.ts';
import { balancesOf, commitOutcome, eventPage, idempotencyStart, movementOf, recordOf } from './replies.ts';
import { type TenantScripts, tenantScripts } from './scripts.ts';
import { RecordSeal } from './secrets/record-seal.ts';
import { TamperedReports } from './tampered.ts';
import { tenantBeganAtMs } from './tenant-beginning.ts';

/** The owner of an idempotent request has this long before another may take it over. */
const leaseMs = 15_000;
const readManyMax = 1_000;
const takeDueMax = 1_000;
/** Tenants of which work is taken before it is due, at once. */
const earlyTenantsMax = 1_000;

export interface StorePorts extends Pick<Ports, 'clock' | 'random'>, Partial<Pick<Ports, 'timers'>> {
  /** 32 bytes, secret: seals the records (secrets/record-seal.ts). */
  readonly recordKey: Uint8Array;
  readonly log?: Log;
}

/** Of a record in Redis, as far as they exist. */
type Fields = { readonly id: string } & Readonly<
  Record<'kind' | 'document' | 'version' | 'status', string | null | undefined>
>;

export class RedisTenantStore implements TenantStore {
  readonly #redis: Redis;
  readonly #scripts: TenantScripts;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #seal: RecordSeal;
  readonly #tampered: TamperedReports;
  readonly #work: DueWork;
  readonly #webhooks: DueWork;

  readonly #tenantBytesMax: number | undefined;

  /**
   * Defines its scripts as commands of `redis`, a connection that fails at once while Redis is unreachable.
   * `tenantBytesMax`: the tenant's quota, beyond which `counted` changes are refused; undefined: no limit.
   */
  constructor(
    redis: Redis,
    { clock, random, timers, recordKey, log = silentLog }: StorePorts,
    tenantBytesMax?: number,
  ) {
    this.#seal = new RecordSeal(recordKey);
    const write = (tenant: string, event: NewEvent) => this.commit(tenant, { events: [event] });
    this.#tampered = new TamperedReports({ clock, random, log, write });
    this.#tenantBytesMax = tenantBytesMax;
    this.#redis = redis;
    this.#scripts = tenantScripts(redis);
    this.#clock = clock;
    this.#random = random;
    const due = { asking, ...(timers && { elapsedMs: () => timers.elapsedMs() }) };
    this.#work = new RedisDueWork(redis, 'work', due);
    this.#webhooks = new RedisDueWork(redis, 'webhooks', due);
  }

  async read<T extends Versioned>(tenant: string, type: RecordType<T>, id: string): Promise<T | undefined> {
    const key = storeKeys.record(tenant, id);
    const [kind, document, version, status, ends] = await asking(this.#redis.hmget(key, 'k', 'd', 'v', 's', 'e'));
    if (typeof ends === 'string' && Number(ends) <= this.#clock.nowMs()) return undefined;
    return this.#recordOf(type, { id, kind, document, version, status }, tenant);
  }

  /** Ignores a record of another kind: a caller's id may name anything. */
  #recordOf<T extends Versioned>(type: RecordType<T>, fields: Fields, tenant: string): T | undefined {
    const { id, kind, document, version, status } = fields;
    if (typeof document !== 'string' || document === '') return undefined;
    const key = storeKeys.record(tenant, id);
    if (kind === type.name) {
      const stored = { key, id, version: version ?? null, status: status ?? null, document };
      return this.#reporting(tenant, type, () => recordOf(stored, type, this.#seal));
    }
    // A record is of the kind that its MAC names; one without a MAC is of no kind that counts.
    if (type.isUnsealed !== true && this.#seal.open({ key, kind: type.name }, document) !== undefined) {
      this.#reporting(tenant, type, () => {
        throw new StoreTampered(id, new TypeError('its kind is not the one of its text'));
      });
    }
    return undefined;
  }

  #reporting<R>(tenant: string, { name }: { readonly name: string }, read: () => R): R {
    try {
      return read();
    } catch (error) {
      if (error instanceof StoreTampered) this.#tampered.report(tenant, name, error.recordId ?? '', error.message);
      throw error;
    }
  }

  async readMany<T extends Versioned>(
    tenant: string,
    type: RecordType<T>,
    ids: readonly string[],
  ): Promise<readonly (T | undefined)[]> {
    if (ids.length > readManyMax) throw new RangeError(`at most ${readManyMax} records are read at once`);
    return Promise.all(ids.map((id) => this.read(tenant, type, id)));
  }

  async numberOf(tenant: string, id: string): Promise<number | undefined> {
    const number = await asking(this.#redis.hget(storeKeys.record(tenant, id), 'n'));
    return number === null ? undefined : Number(number);
  }

  async readWithBalances<T extends Versioned>(
    tenant: string,
    type: RecordType<T>,
    id: string,
  ): Promise<{ readonly record: T; readonly balances: Balances } | undefined> {
    const args = { id, nowMs: this.#clock.nowMs() };
    const [kind, document, version, status, fields] = await asking(this.#scripts.withBalances(of(tenant), args));
    const record = this.#recordOf(type, { id, kind, document, version, status }, tenant);
    return record && { record, balances: balancesOf(fields, id) };
  }

  async list<T extends Versioned>(tenant: string, type: RecordType<T>, query: ListQuery): Promise<Page<T>> {
    const [more, nextId, , items] = await asking(
      this.#scripts.list(of(tenant), listArguments(query, this.#clock.nowMs())),
    );
    return {
      items: items.map(([id, [document, version, status]]) => {
        const stored = { key: storeKeys.record(tenant, id), id, document, version, status };
        return this.#reporting(tenant, type, () => recordOf(stored, type, this.#seal));
      }),
      balances: new Map(query.withBalances === true ? items.map(([id, , fields]) => [id, balancesOf(fields, id)]) : []),
      hasMore: more === 1,
      nextId: nextId === '' ? undefined : nextId,
    };
  }

  async movements(tenant: string, walletId: string, limit: number, below = 0): Promise<readonly BookedMovement[]> {
    const args = { walletId, below, limit, nowMs: this.#clock.nowMs() };
    return (await asking(this.#scripts.movements(of(tenant), args))).map(movementOf).reverse();
  }

  /** Expired records count until a listing or a later change removes them. */
  async count(tenant: string, index: string, createdAfterMs?: number): Promise<number> {
    const indexKey = storeKeys.index(tenant, index);
    if (createdAfterMs === undefined) return asking(this.#redis.zcard(indexKey));
    return asking(this.#scripts.count({ indexKey }, { fromTime: timeToken(createdAfterMs) }));
  }

  async commit(tenant: string, change: Change, mark?: IdempotencyMark): Promise<CommitOutcome> {
    const { keyHash, owner, answer } = mark ?? { keyHash: '', owner: '', answer: '' };
    const bytesMax = change.counted === true ? this.#tenantBytesMax : undefined;
    const args = {
      ...{ keyHash, owner, answer, answerLifetimeMs, nowMs: this.#clock.nowMs() },
      change: { ...changeArgument(tenant, change, this.#seal), bytesMax },
    };
    return commitOutcome(await this.#registered(tenant, change, () => asking(this.#scripts.commit(of(tenant), args))));
  }

  /** Registers the due work of the change, and its events for webhooks. */
  #registered<T>(tenant: string, { due = [], events = [] }: Change, write: () => Promise<T>): Promise<T> {
    const times = due.flatMap(({ atMs }) => atMs ?? []);
    const withWork = times.length === 0 ? write : () => this.#work.registered(tenant, Math.min(...times), write);
    return events.length === 0 ? withWork() : this.#webhooks.registered(tenant, this.#clock.nowMs(), withWork);
  }

  async events(tenant: string, query: EventQuery): Promise<EventPage> {
    return eventPage(await asking(this.#scripts.events(of(tenant), eventQueryArguments(query))));
  }

  beganAtMs(tenant: string, nowMs: number): Promise<number> {
    return asking(tenantBeganAtMs(this.#redis, tenant, nowMs));
  }

  async beginIdempotent(
    tenant: string,
    keyHash: string,
    bodyHash: string,
    nowMs: ServiceMs,
    machineMs: MachineMs,
  ): Promise<IdempotencyStart> {
    const draw = (): string => Buffer.from(this.#random(16)).toString('hex');
    const keys = { markKey: storeKeys.idempotency(tenant, keyHash) };
    const args = { bodyHash, nowMs, machineMs, leaseMs, owner: draw(), seed: draw(), lifetimeMs: answerLifetimeMs };
    return idempotencyStart(await asking(this.#scripts.begin(keys, args)));
  }

  /** Also false when the key has an answer: the one of this owner's commit, whose reply may have been lost. */
  async settleIdempotent(tenant: string, keyHash: string, owner: string, answer: string | undefined): Promise<boolean> {
    const keys = { markKey: storeKeys.idempotency(tenant, keyHash) };
    const answered = answer === undefined ? 0 : 1;
    const args = {
      nowMs: this.#clock.nowMs(),
      owner,
      answered,
      answer: answer ?? '',
      lifetimeMs: answerLifetimeMs,
    } as const;
    return (await asking(this.#scripts.settle(keys, args))) === 1;
  }

  /** Redis was restored to an earlier state. */
  restored(): void {
    this.#work.clear();
    this.#webhooks.clear();
  }

  sweepDue(nowMs: number, handle: DueHandler, byMs = nowMs): Promise<boolean> {
    return byMs > nowMs ? this.#work.sweep(nowMs, handle, earlyTenantsMax, byMs) : this.#work.sweep(nowMs, handle);
  }

  async takeDue(
    tenant: string,
    nowMs: number,
    leaseMs: number,
    limit: number,
    { byMs, prefix }: EarlyDue = { byMs: nowMs, prefix: '' },
  ): Promise<DueTaken> {
    const args = { nowMs, byMs, earlyPrefix: prefix, leaseMs, limit: Math.max(0, Math.min(limit, takeDueMax)) };
    const [next, members] = await asking(this.#scripts.takeDue(of(tenant), args));
    return { members, nextAtMs: next === '' ? undefined : Number(next) };
  }
}

function of(tenant: string): { readonly prefixKey: string } {
  return { prefixKey: tenantPrefix(tenant) };
}
