/**
 * Turns a job's findings into exceptions: a new one, a new version of the open one, or nothing if it was resolved and both
 * sides are unchanged. Of two jobs that find the same subject at once only one opens an exception: a guard counts the existing
 * ones.
 */
import type { Reporter } from '../../../gateway/api/event.ts';
import { create, update } from '../../store/changes.ts';
import type { Change, Guard, NewEvent, Put, TenantStore } from '../../store/contract.ts';
import { exceptionEvent } from './events.ts';
import {
  type ComparisonFinding,
  type ExceptionRecord,
  exceptionType,
  fingerprintIndex,
  saysTheSame,
} from './exception-record.ts';

export interface Noted {
  readonly change: Change;
  readonly opened: number;
}

/** Reads the known exceptions of each finding. Each fingerprint occurs once in the findings. */
export async function noteFindings(
  store: TenantStore,
  tenant: string,
  reporter: Reporter,
  jobId: string,
  findings: readonly ComparisonFinding[],
): Promise<Noted> {
  const known = await Promise.all(findings.map((finding) => knownOf(store, tenant, finding)));
  const puts: Put[] = [];
  const guards: Guard[] = [];
  const events: NewEvent[] = [];
  let opened = 0;
  for (const [index, finding] of findings.entries()) {
    const { newest, count } = known[index]!;
    if (newest === undefined || (newest.status === 'resolved' && !saysTheSame(newest, finding))) {
      const record = open(reporter, jobId, finding);
      puts.push(create(exceptionType, record));
      guards.push({ kind: 'count', index: fingerprintIndex(finding.fingerprint), min: count, max: count });
      events.push(exceptionEvent(reporter, 'opened', record));
      opened += 1;
    } else if (newest.status === 'open' && newest.lastJobId !== jobId) {
      const record = seenAgain(reporter.nowMs, jobId, newest, finding);
      puts.push(update(exceptionType, newest, record));
      if (!saysTheSame(newest, finding)) events.push(exceptionEvent(reporter, 'updated', record));
    }
  }
  return { change: { puts, guards, events }, opened };
}

async function knownOf(store: TenantStore, tenant: string, { fingerprint }: ComparisonFinding) {
  const index = fingerprintIndex(fingerprint);
  const [count, page] = await Promise.all([
    store.count(tenant, index),
    store.list(tenant, exceptionType, { indices: [index], order: 'newest', limit: 1 }),
  ]);
  return { count, newest: page.items[0] };
}

function open(reporter: Reporter, jobId: string, finding: ComparisonFinding): ExceptionRecord {
  const { nowMs } = reporter;
  return {
    ...finding,
    ...{ id: reporter.newId('rcx'), version: 1, status: 'open', firstJobId: jobId, lastJobId: jobId, timesSeen: 1 },
    ...{ resolution: null, createdAtMs: nowMs, updatedAtMs: nowMs, lastSeenAtMs: nowMs },
  };
}

function seenAgain(nowMs: number, jobId: string, before: ExceptionRecord, finding: ComparisonFinding): ExceptionRecord {
  const atMs = Math.max(before.lastSeenAtMs, nowMs);
  return {
    ...before,
    ...finding,
    version: before.version + 1,
    lastJobId: jobId,
    timesSeen: before.timesSeen + 1,
    updatedAtMs: saysTheSame(before, finding) ? before.updatedAtMs : atMs,
    lastSeenAtMs: atMs,
  };
}
