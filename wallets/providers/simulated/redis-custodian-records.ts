/**
 * Records of simulated custodians in Redis, under the tenant's tag, at `sm:{t:<tenant>}:cust:<kind>:<family>:<id>`. The
 * only mutation is one script, and repeating it changes nothing.
 */
import type { Redis } from 'ioredis';
import { type LuaCommand, luaCommand, luaScript } from '../../../core/redis/lua.ts';
import type { ProviderKind } from '../port/kinds.ts';
import type { CustodianRecords, Stored } from './custodian-records.ts';
import { reachable } from './reachable.ts';

interface PutOnce {
  readonly keys: { readonly [name: string]: string; readonly recordKey: string; readonly counterKey: string };
  readonly args: { readonly json: string; readonly ttlMs: number };
}
type PutReply = readonly [json: string, number: string];

const putOnce = luaScript<PutOnce, PutReply>('wallets/providers/simulated/put-once.lua');

export class RedisCustodianRecords implements CustodianRecords {
  readonly #redis: Redis;
  readonly #putOnce: LuaCommand<PutOnce, PutReply>;
  readonly #kind: ProviderKind;

  constructor(redis: Redis, kind: ProviderKind) {
    this.#redis = redis;
    this.#putOnce = luaCommand(redis, putOnce);
    this.#kind = kind;
  }

  async putOnce<T>(tenant: string, family: string, id: string, value: T, ttlMs = 0): Promise<Stored<T>> {
    const [json, number] = await reachable(
      this.#putOnce(
        {
          recordKey: this.#key(tenant, family, id),
          counterKey: `sm:{t:${tenant}}:cust:${this.#kind}:count:${family}`,
        },
        { json: JSON.stringify(value), ttlMs },
      ),
    );
    return { value: JSON.parse(json) as T, number: Number(number) };
  }

  async find<T>(tenant: string, family: string, id: string): Promise<Stored<T> | undefined> {
    const [json, number] = await reachable(this.#redis.hmget(this.#key(tenant, family, id), 'd', 'n'));
    return json == null ? undefined : { value: JSON.parse(json) as T, number: Number(number) };
  }

  #key(tenant: string, family: string, id: string): string {
    return `sm:{t:${tenant}}:cust:${this.#kind}:${family}:${id}`;
  }
}
