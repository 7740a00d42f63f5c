/** A worker process for tests: its configuration comes as JSON in the first argument. Says "ready" when it works. */
import type { WorkerConfig } from '../../../../../gateway/config.ts';
import { runWorker } from '../../../../../gateway/worker.ts';
import { testRecordKey } from '../../../../support/store-ports.ts';

const [text] = process.argv.slice(2);
if (text === undefined) throw new Error('usage: run-worker <json>');
const worker = await runWorker(
  { ...(JSON.parse(text) as WorkerConfig), recordKey: testRecordKey },
  {
    // Tests do not wait as long as a cluster does for one that is gone.
    consumer: { lockMs: 1_000, stalledEveryMs: 500 },
    relay: { overdueMs: 3_000 },
    // A receiver hangs for as long as a test wants.
    timeoutMs: 3_600_000,
  },
);
process.once('SIGTERM', async () => {
  await worker.stop();
  process.exit(0);
});
process.stdout.write('ready\n');
