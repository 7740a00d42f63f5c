/**
 * Runs one job from its checkpoint. One change writes findings and progress, under the job's version: if two workers run the
 * same job, one wins each change, and the other stops. So a run may stop at any point. A cancelled job has another version, so
 * its run ends at the next change.
 */
import type { Ports } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import type { Reporter } from '../../../gateway/api/event.ts';
import { type IdPrefix, newId } from '../../../proto/ids.ts';
import { type WalletRecord, walletType } from '../../custody/wallets/public.ts';
import { ProviderUnavailable } from '../../providers/port/port.ts';
import type { StatementsByKind } from '../../providers/port/statement.ts';
import { merge, update } from '../../store/changes.ts';
import type { NewEvent, TenantStore } from '../../store/contract.ts';
import { balanceStep } from './balance-step.ts';
import { type JobHappening, jobEvent } from './events.ts';
import type { ComparisonFinding } from './exception-record.ts';
import { noteFindings } from './findings.ts';
import { inTime } from './in-time.ts';
import {
  type Checkpoint,
  firstPlace,
  isOver,
  type JobProgress,
  type JobRecord,
  jobDuePrefix,
  jobKeptMs,
  jobType,
  nextJob,
  runningJobsIndex,
  runningJobsMax,
  walletsIndexOf,
} from './job-record.ts';
import { WalletSources } from './sources.ts';
import { type StepTerms, transactionStep } from './wallet-steps.ts';

export interface RunnerDeps extends Ports {
  readonly store: TenantStore;
  readonly statements: StatementsByKind;
  readonly log: Log;
}

/** A batch is written when it has this many rows or findings, or reaches this age. */
const batchRows = 1_000;
const batchFindings = 100;
const batchMs = 500;
/** The shortest time between two progress reports of a job. */
const progressEveryMs = 1_000;
/** A run that is silent for this long is dispatched again. */
const silentMs = 60_000;
/** The retry time of a job that found no free slot. */
const placeAgainMs = 1_000;
const retryMs = 2_000;
const attemptsMax = 5;
const conflictsMax = 20;

/** The results of a batch since the last change. */
interface Batch {
  readonly findings: Map<string, ComparisonFinding>;
  rowsInternal: number;
  rowsExternal: number;
  walletsDone: number;
  walletsUnsettled: number;
  beganMs: number;
}

/** Another process changed the job: a cancellation, or a run by another worker. */
class Overtaken extends Error {}

export class JobRunner {
  readonly #deps: RunnerDeps;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
  }

  /** Resolves when the job is over, or when this worker stops running it. Throws StoreUnavailable. */
  async run(tenant: string, jobId: string, isStopping: () => boolean = () => false): Promise<void> {
    const job = await this.#deps.store.read(tenant, jobType, jobId);
    if (job === undefined || isOver(job.status)) return;
    const claimed = job.status === 'queued' ? await this.#claim(tenant, job) : job;
    if (claimed === undefined) return;
    const run = new Run(this.#deps, tenant, claimed);
    try {
      await run.toEnd(isStopping);
    } catch (error) {
      if (error instanceof Overtaken) return;
      if (!(error instanceof ProviderUnavailable)) throw error;
      await run.interrupted(error);
    }
  }

  /** undefined: another worker has it, or the tenant runs its maximum. */
  async #claim(tenant: string, job: JobRecord): Promise<JobRecord | undefined> {
    const { store, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const walletsTotal = job.walletId === null ? await store.count(tenant, walletsIndexOf(job)) : 1;
    const progress = { ...job.progress, walletsTotal };
    const after = nextJob(job, { status: 'running', startedAtMs: nowMs, progress }, nowMs);
    const outcome = await store.commit(tenant, {
      puts: [update(jobType, job, after)],
      guards: [{ kind: 'count', index: runningJobsIndex, min: 0, max: runningJobsMax - 1 }],
      events: [jobEvent(reporterOf(this.#deps, job.id), 'started', after)],
      due: [{ member: `${jobDuePrefix}${job.id}`, atMs: nowMs + silentMs }],
    });
    if (outcome.committed) return after;
    // Cancelled, taken, or without a slot: the next run finds out which.
    const due = [{ member: `${jobDuePrefix}${job.id}`, atMs: nowMs + placeAgainMs }];
    await store.commit(tenant, { guards: [{ kind: 'version', id: job.id, version: job.version }], due });
    return undefined;
  }
}

class Run {
  readonly #deps: RunnerDeps;
  readonly #tenant: string;
  /** As last written. */
  #job: JobRecord;
  #checkpoint: Checkpoint;
  #batch: Batch;
  #sources: WalletSources | undefined;
  #saidMs = 0;

  constructor(deps: RunnerDeps, tenant: string, job: JobRecord) {
    this.#deps = deps;
    this.#tenant = tenant;
    this.#job = job;
    this.#checkpoint = job.checkpoint;
    this.#batch = this.#emptyBatch();
  }

  async toEnd(isStopping: () => boolean): Promise<void> {
    for (;;) {
      const isDone = await this.#step();
      if (isDone) return this.#write('completed');
      const { rowsInternal, rowsExternal, findings, beganMs } = this.#batch;
      const isOld = this.#deps.timers.elapsedMs() - beganMs >= batchMs;
      if (isOld || rowsInternal + rowsExternal >= batchRows || findings.size >= batchFindings) await this.#write();
      // The next worker reads the unwritten rows again.
      if (isStopping()) return;
    }
  }

  /** The provider does not answer: writes the batch; the job continues later, or finally fails. */
  async interrupted(error: ProviderUnavailable): Promise<void> {
    const attempts = this.#job.attempts + 1;
    const { log, clock } = this.#deps;
    log.warn({ job: this.#job.id, reason: error.message, attempts }, 'a provider gave no statement');
    const failure = { code: 'provider_unavailable', message: error.message };
    try {
      if (attempts >= attemptsMax) await this.#write('failed', { attempts, error: failure });
      else await this.#write(undefined, { attempts }, clock.nowMs() + retryMs * 2 ** attempts);
    } catch (other) {
      if (!(other instanceof Overtaken)) throw other;
    }
  }

  /** Resolves to true when all wallets are done. */
  async #step(): Promise<boolean> {
    const sources = await this.#current();
    if (sources === undefined) return true;
    const { phase, after } = this.#checkpoint;
    const terms = this.#terms();
    const batch = this.#batch;
    if (phase === 'balances') {
      const step = await balanceStep(sources, () => this.#balancesOf(sources.wallet.id), terms);
      batch.rowsInternal += step.assets;
      batch.rowsExternal += step.assets;
      batch.walletsUnsettled += step.isUnsettled ? 1 : 0;
      this.#gather(step.findings);
      this.#endWallet(sources.wallet.id);
      return false;
    }
    const step = await transactionStep(sources, phase, after, terms);
    batch.rowsInternal += step.rowsInternal;
    batch.rowsExternal += step.rowsExternal;
    this.#gather(step.findings);
    if (step.next === undefined) this.#endWallet(sources.wallet.id);
    else this.#checkpoint = { ...this.#checkpoint, ...step.next };
    return false;
  }

  /** The wallet in progress, or the next one; undefined: none is left. */
  async #current(): Promise<WalletSources | undefined> {
    const { wallet: id, afterWallet } = this.#checkpoint;
    if (id !== null && this.#sources?.wallet.id === id) return this.#sources;
    const wallet = id === null ? await this.#nextWallet(afterWallet) : await this.#readWallet(id);
    if (wallet === undefined) return undefined;
    const statements = this.#deps.statements.get(wallet.provider);
    if (statements === undefined) throw new Error(`the provider ${wallet.provider} gives no statements`);
    const base = { tenant: this.#tenant, correlationId: this.#job.id, traceparent: '' };
    const metaNow = () => ({ ...base, nowMs: this.#now() });
    this.#sources = new WalletSources(this.#deps.store, inTime(statements, this.#deps.timers), metaNow, wallet);
    this.#checkpoint = { ...this.#checkpoint, wallet: wallet.id };
    return this.#sources;
  }

  async #nextWallet(afterWallet: string | null): Promise<WalletRecord | undefined> {
    const { walletId } = this.#job;
    if (walletId !== null) return afterWallet === null ? this.#readWallet(walletId) : undefined;
    const page = await this.#deps.store.list(this.#tenant, walletType, {
      ...{ indices: [walletsIndexOf(this.#job)], order: 'oldest', limit: 1 },
      ...(afterWallet !== null && { afterId: afterWallet }),
    });
    return page.items[0];
  }

  #readWallet(id: string): Promise<WalletRecord | undefined> {
    return this.#deps.store.read(this.#tenant, walletType, id);
  }

  async #balancesOf(walletId: string) {
    return (await this.#deps.store.readWithBalances(this.#tenant, walletType, walletId))?.balances ?? new Map();
  }

  #terms(): StepTerms {
    const { fromMs, toMs, lagMs, tolerance, asset } = this.#job;
    const window = { fromMs: fromMs ?? 0, toMs: toMs ?? 0 };
    return { nowMs: this.#now(), lagMs, tolerance, asset, window };
  }

  #gather(findings: readonly ComparisonFinding[]): void {
    for (const finding of findings) this.#batch.findings.set(finding.fingerprint, finding);
  }

  #endWallet(walletId: string): void {
    this.#batch.walletsDone += 1;
    this.#sources = undefined;
    this.#checkpoint = { ...firstPlace(this.#job.kind), afterWallet: walletId };
  }

  /** Writes the batch and the checkpoint. `end`: the job ends with it. Throws Overtaken. */
  async #write(end?: 'completed' | 'failed', patch: Partial<JobRecord> = {}, dueAtMs?: number): Promise<void> {
    const { store } = this.#deps;
    for (let attempt = 0; attempt < conflictsMax; attempt += 1) {
      const before = this.#job;
      const reporter = reporterOf(this.#deps, before.id);
      const { nowMs } = reporter;
      const noted = await noteFindings(store, this.#tenant, reporter, before.id, [...this.#batch.findings.values()]);
      const after = nextJob(
        before,
        {
          ...{ attempts: 0, checkpoint: this.#checkpoint, progress: this.#progress(noted.opened) },
          ...(end !== undefined && { status: end, finishedAtMs: nowMs }),
          ...patch,
        },
        nowMs,
      );
      const due = [
        { member: `${jobDuePrefix}${before.id}`, atMs: end === undefined ? (dueAtMs ?? nowMs + silentMs) : undefined },
      ];
      const put = update(jobType, before, after, end === undefined ? undefined : jobKeptMs);
      const events = this.#saying(reporter, after, end);
      const outcome = await store.commit(this.#tenant, merge(noted.change, { puts: [put], events, due }));
      if (outcome.committed) {
        this.#job = after;
        this.#batch = this.#emptyBatch();
        return;
      }
      const stored = await store.read(this.#tenant, jobType, before.id);
      if (stored?.version !== before.version) throw new Overtaken();
      // Another job has just opened one of these exceptions: the retry finds it.
    }
    throw new Error(`the exceptions of ${this.#job.id} keep changing`);
  }

  #saying(reporter: Reporter, job: JobRecord, end: JobHappening | undefined): NewEvent[] {
    if (end !== undefined) return [jobEvent(reporter, end, job)];
    const elapsedMs = this.#deps.timers.elapsedMs();
    if (elapsedMs - this.#saidMs < progressEveryMs) return [];
    this.#saidMs = elapsedMs;
    return [jobEvent(reporter, 'progressed', job)];
  }

  #progress(opened: number): JobProgress {
    const { progress } = this.#job;
    const { findings, rowsInternal, rowsExternal, walletsDone, walletsUnsettled } = this.#batch;
    return {
      walletsTotal: Math.max(progress.walletsTotal, progress.walletsDone + walletsDone),
      walletsDone: progress.walletsDone + walletsDone,
      rowsInternal: progress.rowsInternal + rowsInternal,
      rowsExternal: progress.rowsExternal + rowsExternal,
      walletsUnsettled: progress.walletsUnsettled + walletsUnsettled,
      exceptionsFound: progress.exceptionsFound + findings.size,
      exceptionsNew: progress.exceptionsNew + opened,
    };
  }

  #emptyBatch(): Batch {
    const counts = { rowsInternal: 0, rowsExternal: 0, walletsDone: 0, walletsUnsettled: 0 };
    return { findings: new Map(), ...counts, beganMs: this.#deps.timers.elapsedMs() };
  }

  #now(): number {
    return this.#deps.clock.nowMs();
  }
}

function reporterOf({ clock, random }: RunnerDeps, jobId: string): Reporter {
  const nowMs = clock.nowMs();
  return { nowMs, newId: (prefix: IdPrefix) => newId(prefix, nowMs, random), requestId: jobId };
}
