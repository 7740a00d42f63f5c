/** The pure machine: random lives of an intent against a model of what a wallet may do. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changeOf } from '../../../../wallets/custody/intents/effects.ts';
import {
  advanceIntent,
  beginSigning,
  cancelIntent,
  expireIntent,
  failIntent,
  failureOf,
  fillGapOf,
  hasVoted,
  holdIntent,
  type IntentVerdict,
  lastOf,
  type Move,
  openGap,
  openIntent,
  triedAgain,
  voteOn,
} from '../../../../wallets/custody/intents/machine.ts';
import { type IntentRecord, isSettled } from '../../../../wallets/custody/intents/record.ts';
import {
  type IntentStatus,
  intentStatuses,
  intentTransitions,
  isFinal,
  mayFollow,
} from '../../../../wallets/custody/intents/states.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import type { TransferProgress } from '../../../../wallets/providers/port/port.ts';
import { draft } from './support/draft.ts';

const wallet = { id: 'wal_1', addresses: [{ address: '0x1' }], network: 'eip155:11155111' } as unknown as WalletRecord;
const startMs = 1_800_000_000_000;
const failure = { providerTxId: null, providerStatus: 'NO', subStatus: 'NO', error: { code: 'NO', message: 'no' } };

const going = (stage: 'signing' | 'broadcasting' | 'confirming'): Exclude<TransferProgress, { stage: 'failed' }> => ({
  stage,
  providerTxId: stage === 'signing' ? null : 'tx',
  providerStatus: stage.toUpperCase(),
  subStatus: null,
  submission: { stage },
  againAtMs: 0,
});
const done = (units: bigint): Exclude<TransferProgress, { stage: 'failed' }> => ({
  stage: 'completed',
  providerTxId: 'tx',
  providerStatus: 'DONE',
  feePaid: { asset: 'ETH', units },
});

const verdicts: readonly IntentVerdict[] = [
  { kind: 'approved' },
  { kind: 'pendingApproval', quorum: 2, approvers: [], timeoutMs: 1_000 },
  { kind: 'denied', subStatus: 'POLICY_DENIED' },
];

/** Every way that the room knows, tried on any record; those that do not fit throw. */
const ways: Readonly<Record<string, (record: IntentRecord, nowMs: number) => Move | undefined>> = {
  approveAsA: (record, atMs) =>
    voteOn(record, { by: 'a', decision: 'approve', comment: null, reason: null, atMs, mac: '' }),
  approveAsB: (record, atMs) =>
    voteOn(record, { by: 'b', decision: 'approve', comment: null, reason: null, atMs, mac: '' }),
  rejectAsB: (record, atMs) =>
    voteOn(record, { by: 'b', decision: 'reject', comment: null, reason: 'no', atMs, mac: '' }),
  approveAsMaker: (record, atMs) =>
    voteOn(record, { by: record.initiator, decision: 'approve', comment: null, reason: null, atMs, mac: '' }),
  cancel: (record, atMs) => cancelIntent(record, 'a', 'changed my mind', atMs),
  expire: (record, atMs) => expireIntent(record, Math.max(atMs, record.expiresAtMs)),
  expireEarly: (record) => expireIntent(record, record.expiresAtMs - 1),
  sign: beginSigning,
  signing: (record, atMs) => advanceIntent(record, going('signing'), atMs),
  broadcast: (record, atMs) => advanceIntent(record, going('broadcasting'), atMs),
  confirm: (record, atMs) => advanceIntent(record, going('confirming'), atMs),
  complete: (record, atMs) => advanceIntent(record, done(600n), atMs),
  completeNotFinal: (record, atMs) => advanceIntent(record, { ...done(600n), againAtMs: atMs }, atMs),
  undo: (record, atMs) =>
    advanceIntent(record, { ...going('confirming'), subStatus: 'REORGED' } as ReturnType<typeof going>, atMs),
  completeFree: (record, atMs) => advanceIntent(record, done(0n), atMs),
  hold: (record, atMs) => holdIntent(record, 'AWAITING_QUORUM', atMs),
  fail: (record, atMs) => failIntent(record, failure, { asset: 'ETH', units: 300n }, atMs),
  openGap: (record, atMs) => openGap(record, failure, atMs),
  fillGap: fillGapOf,
};

const life = fc.record({
  verdict: fc.constantFrom(...verdicts),
  twoAssets: fc.boolean(),
  steps: fc.array(fc.record({ way: fc.constantFrom(...Object.keys(ways)), dMs: fc.integer({ min: -50, max: 500 }) }), {
    maxLength: 25,
  }),
});

interface Balance {
  available: bigint;
  reserved: bigint;
}

describe('any life of an intent', () => {
  test('follows the table, counts its versions, and leaves nothing reserved at its end', () => {
    const ends = new Set<IntentStatus>();
    fc.assert(
      fc.property(life, ({ verdict, twoAssets, steps }) => {
        const balances = new Map<string, Balance>([
          ['ETH', { available: 2n * 10n ** 18n, reserved: 0n }],
          ['USDC', { available: 50n, reserved: 0n }],
        ]);
        const asset = twoAssets ? { asset: 'USDC', amount: '0.00003', units: '30' } : {};
        let nowMs = startMs;
        let record: IntentRecord | undefined;
        const take = (move: Move): void => {
          follow(record, move, nowMs, balances);
          record = lastOf(move);
        };
        take(openIntent({ ...draft('txi_1', wallet), ...asset }, verdict, nowMs));
        for (const { way, dMs } of steps) {
          nowMs += dMs;
          const before = structuredClone(record!);
          let move: Move | undefined;
          try {
            move = ways[way]!(record!, nowMs);
          } catch {
            // Refused: then it must really be off the table, or not allowed in this state.
            expect(isAllowed(before, way)).toBe(false);
            expect(record).toEqual(before);
            continue;
          }
          expect(isAllowed(before, way)).toBe(true);
          if (move !== undefined) take(move);
        }
        const { status, units, feePaid } = record!;
        ends.add(status);
        const held = [...balances.values()].reduce((sum, { reserved }) => sum + reserved, 0n);
        if (isFinal(status)) {
          expect(held).toBe(0n);
          const fee = BigInt(feePaid?.units ?? '0');
          const out = status === 'completed' ? BigInt(units) : 0n;
          const sum = balances.get('ETH')!.available + balances.get('USDC')!.available;
          expect(sum).toBe(2n * 10n ** 18n + 50n - fee - out);
        } else {
          // Of one that a reorganisation has undone: what it had spent.
          expect(held).toBe(BigInt(units) + BigInt(feePaid?.units ?? '1000'));
        }
      }),
      { numRuns: 500 },
    );
    // The run has seen the ends that it speaks of.
    for (const end of intentStatuses.filter(isFinal)) expect(ends).toContain(end);
  });
});

/** The model: when each way is open. */
function isAllowed(record: IntentRecord, way: string): boolean {
  const { status } = record;
  const submitted = status === 'signing' || status === 'broadcasting' || status === 'confirming';
  switch (way) {
    case 'approveAsA':
      return status === 'pending_approval' && !hasVoted(record, 'a', 'approve');
    case 'approveAsB':
      return status === 'pending_approval' && !hasVoted(record, 'b', 'approve');
    case 'rejectAsB':
      return status === 'pending_approval';
    case 'cancel':
    case 'expire':
      return status === 'pending_approval' || status === 'approved';
    case 'sign':
      return status === 'approved';
    case 'signing':
    case 'broadcast':
    case 'confirm':
    case 'complete':
    case 'completeNotFinal':
    case 'completeFree':
    case 'undo':
      return (submitted || (status === 'completed' && record.subStatus === 'NOT_FINAL')) && record.gap === undefined;
    case 'openGap':
      return submitted && record.gap === undefined;
    case 'hold':
      return !isFinal(status);
    case 'fail':
      return submitted || status === 'approved' || status === 'pending_approval';
    case 'fillGap':
      return record.gap === 'open';
    default:
      return false;
  }
}

/** What must be true of every move, and its ledger taken into the balances. */
function follow(before: IntentRecord | undefined, move: Move, nowMs: number, balances: Map<string, Balance>): void {
  expect(move.before).toBe(before);
  const after = lastOf(move);
  expect(after.version).toBe((before?.version ?? 0) + 1);
  expect(move.passed.every(({ version }) => version === after.version)).toBe(true);
  const history = after.statusHistory;
  expect(history.slice(0, before?.statusHistory.length ?? 0)).toEqual(before?.statusHistory ?? []);
  expect(history.at(-1)!.status).toBe(after.status);
  for (const [index, { status, atMs }] of history.entries()) {
    if (index === 0) expect(status).toBe('created');
    else {
      expect(mayFollow(history[index - 1]!.status, status)).toBe(true);
      expect(atMs).toBeGreaterThanOrEqual(history[index - 1]!.atMs);
    }
  }
  expect(after.updatedAtMs).toBeGreaterThanOrEqual(before?.updatedAtMs ?? 0);
  expect(JSON.parse(JSON.stringify(after))).toEqual(after);

  const change = changeOf({ newId: () => 'evt_1', nowMs, requestId: 'req' }, move);
  for (const { asset, available, reserved } of change.ledger ?? []) {
    const balance = balances.get(asset)!;
    balance.available += available;
    balance.reserved += reserved;
    expect(balance.available >= 0n && balance.reserved >= 0n).toBe(true);
  }
  const added = history
    .slice(before?.statusHistory.length ?? 0)
    .map(({ status }) => `transaction_intent.${before?.status === 'completed' ? 'reorged' : status}`);
  const types = (change.events ?? []).map(({ type }) => type);
  const said = types.filter((type) => !/approval_recorded|updated/.test(type));
  expect(said).toEqual(added);
  // No version without an event.
  expect(types.length).toBeGreaterThan(0);
  expect(types.includes('transaction_intent.updated')).toBe(
    types.length === 1 && added.length === 0 && !(after.approvals.length > (before?.approvals.length ?? 0)),
  );
  const voted = after.approvals.length > (before?.approvals.length ?? 0);
  expect((change.events ?? []).some(({ type }) => type.endsWith('approval_recorded'))).toBe(voted);
  expect(change.events?.every(({ resource }) => resource.version === after.version)).toBe(true);
  expect(change.due?.[0]?.atMs === undefined).toBe(isSettled(after));
}

describe('the table of states', () => {
  test('reaches every status from the first, and lets none out of the final ones', () => {
    const reached = new Set<IntentStatus>(['created']);
    for (const from of reached) for (const to of intentTransitions[from]) reached.add(to);
    expect([...reached].sort()).toEqual([...intentStatuses].sort());
    expect(intentStatuses.filter(isFinal)).toEqual([
      'completed',
      'denied',
      'rejected',
      'expired',
      'cancelled',
      'failed',
    ]);
  });
});

describe('a fee', () => {
  const submitted = (): IntentRecord => {
    const opened = lastOf(openIntent(draft('txi_1', wallet), { kind: 'approved' }, startMs));
    return lastOf(beginSigning(opened, startMs));
  };
  const reporter = { newId: () => 'evt_1', nowMs: startMs, requestId: 'req' };

  test('above what was set aside, negative, or of another asset is our bug, and nothing is written', () => {
    for (const fee of [
      { asset: 'ETH', units: 1_001n },
      { asset: 'ETH', units: -1n },
      { asset: 'BTC', units: 1n },
    ]) {
      const move = advanceIntent(
        submitted(),
        { ...done(0n), feePaid: fee } as typeof fee & ReturnType<typeof done>,
        startMs,
      );
      expect(() => changeOf(reporter, move!)).toThrow(/differs from its reservation/);
    }
  });

  test('of one asset with the amount is a movement of its own, beside what is no longer reserved', () => {
    const move = advanceIntent(submitted(), done(600n), startMs);
    const { ledger = [] } = changeOf(reporter, move!);
    const sum = (field: 'available' | 'reserved') => ledger.reduce((all, entry) => all + entry[field], 0n);
    expect([sum('available'), sum('reserved')]).toEqual([400n, -(10n ** 18n) - 1_000n]);
    const moved = ledger.flatMap(({ asset, available, movement }) =>
      movement ? [[movement.kind, asset, available]] : [],
    );
    expect(moved).toEqual([
      ['transfer', 'ETH', -(10n ** 18n)],
      ['fee', 'ETH', -600n],
    ]);
  });
});

describe('what the provider says', () => {
  test('twice is no change, and an earlier stage does not lead back', () => {
    const signing = lastOf(beginSigning(lastOf(openIntent(draft('txi_1', wallet), { kind: 'approved' }, 0)), 1));
    const confirming = lastOf(advanceIntent(signing, going('confirming'), 2)!);
    expect(advanceIntent(confirming, going('confirming'), 3)).toBeUndefined();
    const back = lastOf(advanceIntent(confirming, going('signing'), 3)!);
    expect(back).toMatchObject({ status: 'confirming', providerTxId: 'tx', version: confirming.version + 1 });
  });

  test('is news when its sub-status, its id, its status or the adapter’s data differs, and only then', () => {
    const signing = lastOf(beginSigning(lastOf(openIntent(draft('txi_1', wallet), { kind: 'approved' }, 0)), 1));
    const said = going('confirming');
    const record = lastOf(advanceIntent(signing, said, 2)!);
    for (const other of [
      { subStatus: 'AWAITING_CONFIRMATIONS' },
      { providerTxId: 'tx-replaced' },
      { providerStatus: 'SEEN' },
      { submission: { stage: 'confirming', block: 7 } },
    ]) {
      const move = advanceIntent(record, { ...said, ...other } as typeof said, 3);
      expect(move && lastOf(move)).toEqual({ ...record, ...other, version: record.version + 1, updatedAtMs: 3 });
    }
    expect(advanceIntent(record, { ...said, againAtMs: 99 } as typeof said, 3)).toBeUndefined();
  });

  test('of an intent that has failed, or is not at its provider, is refused', () => {
    const approved = lastOf(openIntent(draft('txi_1', wallet), { kind: 'approved' }, 0));
    expect(() => advanceIntent(approved, going('signing'), 1)).toThrow('an intent that is approved is not at its');
    const open = lastOf(openGap(lastOf(beginSigning(approved, 1)), failure, 2));
    expect(() => advanceIntent(open, going('signing'), 3)).toThrow('this intent has failed');
    expect(() => openGap(open, failure, 3)).toThrow('this intent has failed');
    expect(() => failureOf(approved)).toThrow('this intent has not failed');
    expect(failureOf(open)).toEqual(failure);
  });
});

test('each try after the first failure counts, and is no new version', () => {
  const signing = lastOf(beginSigning(lastOf(openIntent(draft('txi_1', wallet), { kind: 'approved' }, 0)), 1));
  const held = lastOf(holdIntent(signing, 'AWAITING_QUORUM', 2)!);
  expect(held).toMatchObject({ attempts: 1, subStatus: 'AWAITING_QUORUM', version: signing.version + 1 });
  expect(holdIntent(held, 'AWAITING_QUORUM', 3)).toBeUndefined();
  expect(triedAgain(held)).toEqual({ ...held, attempts: 2 });
  expect(lastOf(advanceIntent(triedAgain(held), going('confirming'), 4)!).attempts).toBe(0);
});

test('whatever reorganisations undo it, its history keeps its first life and the newest states', () => {
  let record = lastOf(openIntent(draft('txi_1', wallet), { kind: 'approved' }, 0));
  const take = (way: string, atMs: number) => {
    record = lastOf(ways[way]!(record, atMs)!);
  };
  for (const way of ['sign', 'completeNotFinal']) take(way, 1);
  const first = record.statusHistory;
  expect(first.length).toBeLessThanOrEqual(10);
  for (let atMs = 2; atMs < 202; atMs += 2)
    for (const [at, way] of ['undo', 'completeNotFinal'].entries()) take(way, atMs + at);
  expect(record.statusHistory).toHaveLength(64);
  expect(record.statusHistory.slice(0, first.length)).toEqual(first);
  expect(record.statusHistory.slice(-2)).toEqual([
    { status: 'confirming', subStatus: 'REORGED', atMs: 200 },
    { status: 'completed', subStatus: 'NOT_FINAL', atMs: 201 },
  ]);
});
