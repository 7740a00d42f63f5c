/**
 * What reconciliation relies on from every statement: the book of a simulated custodian, or a chain’s index by address.
 * The function takes a way to make one and defines the tests.
 */
import { describe, expect, it } from 'vitest';
import type { WalletRecord } from '../../../wallets/custody/wallets/record.ts';
import { parseAmount } from '../../../wallets/networks/amounts.ts';
import { assetOf } from '../../../wallets/networks/assets.ts';
import { networkOf } from '../../../wallets/networks/networks.ts';
import type { Arrival } from '../../../wallets/providers/incoming-transfers.ts';
import {
  effectOf,
  type Movement,
  type ProviderStatements,
  placeOf,
  readPlace,
  type StatementQuery,
} from '../../../wallets/providers/port/statement.ts';
import { amountFor, follow, type Subject, walletOf } from './conformance.ts';
import { metaAt, startMs } from './self-hosted/support.ts';

export interface StatementSubject extends Subject {
  readonly statements: ProviderStatements;
  readonly arrive: (arrival: Arrival) => Promise<void>;
}

const everything = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
const depositUnits = 7_000n;

/** What the wallet did, and what its holder shows of it. */
interface Told {
  readonly wallet: WalletRecord;
  readonly nowMs: number;
  readonly opening: ReadonlyMap<string, bigint>;
  readonly expected: readonly object[];
}

export function statementConformance(name: string, subject: () => StatementSubject): void {
  describe(`the statements of ${name}`, () => {
    it('show on every network the outcome of each transfer and each deposit under its key', async () => {
      for (const network of subject().adapter.info.networks) {
        const told = await tell(subject(), network, 'wal_shown');
        const shown = await pages(subject().statements, told, everything, 100);
        expect(shown).toHaveLength(told.expected.length);
        for (const expected of told.expected) expect(shown).toContainEqual(expect.objectContaining(expected));
        expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
      }
    });

    it('add up to the balances', async () => {
      for (const network of subject().adapter.info.networks) {
        const told = await tell(subject(), network, 'wal_sums');
        const sums = new Map(told.opening);
        for (const movement of await pages(subject().statements, told, everything, 100)) {
          for (const { asset, units } of effectOf(movement)) sums.set(asset, (sums.get(asset) ?? 0n) + units);
        }
        const { statements } = subject();
        expect(await statements.balances(metaAt(told.nowMs), told.wallet)).toEqual(sums);
      }
    });

    it('go on from page to page, in the order of their places, and keep to a window', async () => {
      const [network] = subject().adapter.info.networks;
      const told = await tell(subject(), network!, 'wal_pages');
      const whole = await pages(subject().statements, told, everything, 100);
      for (const limit of [1, 2]) expect(await pages(subject().statements, told, everything, limit)).toEqual(whole);
      const places = whole.map((movement) => readPlace(placeOf(movement)));
      const inOrder = [...places].sort((one, other) => one.atMs - other.atMs || (one.name < other.name ? -1 : 1));
      expect(places).toEqual(inOrder);
      const [fromMs, toMs] = [whole[1]!.bookedAtMs, whole.at(-1)!.bookedAtMs];
      const within = whole.filter(({ bookedAtMs }) => bookedAtMs >= fromMs && bookedAtMs < toMs);
      expect(within.length).toBeLessThan(whole.length);
      expect(await pages(subject().statements, told, { fromMs, toMs }, 100)).toEqual(within);
    });

    it('find movements by key and direction, in the order of the keys, of this wallet alone', async () => {
      const [network] = subject().adapter.info.networks;
      const told = await tell(subject(), network!, 'wal_found');
      const { statements, adapter } = subject();
      const meta = metaAt(told.nowMs);
      const whole = await pages(statements, told, everything, 100);
      for (const direction of ['in', 'out'] as const) {
        const of = whole.filter((movement) => movement.direction === direction);
        const keys = ['no-such-key', ...of.map(({ key }) => key).reverse()];
        const expected = [[], ...of.map((movement) => [movement]).reverse()];
        expect(await statements.find(meta, told.wallet, direction, keys)).toEqual(expected);
        const other = direction === 'in' ? 'out' : 'in';
        expect((await statements.find(meta, told.wallet, other, keys)).flat()).toEqual([]);
      }
      const stranger = await walletOf({ adapter, dump: async () => '' }, 'wal_stranger', 'sandbox', network!);
      const keys = whole.map(({ key }) => key);
      expect((await statements.find(meta, stranger, 'out', keys)).flat()).toEqual([]);
      expect(await pages(statements, { ...told, wallet: stranger }, everything, 100)).toEqual([]);
    });

    it('show a transfer of production as completed, also of an amount that fails in a sandbox', async () => {
      const made = await walletOf(subject(), 'wal_live', 'production');
      const wallet = { ...made, provider: subject().adapter.info.kind };
      await follow(subject(), wallet, 'txi_live', amountFor('fails_on_chain'));
      const shown = await pages(subject().statements, { wallet, nowMs: startMs + 600_000 }, everything, 100);
      expect(shown).toMatchObject([{ direction: 'out', state: 'completed', hasMoved: true }]);
    });
  });
}

/** Two transfers that complete, one that fails on its network, and a deposit. */
async function tell(subject: StatementSubject, network: WalletRecord['network'], name: string): Promise<Told> {
  const { kind } = subject.adapter.info;
  const asset = networkOf(network).nativeAsset;
  const made = await walletOf(subject, `${name}_${network}`, 'sandbox', network);
  const wallet = { ...made, provider: kind };
  const { statements } = subject;
  const opening = await statements.balances(metaAt(startMs), wallet);
  const expected: object[] = [];
  let nowMs = startMs;
  for (const [index, amount] of ['0.25', '0.125', amountFor('fails_on_chain')].entries()) {
    const id = `txi_${name}_${network}_${index}`;
    const { last, tookMs } = await follow(subject, wallet, id, amount, { asset, fromMs: nowMs });
    if (last.stage !== 'completed' && last.stage !== 'failed') throw new Error(`${id} is ${last.stage}`);
    nowMs += tookMs;
    expected.push({
      ...{ direction: 'out', asset, units: parseAmount(amount, assetOf(asset)!.decimals) },
      ...{ key: statements.joinsBy === 'reference' ? id : last.providerTxId, fee: last.feePaid },
      ...{ state: last.stage, hasMoved: last.stage === 'completed', settledAtMs: expect.any(Number) },
    });
  }
  const txId = `0x${Buffer.from(`${kind} ${name} ${network}`).toString('hex')}`;
  await subject.arrive({
    ...{ transferId: `txi_in_${name}_${network}`, txId, fromAddress: wallet.addresses[0]!.address, network, asset },
    ...{
      address: wallet.addresses[0]!.address,
      units: depositUnits,
      tenant: metaAt(0).tenant,
      receiver: wallet,
      nowMs,
    },
  });
  nowMs += 600_000;
  expected.push({ direction: 'in', key: txId, asset, units: depositUnits, state: 'completed', hasMoved: true });
  return { wallet, nowMs, opening, expected };
}

async function pages(
  statements: ProviderStatements,
  { wallet, nowMs }: Pick<Told, 'wallet' | 'nowMs'>,
  window: Pick<StatementQuery, 'fromMs' | 'toMs'>,
  limit: number,
): Promise<Movement[]> {
  const movements: Movement[] = [];
  for (let after: string | undefined, isMore = true; isMore; ) {
    const page = await statements.page(metaAt(nowMs), wallet, { ...window, limit, after });
    movements.push(...page.movements);
    after = page.next;
    isMore = after !== undefined;
  }
  return movements;
}
