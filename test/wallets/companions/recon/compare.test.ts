/** What counts as a difference: one movement of ours and what the provider shows of it, in every pair of states. */
import { describe, expect, it } from 'vitest';
import {
  type CompareTerms,
  compareBalances,
  compareMovements,
  isWithin,
} from '../../../../wallets/companions/recon/compare.ts';
import { type OwnMovement, type OwnState, ownEffect } from '../../../../wallets/companions/recon/own-side.ts';
import type { Movement, MovementState } from '../../../../wallets/providers/port/statement.ts';

const nowMs = 1_800_000_000_000;
const oldMs = nowMs - 3_600_000;
const terms: CompareTerms = { nowMs, lagMs: 60_000, tolerance: { absolute: '0', bps: 0 } };
const wallet = { id: 'wal_1', connectionId: 'pcn_1', provider: 'fireblocks', network: 'eip155:11155111' } as const;
const fee = 42n;

function own(state: OwnState, more: Partial<OwnMovement> = {}): OwnMovement {
  const isFinal = state === 'completed' || state === 'failed' || state === 'none';
  const paid = state === 'completed' ? fee : 0n;
  return {
    ...{ kind: 'transaction_intent', id: 'txi_1', version: 3, key: 'txi_1', direction: 'out', asset: 'ETH' },
    ...{ units: 1_000n, fee: { asset: 'ETH', units: paid }, status: state, state, isFinal },
    ...{ createdAtMs: oldMs, changedAtMs: oldMs },
    ...more,
  };
}

function theirs(state: MovementState, more: Partial<Movement> = {}): Movement {
  const isOver = state !== 'pending';
  return {
    ...{
      id: 'f-1',
      key: 'txi_1',
      direction: 'out',
      reference: 'txi_1',
      txId: null,
      asset: 'ETH',
      units: 1_000n,
      state,
    },
    ...{ fee: { asset: 'ETH', units: state === 'completed' ? fee : 0n }, counterparty: null, bookedAtMs: oldMs },
    ...{ providerStatus: state.toUpperCase(), settledAtMs: isOver ? oldMs : null, hasMoved: state === 'completed' },
    ...more,
  };
}

const typeOf = (mine: OwnMovement | undefined, found: readonly Movement[], more: Partial<CompareTerms> = {}) =>
  compareMovements(wallet, mine, found, { ...terms, ...more })?.type ?? 'agree';

describe('of every pair of states', () => {
  const expected: Readonly<Record<OwnState, Readonly<Record<MovementState | 'absent', string>>>> = {
    none: { absent: 'agree', pending: 'status_mismatch', completed: 'status_mismatch', failed: 'agree' },
    open: { absent: 'agree', pending: 'agree', completed: 'status_mismatch', failed: 'status_mismatch' },
    pending: { absent: 'missing_external', pending: 'agree', completed: 'status_mismatch', failed: 'status_mismatch' },
    completed: {
      absent: 'missing_external',
      pending: 'status_mismatch',
      completed: 'agree',
      failed: 'status_mismatch',
    },
    failed: { absent: 'agree', pending: 'status_mismatch', completed: 'status_mismatch', failed: 'agree' },
  };
  const pairs = Object.entries(expected).flatMap(([mine, by]) =>
    Object.entries(by).map(([found, type]) => [mine as OwnState, found as MovementState | 'absent', type] as const),
  );
  it.each(pairs)('%s with us and %s there: %s', (mine, found, type) => {
    expect(typeOf(own(mine), found === 'absent' ? [] : [theirs(found)])).toBe(type);
  });

  it.each(pairs)('%s with us and %s there: nothing counts while it is younger than the lag', (mine, found) => {
    const young = { changedAtMs: nowMs, bookedAtMs: nowMs, ...(found !== 'pending' && { settledAtMs: nowMs }) };
    expect(typeOf(own(mine, young), found === 'absent' ? [] : [theirs(found, young)])).toBe('agree');
  });
});

describe('a difference counts from exactly the lag on', () => {
  const aged = (ms: number) => ({ changedAtMs: nowMs - ms, bookedAtMs: nowMs - ms, settledAtMs: nowMs - ms });
  const cases: readonly (readonly [string, (ms: number) => string])[] = [
    ['missing_internal', (ms) => typeOf(undefined, [theirs('completed', aged(ms))])],
    ['missing_external', (ms) => typeOf(own('completed', aged(ms)), [])],
    ['status_mismatch', (ms) => typeOf(own('completed', aged(ms)), [theirs('failed', aged(ms))])],
    // From the later of the two sides, and of the later of two movements.
    ['status_mismatch', (ms) => typeOf(own('failed', aged(ms)), [theirs('completed')])],
    ['duplicate', (ms) => typeOf(own('completed'), [theirs('completed'), theirs('completed', aged(ms))])],
  ];
  it.each(cases)('%s', (type, found) => {
    expect([found(terms.lagMs - 1), found(terms.lagMs)]).toEqual(['agree', type]);
  });
});

describe('of one side alone, and of several', () => {
  it('a failed movement that we do not have is low, and an exchange is named', () => {
    const found = (more: Partial<Movement>) => compareMovements(wallet, undefined, [theirs('failed', more)], terms)!;
    expect(found({})).toMatchObject({ type: 'missing_internal', severity: 'low', corrections: [] });
    expect(found({}).explanation).toBe('The provider shows a transfer that is not in our ledger.');
    expect(found({ key: 'exchange/pln_1/0/ETH' }).explanation).toContain('an exchange');
  });

  it.each([
    ['out', 'critical'],
    ['in', 'high'],
  ] as const)('a movement %s that we do not have is missing_internal, %s', (direction, severity) => {
    const found = compareMovements(wallet, undefined, [theirs('completed', { direction })], terms);
    expect(found).toMatchObject({ type: 'missing_internal', severity, expected: null, internal: null, isFinal: true });
    const units = direction === 'out' ? -1_042n : 958n;
    expect(found!.corrections).toEqual([{ asset: 'ETH', units: String(units) }]);
  });

  it('two movements of one transfer are a duplicate, by what the second has taken', () => {
    const found = compareMovements(
      wallet,
      own('completed'),
      [theirs('completed'), theirs('completed', { id: 'f-2' })],
      terms,
    );
    expect(found).toMatchObject({ type: 'duplicate', external: { ids: ['f-1', 'f-2'] } });
    // The sums of both: amount and fee.
    const sums = { amount: '0.000000000000002', fee: { asset: 'ETH', amount: '0.000000000000000084' }, count: 2 };
    expect(found!.actual).toMatchObject(sums);
    expect(found!.expected).toMatchObject({ amount: '0.000000000000001', count: 1 });
    expect(found!.corrections).toEqual([{ asset: 'ETH', units: '-1042' }]);
  });
});

describe('amounts', () => {
  const with_ = (units: bigint, more = {}) => typeOf(own('completed'), [theirs('completed', { units })], more);

  it('differ by one unit, and not within the tolerance', () => {
    expect(with_(1_000n)).toBe('agree');
    expect(with_(1_001n)).toBe('amount_mismatch');
    expect(with_(999n)).toBe('amount_mismatch');
    expect(with_(1_010n, { tolerance: { absolute: '0', bps: 100 } })).toBe('agree');
    expect(with_(1_011n, { tolerance: { absolute: '0', bps: 100 } })).toBe('amount_mismatch');
    expect(with_(1_011n, { tolerance: { absolute: '0.000000000000000011', bps: 0 } })).toBe('agree');
    expect(with_(1_012n, { tolerance: { absolute: '0.000000000000000011', bps: 0 } })).toBe('amount_mismatch');
  });

  it('count with their fee', () => {
    const dear = theirs('completed', { fee: { asset: 'ETH', units: 50n } });
    const found = compareMovements(wallet, own('completed'), [dear], terms);
    expect(found).toMatchObject({ type: 'amount_mismatch', corrections: [{ asset: 'ETH', units: '-8' }] });
  });

  it('are within the tolerance up to exactly its amount or its share, on either side, of either sign', () => {
    for (const sign of [1n, -1n]) {
      const within = (off: bigint, absolute: string, bps: number) =>
        [off, -off].map((each) => isWithin('USDC', sign * 10_000n, sign * 10_000n + each, { absolute, bps }));
      expect(within(50n, '0', 50)).toEqual([true, true]);
      expect(within(51n, '0', 50)).toEqual([false, false]);
      expect(within(70n, '0.00007', 50)).toEqual([true, true]);
      expect(within(71n, '0.00007', 50)).toEqual([false, false]);
      expect(within(0n, '0', 0)).toEqual([true, true]);
      expect(within(1n, '0', 0)).toEqual([false, false]);
      expect(within(2_000_000n, '2', 0)).toEqual([true, true]);
    }
    expect(isWithin('USDC', 0n, 0n, { absolute: '0', bps: 0 })).toBe(true);
    expect(isWithin('USDC', 0n, 1n, { absolute: '0', bps: 10_000 })).toBe(false);
  });

  it('that differ by a hundredth at most are less severe', () => {
    const severity = (units: bigint) =>
      compareMovements(wallet, own('completed'), [theirs('completed', { units })], terms)!.severity;
    expect([990n, 1_010n, 989n, 1_011n].map(severity)).toEqual(['medium', 'medium', 'high', 'high']);
  });

  it('are booked with their fee, and the fee alone where nothing was sent', () => {
    const paid = { asset: 'ETH', units: -fee };
    for (const state of ['completed', 'pending'] as const) {
      const movement = own(state, { fee: { asset: 'ETH', units: fee } });
      expect(ownEffect(movement)).toEqual([{ asset: 'ETH', units: -1_000n }, paid]);
      expect(ownEffect({ ...movement, direction: 'in' })).toEqual([{ asset: 'ETH', units: 1_000n }, paid]);
    }
    for (const state of ['open', 'failed', 'none'] as const) {
      expect(ownEffect(own(state, { fee: { asset: 'ETH', units: fee } }))).toEqual([paid]);
    }
  });

  it('a tolerance finer than the asset is none', () => {
    expect(isWithin('BTC', 100n, 101n, { absolute: '0.0000000001', bps: 0 })).toBe(false);
  });
});

it('a balance is compared with its tolerance, and less money there is worse', () => {
  expect(compareBalances(wallet, 'ETH', 100n, 100n, terms)).toBeUndefined();
  expect(compareBalances(wallet, 'ETH', 100n, 101n, terms)).toMatchObject({ severity: 'high', subject: 'balance' });
  expect(compareBalances(wallet, 'ETH', 100n, 90n, terms)).toMatchObject({
    severity: 'critical',
    corrections: [{ asset: 'ETH', units: '-10' }],
  });
  expect(compareBalances(wallet, 'ETH', 100n, -5n, terms)).toMatchObject({ delta: '-0.000000000000000105' });
});
