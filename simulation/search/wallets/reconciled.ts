/**
 * Reconciliation by docs/reconciliation.md. At rest both sides agree (providers.ts), so a job of each kind reads every movement
 * of ours and finds nothing; what jobs found before has one exception a subject.
 */
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import type { Tenancy } from './tenancy.ts';

export interface ToldException {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly status: string;
  readonly wallet_id: string;
  readonly asset: string;
  readonly explanation: string;
  readonly expected: unknown;
  readonly actual: unknown;
  readonly delta: string;
  readonly corrections: readonly { readonly asset: string; readonly amount: string }[];
  readonly sources: {
    readonly internal: { readonly kind: string; readonly id: string } | null;
    readonly external: { readonly ids: readonly string[]; readonly reference: string | null } | null;
  };
}

const jobWithinMs = 600_000;
const lookEveryMs = 500;

/** Throws a Finding. `intents`: of the tenant, all. */
export async function checkReconciled(
  tenancy: Tenancy,
  intents: readonly unknown[],
  events: readonly ToldEvent[],
): Promise<void> {
  const updated = events.flatMap(({ type, resource }) => (type === 'recon.exception.updated' ? [resource.id] : []));
  checkExceptions(await tenancy.owner.list<ToldException>('/v1/recon/exceptions', 'exceptions', 7), new Set(updated));
  const rows = intents.length + bookedBy(events);
  for (const kind of ['transactions', 'balances'] as const) {
    const job = await jobOf(tenancy, kind);
    const { rows_internal: read, exceptions_found: wrong, wallets_total: all, wallets_done: done } = job.progress;
    const about = `a job of ${kind} at rest`;
    if (done !== all) found('providers-agree', `${about} compares ${done} of ${all} wallets`);
    if (kind === 'transactions' && tenancy.isCalm && read !== rows) {
      found('providers-agree', `${about} reads ${read} of ${rows} movements`);
    }
    if (wrong === 0) continue;
    const target = `/v1/recon/exceptions?job_id=${job.id}`;
    const opened = await tenancy.owner.list<ToldException>(target, 'exceptions');
    const texts = opened.map(({ type, wallet_id: id, explanation }) => `${type} of ${id}: ${explanation}`);
    found('providers-agree', `${about} finds ${wrong}: ${texts.join('; ')}`);
  }
}

/** Runs it to its end. */
async function jobOf(tenancy: Tenancy, kind: string) {
  const { owner, modules, world } = tenancy;
  const made = await owner.made('/v1/recon/jobs', { kind, lag_s: 0 }, tenancy.key('rest-job'));
  modules?.jobs.push(made.id);
  for (const sinceMs = world.nowMs; ; ) {
    const { body } = await owner.call('GET', `/v1/recon/jobs/${made.id}`);
    if (body.status === 'completed') return body;
    if (world.nowMs - sinceMs > jobWithinMs) found('orders-end', `job ${made.id} is ${body.status}`);
    await owner.client.pause(lookEveryMs);
  }
}

/** Deposits, what allowances have taken, and the two sides of each exchange at the venue. */
function bookedBy(events: readonly ToldEvent[]): number {
  const deposits = events.filter(({ type }) =>
    ['wallet.deposit_received', 'wallet.allowance_used'].includes(type),
  ).length;
  const exchanged = new Set<string>();
  for (const { type, resource, data } of events) {
    if (!type.startsWith('treasury.plan.')) continue;
    for (const [at, { sold }] of data.object.trades.entries()) {
      if (sold !== null && Number(sold) > 0) exchanged.add(`${resource.id}/${at}`);
    }
  }
  return deposits + 2 * exchanged.size;
}

/**
 * "A subject has at most one open exception; a job reopens a resolved one only when the values differ." Newest first. `updated`: their
 * values were others when they were opened.
 */
function checkExceptions(exceptions: readonly ToldException[], updated: ReadonlySet<string>): void {
  const open = new Map<string, string>();
  const before = new Map<string, { readonly id: string; readonly facts: string }>();
  for (const one of exceptions.toReversed()) {
    const subject = subjectOf(one);
    const facts = JSON.stringify([one.type, one.expected, one.actual, one.delta, one.sources.external?.ids]);
    const last = before.get(subject);
    if (last?.facts === facts && !updated.has(one.id))
      found('providers-agree', `${one.id} says again what ${last.id} says of ${subject}`);
    before.set(subject, { id: one.id, facts });
    if (one.status !== 'open') continue;
    const other = open.get(subject);
    if (other !== undefined) found('providers-agree', `${one.id} and ${other} of ${subject} are open`);
    open.set(subject, one.id);
  }
}

function subjectOf({ subject, wallet_id: wallet, asset, sources: { internal, external } }: ToldException): string {
  if (subject === 'balance') return `the balance of ${asset} of ${wallet}`;
  return `${internal?.kind} ${internal?.id ?? external?.ids[0]} of ${wallet}`;
}
