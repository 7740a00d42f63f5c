/**
 * The simulated Bitcoin testnet: unspent outputs of P2WPKH addresses. One confirmation is final; change may be spent at
 * once.
 *
 * It also holds outputs for payments, so that two payments never choose the same one: `hold` takes them for a payment id
 * in one step and answers the same again, until they are spent or released.
 *
 * Real Bitcoin mines no transaction that fails. One that is told to fail is mined all the same and pays its fee, and its
 * outputs go back to the sender.
 */
import { toHex, utf8 } from '../../crypto/bytes.ts';
import { sha256 } from '../../crypto/hashing.ts';
import type { NetworkId } from '../../networks/networks.ts';
import { accountBalances } from './accounts.ts';
import { fundBitcoin, holdCoins, largestCoins, releaseCoins, submitBitcoin } from './bitcoin-scripts.ts';
import {
  type BitcoinPayment,
  type Coin,
  decodeBitcoin,
  feeRate,
  inputsMax,
  inputVbytes,
  paymentFee,
  witnessesSign,
} from './bitcoin-transaction.ts';
import { nextBlockMs } from './block-time.ts';
import { type Chain, ChainRejected, type ChainTransaction, type SubmitOptions } from './chain.ts';
import { type ChainOptions, ChainStore, toFields } from './chain-store.ts';

const confirmationsNeeded = 1;
/** Nodes relay nothing cheaper, satoshi a virtual byte. */
const relayRateMin = 1n;
/** The faucet pays in parts, so that several payments can be under way at once. */
const faucetCoins = 10n;
/** From here on the faucet pays in several coins. */
const splitSats = 1_000_000n;

/** A payment without requests releases its outputs. */
const heldMs = 24 * 3_600_000;

export type Holding =
  | { readonly kind: 'held'; readonly coins: readonly Coin[] }
  /** Other payments hold too much of the address: ask again when they are through. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'insufficient' }
  /** The largest `inputsMax` outputs are not enough. */
  | { readonly kind: 'tooManyInputs' };

export class BitcoinChain implements Chain {
  readonly network: NetworkId;
  readonly blockMs: number;
  readonly #store: ChainStore;

  constructor(network: NetworkId, options: ChainOptions) {
    this.#store = new ChainStore(network, options, confirmationsNeeded);
    this.network = network;
    this.blockMs = this.#store.blockMs;
  }

  async submit(raw: Uint8Array, nowMs: number, options: SubmitOptions = {}): Promise<ChainTransaction> {
    const tx = decodeBitcoin(raw);
    if (tx.inputs.length === 0) throw new ChainRejected('invalid_transaction', 'a transaction spends something');
    const outpoints = tx.inputs.map(({ txid, index }) => `${txid}:${index}`);
    const stored = await this.#store.values(outpoints.map((outpoint) => `utxo:${outpoint}`));
    const spent = stored.flatMap((text) => (text === null ? [] : [toOutput(text)]));
    if (spent.length < outpoints.length || new Set(outpoints).size < outpoints.length) {
      const known = await this.transaction(tx.txid, nowMs);
      if (known === undefined) throw missingInput();
      return known;
    }
    if (!witnessesSign(tx, spent)) throw new ChainRejected('invalid_signature', 'an input is not signed by its key');
    const fee = total(spent) - total(tx.outputs);
    if (fee < 0n) throw new ChainRejected('insufficient_funds', 'the outputs are more than the inputs');
    if (fee < relayRateMin * tx.vbytes) throw new ChainRejected('fee_too_low', `below ${relayRateMin} sat/vB`);
    const from = spent[0]!.address;
    const fails = options.fails === true;
    const outputs = tx.outputs.flatMap(({ address, sats }) => [fails ? from : address, String(sats)]);
    const { address: to, sats } = tx.outputs[0]!;
    const [verdict, ...fields] = await this.#store.run<[string, ...string[]]>(
      submitBitcoin,
      [`tx:${tx.txid}`],
      [
        tx.txid,
        this.#store.nativeAsset,
        from,
        to,
        String(sats),
        String(fee),
        fails ? 1 : 0,
        nextBlockMs(nowMs, this.blockMs),
        outpoints.length,
        ...outpoints,
        ...outputs,
      ],
    );
    if (verdict !== 'OK') throw missingInput();
    return this.#store.view(tx.txid, toFields(fields), nowMs);
  }

  /**
   * Takes outputs of `address` for a payment, largest first, and holds them for a day. The same payment id gets the same
   * outputs, for a day more.
   */
  async hold(paymentId: string, address: string, payment: BitcoinPayment, nowMs: number): Promise<Holding> {
    const needed = payment.sats + paymentFee(payment.to, address, 0).plain;
    const [verdict, lock] = await this.#store.run<[string, string]>(
      holdCoins,
      [`lock:${paymentId}`, `free:${address}`, `held:${address}`],
      [paymentId, address, String(needed), String(feeRate * inputVbytes), inputsMax, nowMs, nowMs + heldMs],
    );
    if (verdict === 'WAIT') return { kind: 'wait' };
    if (verdict === 'TOO_MANY') return { kind: 'tooManyInputs' };
    return verdict === 'OK' ? { kind: 'held', coins: toCoins(lock) } : { kind: 'insufficient' };
  }

  /**
   * What the address could spend at once if no payment held anything of it: the sum of its `inputsMax` largest outputs,
   * and whether there are more of them.
   */
  async spendable(address: string): Promise<{ readonly sats: bigint; readonly hasMore: boolean }> {
    const outputs = await this.#store.run<string[]>(largestCoins, [`free:${address}`, `held:${address}`], [inputsMax]);
    const coins = outputs.map(BigInt).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
    return { sats: coins.slice(0, inputsMax).reduce((sum, sats) => sum + sats, 0n), hasMore: coins.length > inputsMax };
  }

  /** Gives back what the payment holds and did not spend. May be repeated. */
  async release(paymentId: string): Promise<void> {
    await this.#store.run(releaseCoins, [`lock:${paymentId}`], [paymentId]);
  }

  transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    return this.#store.transaction(id, nowMs);
  }

  balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    return accountBalances(this.#store, address);
  }

  async fund(key: string, address: string, asset: string, units: bigint): Promise<void> {
    // What is small stays one coin: a coin must be worth more than it costs to spend.
    const count = units < splitSats ? 1n : faucetCoins;
    const part = units / count;
    const coins = [units - part * (count - 1n), ...Array(Number(count) - 1).fill(part)] as bigint[];
    const txid = toHex(sha256(utf8(`signmesh faucet ${this.network} ${key}`)));
    await this.#store.run(
      fundBitcoin,
      [`fund:${key}:${asset}`],
      [txid, asset, address, ...coins.filter((sats) => sats > 0n).map(String)],
    );
  }
}

function missingInput(): ChainRejected {
  return new ChainRejected('missing_input', 'an input is spent, or was never there');
}

function total(outputs: readonly { readonly sats: bigint }[]): bigint {
  return outputs.reduce((sum, { sats }) => sum + sats, 0n);
}

function toOutput(text: string): { readonly address: string; readonly sats: bigint } {
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
