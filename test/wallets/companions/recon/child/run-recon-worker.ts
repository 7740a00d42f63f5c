/** A worker process for tests: its configuration comes as JSON in the first argument. Says "ready" when it works. */
import type { WorkerConfig } from '../../../../../gateway/config.ts';
import { runWorker } from '../../../../../gateway/worker.ts';
import { testRecordKey } from '../../../../support/store-ports.ts';

const [text] = process.argv.slice(2);
if (text === undefined) throw new Error('usage: run-recon-worker <json>');
// Tests do not wait as long as a cluster does for a worker that is gone.
await runWorker(
  { ...(JSON.parse(text) as WorkerConfig), recordKey: testRecordKey },
  { recon: { lockMs: 1_000, stalledEveryMs: 500 } },
);
process.stdout.write('ready\n');
