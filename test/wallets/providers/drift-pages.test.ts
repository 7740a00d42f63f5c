/** Deliberate drift over a statement in pages: each extra movement is on one page, in its place, however large the pages are. */
import { expect, it } from 'vitest';
import type { CallMeta, HeldWallet } from '../../../wallets/providers/port/port.ts';
import {
  type Movement,
  movementName,
  type ProviderStatements,
  placeOf,
  type StatementQuery,
} from '../../../wallets/providers/port/statement.ts';
import { type Drift, withDrifts } from '../../../wallets/providers/simulated/drift.ts';

const fromMs = 10;
const toMs = 60;
const wallet = { id: 'wal_1' } as HeldWallet;
const meta = { tenant: 'tn_1', nowMs: 1_000 } as CallMeta;

function movement(bookedAtMs: number, key: string): Movement {
  return {
    ...{ id: key, key, direction: 'in', reference: null, txId: key, asset: 'ETH', units: 1n, bookedAtMs },
    ...{ fee: { asset: 'ETH', units: 0n }, counterparty: null, state: 'completed', providerStatus: 'DONE' },
    ...{ settledAtMs: bookedAtMs, hasMoved: true },
  };
}

function extra(createdAtMs: number, key: string): Drift {
  return {
    ...{ id: key, kind: 'extra', connectionId: 'pcn_1', walletId: wallet.id, direction: 'in', key, asset: 'ETH' },
    ...{ units: '1', untilMs: null, createdAtMs },
  };
}

const booked = [movement(10, 'b'), movement(20, 'b'), movement(20, 'd'), movement(30, 'b'), movement(59, 'b')];
const base: ProviderStatements = {
  joinsBy: 'reference',
  page: async (_meta, _wallet, { after, limit }: StatementQuery) => {
    const from = after === undefined ? 0 : booked.findIndex((one) => placeOf(one) === after) + 1;
    const movements = booked.slice(from, from + limit);
    const isLast = from + limit >= booked.length;
    return { movements, next: isLast ? undefined : placeOf(movements.at(-1)!) };
  },
  find: async () => [],
  balances: async () => new Map(),
};

// At the borders of the range and of pages, between movements, after the last one, and outside.
const extras = [
  ...[extra(9, 'x'), extra(10, 'a'), extra(10, 'c'), extra(20, 'a'), extra(20, 'c'), extra(20, 'e'), extra(25, 'x')],
  ...[extra(59, 'c'), extra(60, 'x')],
];
const statements = withDrifts(new Map([['sandbox', base]]), {
  put: async () => {},
  list: async () => extras,
  remove: async () => {},
}).get('sandbox')!;

it.each([1, 2, 3, 4, 5, 6])(
  'pages of %i show the movements of the range and the extra ones, each once and in order',
  async (limit) => {
    const shown: string[] = [];
    for (let after: string | undefined, pages = 0; pages === 0 || after !== undefined; pages += 1) {
      expect(pages).toBeLessThan(booked.length + 1);
      const page = await statements.page(meta, wallet, { fromMs, toMs, limit, ...(after !== undefined && { after }) });
      shown.push(...page.movements.map((one) => `${one.bookedAtMs} ${movementName(one)}`));
      after = page.next;
    }
    const names = ['10 a', '10 b', '10 c', '20 a', '20 b', '20 c', '20 d', '20 e', '25 x', '30 b', '59 b', '59 c'];
    expect(shown).toEqual(names.map((name) => name.replace(' ', ' in:')));
  },
);
