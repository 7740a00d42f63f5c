/**
 * A chain's state in Redis: all keys of a chain share its hash tag, `sm:{chain:<network>}:…`, so that one script changes
 * whatever one transaction touches.
 *
 *   tx:<id>          hash, a transaction (fields of `StoredTransaction`)
 *   acct:<address>   hash, an account: amounts by asset symbol; EVM: also `nonce` and `q:<nonce>`, the waiting hashes
 *   fund:<key>       the faucet has served this key
 *
 * Solana adds `msg:<hash>`, Bitcoin its outputs and locks (bitcoin-coins.ts).
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { blockMsDefault, depthOf } from './block-time.ts';
import { type ChainTransaction, ChainUnavailable } from './chain.ts';

export interface ChainOptions {
  readonly redis: Redis;
  /** Time between blocks; 1 s by default. */
  readonly blockMs?: number;
}

/** A script; `hash` is what Redis knows it by. */
export interface Script {
  readonly source: string;
  readonly hash: string;
}

export function script(source: string): Script {
  return { source, hash: createHash('sha1').update(source).digest('hex') };
}

export class ChainStore {
  readonly network: NetworkId;
  readonly nativeAsset: string;
  readonly blockMs: number;
  /** Every key begins with it. */
  readonly prefix: string;
  readonly #redis: Redis;
  readonly #confirmationsNeeded: number;

  constructor(network: NetworkId, options: ChainOptions, confirmationsNeeded: number) {
    this.network = network;
    this.nativeAsset = networkOf(network).nativeAsset;
    this.blockMs = options.blockMs ?? blockMsDefault;
    this.prefix = `sm:{chain:${network}}:`;
    this.#redis = options.redis;
    this.#confirmationsNeeded = confirmationsNeeded;
  }

  /** Runs a script. `keys` without the prefix, which every script gets as its first argument. */
  async run<T>({ source, hash }: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<T> {
    const rest = [keys.length, ...keys.map((key) => this.prefix + key), this.prefix, ...args] as const;
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
    return this.#answer(() => this.#redis.hgetall(this.prefix + key));
  }

  values(keys: readonly string[]): Promise<(string | null)[]> {
    return this.#answer(() => this.#redis.mget(keys.map((key) => this.prefix + key)));
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

  async transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    const stored = await this.fields(`tx:${id}`);
    return stored.from === undefined ? undefined : this.view(id, stored, nowMs);
  }

  /** A transaction's stored fields as it stands now. */
  view(id: string, stored: Readonly<Record<string, string>>, nowMs: number): ChainTransaction {
    const minedAtMs = stored.minedAtMs === undefined ? undefined : Number(stored.minedAtMs);
    const common = {
      id,
      network: this.network,
      from: stored.from!,
      to: stored.to!,
      asset: stored.asset!,
      units: BigInt(stored.units!),
      feeUnits: BigInt(stored.fee!),
      succeeded: stored.failed !== '1',
      uncovered: stored.uncovered === '1',
      minedAtMs,
    };
    if (minedAtMs === undefined) {
      const state = stored.dropped === '1' ? 'dropped' : 'queued';
      return { ...common, state, block: undefined, confirmedAtMs: undefined, confirmations: 0 };
    }
    return { ...common, ...depthOf(minedAtMs, nowMs, this.blockMs, this.#confirmationsNeeded) };
  }
}

/** Whether Redis answered, with an error of this kind. */
function repliedWith(error: unknown, kind: string): boolean {
  return error instanceof Error && error.name === 'ReplyError' && error.message.startsWith(kind);
}

/** The flat reply of HGETALL inside a script. */
export function toFields(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index]!] = flat[index + 1]!;
  return fields;
}
