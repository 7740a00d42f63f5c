/** The ledger of the simulated Solana chain in Redis. */
import { retentionMs } from './chain.ts';
import type { LedgerTransaction, NewSolanaTransaction, SolanaLedger, SolanaRefusal } from './ledger.ts';
import { toDigits } from './lua-units.ts';
import { RedisAccounts } from './redis-accounts.ts';
import { fromFlat } from './redis-chain.ts';
import { submitSolana } from './scripts.ts';
import { rentExempt } from './solana-transaction.ts';

export class RedisSolanaLedger extends RedisAccounts implements SolanaLedger {
  readonly #submit = this.script(submitSolana);

  async submit(tx: NewSolanaTransaction): Promise<LedgerTransaction | SolanaRefusal> {
    const { id: hash, messageHash, from, to, asset, minedAtMs } = tx;
    const [verdict, id, ...fields] = await this.#submit({
      minedAtMs,
      retentionMs,
      rentExempt: toDigits(rentExempt),
      tx: {
        ...{ id: hash, messageHash, from, to, asset },
        units: toDigits(tx.units),
        needed: toDigits(tx.units + tx.feeUnits),
        fee: toDigits(tx.feeUnits),
        fails: tx.fails ? 1 : 0,
      },
    });
    if (verdict === 'OK') return fromFlat(id, fields);
    return verdict === 'RENT' ? 'below_rent_exemption' : 'insufficient_funds';
  }
}
