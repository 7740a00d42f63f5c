/** The ledger of the simulated Bitcoin chain in Redis; its scripts and keys: bitcoin-scripts.ts. */
import { fundBitcoin, holdCoins, largestCoins, releaseCoins, submitBitcoin } from './bitcoin-scripts.ts';
import type { Coin } from './bitcoin-transaction.ts';
import type { FundedBy } from './chain.ts';
import type {
  BitcoinLedger,
  Holding,
  HoldRequest,
  LedgerTransaction,
  NewBitcoinTransaction,
  Output,
} from './ledger.ts';
import { fromFlat, RedisChain } from './redis-chain.ts';

export class RedisBitcoinLedger extends RedisChain implements BitcoinLedger {
  async outputs(outpoints: readonly string[]): Promise<readonly (Output | undefined)[]> {
    const stored = await this.values(outpoints.map((outpoint) => `utxo:${outpoint}`));
    return stored.map((text) => (text === null ? undefined : toOutput(text)));
  }

  async submit(tx: NewBitcoinTransaction): Promise<LedgerTransaction | undefined> {
    const [verdict, ...fields] = await this.run<[string, ...string[]]>(
      submitBitcoin,
      [`tx:${tx.id}`],
      [
        tx.id,
        tx.asset,
        tx.from,
        tx.to,
        String(tx.units),
        String(tx.feeUnits),
        tx.fails ? 1 : 0,
        tx.minedAtMs,
        tx.outpoints.length,
        ...tx.outpoints,
        ...tx.outputs.flatMap(({ address, sats }) => [address, String(sats)]),
      ],
    );
    return verdict === 'OK' ? fromFlat(tx.id, fields) : undefined;
  }

  async hold(request: HoldRequest): Promise<Holding> {
    const { paymentId, address, sats, satsPerInput, inputsMax, nowMs, untilMs } = request;
    const [verdict, lock] = await this.run<[string, string]>(
      holdCoins,
      [`lock:${paymentId}`, `free:${address}`, `held:${address}`],
      [paymentId, address, String(sats), String(satsPerInput), inputsMax, nowMs, untilMs],
    );
    if (verdict === 'WAIT') return { kind: 'wait' };
    if (verdict === 'TOO_MANY') return { kind: 'tooManyInputs' };
    return verdict === 'OK' ? { kind: 'held', coins: toCoins(lock) } : { kind: 'insufficient' };
  }

  async largest(address: string, count: number): Promise<readonly bigint[]> {
    return (await this.run<string[]>(largestCoins, [`free:${address}`, `held:${address}`], [count])).map(BigInt);
  }

  async release(paymentId: string): Promise<void> {
    await this.run(releaseCoins, [`lock:${paymentId}`], [paymentId]);
  }

  async fund(
    key: string,
    txid: string,
    asset: string,
    address: string,
    sats: readonly bigint[],
    by?: FundedBy,
  ): Promise<void> {
    const movement = by === undefined ? ['', '', ''] : [by.txId, by.from, by.atMs];
    await this.run(fundBitcoin, [`fund:${key}:${asset}`], [txid, asset, address, ...movement, ...sats.map(String)]);
  }
}

function toOutput(text: string): Output {
  const colon = text.indexOf(':');
  return { sats: BigInt(text.slice(0, colon)), address: text.slice(colon + 1) };
}

function toCoins(lock: string): readonly Coin[] {
  return lock
    .slice(lock.indexOf('|') + 1)
    .split(',')
    .map((text) => {
      const [txid, index, sats] = text.split(':') as [string, string, string];
      return { txid, index: Number(index), sats: BigInt(sats) };
    });
}
