/** The edges of a job's window and of its lag: what each side of a wallet counts in, and what a balance sets aside. */
import { expect, it } from 'vitest';
import { balanceStep } from '../../../../wallets/companions/recon/balance-step.ts';
import {
  depositMovement,
  fillerMovement,
  intentMovement,
  type OwnMovement,
} from '../../../../wallets/companions/recon/own-side.ts';
import { WalletSources } from '../../../../wallets/companions/recon/sources.ts';
import { type StepTerms, transactionStep } from '../../../../wallets/companions/recon/wallet-steps.ts';
import { exchangeType } from '../../../../wallets/companions/treasury/exchange-record.ts';
import type { IntentRecord } from '../../../../wallets/custody/intents/record.ts';
import { type DepositRecord, depositType } from '../../../../wallets/custody/wallets/deposit-record.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import type { Movement, ProviderStatements } from '../../../../wallets/providers/port/statement.ts';
import { create } from '../../../../wallets/store/changes.ts';
import type { Balances } from '../../../../wallets/store/contract.ts';
import { done, newTenant, startMemoryStore } from '../../../support/memory-store.ts';

const nowMs = 1_800_000_000_000;
const [fromMs, toMs] = [nowMs - 1_000, nowMs - 100];
const wallet = {
  ...{ id: 'wal_1', connectionId: 'pcn_1', provider: 'sandbox', network: 'eip155:11155111', assets: ['ETH'] },
} as unknown as WalletRecord;
const terms: StepTerms = {
  ...{ nowMs, lagMs: 60_000, tolerance: { absolute: '0', bps: 0 }, asset: null },
  window: { fromMs, toMs },
};

it('our deposits and exchanges of a window are those from its first millisecond to its last', async () => {
  const tenant = newTenant();
  const store = await startMemoryStore().open();
  const times = [fromMs - 1, fromMs, toMs - 1, toMs];
  const puts = times.flatMap((createdAtMs, index) => [
    create(depositType, {
      ...{ id: `dep_${index}`, version: 1, walletId: 'wal_1', asset: 'ETH', units: '7', txId: `tx${index}` },
      ...{ fromAddress: null, createdAtMs },
    }),
    create(exchangeType, {
      ...{ id: `o${index}/wal_1`, version: 1, walletId: 'wal_1', orderId: `o${index}`, createdAtMs },
      effect: [{ asset: 'ETH', units: '-7' }],
    }),
  ]);
  await done(store, tenant, { puts });
  const meta = () => ({ tenant, nowMs, correlationId: '', traceparent: '' });
  const sources = new WalletSources(store, {} as ProviderStatements, meta, wallet);
  const keysOf = async (phase: 'deposits' | 'exchanges') =>
    (await sources[phase](terms.window, null)).movements.map(({ key, direction, units }) => [key, direction, units]);
  expect(await keysOf('deposits')).toEqual([
    ['tx1', 'in', 7n],
    ['tx2', 'in', 7n],
  ]);
  expect(await keysOf('exchanges')).toEqual([
    ['exchange/o1/ETH', 'out', 7n],
    ['exchange/o2/ETH', 'out', 7n],
  ]);
});

it('a deposit that a reorganisation has undone is not booked, and is expected', () => {
  const deposit = { ...{ id: 'dep_1', version: 2, walletId: 'wal_1', asset: 'ETH', units: '7', txId: 'tx' } };
  const stands = (open: object) =>
    depositMovement({ ...deposit, fromAddress: null, createdAtMs: fromMs, ...open } as DepositRecord, 'ETH');
  const booked = { status: 'credited', state: 'completed', isFinal: true };
  expect(stands({})).toMatchObject(booked);
  expect(stands({ open: { standing: 'pending', transferVersion: 1 } })).toMatchObject(booked);
  expect(stands({ open: { standing: 'reverted', transferVersion: 1 } })).toMatchObject({
    ...{ status: 'reverted', state: 'pending', isFinal: false },
  });
});

const movement = (over: Partial<Movement> = {}): Movement => ({
  ...{ id: 'f-1', key: 'k', direction: 'out', reference: null, txId: null, asset: 'ETH', units: 9n, hasMoved: true },
  ...{ fee: { asset: 'ETH', units: 0n }, counterparty: null, state: 'completed', providerStatus: 'DONE' },
  ...{ bookedAtMs: fromMs - 90_000, settledAtMs: fromMs - 90_000 },
  ...over,
});
const ours = (over: Partial<OwnMovement> = {}): OwnMovement => ({
  ...{ kind: 'transaction_intent', id: 'txi_1', version: 1, key: 'k', direction: 'out', asset: 'ETH', units: 8n },
  ...{ fee: { asset: 'ETH', units: 0n }, status: 'completed', state: 'completed', isFinal: true },
  ...{ createdAtMs: 0, changedAtMs: 0 },
  ...over,
});

it('the provider’s movements are compared where ours is not of the window, from which it was compared already', async () => {
  const found = async (createdAtMs: number) => {
    const sources = {
      wallet,
      statement: async () => ({ movements: [movement()], next: undefined }),
      own: async (_: string, keys: readonly string[]) => keys.map(() => ours({ createdAtMs })),
      theirs: async (_: string, keys: readonly string[]) => keys.map(() => [movement()]),
    } as unknown as WalletSources;
    return (await transactionStep(sources, 'statement', null, terms)).findings.length;
  };
  expect(await Promise.all([fromMs - 1, fromMs, toMs - 1, toMs].map(found))).toEqual([1, 0, 0, 1]);
});

it('a deposit that the provider shows as pending is none yet; a pending transfer is one', async () => {
  const found = async (over: Partial<Movement>) => {
    const shown = movement(over);
    const sources = {
      wallet,
      statement: async () => ({ movements: [shown], next: undefined }),
      own: async (_: string, keys: readonly string[]) => keys.map(() => undefined),
      theirs: async (_: string, keys: readonly string[]) => keys.map(() => [shown]),
    } as unknown as WalletSources;
    return (await transactionStep(sources, 'statement', null, terms)).findings.map(({ type }) => type);
  };
  expect(await found({ direction: 'in', state: 'pending' })).toEqual([]);
  expect(await found({ direction: 'in' })).toEqual(['missing_internal']);
  expect(await found({ state: 'pending' })).toEqual(['missing_internal']);
  expect(await found({ asset: 'GOLD' })).toEqual([]);
});

it('a wallet whose balances change during each of five tries is unsettled', async () => {
  let reads = 0;
  const sources = {
    ...{ wallet, balances: async () => new Map([['ETH', 1n]]) },
    ...{ statement: async () => ({ movements: [], next: undefined }), own: async () => [], theirs: async () => [] },
    ...Object.fromEntries(
      ['transfers', 'deposits', 'exchanges'].map((phase) => [phase, async () => ({ movements: [], next: null })]),
    ),
  } as unknown as WalletSources;
  const changing = (stillFrom: number) => {
    reads = 0;
    return balanceStep(
      sources,
      async (): Promise<Balances> => {
        reads += 1;
        return new Map([['ETH', { available: BigInt(100 + Math.min(reads, stillFrom)), reserved: 0n }]]);
      },
      terms,
    );
  };
  expect(await changing(100)).toEqual({ findings: [], assets: 0, isUnsettled: true });
  expect(reads).toBe(10);
  // Still from the fifth try on.
  expect(await changing(9)).toMatchObject({ findings: [{ delta: '-0.000000000000000108' }], isUnsettled: false });
});

it('a balance sets aside what one side alone has booked less than the lag ago', async () => {
  const deltaAfter = async (theirAgeMs: number, ourAgeMs: number) => {
    const settled = movement({ settledAtMs: nowMs - theirAgeMs });
    const booked = ours({ key: 'other', direction: 'in', units: 5n, changedAtMs: nowMs - ourAgeMs });
    const sources = {
      wallet,
      balances: async () => new Map([['ETH', 91n]]),
      statement: async () => ({ movements: [settled], next: undefined }),
      own: async (_: string, keys: readonly string[]) => keys.map(() => undefined),
      theirs: async (_: string, keys: readonly string[]) => keys.map(() => []),
      transfers: async () => ({ movements: [booked], next: null }),
      deposits: async () => ({ movements: [], next: null }),
      exchanges: async () => ({ movements: [], next: null }),
    } as unknown as WalletSources;
    const balances = async (): Promise<Balances> => new Map([['ETH', { available: 100n, reserved: 5n }]]);
    const { findings, assets, isUnsettled } = await balanceStep(sources, balances, terms);
    expect([assets, isUnsettled]).toEqual([1, false]);
    return BigInt(findings[0]?.corrections[0]?.units ?? 0);
  };
  const { lagMs } = terms;
  // The provider has 14 less: it took 9 that we have not booked, and we booked 5 that it has not.
  expect(await deltaAfter(lagMs - 1, lagMs - 1)).toBe(0n);
  expect(await deltaAfter(lagMs, lagMs - 1)).toBe(-9n);
  expect(await deltaAfter(lagMs - 1, lagMs)).toBe(-5n);
  expect(await deltaAfter(lagMs, lagMs)).toBe(-14n);
});

it('a transfer is what its status and its submission say, and costs no fee until one was paid', () => {
  const intent = (over: Partial<IntentRecord>) =>
    ({
      ...{ id: 'txi_1', version: 2, asset: 'USDC', units: '70', feeReserve: { asset: 'ETH', units: '42' } },
      ...{ feePaid: null, createdAtMs: 1, updatedAtMs: 2, providerTxId: null, submission: null, ...over },
    }) as IntentRecord;
  for (const [over, state, isFinal] of [
    [{ status: 'approved' }, 'none', false],
    [{ status: 'cancelled' }, 'none', true],
    [{ status: 'signing' }, 'open', false],
    [{ status: 'signing', submission: {} }, 'open', false],
    [{ status: 'broadcasting' }, 'open', false],
    [{ status: 'broadcasting', submission: {} }, 'pending', false],
    [{ status: 'signing', providerTxId: '0x1' }, 'pending', false],
    [{ status: 'confirming', providerTxId: '0x1' }, 'pending', false],
    [{ status: 'completed', providerTxId: '0x1' }, 'completed', true],
    [{ status: 'failed' }, 'failed', true],
  ] as const) {
    expect(intentMovement(intent(over), 'reference')).toMatchObject({ state, isFinal, key: 'txi_1', units: 70n });
    expect(intentMovement(intent(over), 'tx_id').key).toBe('providerTxId' in over ? '0x1' : null);
  }
  const fee = (over: Partial<IntentRecord>) => intentMovement(intent({ status: 'confirming', ...over }), 'tx_id').fee;
  expect(fee({})).toEqual({ asset: 'ETH', units: 0n });
  expect(fee({ feePaid: { asset: 'ETH', units: '40' } })).toEqual({ asset: 'ETH', units: 40n });
  const filler = { id: '0xfill' } as NonNullable<IntentRecord['filler']>;
  expect(fillerMovement(intent({ status: 'failed', filler, feePaid: { asset: 'ETH', units: '40' } }))).toMatchObject({
    ...{ key: '0xfill', asset: 'ETH', units: 0n, state: 'completed', fee: { asset: 'ETH', units: 40n } },
  });
});
