/** A further gateway's link to a running cluster, in this process: the calls that the wallet service alone makes. */
import { onTestFinished } from 'vitest';
import { gatewayConfig } from '../../cli/role-configs.ts';
import { loadSettings } from '../../cli/settings/config.ts';
import { silentLog as log, systemPorts, systemRandom } from '../../core/actors/live/ports.ts';
import { connectSigning } from '../../gateway/signing/connect.ts';
import { LiveCoordinatorLink } from '../../gateway/signing/coordinator-link.ts';
import { orderIssuer } from '../../gateway/signing/order-issuer.ts';
import type { SigningCalls } from '../../gateway/signing/signing-calls.ts';
import type { SharedCluster } from './shared-cluster.ts';
import { until } from './until.ts';

/** Resolves when the link is up; it ends with the test. */
export async function liveWalletService(cluster: SharedCluster): Promise<SigningCalls> {
  const { settings } = loadSettings({
    SIGNMESH_DATA_DIR: cluster.dataDir,
    SIGNMESH_COORDINATOR_URL: cluster.coordinatorUrl(),
    REDIS_URL: cluster.redisUrl(),
  });
  const { roster, identitySeed, joinSecret, coordinatorUrl: url } = gatewayConfig(settings);
  const boot = Buffer.from(systemRandom(16)).toString('hex');
  const link = new LiveCoordinatorLink({ url, roster, identitySeed, joinSecret, boot, log });
  const orders = orderIssuer({ roster, identitySeed, random: systemRandom });
  const { calls, cluster: view } = connectSigning({ ...systemPorts, link, orders, roster, log });
  link.start();
  onTestFinished(() => link.stop());
  await until(() => view.coordinatorConnected, 'the link of a further gateway');
  return calls;
}
