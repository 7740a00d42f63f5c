/**
 * A chain's state in Redis: all keys of a chain share its hash tag, `sm:{chain:<network>}:…`, so that one script changes
 * whatever one transaction touches.
 *
 *   tx:<id>          hash, a transaction
 *   acct:<address>   hash, an account: amounts by symbol of the coin, EVM: also by contract, lower case, and `nonce` and
 *                    `q:<nonce>`, the waiting hashes
 *   token:<address>  hash, EVM: a contract, its owner and arguments, and what it may still mint
 *   fund:<key>       the faucet has served this key
 *   at:<address>     sorted set, the index by address: `in:<id>` and `out:<id>` of mined transactions, by their block's time
 *
 * Solana adds `msg:<hash>`, Bitcoin its outputs and locks (bitcoin-scripts.ts).
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { assetsOn } from '../../networks/assets.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { type Direction, readPlace, type StatementQuery } from '../port/statement.ts';
import { ChainUnavailable, retentionMs } from './chain.ts';
import type { Ledger, LedgerMovement, LedgerTransaction } from './ledger.ts';
import type { EvmEffect } from './token-contract.ts';

/** A script; `hash` is what Redis knows it by. */
export interface Script {
  readonly source: string;
  readonly hash: string;
}

export function script(source: string): Script {
  return { source, hash: createHash('sha1').update(source).digest('hex') };
}

/** For scripts: puts a mined transaction into the index of an address, and drops what is too old. */
export const noteLua = `
local function note(prefix, address, direction, id, minedAtMs)
  local key = prefix .. 'at:' .. address
  redis.call('ZADD', key, minedAtMs, direction .. ':' .. id)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', tonumber(minedAtMs) - ${retentionMs})
end
local function note_funded(prefix, address, asset, units, txId, from, atMs)
  local tx = prefix .. 'tx:' .. txId
  redis.call('HSET', tx, 'from', from, 'to', address, 'asset', asset, 'units', units, 'fee', '0', 'failed', '0',
    'minedAtMs', atMs)
  redis.call('PEXPIRE', tx, ${retentionMs})
  note(prefix, address, 'in', txId, atMs)
end
`;

/**
 * KEYS: index of an address. ARGV: prefix, from ms, name to go on behind, its ms, limit. Answers for each movement with its
 * name, its time and the transaction's fields.
 */
const movementsScript = script(`
local rank = ARGV[3] ~= '' and redis.call('ZRANK', KEYS[1], ARGV[3])
local start = rank and rank + 1 or redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. (ARGV[3] ~= '' and ARGV[4] or ARGV[2]))
local page = redis.call('ZRANGE', KEYS[1], start, start + tonumber(ARGV[5]) - 1, 'WITHSCORES')
local out = {}
for k = 1, #page, 2 do
  local fields = redis.call('HGETALL', ARGV[1] .. 'tx:' .. string.match(page[k], '^%a+:(.*)$'))
  if #fields > 0 then out[#out + 1] = {page[k], page[k + 1], fields} end
end
return out
`);

/** What the ledgers of all chains share. */
export class RedisChain implements Ledger {
  readonly network: NetworkId;
  readonly nativeAsset: string;
  /** Every key begins with it. */
  readonly #prefix: string;
  readonly #redis: Redis;

  constructor(redis: Redis, network: NetworkId) {
    this.network = network;
    this.nativeAsset = networkOf(network).nativeAsset;
    this.#prefix = `sm:{chain:${network}}:`;
    this.#redis = redis;
  }

  /** Runs a script. `keys` without the prefix, which every script gets as its first argument. */
  async run<T>({ source, hash }: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<T> {
    const rest = [keys.length, ...keys.map((key) => this.#prefix + key), this.#prefix, ...args] as const;
    return (await this.#answer(async () => {
      try {
        return await this.#redis.evalsha(hash, ...rest);
      } catch (error) {
        if (!repliedWith(error, 'NOSCRIPT')) throw error;
        return await this.#redis.eval(source, ...rest);
      }
    })) as T;
  }

  fields(key: string): Promise<Record<string, string>> {
    return this.#answer(() => this.#redis.hgetall(this.#prefix + key));
  }

  values(keys: readonly string[]): Promise<(string | null)[]> {
    return this.#answer(() => this.#redis.mget(keys.map((key) => this.#prefix + key)));
  }

  async transaction(id: string): Promise<LedgerTransaction | undefined> {
    const stored = await this.fields(`tx:${id}`);
    return stored.from === undefined ? undefined : toTransaction(id, stored);
  }

  async movements(address: string, query: StatementQuery): Promise<readonly LedgerMovement[]> {
    const after = query.after === undefined ? undefined : readPlace(query.after);
    const found = await this.run<[name: string, atMs: string, fields: string[]][]>(
      movementsScript,
      [`at:${address}`],
      [query.fromMs, after?.name ?? '', after?.atMs ?? '', query.limit],
    );
    return found.flatMap(([name, atMs, flat]) => {
      const colon = name.indexOf(':');
      const direction = name.slice(0, colon) as Direction;
      return Number(atMs) < query.toMs ? [toMovement(address, direction, name.slice(colon + 1), fieldsOf(flat))] : [];
    });
  }

  async movement(address: string, direction: Direction, id: string): Promise<LedgerMovement | undefined> {
    const [score, fields] = await Promise.all([
      this.#answer(() => this.#redis.zscore(`${this.#prefix}at:${address}`, `${direction}:${id}`)),
      this.fields(`tx:${id}`),
    ]);
    return score === null || fields.from === undefined ? undefined : toMovement(address, direction, id, fields);
  }

  async balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    const fields = await this.fields(`acct:${address}`);
    return new Map(assetsOn(this.network).map(({ symbol }) => [symbol, BigInt(fields[symbol] ?? 0)]));
  }

  async #answer<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      // A script that fails is a bug; a server that is loading, read-only or out of memory counts as unreachable.
      if (repliedWith(error, 'ERR')) throw error;
      throw new ChainUnavailable(`the chain ${this.network} does not answer`, { cause: error });
    }
  }
}

/** Whether Redis answered, with an error of this kind. */
function repliedWith(error: unknown, kind: string): boolean {
  return error instanceof Error && error.name === 'ReplyError' && error.message.startsWith(kind);
}

/** From the flat reply of HGETALL inside a script. */
export function fromFlat(id: string, flat: readonly string[]): LedgerTransaction {
  return toTransaction(id, fieldsOf(flat));
}

function fieldsOf(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index]!] = flat[index + 1]!;
  return fields;
}

function toMovement(
  address: string,
  direction: Direction,
  id: string,
  fields: Readonly<Record<string, string>>,
): LedgerMovement {
  const transaction = toTransaction(id, fields);
  const received = fields[`o:${address}`];
  return { direction, transaction, units: direction === 'out' || !received ? transaction.units : BigInt(received) };
}

function toTransaction(id: string, stored: Readonly<Record<string, string>>): LedgerTransaction {
  return {
    id,
    from: stored.from!,
    to: stored.to!,
    asset: stored.asset!,
    units: BigInt(stored.units!),
    ...(stored.effect !== undefined && { effect: stored.effect as EvmEffect }),
    feeUnits: BigInt(stored.fee!),
    failed: stored.failed === '1',
    uncovered: stored.uncovered === '1',
    dropped: stored.dropped === '1',
    minedAtMs: stored.minedAtMs === undefined ? undefined : Number(stored.minedAtMs),
  };
}
