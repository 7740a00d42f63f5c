/**
 * The tenant store on Redis. A change is one script and one round trip (commit-script.ts), so is a page of a listing;
 * one record is one HMGET. Nothing is kept in this process but the names of tenants that it has announced as having work.
 *
 * When an idempotent commit is sent again although its first reply was only lost, it is refused as `overtaken`: the key
 * has its answer, and `beginIdempotent` gives it.
 */
import type { Redis } from 'ioredis';
import type { Clock, RandomBytes } from '../actors/contract.ts';
import { systemClock, systemRandom } from '../actors/live/ports.ts';
import { asking } from './asking-redis.ts';
import { answerKeptMs, changeTokens } from './change-tokens.ts';
import { commitScript } from './commit-script.ts';
import type {
  Balances,
  Change,
  CommitOutcome,
  EventPage,
  EventQuery,
  IdempotencyMark,
  IdempotencyStart,
  ListQuery,
  Page,
  RecordType,
  TenantStore,
  Versioned,
} from './contract.ts';
import { DueTenants } from './due-tenants.ts';
import { storeKeys, tenantPrefix } from './layout.ts';
import { eventTokens, listTokens, timeToken } from './query-tokens.ts';
import { countScript, eventsScript, listScript, withBalancesScript } from './read-scripts.ts';
import {
  type BeginReply,
  balancesOf,
  type CommitReply,
  commitOutcome,
  documentOf,
  type EventsReply,
  eventPage,
  idempotencyStart,
  type ListReply,
} from './replies.ts';
import { beginScript, forgetTenantScript, settleScript, takeDueScript } from './work-scripts.ts';

/** Who runs an idempotent request has this long before another may take it over. */
const leaseMs = 15_000;
const readManyMax = 1_000;
const takeDueMax = 1_000;

interface Scripts {
  smCommit(prefix: string, ...tokens: readonly string[]): Promise<CommitReply>;
  smList(prefix: string, ...tokens: readonly string[]): Promise<ListReply>;
  smWithBalances(prefix: string, id: string): Promise<[kind: string, json: string, fields: string[]]>;
  smCount(index: string, time: string): Promise<number>;
  smEvents(prefix: string, ...tokens: readonly string[]): Promise<EventsReply>;
  smBegin(key: string, ...tokens: readonly string[]): Promise<BeginReply>;
  smSettle(key: string, ...tokens: readonly string[]): Promise<number>;
  smTakeDue(prefix: string, ...tokens: readonly string[]): Promise<[empty: number, members: string[]]>;
  smForgetTenant(key: string, tenant: string, beforeMs: string): Promise<number>;
}

const scripts: Readonly<Record<keyof Scripts, string>> = {
  smCommit: commitScript,
  smList: listScript,
  smWithBalances: withBalancesScript,
  smCount: countScript,
  smEvents: eventsScript,
  smBegin: beginScript,
  smSettle: settleScript,
  smTakeDue: takeDueScript,
  smForgetTenant: forgetTenantScript,
};

export class RedisTenantStore implements TenantStore {
  readonly #redis: Redis;
  readonly #scripts: Scripts;
  readonly #random: RandomBytes;
  readonly #dueTenants: DueTenants;

  /** Defines its scripts as commands of `redis`, a connection that fails at once while Redis is unreachable. */
  constructor(redis: Redis, clock: Clock = systemClock, random: RandomBytes = systemRandom) {
    for (const [name, lua] of Object.entries(scripts)) redis.defineCommand(name, { numberOfKeys: 1, lua });
    this.#redis = redis;
    this.#scripts = redis as unknown as Scripts;
    this.#random = random;
    this.#dueTenants = new DueTenants(redis, clock, (...call) => this.#scripts.smForgetTenant(...call));
  }

  /** A record of another kind is none: an id from a caller may name anything. */
  async read<T extends Versioned>(tenant: string, { name }: RecordType<T>, id: string): Promise<T | undefined> {
    const [kind, json] = await asking(this.#redis.hmget(storeKeys.record(tenant, id), 'k', 'd'));
    return kind !== name || typeof json !== 'string' ? undefined : documentOf<T>(json);
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
    const [kind, json, fields] = await asking(this.#scripts.smWithBalances(tenantPrefix(tenant), id));
    if (kind !== type.name) return undefined;
    return { record: documentOf<T>(json), balances: balancesOf(fields) };
  }

  async list<T extends Versioned>(tenant: string, _type: RecordType<T>, query: ListQuery): Promise<Page<T>> {
    const tokens = listTokens(query);
    const [more, nextId, , items] = await asking(this.#scripts.smList(tenantPrefix(tenant), ...tokens));
    return {
      items: items.map(([, document]) => documentOf<T>(document)),
      balances: new Map(query.withBalances === true ? items.map(([id, , fields]) => [id, balancesOf(fields)]) : []),
      hasMore: more === 1,
      nextId: nextId === '' ? undefined : nextId,
    };
  }

  /** Records that have expired count until a listing or a later change takes them out. */
  async count(tenant: string, index: string, createdAfterMs?: number): Promise<number> {
    const key = storeKeys.index(tenant, index);
    if (createdAfterMs === undefined) return asking(this.#redis.zcard(key));
    return asking(this.#scripts.smCount(key, timeToken(createdAfterMs)));
  }

  async commit(tenant: string, change: Change, mark?: IdempotencyMark): Promise<CommitOutcome> {
    const tokens = changeTokens(change, mark);
    if (change.due?.some(({ atMs }) => atMs !== undefined)) await this.#dueTenants.name(tenant);
    return commitOutcome(await asking(this.#scripts.smCommit(tenantPrefix(tenant), ...tokens)));
  }

  async events(tenant: string, query: EventQuery): Promise<EventPage> {
    return eventPage(await asking(this.#scripts.smEvents(tenantPrefix(tenant), ...eventTokens(query))));
  }

  async beginIdempotent(tenant: string, keyHash: string, bodyHash: string, nowMs: number): Promise<IdempotencyStart> {
    const draw = (): string => Buffer.from(this.#random(16)).toString('hex');
    const key = storeKeys.idempotency(tenant, keyHash);
    const tokens = [bodyHash, String(nowMs), String(leaseMs), draw(), draw(), String(answerKeptMs)];
    return idempotencyStart(await asking(this.#scripts.smBegin(key, ...tokens)));
  }

  /** Also false when an answer stands already: that of this owner's commit, whose reply may have been lost. */
  async settleIdempotent(tenant: string, keyHash: string, owner: string, answer: string | undefined): Promise<boolean> {
    const key = storeKeys.idempotency(tenant, keyHash);
    const tokens = [owner, answer === undefined ? '0' : '1', answer ?? '', String(answerKeptMs)];
    return (await asking(this.#scripts.smSettle(key, ...tokens))) === 1;
  }

  /** What is stored was put back to an earlier state. */
  restored(): void {
    this.#dueTenants.forgetNames();
  }

  async dueTenants(): Promise<readonly string[]> {
    return this.#dueTenants.list();
  }

  async takeDue(tenant: string, nowMs: number, leaseMs: number, limit: number): Promise<readonly string[]> {
    const tokens = [nowMs, leaseMs, Math.max(0, Math.min(limit, takeDueMax))].map(String);
    const [empty, members] = await asking(this.#scripts.smTakeDue(tenantPrefix(tenant), ...tokens));
    if (empty === 1) await this.#dueTenants.forget(tenant);
    return members;
  }
}
