/**
 * The order in which test files run: tier by tier, and in a tier the longest first, so that every worker has work until
 * the end. No tier waits for the end of the one before.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type Tier, tierNames } from '../../tools/tiers.ts';

/**
 * Files of more than three to five seconds, the longest of a tier first. A file that is missing here only starts late. Files
 * that borrow the cluster stand apart, since they run one after the other.
 */
export const longFiles: readonly string[] = [
  'test/house/floors.test.ts',
  'test/nodes/signer.test.ts',
  'test/nodes/hsm-pipe.test.ts',
  'test/gateway/access-log/http.test.ts',
  'test/clients/load/schedule.test.ts',
  'test/house/compositions.test.ts',
  'test/simulation/cluster/scenario-load.test.ts',
  'test/core/actors/link-faults.test.ts',
  'test/nodes/dkg.test.ts',

  'test/simulation/service/faults.test.ts',
  'test/simulation/service/scenarios.test.ts',
  'test/simulation/cluster/scenario-run.test.ts',
  'test/simulation/cluster/crashes.test.ts',
  'test/coordinator/vendor.test.ts',
  'test/tools/bench/costs.test.ts',
  'test/scenarios/faults/byzantine.test.ts',
  'test/simulation/cluster/search.test.ts',
  'test/simulation/service/search.test.ts',
  'test/coordinator/suspects.test.ts',
  'test/clients/testing/wallet-api.test.ts',
  'test/coordinator/random-calls.test.ts',
  'test/simulation/embedded/record.test.ts',
  'test/coordinator/sign-in-one-call.test.ts',
  'test/coordinator/signing-blame.test.ts',
  'test/coordinator/make-key.test.ts',
  'test/coordinator/dkg-blame.test.ts',
  'test/simulation/cluster/model.test.ts',
  'test/simulation/embedded/service.test.ts',
  'test/coordinator/previews.test.ts',
  'test/coordinator/keystores.test.ts',
  'test/coordinator/wallet-keys.test.ts',

  'test/wallets/companions/treasury/treasury.test.ts',
  'test/gateway/api/whole-api.test.ts',
  'test/wallets/companions/tokens/tokens.test.ts',
  'test/wallets/companions/recon/jobs.test.ts',
  'test/wallets/custody/intents/crashes.test.ts',
  'test/wallets/companions/tokens/invariants.test.ts',
  'test/wallets/delivery/events/stream.test.ts',
  'test/wallets/delivery/deliveries/retries.test.ts',
  'test/wallets/custody/intents/driver.test.ts',
  'test/core/actors/redis-watch.test.ts',
  'test/wallets/companions/treasury/crashes.test.ts',
  'test/gateway/gateway-process.test.ts',
  'test/wallets/delivery/deliveries/bounds.test.ts',
  'test/wallets/delivery/deliveries/webhook-service.test.ts',
  'test/wallets/store/model.test.ts',
  'test/wallets/delivery/webhooks/routes.test.ts',
  'test/wallets/companions/recon/drift.test.ts',
  'test/wallets/custody/intents/self-hosted.test.ts',
  'test/simulation/redis/commands.test.ts',
  'test/gateway/serve.test.ts',
  'test/wallets/companions/recon/modules.test.ts',
  'test/wallets/custody/intents/routes.test.ts',

  'test/examples/commands.test.ts',
  'test/survival/webhooks-killed.test.ts',
  'test/survival/node-killed.test.ts',
  'test/clients/testing/cluster.test.ts',
  'test/cli/up.test.ts',
  'test/cli/events.test.ts',
  'test/survival/coordinator-killed.test.ts',
  'test/survival/intents-killed.test.ts',
  'test/cli/scenarios-live.test.ts',
  'test/survival/redis-and-gateway-killed.test.ts',
  'test/survival/node-silent.test.ts',
  'test/clients/testing/installed.test.ts',
  'test/simulation/cluster/planted.test.ts',
  'test/survival/tokens-killed.test.ts',
  'test/survival/vaults-killed.test.ts',
  'test/cli/redis-refuses.test.ts',
  'test/integration/clusters.test.ts',
  'test/survival/links.test.ts',
  'test/integration/tampered-store.test.ts',
  'test/scenarios/injection/sandbox-control-live.test.ts',
  'test/survival/money-random.test.ts',
  'test/wallets/companions/recon/killed.test.ts',
  'test/survival/two-coordinators.test.ts',
  'test/simulation/cluster/planted-checks.test.ts',
  'test/gateway/api/examples.test.ts',
  'test/wallets/delivery/deliveries/workers.test.ts',
  'test/core/redis/redis-cluster.test.ts',
  'test/cli/usage.test.ts',
  'test/integration/health.test.ts',
  'examples/testing/payouts.test.ts',
  'test/clients/load/load.test.ts',
  'test/simulation/service/planted.test.ts',
  'test/clients/client/live.test.ts',
  'test/survival/chaos.test.ts',
  'test/simulation/cluster/report-browser.test.ts',
  'test/tools/bench/bench.test.ts',
  'test/survival/hosts.test.ts',
  'test/integration/events.test.ts',
  'test/survival/secrets.test.ts',
  'test/survival/everything-killed.test.ts',
  'test/integration/stopping.test.ts',
  'test/integration/ceremony.test.ts',
  'test/cli/setup.test.ts',
  'test/integration/vaults.test.ts',
];
const ranks = new Map(longFiles.map((file, rank) => [file, rank]));

/** `files`: those of each tier, below the root. */
export function longestFirst(files: Readonly<Record<Tier, readonly string[]>>): typeof BaseSequencer {
  const tiers = new Map(tierNames.flatMap((tier, index) => files[tier].map((file) => [file, index] as const)));
  return class extends BaseSequencer {
    override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
      const path = ({ moduleId }: TestSpecification) => relative(this.ctx.config.root, moduleId);
      const tier = (one: TestSpecification) => tiers.get(path(one)) ?? tierNames.length;
      const rank = (one: TestSpecification) => ranks.get(path(one)) ?? longFiles.length;
      return [...specifications].sort(
        (one, other) => tier(one) - tier(other) || rank(one) - rank(other) || (one.moduleId < other.moduleId ? -1 : 1),
      );
    }
  };
}
