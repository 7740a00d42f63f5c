/**
 * The ledger of the simulated Bitcoin chain in Redis. Its keys, in addition to those of redis-chain.ts:
 *
 *   utxo:<txid>:<index>   "<sats>:<address>", an unspent output
 *   free:<address>        sorted set, the address's unspent outputs that no payment holds, by sats
 *   held:<address>        hash, those that a payment holds: output → "<sats>:<until ms>:<payment id>"; a waiting transaction holds its
 *                         inputs for good
 *   spender:<txid>:<index> the waiting transaction that spends this output
 *   lock:<payment id>     its outputs, "<address>|<txid>:<index>:<sats>,…"; stays a while after spending; empty once released
 *   acct:<address>        its balance
 *   own:<address>         the account that has its coins: free, held, acct and at are those of accounts
 *   used:<address>        an address with an account has had a coin
 */
import { ancestorsMax, ancestorVbytesMax, type Coin } from './bitcoin-transaction.ts';
import { type FundedBy, retentionMs } from './chain.ts';
import { bitcoinLimits } from './fees.ts';
import type {
  BitcoinLedger,
  BitcoinRefusal,
  HeldCoins,
  HoldRequest,
  LedgerTransaction,
  NewBitcoinTransaction,
  Output,
  WaitingBitcoin,
} from './ledger.ts';
import { fromFlat, RedisChain } from './redis-chain.ts';
import {
  advanceBitcoin,
  fundBitcoin,
  holdCoins,
  largestCoins,
  releaseCoins,
  submitBitcoin,
  watchAddress,
} from './scripts.ts';

/** Until it is moved. */
const market = Number(bitcoinLimits.initial);

export class RedisBitcoinLedger extends RedisChain implements BitcoinLedger {
  readonly #submit = this.script(submitBitcoin);
  readonly #advance = this.script(advanceBitcoin);
  readonly #fund = this.script(fundBitcoin);
  readonly #hold = this.script(holdCoins);
  readonly #largest = this.script(largestCoins);
  readonly #release = this.script(releaseCoins);
  readonly #watch = this.script(watchAddress);

  async outputs(outpoints: readonly string[]): Promise<readonly (Output | undefined)[]> {
    const stored = await this.values(outpoints.map((outpoint) => `utxo:${outpoint}`));
    return stored.map((text) => (text === null ? undefined : toOutput(text)));
  }

  async submit(tx: NewBitcoinTransaction): Promise<LedgerTransaction | BitcoinRefusal> {
    const { id, asset, from, to, nowMs, minedAtMs, outpoints } = tx;
    const [verdict, ...fields] = await this.#submit({
      ...{ market, nowMs, minedAtMs, retentionMs, ancestorsMax, ancestorVbytesMax },
      tx: {
        ...{ id, asset, from, to },
        units: String(tx.units),
        fee: String(tx.feeUnits),
        vbytes: String(tx.vbytes),
        fails: tx.fails ? 1 : 0,
      },
      outpoints,
      outputs: tx.outputs.map(({ address, sats }) => ({ address, sats: String(sats) })),
    });
    return verdict === 'OK' ? fromFlat(id, fields) : verdict;
  }

  async advance(id: string, minedAtMs: number): Promise<LedgerTransaction> {
    return fromFlat(id, await this.#advance({ id, market, minedAtMs, retentionMs }));
  }

  async waiting(id: string): Promise<WaitingBitcoin | undefined> {
    const { fee, inputs, underpriced } = await this.fields(`tx:${id}`);
    if (fee === undefined || inputs === undefined || underpriced === undefined) return undefined;
    return { coins: coinsOf(inputs), feeUnits: BigInt(fee) };
  }

  async hold(request: HoldRequest): Promise<HeldCoins> {
    const { paymentId, address, inputsMax, nowMs, untilMs } = request;
    const [verdict, lock] = await this.#hold({
      ...{ paymentId, address, inputsMax, nowMs, untilMs },
      sats: String(request.sats),
      satsPerInput: String(request.satsPerInput),
    });
    if (verdict === 'WAIT') return { kind: 'wait' };
    if (verdict === 'RELEASED') return { kind: 'released' };
    if (verdict === 'TOO_MANY') return { kind: 'tooManyInputs' };
    return verdict === 'OK' ? { kind: 'held', coins: toCoins(lock) } : { kind: 'insufficient' };
  }

  async largest(address: string, count: number): Promise<readonly bigint[]> {
    return (await this.#largest({ address, count })).map(BigInt);
  }

  async watch(address: string, account: string): Promise<void> {
    await this.#watch({ address, account });
  }

  async used(addresses: readonly string[]): Promise<readonly boolean[]> {
    if (addresses.length === 0) return [];
    return (await this.values(addresses.map((address) => `used:${address}`))).map((value) => value !== null);
  }

  async release(paymentId: string): Promise<void> {
    await this.#release({ paymentId, retentionMs });
  }

  async fund(
    key: string,
    txid: string,
    asset: string,
    address: string,
    sats: readonly bigint[],
    by?: FundedBy,
  ): Promise<void> {
    const movement = by && { ...by };
    await this.#fund({ fundKey: key, txid, asset, address, retentionMs, sats: sats.map(String), by: movement });
  }
}

function toOutput(text: string): Output {
  const colon = text.indexOf(':');
  return { sats: BigInt(text.slice(0, colon)), address: text.slice(colon + 1) };
}

function toCoins(lock: string): readonly Coin[] {
  return coinsOf(lock.slice(lock.indexOf('|') + 1));
}

function coinsOf(list: string): readonly Coin[] {
  return list.split(',').map((text) => {
    const [txid, index, sats] = text.split(':') as [string, string, string];
    return { txid, index: Number(index), sats: BigInt(sats) };
  });
}
