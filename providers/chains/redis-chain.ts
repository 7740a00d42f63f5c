/**
 * A chain's state in Redis: all keys of a chain share its hash tag, `sm:{chain:<network>}:…`, so that one script changes
 * whatever one transaction touches.
 *
 *   tx:<id>          hash, a transaction
 *   acct:<address>   hash, an account: amounts by symbol of the coin, EVM: also by contract, lower case, and `nonce` and
 *                    `q:<nonce>`, the waiting hashes
 *   token:<address>  hash, EVM: a contract, its owner and arguments, and what it may still mint
 *   fund:<key>       the faucet has served this key
 *
 * Solana adds `msg:<hash>`, Bitcoin its outputs and locks (bitcoin-scripts.ts).
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { assetsOn } from '../../networks/assets.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { ChainUnavailable } from './chain.ts';
import type { Ledger, LedgerTransaction } from './ledger.ts';
import type { EvmEffect } from './token-contract.ts';

/** A script; `hash` is what Redis knows it by. */
export interface Script {
  readonly source: string;
  readonly hash: string;
}

export function script(source: string): Script {
  return { source, hash: createHash('sha1').update(source).digest('hex') };
}

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
  const fields: Record<string, string> = {};
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index]!] = flat[index + 1]!;
  return toTransaction(id, fields);
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
