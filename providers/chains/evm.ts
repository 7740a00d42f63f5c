/**
 * The simulated EVM chain: accounts with a nonce, a coin and tokens. Two confirmations make a transaction final.
 *
 * As an Ethereum node's pool does: a nonce below the account's is refused; one above it waits, queued, until the gap is
 * filled; what is next is taken into the next block, and whatever waited for it with it. A token transfer that is not
 * covered is mined and reverts: nonce and fee are gone. A transaction that waits cannot be replaced.
 *
 * No transaction waits for ever, and none holds up those behind it. One whose coin is gone when its turn comes is mined
 * without effect: it takes its nonce and what is left of its fee. One whose turn has not come within `queuedMaxMs` is
 * dropped at the next read: its nonce is not used, and another may take it.
 */
import type { NetworkId } from '../../networks/networks.ts';
import { accountBalances, fundAccount } from './accounts.ts';
import { nextBlockMs } from './block-time.ts';
import { type Chain, ChainRejected, type ChainTransaction, keptMs, type SubmitOptions } from './chain.ts';
import { type ChainOptions, ChainStore, script, toFields } from './chain-store.ts';
import { decodeEvm } from './evm-transaction.ts';
import { luaUnits, toDigits } from './lua-units.ts';

const confirmationsNeeded = 2;
/** How far ahead of its account's nonce a transaction may wait. */
const queueMax = 10_000;
/** How long a transaction may wait for an earlier one. */
export const queuedMaxMs = 6 * 3_600_000;

/** Mines whatever's turn has come. */
const mineLua = `
local function mine_queued(prefix, account, native, minedAtMs, keptMs)
  local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
  while true do
    local next = redis.call('HGET', account, 'q:' .. nonce)
    if not next then break end
    local key = prefix .. 'tx:' .. next
    local tx = redis.call('HMGET', key, 'to', 'asset', 'units', 'needed', 'fee', 'fails')
    local coin = amount(redis.call('HGET', account, native))
    local covered = coin >= tx[4]
    local fee = coin < tx[5] and coin or tx[5]
    redis.call('HSET', account, native, minus(coin, fee))
    local held = amount(redis.call('HGET', account, tx[2]))
    local failed = not covered or tx[6] == '1' or held < tx[3]
    if not failed then
      redis.call('HSET', account, tx[2], minus(held, tx[3]))
      local receiver = prefix .. 'acct:' .. tx[1]
      redis.call('HSET', receiver, tx[2], plus(amount(redis.call('HGET', receiver, tx[2])), tx[3]))
    end
    redis.call('HSET', key, 'minedAtMs', minedAtMs, 'failed', failed and '1' or '0', 'fee', fee)
    if not covered then redis.call('HSET', key, 'uncovered', '1') end
    redis.call('PEXPIRE', key, keptMs)
    redis.call('HDEL', account, 'q:' .. nonce)
    nonce = nonce + 1
    redis.call('HSET', account, 'nonce', nonce)
  end
end
`;

/**
 * KEYS: transaction, sender's account. ARGV: prefix, hash, from, to, asset, units, coin needed, fee, nonce, fails (1/0),
 * mined at ms, kept ms, native asset, now ms. Answers with a rejection, or OK and the transaction's fields.
 */
const submitScript = script(`${luaUnits}${mineLua}
local prefix, hash, native = ARGV[1], ARGV[2], ARGV[13]
local account = KEYS[2]
local nonce = tonumber(redis.call('HGET', account, 'nonce') or '0')
local mine = tonumber(ARGV[9])
if redis.call('EXISTS', KEYS[1]) == 0 then
  if mine < nonce then return {'nonce_too_low'} end
  if mine > nonce + ${queueMax} then return {'nonce_too_high'} end
  if redis.call('HEXISTS', account, 'q:' .. mine) == 1 then return {'nonce_used'} end
  if amount(redis.call('HGET', account, native)) < ARGV[7] then return {'insufficient_funds'} end
  redis.call('HSET', KEYS[1], 'from', ARGV[3], 'to', ARGV[4], 'asset', ARGV[5], 'units', ARGV[6], 'needed', ARGV[7],
    'fee', ARGV[8], 'nonce', ARGV[9], 'fails', ARGV[10], 'queuedAtMs', ARGV[14])
  redis.call('HSET', account, 'q:' .. mine, hash)
end
mine_queued(prefix, account, native, ARGV[11], ARGV[12])
return {'OK', unpack(redis.call('HGETALL', KEYS[1]))}
`);

/**
 * KEYS: a transaction that waits, sender's account. ARGV: prefix, mined at ms, kept ms, native asset, now ms, waits at
 * most ms. Answers with the transaction's fields.
 */
const lookScript = script(`${luaUnits}${mineLua}
mine_queued(ARGV[1], KEYS[2], ARGV[4], ARGV[2], ARGV[3])
local tx = redis.call('HMGET', KEYS[1], 'minedAtMs', 'queuedAtMs', 'nonce', 'dropped')
if tx[3] and not tx[1] and not tx[4] then
  if not tx[2] then redis.call('HSET', KEYS[1], 'queuedAtMs', ARGV[5])
  elseif tonumber(ARGV[5]) - tonumber(tx[2]) >= tonumber(ARGV[6]) then
    redis.call('HDEL', KEYS[2], 'q:' .. tx[3])
    redis.call('HSET', KEYS[1], 'dropped', '1', 'failed', '1')
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
end
return redis.call('HGETALL', KEYS[1])
`);

const messages = {
  nonce_too_low: 'the account has used this nonce already',
  nonce_too_high: `at most ${queueMax} transactions ahead of the account`,
  nonce_used: 'another transaction with this nonce is waiting',
  insufficient_funds: 'the account cannot pay value and gas',
} as const;

export class EvmChain implements Chain {
  readonly network: NetworkId;
  readonly blockMs: number;
  readonly #store: ChainStore;

  constructor(network: NetworkId, options: ChainOptions) {
    this.#store = new ChainStore(network, options, confirmationsNeeded);
    this.network = network;
    this.blockMs = this.#store.blockMs;
  }

  async submit(raw: Uint8Array, nowMs: number, options: SubmitOptions = {}): Promise<ChainTransaction> {
    const tx = decodeEvm(this.network, raw);
    const [verdict, ...fields] = await this.#store.run<[string, ...string[]]>(
      submitScript,
      [`tx:${tx.hash}`, `acct:${tx.from}`],
      [
        tx.hash,
        tx.from,
        tx.to,
        tx.asset,
        toDigits(tx.units),
        toDigits(tx.coinNeeded),
        toDigits(tx.fee),
        tx.nonce,
        options.fails === true ? 1 : 0,
        nextBlockMs(nowMs, this.blockMs),
        keptMs,
        this.#store.nativeAsset,
        nowMs,
      ],
    );
    if (verdict !== 'OK') {
      const code = verdict as keyof typeof messages;
      throw new ChainRejected(code, messages[code]);
    }
    return this.#store.view(tx.hash, toFields(fields), nowMs);
  }

  /** One that waits is looked after: its turn may have come, or its time may be over. */
  async transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    const known = await this.#store.transaction(id, nowMs);
    if (known?.state !== 'queued') return known;
    const { nativeAsset } = this.#store;
    const minedAtMs = nextBlockMs(nowMs, this.blockMs);
    const fields = await this.#store.run<string[]>(
      lookScript,
      [`tx:${id}`, `acct:${known.from}`],
      [minedAtMs, keptMs, nativeAsset, nowMs, queuedMaxMs],
    );
    return this.#store.view(id, toFields(fields), nowMs);
  }

  /** The account's next nonce: how many of its transactions were mined. */
  async nonce(address: string): Promise<number> {
    return Number((await this.#store.fields(`acct:${address.toLowerCase()}`)).nonce ?? 0);
  }

  balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    return accountBalances(this.#store, address.toLowerCase());
  }

  fund(key: string, address: string, asset: string, units: bigint): Promise<void> {
    return fundAccount(this.#store, key, address.toLowerCase(), asset, units);
  }
}
