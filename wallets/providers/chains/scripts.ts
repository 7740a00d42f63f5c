/** The scripts of the chains' ledgers: their arguments and replies. Amounts: lua-units.ts. */
import type { LuaFields, LuaScript } from '../../../core/redis/lua.ts';
import { luaScript } from '../../../core/redis/lua.ts';
import type { BitcoinRefusal, EvmRefusal } from './ledger.ts';

/** For every script of a chain: its only key is the chain's prefix. */
export interface OfChain<Args extends object> {
  readonly keys: { readonly prefixKey: string };
  readonly args: Readonly<Args>;
}

export type ChainScript<Args extends object, Reply> = LuaScript<OfChain<Args>, Reply>;

interface Mining {
  minedAtMs: number;
  retentionMs: number;
}

interface EvmMining extends Mining {
  nativeAsset: string;
  market: number;
  nowMs: number;
}

interface SubmitEvm extends EvmMining {
  queuedAheadMax: number;
  needsContract: 0 | 1;
  tx: LuaFields;
  token: LuaFields | undefined;
}

interface AdvanceEvm extends EvmMining {
  id: string;
  from: string;
  queuedMaxMs: number;
}

interface BitcoinMining extends Mining {
  market: number;
}

interface SubmitBitcoin extends BitcoinMining {
  nowMs: number;
  ancestorsMax: number;
  ancestorVbytesMax: number;
  tx: LuaFields;
  outpoints: readonly string[];
  outputs: readonly { readonly address: string; readonly sats: string }[];
}

interface HoldCoins {
  paymentId: string;
  address: string;
  sats: string;
  satsPerInput: string;
  inputsMax: number;
  nowMs: number;
  untilMs: number;
}

interface WatchAddress {
  address: string;
  account: string;
}

interface FundAccount {
  fundKey: string;
  address: string;
  asset: string;
  units: string;
  retentionMs: number;
  by: LuaFields | undefined;
}

interface FundBitcoin {
  fundKey: string;
  txid: string;
  asset: string;
  address: string;
  retentionMs: number;
  sats: readonly string[];
  by: LuaFields | undefined;
}

export interface MovementsOf {
  readonly address: string;
  readonly fromMs: number;
  readonly afterName: string;
  readonly afterMs: number | '';
  readonly limit: number;
}
export type MovementsReply = readonly (readonly [name: string, atMs: string, fields: readonly string[]])[];

interface Reorganize {
  fromMs: number;
  nowMs: number;
  nextMs: number;
  blockMs: number;
  finality: number;
}

function script<Args extends object, Reply>(name: string): ChainScript<Args, Reply> {
  return luaScript(`wallets/providers/chains/${name}.lua`);
}

export const submitEvm = script<SubmitEvm, ['OK' | EvmRefusal, ...string[]]>('submit-evm');
export const advanceEvm = script<AdvanceEvm, string[]>('advance-evm');
export const fundAccount = script<FundAccount, number>('fund-account');
export const submitSolana = script<Mining & { rentExempt: string; tx: LuaFields }, [string, string, ...string[]]>(
  'submit-solana',
);
export const watchAddress = script<WatchAddress, number>('watch-address');
export const submitBitcoin = script<SubmitBitcoin, ['OK' | BitcoinRefusal, ...string[]]>('submit-bitcoin');
export const advanceBitcoin = script<BitcoinMining & { id: string }, string[]>('advance-bitcoin');
export const fundBitcoin = script<FundBitcoin, number>('fund-bitcoin');
export const holdCoins = script<HoldCoins, [string, string]>('hold-coins');
export const largestCoins = script<{ address: string; count: number }, string[]>('largest-coins');
export const releaseCoins = script<{ paymentId: string; retentionMs: number }, number>('release-coins');
export const reorganize = script<Reorganize, ['OK' | 'FINAL', number]>('reorganize');
export const movementsOf = script<MovementsOf, MovementsReply>('movements');
