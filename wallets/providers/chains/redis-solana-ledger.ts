/** The ledger of the simulated Solana chain in Redis. */
import { retentionMs } from './chain.ts';
import type { LedgerTransaction, NewSolanaTransaction, SolanaLedger } from './ledger.ts';
import { toDigits } from './lua-units.ts';
import { RedisAccounts } from './redis-accounts.ts';
import { fromFlat } from './redis-chain.ts';
import { submitSolana } from './scripts.ts';

export class RedisSolanaLedger extends RedisAccounts implements SolanaLedger {
  readonly #submit = this.script(submitSolana);

  async submit(tx: NewSolanaTransaction): Promise<LedgerTransaction | undefined> {
    const { id: hash, messageHash, from, to, asset, minedAtMs } = tx;
    const [verdict, id, ...fields] = await this.#submit({
      minedAtMs,
      retentionMs,
      tx: {
        ...{ id: hash, messageHash, from, to, asset },
        units: toDigits(tx.units),
        needed: toDigits(tx.units + tx.feeUnits),
        fee: toDigits(tx.feeUnits),
        fails: tx.fails ? 1 : 0,
      },
    });
    return verdict === 'OK' ? fromFlat(id, fields) : undefined;
  }
}
