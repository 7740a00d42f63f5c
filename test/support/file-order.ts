/**
 * The order in which test files run: tier by tier, and in a tier the longest first, so that every worker has work until
 * the end. No tier waits for the end of the one before.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import type { Tier } from '../../tools/tiers.ts';

/**
 * Files of more than three to five seconds, the longest of a tier first. A file that is missing here only starts late. Files
 * that borrow a cluster of one kind stand apart, since they run one after the other.
 */
export const longFiles: readonly string[] = [
  'test/house/floors.test.ts',
  'test/nodes/signer.test.ts',
  'test/nodes/hsm-pipe.test.ts',
  'test/gateway/access-log/http.test.ts',
  'test/load/schedule.test.ts',
  'test/house/compositions.test.ts',
  'test/sim/scenario-load.test.ts',
  'test/actors/link-faults.test.ts',
  'test/nodes/dkg.test.ts',

  'test/world/faults.test.ts',
  'test/world/scenarios.test.ts',
  'test/sim/scenario-run.test.ts',
  'test/sim/crashes.test.ts',
  'test/coordinator/vendor.test.ts',
  'test/bench/costs.test.ts',
  'test/faults/byzantine.test.ts',
  'test/sim/search.test.ts',
  'test/world/search.test.ts',
  'test/coordinator/suspects.test.ts',
  'test/testing/wallet-api.test.ts',
  'test/coordinator/random-calls.test.ts',
  'test/embedded/record.test.ts',
  'test/coordinator/sign-in-one-call.test.ts',
  'test/coordinator/signing-blame.test.ts',
  'test/coordinator/make-key.test.ts',
  'test/coordinator/dkg-blame.test.ts',
  'test/sim/model.test.ts',
  'test/embedded/service.test.ts',
  'test/coordinator/previews.test.ts',
  'test/coordinator/keystores.test.ts',
  'test/coordinator/wallet-keys.test.ts',

  'test/modules/treasury/treasury.test.ts',
  'test/api/whole-api.test.ts',
  'test/modules/tokens/tokens.test.ts',
  'test/modules/recon/jobs.test.ts',
  'test/custody/intents/crashes.test.ts',
  'test/modules/tokens/invariants.test.ts',
  'test/delivery/events/stream.test.ts',
  'test/delivery/deliveries/retries.test.ts',
  'test/custody/intents/driver.test.ts',
  'test/actors/redis-watch.test.ts',
  'test/modules/treasury/crashes.test.ts',
  'test/gateway/gateway-process.test.ts',
  'test/delivery/deliveries/bounds.test.ts',
  'test/delivery/deliveries/webhook-service.test.ts',
  'test/store/model.test.ts',
  'test/delivery/webhooks/routes.test.ts',
  'test/modules/recon/drift.test.ts',
  'test/custody/intents/self-hosted.test.ts',
  'test/redis/memory/commands.test.ts',
  'test/gateway/serve.test.ts',
  'test/modules/recon/modules.test.ts',
  'test/custody/intents/routes.test.ts',

  'test/examples/commands.test.ts',
  'test/survival/webhooks-killed.test.ts',
  'test/survival/node-killed.test.ts',
  'test/testing/cluster.test.ts',
  'test/cli/up.test.ts',
  'test/cli/events.test.ts',
  'test/survival/coordinator-killed.test.ts',
  'test/survival/intents-killed.test.ts',
  'test/cli/scenarios-live.test.ts',
  'test/survival/redis-and-gateway-killed.test.ts',
  'test/survival/node-silent.test.ts',
  'test/testing/installed.test.ts',
  'test/sim/planted.test.ts',
  'test/survival/tokens-killed.test.ts',
  'test/survival/vaults-killed.test.ts',
  'test/cli/redis-refuses.test.ts',
  'test/integration/clusters.test.ts',
  'test/survival/links.test.ts',
  'test/integration/tampered-store.test.ts',
  'test/fault-injection/sandbox-control-live.test.ts',
  'test/survival/money-random.test.ts',
  'test/modules/recon/killed.test.ts',
  'test/survival/two-coordinators.test.ts',
  'test/sim/planted-checks.test.ts',
  'test/api/examples.test.ts',
  'test/delivery/deliveries/workers.test.ts',
  'test/redis/redis-cluster.test.ts',
  'test/cli/usage.test.ts',
  'test/integration/health.test.ts',
  'examples/testing/payouts.test.ts',
  'test/load/load.test.ts',
  'test/world/planted.test.ts',
  'test/client/live.test.ts',
  'test/survival/chaos.test.ts',
  'test/sim/report-browser.test.ts',
  'test/bench/bench.test.ts',
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
/** Files of `alone` first: each ends the worker before it, which would have served further files. */
const order: readonly Tier[] = ['alone', 'fast', 'worlds', 'redis', 'system'];

/** `files`: those of each tier, below the root. */
export function longestFirst(files: Readonly<Record<Tier, readonly string[]>>): typeof BaseSequencer {
  const tiers = new Map(order.flatMap((tier, index) => files[tier].map((file) => [file, index] as const)));
  return class extends BaseSequencer {
    override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
      const path = ({ moduleId }: TestSpecification) => relative(this.ctx.config.root, moduleId);
      const tier = (one: TestSpecification) => tiers.get(path(one)) ?? order.length;
      const rank = (one: TestSpecification) => ranks.get(path(one)) ?? longFiles.length;
      return [...specifications].sort(
        (one, other) => tier(one) - tier(other) || rank(one) - rank(other) || (one.moduleId < other.moduleId ? -1 : 1),
      );
    }
  };
}
