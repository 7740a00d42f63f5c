/**
 * The simulated Bitcoin testnet: unspent outputs of P2WPKH addresses. One confirmation is final; change may be spent at
 * once. A transaction whose rate is below the market waits: its inputs stay unspent, and its outputs do not exist, until the market
 * falls. One that spends an input of it, and pays more by a satoshi for each of its own virtual bytes, takes its place (BIP-125).
 *
 * Like Bitcoin Core's, its mempool takes no transaction that, with those that it descends from and that are not mined yet, is more than
 * 25 or has more than 101,000 virtual bytes.
 *
 * It also holds outputs for payments, so that two payments never choose the same one: `hold` reserves them for a payment id
 * in one step and returns the same again, until they are spent or released.
 *
 * Real Bitcoin mines no failing transaction. This chain still mines one that is told to fail: it pays its fee, and its outputs
 * return to the sender.
 */
import { toHex, utf8 } from '../../../core/crypto/bytes.ts';
import { sha256 } from '../../../core/crypto/hashing.ts';
import {
  type BitcoinPayment,
  type Coin,
  decodeBitcoin,
  inputsMax,
  inputVbytes,
  paymentFee,
  witnessesSign,
} from './bitcoin-transaction.ts';
import { type Chain, ChainRejected, type ChainTransaction, type FundedBy, type SubmitOptions } from './chain.ts';
import { bitcoinLimits } from './fees.ts';
import type { BitcoinLedger, HeldCoins, WaitingBitcoin } from './ledger.ts';
import { SimulatedChain } from './simulated-chain.ts';

/** The faucet pays in parts, so that several payments can be in progress at once. */
const faucetCoins = 10n;
/** From this amount on the faucet pays in several coins. */
const splitSats = 1_000_000n;

/** A payment without requests for this long releases its outputs. */
const heldMs = 24 * 3_600_000;

export class BitcoinChain extends SimulatedChain<BitcoinLedger> implements Chain {
  protected override readonly depthNeeded = 1;

  async submit(raw: Uint8Array, nowMs: number, options: SubmitOptions = {}): Promise<ChainTransaction> {
    const tx = decodeBitcoin(raw);
    if (tx.inputs.length === 0) throw new ChainRejected('invalid_transaction', 'a transaction spends something');
    const outpoints = tx.inputs.map(({ txid, index }) => `${txid}:${index}`);
    const spent = (await this.ledger.outputs(outpoints)).filter((output) => output !== undefined);
    if (spent.length < outpoints.length || new Set(outpoints).size < outpoints.length) {
      const known = await this.transaction(tx.txid, nowMs);
      if (known === undefined) throw missingInput();
      return known;
    }
    if (!witnessesSign(tx, spent)) throw new ChainRejected('invalid_signature', 'an input is not signed by its key');
    const fee = total(spent) - total(tx.outputs);
    if (fee < 0n) throw new ChainRejected('insufficient_funds', 'the outputs are more than the inputs');
    const { min, max } = bitcoinLimits;
    if (fee < min * tx.vbytes) throw new ChainRejected('fee_too_low', `below ${min} sat/vB`);
    if (fee > max * tx.vbytes) throw new ChainRejected('fee_too_high', `above ${max} sat/vB`);
    const from = spent[0]!.address;
    const fails = options.fails === true;
    const taken = await this.ledger.submit({
      id: tx.txid,
      from,
      to: tx.outputs[0]!.address,
      asset: this.nativeAsset,
      units: tx.outputs[0]!.sats,
      feeUnits: fee,
      vbytes: tx.vbytes,
      fails,
      nowMs,
      minedAtMs: this.nextBlockMs(nowMs),
      outpoints,
      outputs: fails ? tx.outputs.map(({ sats }) => ({ address: from, sats })) : tx.outputs,
    });
    if (taken === 'missing_input') throw missingInput();
    if (taken === 'too_long_chain') throw new ChainRejected(taken, 'it descends from too many that are not mined yet');
    if (taken === 'input_used') throw new ChainRejected(taken, 'an input is in a waiting transaction that pays more');
    return this.asOf(taken, nowMs);
  }

  override async transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    const known = await super.transaction(id, nowMs);
    if (known?.state !== 'underpriced') return known;
    return this.asOf(await this.ledger.advance(id, this.nextBlockMs(nowMs)), nowMs);
  }

  override async market(): Promise<bigint> {
    return (await this.ledger.market()) ?? bitcoinLimits.initial;
  }

  /** The coins and the fee of a transaction that waits; undefined: it does not wait. */
  waiting(id: string): Promise<WaitingBitcoin | undefined> {
    return this.ledger.waiting(id);
  }

  /**
   * Reserves outputs of `address` for a payment, largest first, for a day. The same payment id gets the same outputs, for
   * another day.
   */
  async hold(
    paymentId: string,
    address: string,
    payment: BitcoinPayment,
    rate: bigint,
    nowMs: number,
  ): Promise<HeldCoins> {
    const sats = payment.sats + paymentFee(payment.to, address, 0, rate).plain;
    const satsPerInput = rate * inputVbytes;
    const untilMs = nowMs + heldMs;
    return this.ledger.hold({ paymentId, address, sats, satsPerInput, inputsMax, nowMs, untilMs });
  }

  /**
   * The amount that the address could spend at once if no payment held its outputs: the sum of the `inputsMax` largest, and
   * whether it has more of them.
   */
  async spendable(address: string): Promise<{ readonly sats: bigint; readonly hasMore: boolean }> {
    const coins = [...(await this.ledger.largest(address, inputsMax))].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
    return { sats: coins.slice(0, inputsMax).reduce((sum, sats) => sum + sats, 0n), hasMore: coins.length > inputsMax };
  }

  /** From now on the coins of `address` are `account`'s, another address of the same wallet. May be repeated. */
  watch(address: string, account: string): Promise<void> {
    return this.ledger.watch(address, account);
  }

  /** Which of these addresses, watched all, ever had a coin. */
  used(addresses: readonly string[]): Promise<readonly boolean[]> {
    return this.ledger.used(addresses);
  }

  /** The addresses of unspent coins. */
  async addressesOf(coins: readonly Coin[]): Promise<readonly string[]> {
    const found = await this.ledger.outputs(coins.map(({ txid, index }) => `${txid}:${index}`));
    return found.map((output) => {
      if (output === undefined) throw missingInput();
      return output.address;
    });
  }

  /** Abandons the payment: frees its unspent outputs, and it never holds any again. May be repeated. */
  release(paymentId: string): Promise<void> {
    return this.ledger.release(paymentId);
  }

  async fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void> {
    // A small amount stays one coin: a coin must be worth more than its cost of spending.
    const count = units < splitSats ? 1n : faucetCoins;
    const part = units / count;
    const coins = [units - part * (count - 1n), ...Array(Number(count) - 1).fill(part)] as bigint[];
    const txid = toHex(sha256(utf8(`signmesh faucet ${this.network} ${key}`)));
    await this.ledger.fund(
      key,
      txid,
      asset,
      address,
      coins.filter((sats) => sats > 0n),
      by,
    );
  }
}

function missingInput(): ChainRejected {
  return new ChainRejected('missing_input', 'an input is spent, or was never there');
}

function total(outputs: readonly { readonly sats: bigint }[]): bigint {
  return outputs.reduce((sum, { sats }) => sum + sats, 0n);
}
