/**
 * A chain's state in Redis: all keys of a chain share its hash tag, `sm:{chain:<network>}:…`, so that one script changes
 * whatever one transaction touches.
 *
 *   tx:<id>          hash, a transaction
 *   acct:<address>   hash, an account: amounts by symbol of the coin, EVM: also by contract, lower case, and `nonce` and
 *                    `q:<nonce>`, the waiting hashes
 *   token:<address>  hash, EVM: a contract, its owner and arguments, and its remaining mintable units
 *   allow:<owner>    hash, EVM: what may be moved of an account's units, by `<contract>:<spender>`, lower case
 *   fund:<key>       the faucet has served this key
 *   market           the price that was set last (fees.ts)
 *   confirmations    the number that was set last
 *   mined            sorted set, ids of transactions by their block's time, for ten minutes
 *   at:<address>     sorted set, the index by address: `in:<id>` and `out:<id>` of mined transactions, by their block's time
 *
 * Solana adds `msg:<hash>`, Bitcoin its outputs and locks (redis-bitcoin-ledger.ts).
 */
import type { Redis } from 'ioredis';
import { luaCommand } from '../../../core/redis/lua.ts';
import { assetsOn } from '../../networks/assets.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { type MovementDirection, readPlace, type StatementQuery } from '../port/statement.ts';
import { ChainUnavailable, type Depths, type Reorg } from './chain.ts';
import type { Ledger, LedgerMovement, LedgerTransaction, ReorgRequest } from './ledger.ts';
import { type ChainScript, type MovementsOf, type MovementsReply, movementsOf, reorganize } from './scripts.ts';
import type { EvmEffect } from './token-contract.ts';

/** The common part of the ledgers of all chains. */
export class RedisChain implements Ledger {
  readonly network: NetworkId;
  readonly nativeAsset: string;
  /** Every key begins with it. */
  readonly #prefix: string;
  readonly #redis: Redis;
  readonly #movementsOf: (args: MovementsOf) => Promise<MovementsReply>;

  constructor(redis: Redis, network: NetworkId) {
    this.network = network;
    this.nativeAsset = networkOf(network).nativeAsset;
    this.#prefix = `sm:{chain:${network}}:`;
    this.#redis = redis;
    this.#movementsOf = this.script(movementsOf);
  }

  /** The script as a function of its arguments. */
  protected script<Args extends object, Reply>(script: ChainScript<Args, Reply>): (args: Args) => Promise<Reply> {
    const command = luaCommand(this.#redis, script);
    return (args) => this.#answer(() => command({ prefixKey: this.#prefix }, args));
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

  async market(): Promise<bigint | undefined> {
    const [price] = await this.values(['market']);
    return price == null ? undefined : BigInt(price);
  }

  async moveMarket(price: bigint): Promise<void> {
    await this.#answer(() => this.#redis.set(`${this.#prefix}market`, String(price)));
  }

  async depths(): Promise<Depths | undefined> {
    const [confirmations, finality] = await this.values(['confirmations', 'finality']);
    return toDepths(confirmations, finality);
  }

  async setDepths(depths: Depths): Promise<void> {
    const named = Object.entries(depths).map(([name, blocks]) => [this.#prefix + name, String(blocks)]);
    await this.#answer(() => this.#redis.mset(named.flat()));
  }

  async reorganize(request: ReorgRequest): Promise<Reorg> {
    const [verdict, count] = await this.script(reorganize)({ ...request });
    return verdict === 'OK' ? { kind: 'done', transactions: count } : { kind: 'final', depth: count };
  }

  async movements(address: string, query: StatementQuery): Promise<readonly LedgerMovement[]> {
    const after = query.after === undefined ? undefined : readPlace(query.after);
    const found = await this.#movementsOf({
      ...{ address, fromMs: query.fromMs, limit: query.limit },
      afterName: after?.name ?? '',
      afterMs: after?.atMs ?? '',
    });
    return found.flatMap(([name, atMs, flat]) => {
      const colon = name.indexOf(':');
      const direction = name.slice(0, colon) as MovementDirection;
      return Number(atMs) < query.toMs ? [toMovement(address, direction, name.slice(colon + 1), fieldsOf(flat))] : [];
    });
  }

  async movement(address: string, direction: MovementDirection, id: string): Promise<LedgerMovement | undefined> {
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
  direction: MovementDirection,
  id: string,
  fields: Readonly<Record<string, string>>,
): LedgerMovement {
  const transaction = toTransaction(id, fields);
  const received = fields[`o:${address}`];
  const { from, owner = from, feeUnits } = transaction;
  if (direction === 'in') return { direction, transaction, units: BigInt(received ?? transaction.units), feeUnits: 0n };
  // Of units that it moves for another account, it pays the fee alone.
  const units = address === owner ? transaction.units : 0n;
  return { direction, transaction, units, feeUnits: address === from ? feeUnits : 0n };
}

function toTransaction(id: string, stored: Readonly<Record<string, string>>): LedgerTransaction {
  return {
    id,
    from: stored.from!,
    to: stored.to!,
    asset: stored.asset!,
    units: BigInt(stored.units!),
    ...(stored.effect !== undefined && { effect: stored.effect as EvmEffect }),
    ...(stored.owner !== undefined && { owner: stored.owner }),
    ...(stored.allowance !== undefined && { allowance: BigInt(stored.allowance) }),
    feeUnits: BigInt(stored.fee!),
    failed: stored.failed === '1',
    uncovered: stored.uncovered === '1',
    outOfGas: stored.outOfGas === '1',
    dropped: stored.dropped === '1',
    replaced: stored.replacedBy !== undefined,
    underpriced: stored.underpriced === '1',
    reorganizations: Number(stored.reorganized ?? 0),
    depths: toDepths(stored.confirmations, stored.finality),
    minedAtMs: stored.minedAtMs === undefined ? undefined : Number(stored.minedAtMs),
  };
}

/** An earlier version has no finality of its own. */
function toDepths(confirmations: string | null | undefined, finality: string | null | undefined): Depths | undefined {
  if (confirmations == null) return undefined;
  return { confirmations: Number(confirmations), finality: Number(finality ?? confirmations) };
}
