/**
 * The simulated Solana chain: accounts of lamports, and transfers of the system program. One confirmation is final.
 *
 * A message is processed once: with another signature it still counts as the first transaction. A transfer that is not
 * covered is refused, like by a node's preflight; so is one that leaves an account with less than `rentExempt`, but not empty. The
 * faucet may leave one there: then it may only lose.
 */
import { toHex } from '../../../core/crypto/bytes.ts';
import { sha256 } from '../../../core/crypto/hashing.ts';
import { type Chain, ChainRejected, type ChainTransaction, type FundedBy, type SubmitOptions } from './chain.ts';
import type { SolanaLedger } from './ledger.ts';
import { SimulatedChain } from './simulated-chain.ts';
import { decodeSolana, rentExempt, signatureFee } from './solana-transaction.ts';

export class SolanaChain extends SimulatedChain<SolanaLedger> implements Chain {
  protected override readonly depthNeeded = 1;

  async submit(raw: Uint8Array, nowMs: number, options: SubmitOptions = {}): Promise<ChainTransaction> {
    const { id, from, to, lamports: units, message } = decodeSolana(raw);
    const fails = options.fails === true;
    const [asset, minedAtMs, messageHash] = [this.nativeAsset, this.nextBlockMs(nowMs), toHex(sha256(message))];
    const taken = await this.ledger.submit({
      ...{ id, from, to, asset, units, feeUnits: signatureFee, fails, minedAtMs, messageHash },
    });
    if (taken === 'insufficient_funds') throw new ChainRejected(taken, 'the account cannot pay transfer and fee');
    if (taken === 'below_rent_exemption') {
      throw new ChainRejected(taken, `an account would hold less than ${rentExempt} lamports, and not be empty`);
    }
    return this.asOf(taken, nowMs);
  }

  fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void> {
    return this.ledger.fund(key, address, asset, units, by);
  }
}
