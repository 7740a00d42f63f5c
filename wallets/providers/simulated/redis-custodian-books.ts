/**
 * The books of simulated custodians in Redis, under the tenant's tag, at `sm:{t:<tenant>}:cust:<kind>:book:<wallet>:…`:
 *
 *   rows    hash, a row by its name
 *   times   sorted set, names by the time of booking
 *   due     sorted set, effects that have not settled yet, by their settlement time
 *   sums    hash, `<asset>+` incoming and `<asset>-` outgoing units, as texts of 42 digits
 */
import type { Redis } from 'ioredis';
import { type LuaCommand, luaCommand, luaScript } from '../../../core/redis/lua.ts';
import { toDigits } from '../chains/public.ts';
import type { ProviderKind } from '../port/kinds.ts';
import { readPlace, type StatementQuery } from '../port/statement.ts';
import { type BookRow, type CustodianBooks, type NamedRow, rowKeptMs, type Settlement } from './custodian-books.ts';
import { reachable } from './reachable.ts';

interface Post {
  readonly keys: { readonly [name: string]: string; rowsKey: string; timesKey: string; dueKey: string };
  readonly args: {
    readonly row: string;
    readonly json: string;
    readonly bookedAtMs: number;
    readonly settlesAtMs: number | '';
    readonly effect: string;
    readonly oldestMs: number;
  };
}
interface Rows {
  readonly keys: { readonly [name: string]: string; timesKey: string; rowsKey: string };
  readonly args: {
    readonly fromMs: number;
    readonly after: string;
    readonly afterMs: number | '';
    readonly limit: number;
  };
}
interface Balances {
  readonly keys: { readonly [name: string]: string; sumsKey: string; dueKey: string };
  readonly args: { readonly nowMs: number };
}
type RowsReply = readonly [page: readonly string[], rows: readonly (string | null)[]];

const postScript = luaScript<Post, number>('wallets/providers/simulated/book-post.lua');
const rowsScript = luaScript<Rows, RowsReply>('wallets/providers/simulated/book-rows.lua');
const balancesScript = luaScript<Balances, readonly string[]>('wallets/providers/simulated/book-balances.lua');

export class RedisCustodianBooks implements CustodianBooks {
  readonly #redis: Redis;
  readonly #kind: ProviderKind;
  readonly #post: LuaCommand<Post, number>;
  readonly #rows: LuaCommand<Rows, RowsReply>;
  readonly #balances: LuaCommand<Balances, readonly string[]>;

  constructor(redis: Redis, kind: ProviderKind) {
    this.#redis = redis;
    this.#kind = kind;
    this.#post = luaCommand(redis, postScript);
    this.#rows = luaCommand(redis, rowsScript);
    this.#balances = luaCommand(redis, balancesScript);
  }

  async open(tenant: string, wallet: string, sums: readonly { asset: string; units: bigint }[]): Promise<void> {
    const { sumsKey } = this.#keys(tenant, wallet);
    const set = sums.map(({ asset, units }) => this.#redis.hsetnx(sumsKey, `${asset}+`, toDigits(units)));
    await reachable(Promise.all(set));
  }

  async post(tenant: string, wallet: string, { name, row }: NamedRow, settlement: Settlement | undefined) {
    const sums = (settlement?.effect ?? []).flatMap(({ asset, units }) => {
      if (units === 0n) return [];
      return [units > 0n ? [`${asset}+`, toDigits(units)] : [`${asset}-`, toDigits(-units)]];
    });
    await reachable(
      this.#post(this.#keys(tenant, wallet), {
        row: name,
        json: JSON.stringify(row),
        bookedAtMs: row.bookedAtMs,
        settlesAtMs: settlement === undefined || sums.length === 0 ? '' : settlement.atMs,
        effect: JSON.stringify([name, sums]),
        oldestMs: row.bookedAtMs - rowKeptMs,
      }),
    );
  }

  async rows(tenant: string, wallet: string, query: StatementQuery): Promise<readonly NamedRow[]> {
    const after = query.after === undefined ? undefined : readPlace(query.after);
    const [page, rows] = await reachable(
      this.#rows(this.#keys(tenant, wallet), {
        fromMs: query.fromMs,
        after: after?.name ?? '',
        afterMs: after?.atMs ?? '',
        limit: query.limit,
      }),
    );
    return rows.flatMap((json, index) => {
      if (json === null || Number(page[2 * index + 1]) >= query.toMs) return [];
      return [{ name: page[2 * index]!, row: JSON.parse(json) as BookRow }];
    });
  }

  async find(tenant: string, wallet: string, names: readonly string[]): Promise<readonly (BookRow | undefined)[]> {
    if (names.length === 0) return [];
    const found = await reachable(this.#redis.hmget(this.#keys(tenant, wallet).rowsKey, ...names));
    return found.map((json) => (json === null ? undefined : (JSON.parse(json) as BookRow)));
  }

  async balances(tenant: string, wallet: string, nowMs: number): Promise<ReadonlyMap<string, bigint>> {
    const flat = await reachable(this.#balances(this.#keys(tenant, wallet), { nowMs }));
    const balances = new Map<string, bigint>();
    for (let index = 0; index + 1 < flat.length; index += 2) {
      const [asset, sign] = [flat[index]!.slice(0, -1), flat[index]!.slice(-1)];
      const units = BigInt(flat[index + 1]!);
      balances.set(asset, (balances.get(asset) ?? 0n) + (sign === '+' ? units : -units));
    }
    return balances;
  }

  #keys(tenant: string, wallet: string) {
    const prefix = `sm:{t:${tenant}}:cust:${this.#kind}:book:${wallet}:`;
    return {
      rowsKey: `${prefix}rows`,
      timesKey: `${prefix}times`,
      dueKey: `${prefix}due`,
      sumsKey: `${prefix}sums`,
    };
  }
}
