/**
 * What stands in the end, read three ways that share nothing: the API's word, the simulated chains as they lie in Redis
 * (wallets/providers/chains/redis-chain.ts), and the coordinator's sessions (coordinator/store/layout.ts).
 */
import { createHash } from 'node:crypto';
import { parseUnits } from 'ethers';
import type { Redis } from 'ioredis';
import { type IntentStatus, isFinal } from '../../../wallets/custody/intents/states.ts';
import type { RestClient } from '../../support/rest.ts';
import { until } from '../../support/until.ts';

export interface BookedIntent {
  readonly id: string;
  readonly status: string;
  readonly sub_status: string | null;
  readonly wallet_id: string;
  readonly network: string;
  readonly asset: string;
  readonly amount: string;
  readonly destination: { readonly address: string };
  readonly fee: { readonly asset: string; readonly paid: string | null };
  readonly provider_tx_id: string | null;
  readonly provider_error: { readonly code: string } | null;
  readonly provider_details: { readonly raw_transaction: string } | null;
  readonly gap_transaction: { readonly provider_tx_id: string } | null;
  readonly approvals: readonly unknown[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly status_history: readonly { readonly status: string }[];
  readonly version: number;
}

export interface BookedWallet {
  readonly id: string;
  readonly assets: readonly { readonly symbol: string; readonly balance: string; readonly pending: string }[];
}

export interface BookedEvent {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly data: { readonly object: { readonly deposit?: { readonly tx_id: string } } };
}

const decimals: Readonly<Record<string, number>> = { ETH: 18, USDC: 6, BTC: 8, SOL: 9 };
/** As the EVM chain names what is not its coin: by the contract, in lower case. */
const contracts: Readonly<Record<string, string>> = { '0x1c7d4b196cb0c7b01d743fbc6116a902379c7238': 'USDC' };

/** Smallest units. */
export function unitsOf(asset: string, amount: string): bigint {
  return parseUnits(amount, decimals[asset]!);
}

/** All items of a list, over its pages. Throws unless every page is answered with 200. */
export async function readAll<T>(api: RestClient, path: string, list: string): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const query: string = `${path}?limit=100${cursor === null ? '' : `&cursor=${cursor}`}`;
    const { status, body } = await api.get<Record<string, unknown>>(query);
    if (status !== 200) throw new Error(`GET ${query}: ${status} ${JSON.stringify(body)}`);
    items.push(...(body[list] as T[]));
    cursor = body.next_cursor as string | null;
  } while (cursor !== null);
  return items;
}

/** All intents of the wallets, once every one of them is over: then nothing changes any more. */
export async function readWhenOver(api: RestClient, walletIds: readonly string[]): Promise<readonly BookedIntent[]> {
  const path = (id: string): string => `/v1/wallets/${id}/transaction-intents`;
  let open: readonly BookedIntent[] = [];
  return until(
    async () => {
      const lists = walletIds.map((id) => readAll<BookedIntent>(api, path(id), 'transaction_intents'));
      const intents = (await Promise.all(lists)).flat();
      open = intents.filter(({ status }) => !isFinal(status as IntentStatus));
      return open.length === 0 ? intents : undefined;
    },
    () => `the end of ${JSON.stringify(open, null, 1)}`,
    300,
  );
}

/** A transaction that a chain took. */
export interface Mined {
  readonly id: string;
  readonly network: string;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
  readonly fee: bigint;
  readonly nonce: number | undefined;
  readonly isMined: boolean;
}

export interface ChainBooks {
  readonly transactions: readonly Mined[];
  /** `<network> <address> <asset>`, the address as the chain names it, to smallest units. Only what is above zero. */
  readonly held: ReadonlyMap<string, bigint>;
  /** EVM accounts: the next nonce, and the nonces that wait. */
  readonly nonces: ReadonlyMap<string, { readonly next: number; readonly waiting: readonly string[] }>;
  /** Bitcoin outputs that a payment still holds. */
  readonly heldCoins: readonly string[];
}

export async function readChains(redis: Redis): Promise<ChainBooks> {
  const transactions: Mined[] = [];
  const held = new Map<string, bigint>();
  const nonces = new Map<string, { next: number; waiting: string[] }>();
  const heldCoins: string[] = [];
  for (const [key, fields] of await readHashes(redis, 'sm:{chain:*}:*')) {
    const [, network, kind, name] = /^sm:\{chain:(.+)\}:(tx|acct|held):(.+)$/.exec(key) ?? [];
    if (network === undefined || name === undefined) continue;
    if (kind === 'held') heldCoins.push(...Object.keys(fields));
    if (kind === 'tx') {
      const { from = '', to = '', asset = '', units = '', fee = '', nonce, minedAtMs } = fields;
      transactions.push({
        ...{ id: name, network, from, to, asset: contracts[asset] ?? asset, units: BigInt(units), fee: BigInt(fee) },
        nonce: nonce === undefined ? undefined : Number(nonce),
        isMined: minedAtMs !== undefined,
      });
    }
    if (kind !== 'acct') continue;
    for (const asset of [...Object.keys(decimals), ...Object.keys(contracts)]) {
      const units = BigInt(fields[asset] ?? 0);
      if (units !== 0n) held.set(`${network} ${name} ${contracts[asset] ?? asset}`, units);
    }
    if (!network.startsWith('eip155:')) continue;
    const waiting = Object.keys(fields).filter((field) => field.startsWith('q:'));
    nonces.set(name, { next: Number(fields.nonce ?? 0), waiting });
  }
  return { transactions, held, nonces, heldCoins };
}

/** Every signing session of the wallet service: what it was for, and the SHA-256 of what it was to sign, in hex. */
export async function readOrders(
  redis: Redis,
): Promise<
  readonly { readonly purpose: string; readonly keyId: string; readonly message: string; readonly signature: string }[]
> {
  const sessions = await readHashes(redis, 'sm:{t:*}:session:*');
  return sessions.flatMap(([, { data = '{}' }]) => {
    const { ceremony } = JSON.parse(data) as {
      readonly ceremony?: {
        readonly kind: string;
        readonly signature: string;
        readonly facts: {
          readonly intentId: string;
          readonly keyId: string;
          readonly messageHash: string;
          /** Instead of a long message, once the session has ended. */
          readonly messageSha256?: string;
          readonly walletService: boolean;
        };
      };
    };
    if (ceremony?.kind !== 'signing' || !ceremony.facts.walletService) return [];
    const { intentId: purpose, keyId, messageHash, messageSha256 = sha256Hex(messageHash) } = ceremony.facts;
    return [{ purpose, keyId, message: messageSha256, signature: ceremony.signature }];
  });
}

function sha256Hex(hex: string): string {
  return createHash('sha256').update(hex, 'hex').digest('hex');
}

/** The tenant whose ledger has the wallet. */
export async function tenantOf(redis: Redis, walletId: string): Promise<string> {
  const [key = ''] = await redis.keys(`sm:{t:*}:bal:${walletId}`);
  return /\{t:(.+?)\}/.exec(key)![1]!;
}

/** Keys of a pattern that are hashes, with their fields. */
export async function readHashes(redis: Redis, pattern: string): Promise<[string, Record<string, string>][]> {
  const found: [string, Record<string, string>][] = [];
  for (const key of await redis.keys(pattern)) {
    if ((await redis.type(key)) === 'hash') found.push([key, await redis.hgetall(key)]);
  }
  return found;
}

export class Sums {
  readonly #sums = new Map<string, bigint>();

  add(name: string, units: bigint): void {
    this.#sums.set(name, (this.#sums.get(name) ?? 0n) + units);
  }

  of(name: string): bigint {
    return this.#sums.get(name) ?? 0n;
  }

  /** Sorted by name, without zeros. */
  get entries(): readonly (readonly [string, bigint])[] {
    return [...this.#sums].filter(([, units]) => units !== 0n).sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
