/** Random drift on a connection: jobs of either kind report exactly the drift; exceptions are deduplicated and resolved. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import { type IdPrefix, newId } from '../../../../proto/ids.ts';
import { creditDeposit } from '../../../../wallets/custody/wallets/deposits.ts';
import { parseAmount } from '../../../../wallets/networks/amounts.ts';
import { custodianBooks } from '../../../../wallets/providers/books.ts';
import { RedisCustodianBooks } from '../../../../wallets/providers/simulated/redis-custodian-books.ts';
import { runs } from '../../../support/thorough.ts';
import { outside, type ReconService, startReconService, type View } from './support/service.ts';

const transfers = 12;
const feeUnits = 42_000_000_000_000n;
let recon: ReconService;
let connection: View;
let wallet: View;
let intents: readonly View[];

beforeAll(async () => {
  recon = await startReconService();
  connection = await recon.connect('sandbox');
  wallet = await recon.wallet(connection.id);
  intents = await Promise.all(
    Array.from({ length: transfers }, (_, index) => recon.transfer(wallet.id, `0.0${index + 11}`)),
  );
  expect(intents.every(({ status }) => status === 'completed')).toBe(true);
});
afterAll(() => recon?.stop());

const driftPath = () => `/v1/sandbox/provider-connections/${connection.id}/drift`;
const types = {
  missing: 'missing_external',
  late: 'missing_external',
  duplicate: 'duplicate',
  amount: 'amount_mismatch',
  status: 'status_mismatch',
  extra: 'missing_internal',
} as const;
type Kind = keyof typeof types;

function units(amount: string): bigint {
  return parseAmount(amount, 18) as bigint;
}

/** What a drift adds to the provider's balance, with `amount` 0.001. */
function effectOf(kind: Kind, amount: string): bigint {
  switch (kind) {
    case 'missing':
    case 'late':
      return units(amount) + feeUnits;
    case 'duplicate':
      return -units(amount) - feeUnits;
    case 'status':
      return units(amount);
    case 'amount':
    case 'extra':
      return -units('0.001');
  }
}

/** Exceptions that the job has met. */
async function metBy(job: View): Promise<readonly View[]> {
  return (await recon.exceptions(`?job_id=${job.id}&limit=100`)).filter(({ last_job_id: last }) => last === job.id);
}

it('reports exactly the drift, whatever it is', async () => {
  const kinds = fc.constantFrom(...(Object.keys(types).filter((kind) => kind !== 'extra') as Kind[]));
  const drift = fc.record({
    onTransfers: fc.uniqueArray(fc.tuple(fc.nat(transfers - 1), kinds), { selector: ([index]) => index, maxLength: 6 }),
    extras: fc.nat(2),
  });
  const scope = { wallet_id: wallet.id };
  await fc.assert(
    fc.asyncProperty(drift, async ({ onTransfers, extras }) => {
      await recon.call('DELETE', driftPath());
      const common = { wallet_id: wallet.id, amount: '0.001' };
      for (const [index, kind] of onTransfers) {
        await recon.call('POST', driftPath(), { ...common, kind, transaction_intent_id: intents[index]!.id });
      }
      for (let extra = 0; extra < extras; extra += 1)
        await recon.call('POST', driftPath(), { ...common, kind: 'extra' });

      const job = await recon.job({ kind: 'transactions', scope, lag_s: 0 });
      const found = (await metBy(job)).map(({ type, sources }) => `${type} ${sources.internal?.id ?? '-'}`);
      const expected = [
        ...onTransfers.map(([index, kind]) => `${types[kind]} ${intents[index]!.id}`),
        ...Array<string>(extras).fill('missing_internal -'),
      ];
      expect(found.sort()).toEqual(expected.sort());

      const effect = [
        ...onTransfers.map(([index, kind]) => effectOf(kind, intents[index]!.amount as string)),
        ...Array<bigint>(extras).fill(effectOf('extra', '')),
      ].reduce((sum, each) => sum + each, 0n);
      const balances = await metBy(await recon.job({ kind: 'balances', scope, lag_s: 0 }));
      const deltas = balances.map(({ delta }) => (delta.startsWith('-') ? -units(delta.slice(1)) : units(delta)));
      expect(deltas).toEqual(effect === 0n ? [] : [effect]);
    }),
    { numRuns: runs(6, 12), interruptAfterTimeLimit: 60_000 },
  );
  await recon.call('DELETE', driftPath());
});

it('opens one exception for one subject, however many jobs meet it, and anew only when something else is said', async () => {
  const other = await recon.wallet(connection.id);
  const intent = await recon.transfer(other.id, '0.2');
  const scope = { wallet_id: other.id };
  const body = { kind: 'amount', wallet_id: other.id, transaction_intent_id: intent.id, amount: '0.05' };
  await recon.call('POST', driftPath(), body);
  const run = () => recon.job({ kind: 'transactions', scope, lag_s: 0 });
  await run();
  await run();
  const [found, ...more] = await recon.exceptions(`?wallet_id=${other.id}`);
  expect(more).toEqual([]);
  expect(found).toMatchObject({ times_seen: 2, type: 'amount_mismatch', delta: '-0.05', actual: { amount: '0.25' } });

  await recon.call('POST', `/v1/recon/exceptions/${found!.id}/resolve`, { resolution: 'written_off' });
  expect((await run()).progress).toMatchObject({ exceptions_found: 1, exceptions_new: 0 });
  await recon.call('DELETE', driftPath());
  await recon.call('POST', driftPath(), { ...body, amount: '0.07' });
  expect((await run()).progress).toMatchObject({ exceptions_found: 1, exceptions_new: 1 });
  const statuses = (await recon.exceptions(`?wallet_id=${other.id}`)).map(({ status, delta }) => `${status} ${delta}`);
  expect(statuses).toEqual(['open -0.07', 'resolved -0.05']);
  await recon.call('DELETE', driftPath());
});

it('corrects the ledger by one difference once, as a movement, as a balance, and when more is said of it', async () => {
  const other = await recon.wallet(connection.id);
  const intent = await recon.transfer(other.id, '0.3');
  const scope = { wallet_id: other.id };
  const drift = (amount: string) =>
    recon.call('POST', driftPath(), { kind: 'amount', wallet_id: other.id, transaction_intent_id: intent.id, amount });
  const run = async (): Promise<Record<string, View>> => {
    for (const kind of ['transactions', 'balances']) await recon.job({ kind, scope, lag_s: 0 });
    const open = await recon.exceptions(`?wallet_id=${other.id}&status=open`);
    return Object.fromEntries(open.map((found) => [found.sources.internal.kind, found]));
  };
  const adjust = async ({ id }: View) => {
    const { status, body } = await recon.status('POST', `/v1/recon/exceptions/${id}/resolve`, {
      resolution: 'adjusted',
    });
    return status === 200 ? body.resolution.corrections : body.error.details[0].issue;
  };
  await drift('0.05');
  const first = await run();
  expect(await adjust(first.transaction_intent!)).toEqual([{ asset: 'ETH', amount: '-0.05' }]);
  expect(await adjust(first.wallet_balance!)).toBe('changed_since');

  await recon.call('DELETE', driftPath());
  await drift('0.07');
  const second = await run();
  expect([second.transaction_intent!.delta, second.wallet_balance!.delta]).toEqual(['-0.07', '-0.02']);
  expect(await adjust(second.transaction_intent!)).toEqual([{ asset: 'ETH', amount: '-0.02' }]);

  await recon.call('DELETE', driftPath());
  await drift('0.1');
  const third = await run();
  expect(await adjust(third.wallet_balance!)).toEqual([{ asset: 'ETH', amount: '-0.03' }]);
  expect(await adjust(third.transaction_intent!)).toBe('changed_since');
  expect((await recon.job({ kind: 'balances', scope, lag_s: 0 })).progress.exceptions_found).toBe(0);
  await recon.call('DELETE', driftPath());
});

it('adjusts a deposit that was never credited, and a later report of it credits nothing', async () => {
  const receiver = await recon.wallet(connection.id);
  const { redis } = recon.service;
  const [key] = await redis.keys(`sm:{t:*}:r:${receiver.id}`);
  const tenant = /\{t:(.*)\}/.exec(key!)![1]!;
  const deposit = { txId: '0xlost', asset: 'ETH', units: 3n * 10n ** 17n, fromAddress: outside };
  const book = custodianBooks((kind) => new RedisCustodianBooks(redis, kind)).sandbox;
  // Before the job's window ends, which is when the job is made.
  const nowMs = recon.deps.clock.nowMs() - 1;
  const { provider_wallet_id: held } = receiver;
  await book.receive(tenant, { ...deposit, wallet: held, environment: 'sandbox', atMs: nowMs });

  const scope = { wallet_id: receiver.id };
  await recon.job({ kind: 'transactions', scope, lag_s: 0 });
  const [found] = await recon.exceptions(`?wallet_id=${receiver.id}`);
  expect(found).toMatchObject({ type: 'missing_internal', delta: '0.3', sources: { external: { tx_id: '0xlost' } } });
  await recon.call('POST', `/v1/recon/exceptions/${found!.id}/resolve`, { resolution: 'adjusted' });
  const late = {
    ...deposit,
    tenant,
    walletId: receiver.id,
    nowMs,
    newId: (prefix: IdPrefix) => newId(prefix, nowMs, systemRandom),
  };
  expect(await creditDeposit(recon.deps.store, late)).toBe('credited_before');
  for (const kind of ['transactions', 'balances']) {
    expect((await recon.job({ kind, scope, lag_s: 0 })).progress.exceptions_found).toBe(0);
  }
});

it('hides jobs and exceptions from another tenant, and takes no scope that is not the caller’s', async () => {
  const stranger = 'svc_sk_test_aStrangerOfReconciliation';
  const job = await recon.job({ kind: 'balances', scope: { wallet_id: wallet.id } });
  expect((await recon.status('GET', `/v1/recon/jobs/${job.id}`, undefined, stranger)).status).toBe(404);
  expect((await recon.status('POST', `/v1/recon/jobs/${job.id}/cancel`, {}, stranger)).status).toBe(404);
  expect((await recon.status('GET', '/v1/recon/exceptions', undefined, stranger)).body.exceptions).toEqual([]);
  const scoped = { kind: 'balances', scope: { wallet_id: wallet.id } };
  expect((await recon.status('POST', '/v1/recon/jobs', scoped, stranger)).status).toBe(404);
});

it('shows a token of another connection no job, exception, event or page of them', async () => {
  const drifting = await recon.wallet(connection.id);
  await recon.call('POST', driftPath(), { kind: 'extra', wallet_id: drifting.id });
  const body = { kind: 'balances', scope: { wallet_id: drifting.id }, lag_s: 0 };
  const jobs = [await recon.job(body), await recon.job(body)];
  const [found] = await recon.exceptions(`?wallet_id=${drifting.id}`);
  const { id: elsewhere } = await recon.connect('sandbox');
  const [key] = await recon.service.redis.keys(`sm:{t:*}:r:${drifting.id}`);
  const tenant = /\{t:(.*)\}/.exec(key!)![1]!;
  const limited = 'svc_sk_test_limitedToAnotherConnection';
  recon.service.tokens.put(limited, { tenant, id: 'tok_elsewhere', providerConnectionIds: [elsewhere] });
  const asLimited = async (path: string) => recon.status('GET', path, undefined, limited);
  const { next_cursor: cursor } = await recon.call('GET', '/v1/recon/jobs?limit=1');
  expect(cursor).toEqual(expect.any(String));
  for (const [path, list] of [
    ['/v1/recon/jobs?limit=100', 'jobs'],
    [`/v1/recon/jobs?limit=1&cursor=${cursor}`, 'jobs'],
    [`/v1/recon/jobs?provider_connection_id=${connection.id}`, 'jobs'],
    ['/v1/recon/exceptions?limit=100', 'exceptions'],
    [`/v1/recon/exceptions?job_id=${jobs[0]!.id}`, 'exceptions'],
    [`/v1/events?type=recon.*&limit=100`, 'events'],
    [`/v1/events?resource_id=${found!.id}`, 'events'],
  ] as const) {
    const { status, body: page } = await asLimited(path);
    expect([path, status, page[list] ?? []]).toEqual([path, expect.any(Number), []]);
  }
  for (const path of [`/v1/recon/jobs/${jobs[0]!.id}`, `/v1/recon/exceptions/${found!.id}`]) {
    const hidden = await asLimited(path);
    const unknown = await asLimited(path.replace(/.{4}$/, 'ffff'));
    expect(hidden.status).toBe(404);
    expect(hidden.body.error.message).toBe(unknown.body.error.message);
  }
  await recon.call('DELETE', driftPath());
});

it.each([
  [{ kind: 'balances', from: '2026-01-01T00:00:00Z' }, 'from'],
  [{ kind: 'transactions', from: '2020-01-01T00:00:00Z' }, 'from'],
  [{ kind: 'transactions', from: '2999-01-01T00:00:00Z' }, 'from'],
  [{ kind: 'transactions', tolerance: { absolute: '1e3' } }, 'tolerance.absolute'],
  [{ kind: 'transactions', scope: { asset: 'NONE' } }, 'scope.asset'],
])('refuses %j', async (body, field) => {
  const answer = await recon.status('POST', '/v1/recon/jobs', body);
  expect(answer).toMatchObject({ status: 400, body: { error: { details: [{ field }] } } });
});

it('is cancelled while it waits, once its tenant runs as many as it may', async () => {
  const bodies = Array.from({ length: 6 }, () => ({ kind: 'transactions', scope: { wallet_id: wallet.id } }));
  const jobs = await Promise.all(bodies.map((body) => recon.call('POST', '/v1/recon/jobs', body)));
  const cancelled = await Promise.all(jobs.map(({ id }) => recon.status('POST', `/v1/recon/jobs/${id}/cancel`)));
  for (const [index, { id }] of jobs.entries()) {
    const { status } = await recon.call('GET', `/v1/recon/jobs/${id}`);
    expect([200, 409]).toContain(cancelled[index]!.status);
    expect(status === 'cancelled').toBe(cancelled[index]!.status === 200);
  }
});
