/**
 * The simulated Solana chain: accounts of lamports, and transfers of the system program. One confirmation is final.
 *
 * A message is processed once: under another signature too it is the first transaction again. A transfer that is not
 * covered is refused, as a node's preflight does. Rent is left out: an account may hold as little as one lamport.
 */
import { toHex } from '../../crypto/bytes.ts';
import { sha256 } from '../../crypto/hashing.ts';
import type { NetworkId } from '../../networks/networks.ts';
import { accountBalances, fundAccount } from './accounts.ts';
import { nextBlockMs } from './block-time.ts';
import { type Chain, ChainRejected, type ChainTransaction, keptMs, type SubmitOptions } from './chain.ts';
import { type ChainOptions, ChainStore, script, toFields } from './chain-store.ts';
import { luaUnits, toDigits } from './lua-units.ts';
import { decodeSolana, signatureFee } from './solana-transaction.ts';

const confirmationsNeeded = 1;

/**
 * KEYS: transaction, message, sender's account, receiver's account. ARGV: prefix, id, from, to, asset, lamports, needed,
 * fee, fails (1/0), mined at ms, kept ms. Answers INSUFFICIENT, or OK, the id and the transaction's fields.
 */
const submitScript = script(`${luaUnits}
local first = redis.call('GET', KEYS[2])
if first then return {'OK', first, unpack(redis.call('HGETALL', ARGV[1] .. 'tx:' .. first))} end
local asset = ARGV[5]
local held = amount(redis.call('HGET', KEYS[3], asset))
if held < ARGV[7] then return {'INSUFFICIENT'} end
if ARGV[9] == '1' then
  redis.call('HSET', KEYS[3], asset, minus(held, ARGV[8]))
else
  redis.call('HSET', KEYS[3], asset, minus(held, ARGV[7]))
  redis.call('HSET', KEYS[4], asset, plus(amount(redis.call('HGET', KEYS[4], asset)), ARGV[6]))
end
redis.call('HSET', KEYS[1], 'from', ARGV[3], 'to', ARGV[4], 'asset', asset, 'units', ARGV[6], 'fee', ARGV[8],
  'minedAtMs', ARGV[10], 'failed', ARGV[9])
redis.call('PEXPIRE', KEYS[1], ARGV[11])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[11])
return {'OK', ARGV[2], unpack(redis.call('HGETALL', KEYS[1]))}
`);

export class SolanaChain implements Chain {
  readonly network: NetworkId;
  readonly blockMs: number;
  readonly #store: ChainStore;

  constructor(network: NetworkId, options: ChainOptions) {
    this.#store = new ChainStore(network, options, confirmationsNeeded);
    this.network = network;
    this.blockMs = this.#store.blockMs;
  }

  async submit(raw: Uint8Array, nowMs: number, options: SubmitOptions = {}): Promise<ChainTransaction> {
    const tx = decodeSolana(raw);
    const [verdict, id, ...fields] = await this.#store.run<[string, string, ...string[]]>(
      submitScript,
      [`tx:${tx.id}`, `msg:${toHex(sha256(tx.message))}`, `acct:${tx.from}`, `acct:${tx.to}`],
      [
        tx.id,
        tx.from,
        tx.to,
        this.#store.nativeAsset,
        toDigits(tx.lamports),
        toDigits(tx.lamports + signatureFee),
        toDigits(signatureFee),
        options.fails === true ? 1 : 0,
        nextBlockMs(nowMs, this.blockMs),
        keptMs,
      ],
    );
    if (verdict !== 'OK') throw new ChainRejected('insufficient_funds', 'the account cannot pay transfer and fee');
    return this.#store.view(id, toFields(fields), nowMs);
  }

  transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    return this.#store.transaction(id, nowMs);
  }

  balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    return accountBalances(this.#store, address);
  }

  fund(key: string, address: string, asset: string, units: bigint): Promise<void> {
    return fundAccount(this.#store, key, address, asset, units);
  }
}
