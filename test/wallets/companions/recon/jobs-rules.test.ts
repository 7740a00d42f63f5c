/** The rules of jobs and exceptions to their edges: windows, places, filters, what a caller sees, and what an event says. */

import { beforeAll, describe, expect, it } from 'vitest';
import { silentLog, systemPorts } from '../../../../core/actors/live/ports.ts';
import {
  type ComparisonFinding,
  type ExceptionRecord,
  exceptionType,
  fingerprintOf,
} from '../../../../wallets/companions/recon/exception-record.ts';
import { noteFindings } from '../../../../wallets/companions/recon/findings.ts';
import { type JobRecord, jobType, nextJob } from '../../../../wallets/companions/recon/job-record.ts';
import { cancelJob, createJob, findJob } from '../../../../wallets/companions/recon/jobs.ts';
import { resolveException } from '../../../../wallets/companions/recon/resolve.ts';
import { reconRoutes } from '../../../../wallets/companions/recon/routes.ts';
import { JobRunner } from '../../../../wallets/companions/recon/runner.ts';
import { jobView } from '../../../../wallets/companions/recon/view.ts';
import { type ConnectionRecord, connectionType } from '../../../../wallets/custody/connections/record.ts';
import { intentType } from '../../../../wallets/custody/intents/record.ts';
import { depositId, depositType } from '../../../../wallets/custody/wallets/deposit-record.ts';
import { walletFrom } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import type { StatementsByKind } from '../../../../wallets/providers/port/statement.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../support/ledger-entry.ts';
import { done, newTenant, type StoreUnderTest, startMemoryStore } from '../../../support/memory-store.ts';
import { answered, type Caller, call, contextAt, eventTypes, refusal } from '../support/handlers.ts';

const nowMs = Date.UTC(2026, 5, 15, 12);
const dayMs = 86_400_000;
const time = (ms: number) => new Date(ms).toISOString();
const routes = reconRoutes({ wake: () => {} });

let under: StoreUnderTest;
let store: TenantStore;
beforeAll(async () => {
  under = startMemoryStore();
  store = await under.open({ nowMs: () => nowMs });
});

const as = (caller: Caller, atMs = nowMs) => contextAt(atMs, store, caller);

async function jobOf(tenant: string, body: Parameters<typeof createJob>[1], over: Omit<Caller, 'tenant'> = {}) {
  const context = as({ tenant, ...over });
  return answered(
    context,
    createJob(context, body, () => {}),
  );
}

async function becomes(tenant: string, id: string, patch: Partial<JobRecord>): Promise<void> {
  const before = (await store.read(tenant, jobType, id))!;
  await done(store, tenant, { puts: [update(jobType, before, nextJob(before, patch, nowMs))] });
}

function sandboxConnection(id: string): ConnectionRecord {
  return {
    ...{ id, version: 1, provider: 'sandbox', name: id, environment: 'sandbox', status: 'connected', capabilities: [] },
    ...{ credentials: '', credentialFingerprint: '', metadata: {} },
    ...{ lastSyncedAtMs: null, createdAtMs: nowMs, updatedAtMs: nowMs },
  };
}

function sandboxWallet() {
  const connection = { id: 'pcn_1', provider: 'sandbox', environment: 'sandbox' } as const;
  const made = { providerWalletId: 'p', publicKey: null, addresses: [], balances: [{ asset: 'ETH', units: 9n }] };
  const order = { id: 'wal_1', name: 'w', connection, network: 'eip155:11155111', made, nowMs } as const;
  return walletFrom({ ...order, signingApi: 'allowed' });
}

describe('the window of a job', () => {
  const endMs = nowMs + 1;
  const from = (ms: number, more = {}) => ({ kind: 'transactions', from: time(ms), ...more }) as const;

  it.each([
    ['the last day by default', { kind: 'transactions' }, endMs - dayMs, endMs],
    ['from 30 days ago', from(nowMs - 30 * dayMs), nowMs - 30 * dayMs, endMs],
    ['no farther than this millisecond', from(nowMs - 5, { to: time(nowMs + dayMs) }), nowMs - 5, endMs],
    ['of one millisecond', from(nowMs), nowMs, endMs],
    ['one that ends with the one before', from(nowMs - 5, { to: time(nowMs) }), nowMs - 5, nowMs],
    ['a day before its end', { kind: 'transactions', to: time(nowMs - dayMs) }, nowMs - 2 * dayMs, nowMs - dayMs],
  ] as const)('is %s', async (_, body, fromMs, toMs) => {
    expect(await jobOf(newTenant(), body)).toMatchObject({ from: time(fromMs), to: time(toMs), lag_s: 120 });
  });

  it.each([
    ['longer ago than 30 days', from(nowMs - 30 * dayMs - 1), 'from', 'too_small'],
    ['empty', from(nowMs - 5, { to: time(nowMs - 5) }), 'from', 'too_large'],
    ['of a comparison of balances', { kind: 'balances', to: time(nowMs) }, 'to', 'not_supported'],
  ] as const)('is not %s', async (_, body, field, issue) => {
    await expect(jobOf(newTenant(), body)).rejects.toEqual(refusal('invalidRequest', field, issue));
  });
});

it('a job covers a wallet of the named connection, a known asset, and any tolerance from 0 on', async () => {
  const tenant = newTenant();
  await done(store, tenant, { puts: [create(walletType, sandboxWallet())] });
  const scoped = (scope: object, tolerance = {}) => jobOf(tenant, { kind: 'balances', scope, tolerance });
  const both = { wallet_id: 'wal_1', provider_connection_id: 'pcn_1' };
  for (const scope of [both, { wallet_id: 'wal_1' }]) {
    expect((await scoped(scope)).scope).toEqual({ ...both, asset: null });
  }
  for (const scope of [{ ...both, provider_connection_id: 'pcn_2' }, { wallet_id: 'wal_2' }]) {
    await expect(scoped(scope)).rejects.toEqual(refusal('notFound'));
  }
  expect((await scoped({ asset: 'ETH' }, { absolute: '0', bps: 7 })).tolerance).toEqual({ absolute: '0', bps: 7 });
  expect((await scoped({}, { absolute: '0.5' })).tolerance).toEqual({ absolute: '0.5', bps: 0 });
  await expect(scoped({ asset: 'NONE' })).rejects.toEqual(refusal('invalidRequest', 'scope.asset', 'unknown_asset'));
  await expect(scoped({}, { absolute: '1e3' })).rejects.toEqual(
    refusal('invalidRequest', 'tolerance.absolute', 'invalid_format'),
  );
});

it('a tenant has at most 100 jobs that wait or run, and says of each what happened to it', async () => {
  const tenant = newTenant();
  const first = await jobOf(tenant, { kind: 'balances' });
  for (let others = 0; others < 99; others += 1) await jobOf(tenant, { kind: 'balances' });
  await expect(jobOf(tenant, { kind: 'balances' })).rejects.toEqual(refusal('conflict'));
  const context = as({ tenant }, nowMs + 5);
  const cancelled = await answered(context, cancelJob(context, first.id));
  expect(cancelled).toMatchObject({ status: 'cancelled', version: 2, finished_at: time(nowMs + 5) });
  expect(await answered(context, cancelJob(context, first.id))).toEqual(cancelled);
  expect((await eventTypes(store, tenant)).at(-1)).toBe('recon.job.cancelled');
  const { id } = await jobOf(tenant, { kind: 'balances' });
  await becomes(tenant, id, { status: 'completed' });
  await expect(cancelJob(context, id)).rejects.toEqual(refusal('conflict'));
});

it('two jobs of a tenant run at a time; an ended one leaves the store in its time', async () => {
  const tenant = newTenant();
  const [one, two, three] = [1, 2, 3].map(() => jobOf(tenant, { kind: 'balances' }));
  const runner = new JobRunner({ ...systemPorts, store, statements: new Map(), log: silentLog });
  for (const { id } of [await one!, await two!]) await becomes(tenant, id, { status: 'running' });
  const { id } = await three!;
  const statusOf = async () => (await store.read(tenant, jobType, id))!.status;
  await runner.run(tenant, id);
  expect(await statusOf()).toBe('queued');
  await becomes(tenant, (await one!).id, { status: 'failed' });
  await runner.run(tenant, id);
  expect(await statusOf()).toBe('completed');
  expect((await eventTypes(store, tenant)).slice(3)).toEqual(['recon.job.started', 'recon.job.completed']);
  const contents = await under.contents(tenant);
  const expires = (jobId: string) => contents.get(`sm:{t:${tenant}}:r:${jobId}`);
  expect([expires(id), expires((await two!).id)]).toMatchObject([{ expires: true }, { expires: false }]);
});

it('a job covers wallets that are made while it runs, and counts them', async () => {
  const tenant = newTenant();
  await done(store, tenant, { puts: [create(walletType, sandboxWallet())] });
  const { id } = await jobOf(tenant, { kind: 'balances' });
  let reads = 0;
  const balances = async () => {
    reads += 1;
    if (reads === 1) await done(store, tenant, { puts: [create(walletType, { ...sandboxWallet(), id: 'wal_2' })] });
    return new Map();
  };
  const statements = new Map([['sandbox', { joinsBy: 'reference', balances }]]) as unknown as StatementsByKind;
  await new JobRunner({ ...systemPorts, store, statements, log: silentLog }).run(tenant, id);
  const { status, progress } = (await store.read(tenant, jobType, id))!;
  expect([status, progress]).toMatchObject(['completed', { walletsTotal: 2, walletsDone: 2, walletsUnsettled: 0 }]);
});

it('a provider that gives no statement is asked five times, each time after twice as long, and then the job fails', async () => {
  const tenant = newTenant();
  await done(store, tenant, { puts: [create(walletType, sandboxWallet())] });
  const { id } = await jobOf(tenant, { kind: 'balances' });
  let asked = 0;
  const balances = async () => {
    asked += 1;
    throw new ProviderUnavailable('no statement');
  };
  const statements = new Map([['sandbox', { joinsBy: 'reference', balances }]]) as unknown as StatementsByKind;
  const clock = { nowMs: () => nowMs };
  const runner = new JobRunner({ ...systemPorts, clock, store, statements, log: silentLog });
  const seen: unknown[] = [];
  for (let run = 1; run <= 6; run += 1) {
    await runner.run(tenant, id);
    const { status, error } = (await store.read(tenant, jobType, id))!;
    const { nextAtMs } = await store.takeDue(tenant, 0, 1, 10);
    seen.push([asked, status, error?.code, nextAtMs === undefined ? undefined : (nextAtMs - nowMs) / 1_000]);
  }
  const ended = ['failed', 'provider_unavailable', undefined];
  expect(seen).toEqual([
    ...[4, 8, 16, 32].map((afterS, index) => [index + 1, 'running', undefined, afterS]),
    ...[
      [5, ...ended],
      [5, ...ended],
    ],
  ]);
  expect((await eventTypes(store, tenant)).at(-1)).toBe('recon.job.failed');
});

it('a job’s percent reach 100 only with its end', () => {
  const percent = (walletsDone: number, walletsTotal: number, status = 'running') =>
    jobView({
      ...{ status, tolerance: {}, progress: { walletsDone, walletsTotal } },
      ...{ lagMs: 0, fromMs: null, toMs: null, startedAtMs: null, finishedAtMs: null, createdAtMs: 0, updatedAtMs: 0 },
    } as unknown as JobRecord).progress.percent;
  expect([percent(0, 0), percent(1, 3), percent(299, 300), percent(3, 3), percent(4, 3)]).toEqual([0, 33, 99, 99, 99]);
  expect(percent(0, 0, 'completed')).toBe(100);
});

it('a token of some connections sees their jobs alone, and must name one', async () => {
  const tenant = newTenant();
  const limited = { providerConnectionIds: ['pcn_a'] };
  const context = as({ tenant, ...limited });
  const whole = await jobOf(tenant, { kind: 'balances' });
  const puts = ['pcn_a', 'pcn_b'].map((id) => create(connectionType, sandboxConnection(id)));
  await done(store, tenant, { puts });
  const [mine, other] = await Promise.all(
    ['pcn_a', 'pcn_b'].map((id) => jobOf(tenant, { kind: 'balances', scope: { provider_connection_id: id } })),
  );
  expect((await findJob(context, mine.id)).id).toBe(mine.id);
  for (const { id } of [whole, other]) await expect(findJob(context, id)).rejects.toEqual(refusal('notFound'));
  expect((await call(routes, 'listReconJobs', context)).jobs.map(({ id }: { id: string }) => id)).toEqual([mine.id]);
  await expect(jobOf(tenant, { kind: 'balances' }, limited)).rejects.toEqual(refusal('invalidRequest', 'scope'));
});

const finding = (over: Partial<ComparisonFinding> = {}): ComparisonFinding => ({
  ...{ subject: 'movement', type: 'amount_mismatch', severity: 'high', walletId: 'wal_1', connectionId: 'pcn_1' },
  ...{ provider: 'sandbox', asset: 'ETH', fingerprint: 'f', explanation: '', expected: null, actual: null, delta: '1' },
  ...{ internal: null, external: null, corrections: [{ asset: 'ETH', units: '5' }], isFinal: true },
  ...over,
});

async function met(tenant: string, jobId: string, found: ComparisonFinding, atMs = nowMs): Promise<number> {
  const { change, opened } = await noteFindings(store, tenant, as({ tenant }, atMs), jobId, [found]);
  await done(store, tenant, change);
  return opened;
}

const exceptionsOf = async (tenant: string, query = {}) =>
  (await call(routes, 'listReconExceptions', as({ tenant }), { query })).exceptions;

it('an exception tells when it was opened, and when it says something else', async () => {
  const tenant = newTenant();
  expect(await met(tenant, 'rcj_1', finding())).toBe(1);
  expect(await met(tenant, 'rcj_1', finding(), nowMs + 1)).toBe(0);
  expect(await met(tenant, 'rcj_2', finding(), nowMs + 2)).toBe(0);
  expect(await exceptionsOf(tenant)).toMatchObject([
    { times_seen: 2, version: 2, updated_at: time(nowMs), last_seen_at: time(nowMs + 2), last_job_id: 'rcj_2' },
  ]);
  expect(await eventTypes(store, tenant)).toEqual(['recon.exception.opened']);
  await met(tenant, 'rcj_3', finding({ delta: '2' }), nowMs + 3);
  expect(await exceptionsOf(tenant)).toMatchObject([{ times_seen: 3, delta: '2', updated_at: time(nowMs + 3) }]);
  expect(await eventTypes(store, tenant)).toEqual(['recon.exception.opened', 'recon.exception.updated']);
});

it('lists filter by each of their fields', async () => {
  const tenant = newTenant();
  const found = [
    finding({ fingerprint: 'a' }),
    finding({ fingerprint: 'b', type: 'duplicate', severity: 'critical', walletId: 'wal_2' }),
    finding({ fingerprint: 'c', severity: 'low', connectionId: 'pcn_2' }),
  ];
  for (const [index, each] of found.entries()) await met(tenant, `rcj_${index}`, each, nowMs + index);
  const fingerprintsOf = async (query: object) => {
    const ids = (await exceptionsOf(tenant, query)).map(({ id }: ExceptionRecord) => id);
    const records = await store.readMany(tenant, exceptionType, ids);
    return records.map((record) => record!.fingerprint).join('');
  };
  for (const [query, expected] of [
    [{}, 'cba'],
    [{ type: 'amount_mismatch' }, 'ca'],
    [{ severity: 'high' }, 'a'],
    [{ wallet_id: 'wal_2' }, 'b'],
    [{ provider_connection_id: 'pcn_1' }, 'ba'],
    [{ job_id: 'rcj_2' }, 'c'],
    [{ type: 'amount_mismatch', severity: 'low' }, 'c'],
    [{ status: 'open' }, 'cba'],
    [{ status: 'resolved' }, ''],
  ] as const) {
    expect([query, await fingerprintsOf(query)]).toEqual([query, expected]);
  }
  const [transactions, balances] = await Promise.all(
    (['transactions', 'balances'] as const).map((kind) => jobOf(tenant, { kind })),
  );
  await becomes(tenant, balances.id, { status: 'failed' });
  for (const [query, expected] of [
    [{ kind: 'transactions' }, transactions],
    [{ kind: 'balances' }, balances],
    [{ status: 'failed' }, balances],
    [{ status: 'queued' }, transactions],
  ] as const) {
    const { jobs } = await call(routes, 'listReconJobs', as({ tenant }), { query });
    expect([query, jobs.map(({ id }: { id: string }) => id)]).toEqual([query, [expected.id]]);
  }
});

describe('an adjustment', () => {
  const intentId = 'txi_01900000-0000-7000-8000-000000000001';
  const source = { kind: 'transaction_intent', id: intentId, version: 1, status: 'failed', atMs: nowMs } as const;

  /** A wallet with a transfer, and an exception about it. */
  async function opened(over: Partial<ComparisonFinding>): Promise<{ tenant: string; id: string }> {
    const tenant = newTenant();
    const intent = {
      id: intentId,
      version: 1,
      walletId: 'wal_1',
      connectionId: 'pcn_1',
      destination: {},
      metadata: {},
      status: 'failed',
    };
    await done(store, tenant, {
      puts: [
        create(walletType, sandboxWallet()),
        create(intentType, intent as unknown as Parameters<typeof intentType.indices>[0]),
      ],
    });
    await met(tenant, 'rcj_1', finding({ internal: source, ...over }));
    const [{ id }] = await exceptionsOf(tenant);
    return { tenant, id };
  }

  const adjust = async (tenant: string, id: string) => {
    const context = as({ tenant });
    return answered(context, resolveException(context, id, { resolution: 'adjusted', note: 'n' }));
  };

  it('changes the ledger once, and says so', async () => {
    const { tenant, id } = await opened({});
    expect(await adjust(tenant, id)).toMatchObject({
      status: 'resolved',
      resolution: { resolution: 'adjusted', note: 'n', by: 'tok_1', at: time(nowMs) },
    });
    const { balances } = (await store.readWithBalances(tenant, walletType, 'wal_1'))!;
    expect(balances.get('ETH')).toEqual({ available: 5n, reserved: 0n });
    expect((await eventTypes(store, tenant)).slice(-2).sort()).toEqual([
      'recon.exception.resolved',
      'wallet.balance_corrected',
    ]);
    await expect(adjust(tenant, id)).rejects.toEqual(refusal('conflict'));
  });

  it('of a movement is refused after one of its balance at the same time or later, which has included it', async () => {
    for (const [adjustedAtMs, included] of [
      [nowMs - 1, false],
      [nowMs, true],
    ] as const) {
      const { tenant, id } = await opened({});
      const balance = finding({
        subject: 'balance',
        expected: { amount: '0' } as ComparisonFinding['expected'],
      });
      await met(tenant, 'rcj_2', { ...balance, fingerprint: fingerprintOf('balance', 'wal_1', 'ETH') });
      const [other] = (await exceptionsOf(tenant)).filter(({ subject }: ComparisonFinding) => subject === 'balance');
      const earlier = as({ tenant }, adjustedAtMs);
      await answered(earlier, resolveException(earlier, other.id, { resolution: 'adjusted' }));
      const adjusted = adjust(tenant, id);
      if (included) await expect(adjusted).rejects.toEqual(refusal('conflict', 'resolution', 'changed_since'));
      else expect((await adjusted).status).toBe('resolved');
    }
  });

  it.each(['its transfer', 'its balance', 'another adjustment'] as const)(
    'is refused when %s changes after it was computed',
    async (what) => {
      const asBalance = {
        subject: 'balance',
        internal: null,
        expected: { amount: '0' } as ComparisonFinding['expected'],
      } as const;
      const { tenant, id } = await opened(what === 'its balance' ? asBalance : {});
      const fingerprint = fingerprintOf('balance', 'wal_1', 'ETH');
      if (what === 'another adjustment') await met(tenant, 'rcj_2', finding({ ...asBalance, fingerprint }));
      const { change } = await resolveException(as({ tenant }), id, { resolution: 'adjusted' });
      const before = (await store.read(tenant, intentType, intentId))!;
      const ledger = [ledgerEntry('wal_1', 'ETH', 1n)];
      if (what === 'its transfer') {
        await done(store, tenant, { puts: [update(intentType, before, { ...before, version: 2 })] });
      } else if (what === 'its balance') await done(store, tenant, { ledger });
      else {
        const [other] = (await exceptionsOf(tenant)).filter(({ subject }: ComparisonFinding) => subject === 'balance');
        await adjust(tenant, other.id);
      }
      expect(await store.commit(tenant, change!)).toMatchObject({ committed: false, refusal: { kind: 'conflict' } });
    },
  );

  it('omits what an earlier one of the same movement has made already', async () => {
    const { tenant, id } = await opened({});
    await adjust(tenant, id);
    const again = async (delta: string) => {
      await met(tenant, 'rcj_2', finding({ internal: source, delta, corrections: [{ asset: 'ETH', units: '8' }] }));
      const [open] = await exceptionsOf(tenant, { status: 'open' });
      return adjust(tenant, open.id);
    };
    const { resolution } = await again('8');
    expect(resolution.corrections).toEqual([{ asset: 'ETH', amount: '0.000000000000000003' }]);
    // Its texts have changed, its amounts have not.
    await expect(again('8.0')).rejects.toEqual(refusal('conflict', 'resolution', 'nothing_to_adjust'));
  });

  it('credits a deposit that we never saw, so that a later report of it credits nothing', async () => {
    const seen = { ids: ['f-1'], txId: '0xlost', reference: null, status: 'DONE', atMs: nowMs };
    for (const [external, credits] of [
      [seen, true],
      [{ ...seen, reference: 'txi_2' }, false],
      [{ ...seen, txId: null }, false],
    ] as const) {
      const { tenant, id } = await opened({ internal: null, external });
      await adjust(tenant, id);
      const deposit = await store.read(tenant, depositType, depositId('wal_1', '0xlost'));
      expect(deposit?.units).toBe(credits ? '5' : undefined);
      const { balances } = (await store.readWithBalances(tenant, walletType, 'wal_1'))!;
      expect(balances.get('ETH')?.available).toBe(5n);
    }
  });

  it('takes no more from the wallet than is available', async () => {
    const { tenant, id } = await opened({ corrections: [{ asset: 'ETH', units: '-1' }] });
    await expect(adjust(tenant, id)).rejects.toEqual(refusal('conflict', 'resolution', 'insufficient_funds'));
    expect((await exceptionsOf(tenant))[0].status).toBe('open');
  });

  it.each([
    ['of a transfer that is not over', { isFinal: false }, 'not_final'],
    ['of a transfer that has changed since', { internal: { ...source, version: 2 } }, 'changed_since'],
    ['that would change nothing', { corrections: [] }, 'nothing_to_adjust'],
  ] as const)('%s is refused', async (_, over, issue) => {
    const { tenant, id } = await opened(over);
    await expect(adjust(tenant, id)).rejects.toEqual(refusal('conflict', 'resolution', issue));
  });
});
