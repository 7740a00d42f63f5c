/** Checks of a random run, of rights, keys, connections, scores and dry runs: each finds what is planted for it. */
import { describe, expect, test } from 'vitest';
import { SortedSet } from '../../../simulation/redis/sorted-set.ts';
import { ConnectionTimelines } from '../../../simulation/search/wallets/connections.ts';
import { Holdings } from '../../../simulation/search/wallets/holdings.ts';
import { RiskRules } from '../../../simulation/search/wallets/risk.ts';
import { Scores } from '../../../simulation/search/wallets/scores.ts';
import type { ModuleFacts } from '../../../simulation/search/wallets/tenancy.ts';
import type { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import { checkClosedKeys, checkRevoked } from '../../../simulation/service/invariants/closed-keys.ts';
import { DocumentedLedger, decimal, type ToldEvent } from '../../../simulation/service/invariants/documented-ledger.ts';
import { checkDryRuns } from '../../../simulation/service/invariants/dry-runs.ts';
import { Leases } from '../../../simulation/service/invariants/leases.ts';

const beganMs = Date.parse('2026-01-01T00:00:00.000Z');

type Told = readonly [type: string, id: string, object?: object, atMs?: number | undefined];

/** Events a second apart, unless they say otherwise. */
function log(...told: readonly Told[]): ToldEvent[] {
  return told.map(([type, id, object = {}, atMs], at) => ({
    ...{ id: `evt_${at + 1}`, type, sequence: at + 1 },
    timestamp: new Date(beganMs + (atMs ?? at * 1_000)).toISOString(),
    resource: { type: type.slice(0, type.indexOf('.')), id, version: 1 },
    data: { object },
  }));
}

describe('sessions of the signing API', () => {
  const session = (happening: string, wallet: string, atMs?: number): Told => [
    `signing.session.${happening}`,
    'sig_1',
    { wallet_id: wallet, transaction_intent_id: 'invoice' },
    atMs,
  ];

  test('sign nothing with the key of an archived wallet or vault', () => {
    const archived: Told = ['wallet.archived', 'wal_1'];
    expect(() => checkClosedKeys(log(session('completed', 'wal_1'), archived))).not.toThrow();
    expect(() => checkClosedKeys(log(archived, session('completed', 'wal_1')))).toThrow('event 1 has closed its key');
    const vault = log(
      ['vault.key_created', 'vky_1', { vault_id: 'vlt_1' }],
      ['vault.archived', 'vlt_1'],
      session('completed', 'vky_1'),
    );
    expect(() => checkClosedKeys(vault)).toThrow('event 2 has closed its key');
  });

  test('end soon after their wallet was frozen or made stricter', () => {
    const terms = { status: 'active', signing_api: 'allowed', approval_mode: 'unspecified' };
    const changed = (change: object): Told => ['wallet.updated', 'wal_1', { ...terms, ...change }];
    const run = (change: object, signsAtMs: number) => () =>
      checkRevoked(
        log(
          ['wallet.created', 'wal_1', terms],
          session('pending', 'wal_1'),
          changed(change),
          session('completed', 'wal_1', signsAtMs),
        ),
      );
    expect(run({ approval_mode: 'human_required' }, 4_000)).not.toThrow();
    expect(run({ approval_mode: 'human_required' }, 9_000)).toThrow('signs 7000 ms after it was to be revoked');
    expect(run({ status: 'frozen' }, 9_000)).toThrow('signs 7000 ms');
    expect(run({ name: 'another' }, 9_000)).not.toThrow();
  });
});

describe('a connection', () => {
  const follow =
    (...told: readonly Told[]) =>
    () => {
      const connections = new ConnectionTimelines();
      for (const event of log(...told)) connections.take(event);
    };
  const status = (to: string): Told => [`provider_connection.${to}`, 'pcn_1', { status: to }];
  const intent = (happening: string): Told => [
    `transaction_intent.${happening}`,
    'txi_1',
    { status: happening, wallet_id: 'wal_1', provider_connection_id: 'pcn_1' },
  ];

  test('is disconnected, and a wallet archived, only while no intent is open', () => {
    expect(follow(intent('created'), intent('denied'), status('disconnected'))).not.toThrow();
    expect(follow(intent('created'), status('disconnected'))).toThrow('while txi_1 is open');
    const archived: Told = ['wallet.archived', 'wal_1', { provider_connection_id: 'pcn_1' }];
    expect(follow(intent('created'), archived)).toThrow('while txi_1 is open');
  });

  test('that is disconnected gets no intent', () => {
    expect(follow(status('disconnected'), intent('created'))).toThrow('and pcn_1 is disconnected');
    expect(follow(status('disconnected'), status('connected'), intent('created'))).not.toThrow();
  });
});

describe('a risk score', () => {
  const facts = { kind: 'transfer', listing: 'clear', intentsLastHour: 0, available: decimal('10') } as const;

  test('is the sum of the documented factors and of the rules that are enforced', () => {
    const terms = new Map([['busy', { when: 'true', holds: () => true }]]);
    const rules = new RiskRules(terms);
    const score = (amount: string, intentsToDestination: number) =>
      rules.score({ ...facts, amount, intentsToDestination });
    expect([score('1', 1), score('1', 0), score('5', 1), score('9', 1), score('0.00477', 0)]).toEqual([
      0, 10, 15, 25, 85,
    ]);
    const [made, shadowed] = log(
      ['risk.rule.created', 'rul_1', { name: 'busy', points: 60, mode: 'enforce' }],
      ['risk.rule.updated', 'rul_1', { name: 'busy', points: 60, mode: 'shadow' }],
    );
    rules.take(made!);
    expect(score('1', 0)).toBe(70);
    rules.take(shadowed!);
    expect(score('1', 0)).toBe(10);
  });

  test('is checked where nothing has touched its wallet since the call', () => {
    const target = '/v1/wallets/wal_1/transaction-intents';
    const call = {
      method: 'POST',
      target,
      status: 201,
      isReplay: false,
      body: { id: 'txi_1' },
      span: { from: 1, to: 9 },
    };
    const created: Told = ['transaction_intent.created', 'txi_1', { wallet_id: 'wal_1', risk_score: 10 }];
    const run = (before: Told, score: number) => () => {
      const scores = new Scores([{ ...call, actor: '', asked: {}, answeredMs: 0 }]);
      for (const event of log(['wallet.created', 'wal_1'], before, created)) scores.take(event, score);
    };
    expect(run(['wallet.updated', 'wal_2'], 10)).not.toThrow();
    expect(run(['wallet.updated', 'wal_2'], 25)).toThrow('has the risk score 10, not 25');
    expect(run(['wallet.deposit_received', 'wal_1'], 25)).not.toThrow();
    expect(run(['risk.rule.created', 'rul_1'], 25)).not.toThrow();
  });
});

test('a dry run that says something else than what follows', () => {
  const shown = (status: string) => ({
    ...{ status, risk: { score: 10 }, fee: { reserved: '1' }, approvals_required: 0, approvers: [] },
    sufficient_funds: true,
  });
  const object = (status: string) => ({
    ...{ status, risk_score: 10, fee: { reserved: '1' }, approvals_required: 0, approvers: [] },
  });
  const events = log(
    ['wallet.frozen', 'wal_1'],
    ['transaction_intent.created', 'txi_1', object('created')],
    ['transaction_intent.approved', 'txi_1', object('approved')],
  );
  const check = (from: number, status: string) => () =>
    checkDryRuns([{ from, to: 3, shown: shown(status), intentId: 'txi_1' }], events);
  expect(check(1, 'approved')).not.toThrow();
  expect(check(1, 'denied')).toThrow('a dry run says ["denied"');
  // Something happened in between.
  expect(check(0, 'denied')).not.toThrow();
  const poor = () => checkDryRuns([{ from: 3, to: 3, shown: shown('approved'), intentId: null }], events);
  expect(poor).toThrow('finds enough money');
});

test('a plan that is executed on other balances than it was made of', () => {
  const ledger = new DocumentedLedger();
  const modules = {
    strategies: [{ id: 'stg_1', walletIds: ['wal_1', 'wal_2'] }],
    executions: new Map([['pln_1', 1]]),
  } as unknown as ModuleFacts;
  const wallet = (symbol: string, status = 'active') => {
    const assets = [{ symbol, balance: '10', available: '10', pending: '0' }];
    return { version: 1, status, assets };
  };
  const run =
    (amount: string, ofOther = '10') =>
    () => {
      const holdings = new Holdings(modules, ledger);
      const positions = [
        { asset: 'ETH', amount },
        { asset: 'SOL', amount: ofOther },
      ];
      const events = log(
        ['wallet.created', 'wal_1', wallet('ETH')],
        ['wallet.created', 'wal_2', wallet('SOL')],
        ['treasury.plan.executing', 'pln_1', { strategy_id: 'stg_1', positions }],
      );
      for (const event of events) {
        ledger.follow([event]);
        holdings.take(event);
      }
    };
  expect(run('10')).not.toThrow();
  expect(run('9')).toThrow('is executed on 9 ETH,10 SOL, which its wallets have no more');
  expect(run('10', '0')).toThrow('is executed on 10 ETH,0 SOL');
});

test('due work that is taken without a lease', () => {
  const nowMs = 1_000_000;
  const leased = (atMs: number) => () => {
    const leases = leasesOf(nowMs, { 'sm:{t:tn_1}:due': { 'intent/txi_1': atMs }, 'sm:{due:work}': { tn_1: nowMs } });
    leases.heard('store/take-due.lua', () => ['', ['intent/txi_1']]);
    leases.end();
  };
  expect(leased(nowMs + 30_000)).not.toThrow();
  expect(leased(nowMs - 5)).toThrow('intent/txi_1 was taken at 1000000, and is due again at 999995');
});

test('due work and deliveries that no process takes are found', () => {
  const nowMs = 1_000_000;
  const looked = (sets: Sets) => () => {
    const leases = leasesOf(nowMs, sets);
    leases.heard('store/commit.lua', () => 1);
    leases.end();
  };
  const registered = { 'sm:{due:work}': { tn_1: nowMs } };
  const hooked = { 'sm:{t:tn_1}:ix:webhooks': { whk_1: 0 } };
  expect(looked({ ...registered, 'sm:{t:tn_1}:due': { 'intent/txi_1': nowMs - 12_000 } })).not.toThrow();
  expect(looked({ ...registered, 'sm:{t:tn_1}:due': { 'intent/txi_1': nowMs - 12_001 } })).toThrow(
    'is due since 987999',
  );
  expect(looked({ 'sm:{t:tn_1}:due': { 'intent/txi_1': nowMs } })).toThrow('tn_1 is not registered');
  expect(looked({ ...hooked, 'sm:{t:tn_1}:hko:whk_1': { dlv_1: nowMs - 45_000 } })).not.toThrow();
  expect(looked({ ...hooked, 'sm:{t:tn_1}:hko:whk_1': { dlv_1: nowMs - 45_001 } })).toThrow('on its way for 45001 ms');
});

/** Members by score, of sorted sets by key. */
type Sets = Readonly<Record<string, Readonly<Record<string, number>>>>;

function leasesOf(nowMs: number, sets: Sets): Leases {
  const find = (key: string) => {
    const scores = sets[key];
    if (scores === undefined) return undefined;
    const set = new SortedSet();
    for (const [member, score] of Object.entries(scores)) set.add(member, score);
    return { set };
  };
  const world = { nowMs, redis: { space: { find } } } as unknown as CustodyWorld;
  return new Leases(() => world, ['tn_1']);
}
