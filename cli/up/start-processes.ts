/** The processes of a cluster, started in steps that the screen shows: Redis, the roles, and the wait until they can sign. */
import { redisHosts } from '../../core/redis/address.ts';
import type { Roster } from '../../proto/roster.ts';
import { Failure } from '../common/failure.ts';
import { askHealth, type Health, noHealth } from '../common/gateway-health.ts';
import { claimRedisPatiently, type Owner } from '../redis/redis-owner.ts';
import type { Settings } from '../settings/config.ts';
import { Progress, stalledAfterMs } from '../start/progress.ts';
import type { Screen } from '../start/screen.ts';
import type { Cluster } from './cluster.ts';
import { completeChange } from './state-change.ts';

const healthEveryMs = 25;
const patienceMs = 20_000;

export interface StartOfProcesses {
  readonly settings: Settings;
  readonly screen: Screen;
  /** Of the first gateway, once it has reported its ports. */
  readonly httpUrl: () => string;
  readonly isStopping: () => boolean;
}

/** Throws a Failure. */
export async function startProcesses(
  cluster: Cluster,
  rosters: readonly Roster[],
  start: StartOfProcesses,
): Promise<void> {
  const { settings, screen } = start;
  const { REDIS_URL: redisUrl, SIGNMESH_DATA_DIR: dataDir } = settings;
  const nodes = cluster.nodeNames;
  if (redisUrl === undefined) {
    await screen.step(
      'redis',
      async () => {
        await cluster.startRedis();
        await completeChange({ dataDir, nodes, redisUrl: cluster.redisUrl }, (line) => screen.notice(line));
        return 'ready';
      },
      (outcome) => (outcome === undefined ? 'waiting until it has loaded its data' : 'private, append-only file on'),
    );
  } else {
    let waitingFor = '';
    await screen.step(
      'redis',
      async () => {
        for (const roster of rosters) await claimOwn(redisUrl, roster, (why) => (waitingFor = why));
      },
      () => (waitingFor === '' ? redisHosts(redisUrl) : `waiting: ${waitingFor}`),
    );
  }
  const ready: string[] = [];
  const { SIGNMESH_WORKERS: workers, SIGNMESH_GATEWAYS: gateways } = settings;
  const total = cluster.roleCount;
  await screen.step(
    'processes',
    () => cluster.startRoles((name) => ready.push(name)),
    () =>
      ready.length < total
        ? `${ready.length} of ${total} ready; waiting for ${cluster.missing}`
        : [
            rosters.length === 1 ? 'coordinator' : `${rosters.length} coordinators`,
            `${nodes.length} nodes`,
            gateways === 1 ? 'gateway' : `${gateways} gateways`,
            workers === 1 ? 'worker' : `${workers} workers`,
          ].join(', '),
  );
  let health = noHealth;
  await screen.step(
    'cluster',
    () => untilHealthy(cluster, start, (latest) => (health = latest)),
    () => {
      const joined = `${health.status}, ${health.nodes_ready} of ${health.nodes_total} nodes joined`;
      return health.status === 'ok' ? joined : [joined, ...health.reasons].join('; ');
    },
  );
}

/** Waits for a busy or starting Redis; any other refusal needs a person. */
function claimOwn(redisUrl: string, owner: Owner, onWaiting: (why: string) => void): Promise<void> {
  const progress = new Progress();
  return claimRedisPatiently(redisUrl, owner, {
    mayWait: ({ isTransient, code }) => isTransient && !progress.isStalled(code),
    onWaiting,
  });
}

/** Waits a while for all nodes; then a quorum is enough, and the banner gets a notice above it. Throws a Failure. */
async function untilHealthy(
  cluster: Cluster,
  { settings, screen, httpUrl, isStopping }: StartOfProcesses,
  note: (health: Health) => void,
): Promise<void> {
  const progress = new Progress(() => Object.values(cluster.pids));
  for (;;) {
    const health = await askHealth(`${httpUrl()}/v1/health`);
    note(health);
    if (isStopping()) throw new Failure('The start was interrupted.');
    if (health.status === 'ok') return;
    const stalledMs = progress.stalledMs(JSON.stringify(health));
    const lacksNodesAlone = health.status === 'degraded' && health.nodes_ready < health.nodes_total;
    if (stalledMs >= patienceMs && lacksNodesAlone && health.reasons.length <= 1) {
      screen.notice('Some nodes have not joined; continuing without them.');
      return;
    }
    if (stalledMs >= stalledAfterMs) {
      const why = health.reasons.map((reason) => `${reason}. `).join('');
      throw new Failure(`The cluster is ${health.status}. ${why}See the logs in ${settings.SIGNMESH_DATA_DIR}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, healthEveryMs));
  }
}
