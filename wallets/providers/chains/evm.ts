/**
 * The simulated EVM chain: accounts with a nonce, a coin and tokens, and the token contract (token-contract.ts), which
 * anyone may deploy. Two confirmations make a transaction final.
 *
 * Like an Ethereum node's pool, it refuses a nonce below the account's; queues one above it until the gap is filled; and takes
 * the next one into the next block, with those that waited for it, unless its largest fee is below the base fee: then it waits for the
 * market. A waiting transaction is replaced by one with its nonce whose fees are a tenth higher. A token transfer without cover is
 * mined and reverts: it uses its nonce and fee.
 *
 * No transaction waits forever, and none blocks those behind it. If an account cannot pay when its transaction's turn comes,
 * the transaction is mined without effect: it takes its nonce and the remaining coin as its fee. The next read drops a
 * transaction that waited longer than `queuedMaxMs`: its nonce stays unused, and another may take it.
 */

import { assetsOn } from '../../networks/assets.ts';
import type { TokenAllowance } from '../port/port.ts';
import { type Chain, ChainRejected, type ChainTransaction, type FundedBy, type SubmitOptions } from './chain.ts';
import { type DecodedEvm, decodeEvm } from './evm-transaction.ts';
import { evmLimits } from './fees.ts';
import { type EvmLedger, type NewEvmTransaction, queuedAheadMax, type TokenContract } from './ledger.ts';
import { SimulatedChain } from './simulated-chain.ts';
import { type TokenLog, tokenLog, zeroAddress } from './token-contract.ts';

/** An Ethereum node's receipt of a transaction, with the fields that this chain has. */
export interface EvmReceipt {
  readonly status: 'success' | 'reverted';
  /** Only for a deployment. */
  readonly contractAddress: string | null;
  readonly logs: readonly TokenLog[];
}

const messages = {
  no_contract: 'there is no token contract at this address',
  nonce_too_low: 'the account has used this nonce already',
  nonce_too_high: `at most ${queuedAheadMax} transactions ahead of the account`,
  nonce_used: 'another transaction with this nonce is waiting: a replacement raises both fees by a tenth',
  insufficient_funds: 'the account cannot pay value and gas',
} as const;

export class EvmChain extends SimulatedChain<EvmLedger> implements Chain {
  protected override readonly depthNeeded = 2;

  async submit(raw: Uint8Array, nowMs: number, options: SubmitOptions = {}): Promise<ChainTransaction> {
    const decoded = decodeEvm(this.network, raw);
    const { hash: id, gas, outOfGas, fees, from, nonce, coinNeeded } = decoded;
    const feeUnits = gas * fees.maxFeePerGas;
    const fails = outOfGas || options.fails === true;
    const minedAtMs = this.nextBlockMs(nowMs);
    const taken = await this.ledger.submit({
      ...this.#effectOf(decoded),
      ...{ id, from, gas, outOfGas, fees, feeUnits, fails, minedAtMs, nonce, coinNeeded, nowMs },
    });
    if (taken === 'no_contract') throw new ChainRejected('unsupported_transaction', messages[taken]);
    if (typeof taken === 'string') throw new ChainRejected(taken, messages[taken]);
    return this.shown(this.asOf(taken, nowMs));
  }

  /** Advances a waiting transaction: its turn may have come, or its time may be over. */
  override async transaction(id: string, nowMs: number): Promise<ChainTransaction | undefined> {
    const known = await super.transaction(id, nowMs);
    if (known?.state !== 'queued' && known?.state !== 'underpriced') return known && this.shown(known);
    return this.shown(this.asOf(await this.ledger.advance(id, known.from, nowMs, this.nextBlockMs(nowMs)), nowMs));
  }

  override async market(): Promise<bigint> {
    return (await this.ledger.market()) ?? evmLimits.initial;
  }

  /** undefined: no contract at this address. */
  token(contract: string): Promise<TokenContract | undefined> {
    return this.ledger.token(contract.toLowerCase());
  }

  /** What others may move of an account's units, as it approved. */
  allowances(owner: string): Promise<readonly TokenAllowance[]> {
    return this.ledger.allowances(this.accountOf(owner));
  }

  /** The receipt of a transaction of this chain; undefined until it is final. */
  receiptOf({
    from,
    owner = from,
    to,
    asset,
    units,
    allowance,
    effect,
    succeeded,
    state,
  }: ChainTransaction): EvmReceipt | undefined {
    if (state !== 'confirmed') return undefined;
    const contract = this.#keyOf(asset);
    const isToken = contract !== this.nativeAsset;
    const deployed = effect === 'deploy' && succeeded;
    const log =
      allowance === undefined
        ? tokenLog('Transfer', contract, effect === 'mint' ? zeroAddress : owner, to, units)
        : tokenLog('Approval', contract, owner, to, allowance);
    return {
      status: succeeded ? 'success' : 'reverted',
      contractAddress: deployed ? contract : null,
      logs: succeeded && isToken && !deployed ? [log] : [],
    };
  }

  /** The account's next nonce: the number of its mined transactions. */
  nonce(address: string): Promise<number> {
    return this.ledger.nonce(address.toLowerCase());
  }

  override async balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    const held = await this.ledger.balances(address.toLowerCase());
    const listed = assetsOn(this.network).map(({ symbol }) => [symbol, held.get(this.#keyOf(symbol)) ?? 0n] as const);
    const tokens = [...held].filter(([asset]) => this.#symbolOf(asset) === asset && asset !== this.nativeAsset);
    return new Map([...listed, ...tokens]);
  }

  protected override accountOf(address: string): string {
    return address.toLowerCase();
  }

  /** `asset`: a symbol of the registry. */
  fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void> {
    return this.ledger.fund(key, this.accountOf(address), this.#keyOf(asset), units, by);
  }

  #effectOf({
    action,
    contract,
  }: DecodedEvm): Pick<
    NewEvmTransaction,
    'effect' | 'asset' | 'to' | 'units' | 'needsContract' | 'token' | 'owner' | 'allowance'
  > {
    const asset = contract ?? this.nativeAsset;
    switch (action.kind) {
      case 'coin':
        return { effect: 'move', asset, to: action.to, units: action.units, needsContract: false };
      case 'deploy':
        return { effect: 'deploy', asset, to: asset, units: 0n, needsContract: false, token: action.token };
      case 'call': {
        const { call } = action;
        const { units } = call;
        // What the registry lists needs none; it is neither minted nor burned.
        const needsContract = this.#symbolOf(asset) === asset;
        switch (call.kind) {
          case 'burn':
            return { effect: 'burn', asset, to: zeroAddress, units, needsContract: true };
          case 'mint':
            return { effect: 'mint', asset, to: call.to, units, needsContract: true };
          case 'transfer':
            return { effect: 'move', asset, to: call.to, units, needsContract };
          case 'approve':
            return { effect: 'approve', asset, to: call.spender, units: 0n, allowance: units, needsContract };
          case 'transferFrom':
            return { effect: 'transferFrom', asset, owner: call.from, to: call.to, units, needsContract };
        }
      }
    }
  }

  protected override shown(transaction: ChainTransaction): ChainTransaction {
    return { ...transaction, asset: this.#symbolOf(transaction.asset) };
  }

  /** The ledger's key: the coin's symbol, or a contract in lower case. */
  #keyOf(asset: string): string {
    return (
      assetsOn(this.network)
        .find(({ symbol }) => symbol === asset)
        ?.contract?.toLowerCase() ?? asset
    );
  }

  /** The reverse; a contract outside of the registry stays unchanged. */
  #symbolOf(key: string): string {
    return assetsOn(this.network).find(({ contract }) => contract?.toLowerCase() === key)?.symbol ?? key;
  }
}
