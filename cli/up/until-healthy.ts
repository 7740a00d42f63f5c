/** The wait of a start until the cluster can sign. */
import { Failure } from '../common/failure.ts';
import { askHealth, type Health } from '../common/gateway-health.ts';
import { Progress } from '../start/progress.ts';

const healthEveryMs = 25;
const patienceMs = 20_000;

export interface HealthWait {
  /** Each answer. */
  readonly note: (health: Health) => void;
  readonly notice: (line: string) => void;
  readonly isStopping: () => boolean;
  /** Where the logs are. */
  readonly dataDir: string;
}

/** Waits a while for all nodes; then a quorum is enough, and the banner gets a notice above it. Throws a Failure. */
export async function untilHealthy(httpUrl: string, { note, notice, isStopping, dataDir }: HealthWait): Promise<void> {
  const patience = new Progress(patienceMs);
  const progress = new Progress();
  for (;;) {
    const health = await askHealth(`${httpUrl}/v1/health`);
    note(health);
    if (isStopping()) throw new Failure('The start was interrupted.');
    if (health.status === 'ok') return;
    const signs = JSON.stringify(health);
    const lacksNodesAlone = health.status === 'degraded' && health.nodes_ready < health.nodes_total;
    if (patience.isStalled(signs) && lacksNodesAlone && health.reasons.length <= 1) {
      notice('Some nodes have not joined; continuing without them.');
      return;
    }
    if (progress.isStalled(signs)) {
      const why = health.reasons.map((reason) => `${reason}. `).join('');
      throw new Failure(`The cluster is ${health.status}. ${why}See the logs in ${dataDir}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, healthEveryMs));
  }
}
