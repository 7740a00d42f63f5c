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
import { type Chain, ChainRejected, type ChainTransaction, type SubmitOptions } from './chain.ts';
import { decodeEvm } from './evm-transaction.ts';
import { type EvmLedger, queuedAheadMax } from './ledger.ts';
import { SimulatedChain } from './simulated-chain.ts';

const messages = {
  nonce_too_low: 'the account has used this nonce already',
  nonce_too_high: `at most ${queuedAheadMax} transactions ahead of the account`,
  nonce_used: 'another transaction with this nonce is waiting',
  insufficient_funds: 'the account cannot pay value and gas',
} as const;

export class EvmChain extends SimulatedChain<EvmLedger> implements Chain {
  protected override readonly confirmationsNeeded = 2;

  async submit(raw: Uint8Array, nowMs: number, options: SubmitOptions = {}): Promise<ChainTransaction> {
    const { hash: id, fee: feeUnits, from, to, asset, units, nonce, coinNeeded } = decodeEvm(this.network, raw);
    const fails = options.fails === true;
    const minedAtMs = this.nextBlockMs(nowMs);
    const taken = await this.ledger.submit({
      ...{ id, from, to, asset, units, feeUnits, fails, minedAtMs, nonce, coinNeeded, nowMs },
    });
    if (typeof taken === 'string') throw new ChainRejected(taken, messages[taken]);
    return this.asOf(taken, nowMs);
  }

  /** One that waits is looked after: its turn may have come, or its time may be over. */
  override async transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    const known = await super.transaction(id, nowMs);
    if (known?.state !== 'queued') return known;
    return this.asOf(await this.ledger.advance(id, known.from, nowMs, this.nextBlockMs(nowMs)), nowMs);
  }

  /** The account's next nonce: how many of its transactions were mined. */
  nonce(address: string): Promise<number> {
    return this.ledger.nonce(address.toLowerCase());
  }

  override balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    return this.ledger.balances(address.toLowerCase());
  }

  fund(key: string, address: string, asset: string, units: bigint): Promise<void> {
    return this.ledger.fund(key, address.toLowerCase(), asset, units);
  }
}
