/**
 * What a simulated custodian keeps: wallets and orders by the caller's own id, in Redis under the tenant's tag, at
 * `sm:{t:<tenant>}:cust:<kind>:<family>:<id>`. A record is made once and never changes: where an order stands follows from
 * it and the time. So the only mutation is one script, and to repeat it changes nothing.
 */
import type { Redis } from 'ioredis';
import { asking } from '../../store/asking-redis.ts';
import { StoreUnavailable } from '../../store/contract.ts';
import type { ProviderKind } from '../port/kinds.ts';
import { ProviderUnavailable } from '../port/port.ts';

export interface Kept<T> {
  readonly value: T;
  /** Counts the records of its family, from 1. */
  readonly number: number;
}

/** KEYS: record, counter. ARGV: JSON, lifetime in ms (0: for ever). Answers what stands there. */
const putOnceScript = `
local found = redis.call('HMGET', KEYS[1], 'd', 'n')
if found[1] then return found end
local number = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[1], 'd', ARGV[1], 'n', number)
if ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {ARGV[1], tostring(number)}
`;

type PutOnce = (record: string, counter: string, json: string, keepMs: string) => Promise<[string, string]>;

export class CustodianRecords {
  readonly #redis: Redis;
  readonly #putOnce: PutOnce;
  readonly #kind: ProviderKind;

  constructor(redis: Redis, kind: ProviderKind) {
    redis.defineCommand('custodianPutOnce', { numberOfKeys: 2, lua: putOnceScript });
    const scripts = redis as unknown as { custodianPutOnce: PutOnce };
    this.#redis = redis;
    this.#putOnce = (...words) => scripts.custodianPutOnce(...words);
    this.#kind = kind;
  }

  /** Keeps the value unless one stands there; what stands there afterwards. `keepMs` 0: for ever. */
  async putOnce<T>(tenant: string, family: string, id: string, value: T, keepMs = 0): Promise<Kept<T>> {
    const [json, number] = await reachable(
      this.#putOnce(
        this.#key(tenant, family, id),
        `sm:{t:${tenant}}:cust:${this.#kind}:count:${family}`,
        JSON.stringify(value),
        String(keepMs),
      ),
    );
    return { value: JSON.parse(json) as T, number: Number(number) };
  }

  async find<T>(tenant: string, family: string, id: string): Promise<Kept<T> | undefined> {
    const [json, number] = await reachable(this.#redis.hmget(this.#key(tenant, family, id), 'd', 'n'));
    return json == null ? undefined : { value: JSON.parse(json) as T, number: Number(number) };
  }

  #key(tenant: string, family: string, id: string): string {
    return `sm:{t:${tenant}}:cust:${this.#kind}:${family}:${id}`;
  }
}

/** Without its Redis a simulated custodian is unreachable. */
async function reachable<T>(call: Promise<T>): Promise<T> {
  try {
    return await asking(call);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new ProviderUnavailable('the custodian does not answer');
    throw error;
  }
}
