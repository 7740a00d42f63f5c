/** The events of jobs and exceptions. */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import type { NewEvent } from '../../store/contract.ts';
import { type ExceptionRecord, exceptionType } from './exception-record.ts';
import { type JobRecord, jobType } from './job-record.ts';
import { exceptionView, jobView } from './view.ts';

export type JobHappening = 'created' | 'started' | 'progressed' | 'completed' | 'failed' | 'cancelled';

export function jobEvent(reporter: Reporter, happening: JobHappening, job: JobRecord): NewEvent {
  return eventOf(reporter, {
    type: `recon.job.${happening}`,
    resource: jobType.name,
    record: job,
    object: jobView(job),
    ...(job.connectionId !== null && { connectionId: job.connectionId }),
  });
}

export function exceptionEvent(
  reporter: Reporter,
  happening: 'opened' | 'updated' | 'resolved',
  exception: ExceptionRecord,
): NewEvent {
  return eventOf(reporter, {
    type: `recon.exception.${happening}`,
    resource: exceptionType.name,
    record: exception,
    object: exceptionView(exception),
    provider: exception.provider,
    connectionId: exception.connectionId,
  });
}
