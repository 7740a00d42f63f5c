/**
 * Reconciliation at rest: a provider reports one movement falsely, or nothing. What a job then finds, how severe it is, and what a
 * resolution does, follows from docs/reconciliation.md. For runs whose clocks agree.
 */
import {
  amountTaken,
  decimal,
  type IntentTold,
  type ToldEvent,
  type ToldWallet,
} from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { done, type Exercise, refused, shows } from './exercise.ts';
import {
  beyondOf,
  checkException,
  differing,
  driftKinds,
  type FalseReport,
  type Own,
  sums,
  text,
} from './false-reports.ts';
import type { ToldException } from './reconciled.ts';

const jobWithinMs = 200_000;
const lookEveryMs = 500;
/** Deposits of the newest transfers become final meanwhile. */
const cleanTries = 8;
const cleanEveryMs = 15_000;
const dayMs = 24 * 3_600_000;

/** From the report to the resolution. */
export async function oneDifference(exercise: Exercise): Promise<void> {
  const { draw } = exercise;
  await wrongWindows(exercise);
  const walletId = await movedWallet(exercise);
  if (walletId === undefined || !(await agrees(exercise, walletId))) return;
  const wallet = await done(exercise, 'GET', `/v1/wallets/${walletId}`);
  const path = `/v1/sandbox/provider-connections/${wallet.provider_connection_id}/drift`;
  const one = await reported(exercise, path, walletId);
  if (one === undefined) return void (await done(exercise, 'DELETE', path));
  const { drifts } = await done(exercise, 'GET', path);
  if (!drifts.some((drift: { readonly wallet_id: string }) => drift.wallet_id === walletId))
    found('pages-complete', `GET ${path} lists no drift of ${walletId}`);
  if (draw.chance(0.5)) await tolerated(exercise, one);
  const job = await jobOf(exercise, { kind: 'transactions', scope: { wallet_id: walletId }, lag_s: 0 });
  shows(`job ${job.id} of one ${one.type}`, job.progress, { exceptions_found: 1, exceptions_new: 1 });
  const [exception] = await exceptionsOf(exercise, job.id);
  checkException(`the exception of job ${job.id}`, exception, one);
  const again = await jobOf(exercise, { kind: 'transactions', scope: { wallet_id: walletId }, lag_s: 0 });
  shows(`job ${again.id} of a known ${one.type}`, again.progress, { exceptions_found: 1, exceptions_new: 0 });
  const target = `/v1/recon/exceptions/${exception!.id}`;
  const seen = { times_seen: 2, first_job_id: job.id, last_job_id: again.id, status: 'open' };
  shows(`${target}, met twice`, await done(exercise, 'GET', target), seen);
  const isAdjusted = draw.chance(0.6) && (await adjusted(exercise, one, wallet, target));
  await resolved(exercise, target, draw.pick(['matched', 'written_off', 'false_positive']));
  const third = await jobOf(exercise, { kind: 'transactions', scope: { wallet_id: walletId }, lag_s: 0 });
  const shown = await done(exercise, 'GET', target);
  shows(`${target} after job ${third.id}`, shown, { status: 'resolved' });
  shows(`job ${third.id} of a resolved ${one.type}`, third.progress, { exceptions_new: 0 });
  await done(exercise, 'DELETE', path);
  if (isAdjusted) await adjustedBack(exercise, one, wallet);
  const last = await jobOf(exercise, { kind: 'transactions', scope: { wallet_id: walletId }, lag_s: 0 });
  shows(`job ${last.id} without a difference`, last.progress, { exceptions_found: 0 });
}

/** "The run asks a provider that gives no statement five more times; then the job fails." Meanwhile another job runs. */
export async function silentProvider(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const { id } = draw.pick(tenancy.wallets);
  const wallet = await done(exercise, 'GET', `/v1/wallets/${id}`);
  const path = `/v1/sandbox/provider-connections/${wallet.provider_connection_id}/drift`;
  await done(exercise, 'POST', path, { kind: 'silent', wallet_id: id });
  const asked = { kind: draw.pick(['transactions', 'balances']), scope: { wallet_id: id } };
  const silent = await done(exercise, 'POST', '/v1/recon/jobs', asked);
  const other = draw.pick(tenancy.wallets.filter((one) => one.id !== id));
  if (other !== undefined) {
    await jobOf(exercise, { kind: 'transactions', scope: { wallet_id: other.id } });
    const { status } = await done(exercise, 'GET', `/v1/recon/jobs/${silent.id}`);
    if (status !== 'queued' && status !== 'running')
      found('orders-end', `job ${silent.id} of a silent provider is ${status} at once`);
  }
  const job = await ended(exercise, silent.id);
  shows(`job ${job.id} of a silent provider`, job, { status: 'failed' });
  if (job.error === null) found('answers-as-modelled', `job ${job.id} is failed without an error`);
  await done(exercise, 'DELETE', path);
}

/** "takes a time before `to`, and past", "of the last 30 days". */
async function wrongWindows(exercise: Exercise): Promise<void> {
  const { draw, operator } = exercise;
  const at = (ms: number) => new Date(operator.nowMs + ms).toISOString();
  const hour = at(-3_600_000);
  const cases = [
    [{ kind: 'transactions', from: hour, to: hour }, 'too_large'],
    [{ kind: 'transactions', from: at(3_600_000) }, 'too_large'],
    [{ kind: 'transactions', from: at(-31 * dayMs) }, 'too_small'],
    [{ kind: 'balances', from: hour }, 'not_supported'],
    [{ kind: 'transactions', scope: { asset: 'NONE' } }, 'unknown_asset'],
  ] as const;
  const [body, issue] = draw.pick(cases);
  await refused(exercise, ['POST', '/v1/recon/jobs', body], 400, issue);
  const [first] = cases;
  await refused(exercise, ['POST', '/v1/recon/jobs', first[0]], 400, first[1]);
}

/** One that is active and has sent something, or any active one of the run. */
async function movedWallet({ tenancy, operator, draw }: Exercise): Promise<string | undefined> {
  const own = new Set(tenancy.wallets.map(({ id }) => id));
  const active = await operator.list<ToldWallet>('/v1/wallets?status=active', 'wallets');
  const intents = await operator.list<{ wallet_id: string }>(
    '/v1/transaction-intents?status=completed',
    'transaction_intents',
  );
  const usable = active.map(({ id }) => id).filter((id) => own.has(id));
  const moved = usable.filter((id) => intents.some((intent) => intent.wallet_id === id));
  return moved.length > 0 ? draw.pick(moved) : usable[0];
}

/** Waits until jobs of both kinds find nothing of the wallet; false: it differs. */
async function agrees(exercise: Exercise, walletId: string): Promise<boolean> {
  for (let tries = 0; tries < cleanTries; tries += 1) {
    if (tries > 0) await exercise.operator.client.pause(cleanEveryMs);
    const scope = { wallet_id: walletId };
    const jobs = [
      await jobOf(exercise, { kind: 'transactions', scope, lag_s: 0 }),
      await jobOf(exercise, { kind: 'balances', scope, lag_s: 0 }),
    ];
    if (jobs.every(({ progress }) => progress.exceptions_found + progress.wallets_unsettled === 0)) return true;
  }
  return false;
}

/** Makes the provider report one of its movements falsely. undefined: none whose truth is known. */
async function reported(exercise: Exercise, path: string, walletId: string): Promise<FalseReport | undefined> {
  const { operator, draw } = exercise;
  const kind = draw.pick(driftKinds);
  const before = await operator.list<ToldException>(`/v1/recon/exceptions?wallet_id=${walletId}`, 'exceptions');
  const intents = await operator.list<ToldIntent>(
    `/v1/wallets/${walletId}/transaction-intents?status=completed`,
    'transaction_intents',
  );
  const named = intents.length > 0 && kind !== 'extra' && draw.chance(0.6) ? draw.pick(intents).id : undefined;
  const about = { wallet_id: walletId, ...(named !== undefined && { transaction_intent_id: named }) };
  // Its first answer names the movement; the amount follows from that.
  const probe = await operator.call('POST', path, { kind: kind === 'amount' ? 'late' : kind, ...about });
  if (probe.status !== 201) return undefined;
  const { direction, movement, asset, amount } = probe.body;
  const isIn = direction === 'in';
  if (kind === 'extra') {
    const beyond = new Map([[asset as string, isIn ? decimal(amount) : -decimal(amount)]]);
    const shown = { units: decimal(amount), fee: 0n, count: 1, state: 'completed' } as const;
    const severity = isIn ? 'high' : 'critical';
    return { walletId, asset, own: undefined, shown, isIn, type: 'missing_internal', severity, beyond };
  }
  const own = isIn ? await depositOf(exercise, walletId, movement) : intentOf(intents, movement);
  const isKnown = before.some(({ sources: { internal } }) => internal?.kind === own?.kind);
  if (own === undefined || isKnown) return undefined;
  const [shown, type, severity, extra] = differing(kind, own, draw);
  if (kind === 'amount') {
    await done(exercise, 'DELETE', path);
    await done(exercise, 'POST', path, { kind, ...about, amount: text(extra) });
  }
  return { walletId, asset: own.asset, own, shown, isIn, type, severity, beyond: beyondOf(own, shown) };
}

interface ToldIntent extends Pick<IntentTold, 'kind' | 'amount' | 'call' | 'from_address'> {
  readonly id: string;
  readonly status: string;
  readonly asset: string;
  readonly provider_tx_id: string | null;
  readonly fee: { readonly asset: string; readonly paid: string | null };
}

function intentOf(intents: readonly ToldIntent[], movement: string): Own | undefined {
  const intent = intents.find(({ id, provider_tx_id: txId }) => id === movement || txId === movement);
  if (intent === undefined) return undefined;
  const { id, status, asset, fee } = intent;
  const paid = { asset: fee.asset, units: decimal(fee.paid ?? '0') };
  return { kind: 'transaction_intent', id, isIn: false, status, asset, units: amountTaken(intent), fee: paid };
}

async function depositOf({ operator }: Exercise, walletId: string, movement: string): Promise<Own | undefined> {
  const target = `/v1/events?type=wallet.deposit_received&resource_id=${walletId}`;
  const events = await operator.list<ToldEvent>(target, 'events');
  const deposit = events.map(({ data }) => data.object.deposit).find(({ tx_id: txId }) => txId === movement);
  if (deposit === undefined) return undefined;
  const { asset, amount } = deposit;
  const fee = { asset, units: 0n };
  return { kind: 'deposit', id: undefined, isIn: true, status: 'credited', asset, units: decimal(amount), fee };
}

/**
 * "The job ignores a difference within `absolute`, or within `bps` of the expected amount", and a younger one than the lag "in
 * status or in existence".
 */
async function tolerated(exercise: Exercise, { walletId, own, shown, type }: FalseReport): Promise<void> {
  const { draw } = exercise;
  const scope = { wallet_id: walletId };
  const none = { exceptions_found: 0 };
  if (type !== 'amount_mismatch') {
    const lagging = await jobOf(exercise, { kind: 'transactions', scope, lag_s: 86_400 });
    shows(`job ${lagging.id} of a ${type} within its lag`, lagging.progress, none);
    return;
  }
  const extra = shown!.units - own!.units;
  const isShare = extra <= own!.units && (10_000n * extra) % own!.units === 0n;
  const tolerance =
    isShare && draw.chance(0.5) ? { bps: Number((10_000n * extra) / own!.units) } : { absolute: text(extra) };
  const job = await jobOf(exercise, { kind: 'transactions', scope, lag_s: 0, tolerance });
  shows(`job ${job.id} with the tolerance ${JSON.stringify(tolerance)} of ${text(extra)}`, job.progress, none);
}

/** A job of balances shows the same difference; "`adjusted` adds `corrections`", and "a difference is corrected once". */
async function adjusted(exercise: Exercise, one: FalseReport, wallet: ToldWallet, movement: string): Promise<boolean> {
  const isCovered = [...one.beyond].every(([asset, delta]) => availableOf(wallet, asset) + delta >= 0n);
  if (!isCovered) return false;
  await balancesAdjusted(exercise, one.walletId, one.beyond, wallet);
  const body = { resolution: 'adjusted' };
  if (one.beyond.size > 0) await refused(exercise, ['POST', `${movement}/resolve`, body], 409, 'changed_since');
  return true;
}

async function adjustedBack(exercise: Exercise, { walletId, beyond }: FalseReport, before: ToldWallet): Promise<void> {
  const back = new Map([...beyond].map(([asset, delta]) => [asset, -delta]));
  const now = await done(exercise, 'GET', `/v1/wallets/${walletId}`);
  await balancesAdjusted(exercise, walletId, back, now);
  const after = await done(exercise, 'GET', `/v1/wallets/${walletId}`);
  for (const [asset] of beyond) {
    if (availableOf(after, asset) !== availableOf(before, asset))
      found('books-as-documented', `${walletId} has ${availableOf(after, asset)} ${asset} after two corrections`);
  }
}

async function balancesAdjusted(
  exercise: Exercise,
  walletId: string,
  beyond: ReadonlyMap<string, bigint>,
  before: ToldWallet,
): Promise<void> {
  const job = await jobOf(exercise, { kind: 'balances', scope: { wallet_id: walletId }, lag_s: 0 });
  shows(`job ${job.id} of balances`, job.progress, { exceptions_found: beyond.size, wallets_unsettled: 0 });
  const exceptions = await exceptionsOf(exercise, job.id);
  for (const [asset, delta] of beyond) {
    const exception = exceptions.find((each) => each.asset === asset);
    const about = `the exception of ${asset} of job ${job.id}`;
    if (exception === undefined) return found('providers-agree', `${about} is not listed`);
    const severity = delta < 0n ? 'critical' : 'high';
    shows(about, exception, { type: 'amount_mismatch', subject: 'balance', severity, status: 'open' });
    sums(about, exception.corrections, new Map([[asset, delta]]));
    const after = await resolved(exercise, `/v1/recon/exceptions/${exception.id}`, 'adjusted');
    sums(`${about}, resolved`, after.resolution.corrections, new Map([[asset, delta]]));
    const wallet = await done(exercise, 'GET', `/v1/wallets/${walletId}`);
    if (availableOf(wallet, asset) !== availableOf(before, asset) + delta)
      found('books-as-documented', `${about}: ${availableOf(wallet, asset)} after a correction by ${delta}`);
  }
}

function availableOf({ assets }: ToldWallet, symbol: string): bigint {
  return decimal(assets.find((asset) => asset.symbol === symbol)?.available ?? '0');
}

async function resolved(exercise: Exercise, target: string, resolution: string) {
  const { operator, draw, tenancy } = exercise;
  const note = draw.chance(0.5) ? tenancy.key('note') : undefined;
  const body = { resolution, ...(note !== undefined && { note }) };
  const after = await done(exercise, 'POST', `${target}/resolve`, body);
  shows(target, after, { status: 'resolved' });
  shows(`${target}, its resolution`, after.resolution, { resolution, note: note ?? null, by: operator.actor });
  if (resolution !== 'adjusted') shows(`${target}, its resolution`, after.resolution, { corrections: [] });
  await refused(exercise, ['POST', `${target}/resolve`, body], 409);
  return after;
}

function exceptionsOf({ operator, draw }: Exercise, jobId: string): Promise<ToldException[]> {
  return operator.list<ToldException>(`/v1/recon/exceptions?job_id=${jobId}`, 'exceptions', draw.int(1, 9));
}

/** Runs a job to its end. */
async function jobOf(exercise: Exercise, body: object) {
  const { id } = await done(exercise, 'POST', '/v1/recon/jobs', body);
  exercise.tenancy.modules?.jobs.push(id);
  const job = await ended(exercise, id);
  shows(`job ${id}`, job, { status: 'completed', error: null });
  return job;
}

async function ended(exercise: Exercise, id: string) {
  const { operator } = exercise;
  for (const sinceMs = operator.nowMs; ; await operator.client.pause(lookEveryMs)) {
    const job = await done(exercise, 'GET', `/v1/recon/jobs/${id}`);
    if (['completed', 'failed', 'cancelled'].includes(job.status)) return job;
    if (operator.nowMs - sinceMs > jobWithinMs)
      found('orders-end', `job ${id} is ${job.status} after ${jobWithinMs} ms`);
  }
}
