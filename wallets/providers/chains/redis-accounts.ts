/** The ledger of a chain with accounts, in Redis: the faucet, which EVM and Solana share. */
import { type FundedBy, retentionMs } from './chain.ts';
import type { AccountLedger } from './ledger.ts';
import { toDigits } from './lua-units.ts';
import { RedisChain } from './redis-chain.ts';
import { fundAccount } from './scripts.ts';

export class RedisAccounts extends RedisChain implements AccountLedger {
  readonly #fund = this.script(fundAccount);

  async fund(key: string, address: string, asset: string, units: bigint, by?: FundedBy): Promise<void> {
    await this.#fund({ fundKey: key, address, asset, units: toDigits(units), retentionMs, by: by && { ...by } });
  }
}
