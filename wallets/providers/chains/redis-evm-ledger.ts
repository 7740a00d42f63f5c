/** The ledger of the simulated EVM chain in Redis (see evm.ts for its rules). */
import type { TokenAllowance } from '../port/port.ts';
import { retentionMs } from './chain.ts';
import { evmLimits } from './fees.ts';
import {
  type EvmLedger,
  type EvmRefusal,
  type LedgerTransaction,
  type NewEvmTransaction,
  queuedAheadMax,
  queuedMaxMs,
  type TokenContract,
} from './ledger.ts';
import { largest, toDigits } from './lua-units.ts';
import { RedisAccounts } from './redis-accounts.ts';
import { fromFlat } from './redis-chain.ts';
import { advanceEvm, submitEvm } from './scripts.ts';

/** An allowance that is never used up (evm-mining.lua). */
const unlimited = toDigits(largest);
/** Until it is moved. */
const market = Number(evmLimits.initial);

export class RedisEvmLedger extends RedisAccounts implements EvmLedger {
  readonly #submit = this.script(submitEvm);
  readonly #advance = this.script(advanceEvm);

  async submit(tx: NewEvmTransaction): Promise<LedgerTransaction | EvmRefusal> {
    const { id, from, to, asset, nonce, effect, token, fees, owner = '', allowance = '' } = tx;
    const [verdict, ...fields] = await this.#submit({
      ...{
        nativeAsset: this.nativeAsset,
        market,
        nowMs: tx.nowMs,
        minedAtMs: tx.minedAtMs,
        retentionMs,
        queuedAheadMax,
      },
      needsContract: tx.needsContract ? 1 : 0,
      tx: {
        ...{ id, from, to, asset, nonce, effect },
        units: toDigits(tx.units),
        needed: toDigits(tx.coinNeeded),
        fee: toDigits(tx.feeUnits),
        gas: String(tx.gas),
        maxFee: String(fees.maxFeePerGas),
        tip: String(fees.maxPriorityFeePerGas),
        fails: tx.fails ? 1 : 0,
        outOfGas: tx.outOfGas ? 1 : 0,
        owner,
        allowance: String(allowance),
      },
      token: token && { ...token, cap: toDigits(token.cap) },
    });
    return verdict === 'OK' ? fromFlat(id, fields) : verdict;
  }

  async advance(id: string, from: string, nowMs: number, minedAtMs: number): Promise<LedgerTransaction> {
    const { nativeAsset } = this;
    const times = { nowMs, minedAtMs, retentionMs, queuedMaxMs };
    return fromFlat(id, await this.#advance({ id, from, nativeAsset, market, ...times }));
  }

  async token(contract: string): Promise<TokenContract | undefined> {
    const { owner, name, symbol, decimals, cap, left } = await this.fields(`token:${contract}`);
    if (owner === undefined) return undefined;
    const supply = BigInt(cap!) - BigInt(left!);
    return { owner, name: name!, symbol: symbol!, decimals: Number(decimals), cap: BigInt(cap!), supply };
  }

  async allowances(owner: string): Promise<readonly TokenAllowance[]> {
    return Object.entries(await this.fields(`allow:${owner}`)).map(([name, digits]) => {
      const [contract, spender] = name.split(':') as [string, string];
      return { contract, spender, units: digits === unlimited ? undefined : BigInt(digits) };
    });
  }

  override async balances(address: string): Promise<ReadonlyMap<string, bigint>> {
    const fields = Object.entries(await this.fields(`acct:${address}`));
    return new Map(
      fields
        .filter(([name]) => name !== 'nonce' && !name.startsWith('q:'))
        .map(([asset, units]) => [asset, BigInt(units)]),
    );
  }

  async nonce(address: string): Promise<number> {
    return Number((await this.fields(`acct:${address}`)).nonce ?? 0);
  }
}
