/**
 * The order in which test files run: tier by tier, and in a tier the longest first, so that every worker has work until
 * the end. No tier waits for the end of the one before.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type Tier, tierNames } from './tiers.ts';

/** Files of more than five seconds or so, the longest of a tier first. A file that is missing here only starts late. */
export const longFiles: readonly string[] = [
  'test/world/scenarios.test.ts',
  'test/world/faults.test.ts',
  'test/sim/scenario-run.test.ts',
  'test/bench/costs.test.ts',
  'test/coordinator/vendor.test.ts',
  'test/house/floors.test.ts',
  'test/sim/search.test.ts',
  'test/sim/crashes.test.ts',

  'test/modules/treasury/treasury.test.ts',
  'test/modules/tokens/tokens.test.ts',
  'test/modules/recon/jobs.test.ts',
  'test/delivery/events/stream.test.ts',
  'test/api/whole-api.test.ts',
  'test/custody/intents/crashes.test.ts',
  'test/custody/intents/driver.test.ts',
  'test/delivery/deliveries/retries.test.ts',
  'test/actors/redis-watch.test.ts',
  'test/modules/tokens/invariants.test.ts',
  'test/gateway/gateway-process.test.ts',
  'test/api/walkers.test.ts',
  'test/delivery/webhooks/routes.test.ts',
  'test/custody/intents/routes.test.ts',
  'test/store/model.test.ts',
  'test/modules/recon/drift.test.ts',
  'test/modules/recon/modules.test.ts',
  'test/custody/intents/self-hosted.test.ts',

  'test/testing/installed.test.ts',
  'test/cli/scenarios-live.test.ts',
  'test/examples/commands.test.ts',
  'test/testing/cluster.test.ts',
  'test/survival/intents-killed.test.ts',
  'test/survival/webhooks-killed.test.ts',
  'test/survival/tokens-killed.test.ts',
  'test/api/examples.test.ts',
  'test/cli/redis-refuses.test.ts',
  'test/sim/planted.test.ts',
  'test/cli/events.test.ts',
  'test/survival/redis-and-gateway-killed.test.ts',
  'test/cli/up.test.ts',
  'test/survival/vaults-killed.test.ts',
  'test/survival/money-random.test.ts',
  'test/fault-injection/sandbox-control-live.test.ts',
  'test/redis/redis-cluster.test.ts',
  'test/load/load.test.ts',
  'test/sim/planted-checks.test.ts',
  'test/sim/report-browser.test.ts',
  'test/delivery/deliveries/workers.test.ts',
  'test/survival/node-killed.test.ts',
  'test/survival/coordinator-killed.test.ts',
  'examples/testing/payouts.test.ts',
  'test/survival/hosts.test.ts',
  'test/survival/node-silent.test.ts',
  'test/survival/links.test.ts',
  'test/survival/chaos.test.ts',
  'test/modules/recon/killed.test.ts',
  'test/integration/clusters.test.ts',
  'test/cli/usage.test.ts',
  'test/survival/everything-killed.test.ts',
  'test/bench/bench.test.ts',
  'test/integration/stopping.test.ts',
  'test/house/guard-sample.test.ts',
  'test/world/planted.test.ts',
  'test/survival/two-coordinators.test.ts',
  'test/cli/demo.test.ts',
  'test/client/live.test.ts',
  'test/integration/health.test.ts',
  'test/integration/tampered-store.test.ts',
  'test/survival/secrets.test.ts',
  'test/integration/events.test.ts',
  'test/nodes/hsm-process.test.ts',
  'test/integration/hsm.test.ts',
  'test/gateway/sandbox/sessions.test.ts',
  'test/cli/setup.test.ts',
  'test/nodes/node-process.test.ts',
];
const ranks = new Map(longFiles.map((file, rank) => [file, rank]));

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      ranks.get(relative(this.ctx.config.root, moduleId)) ?? longFiles.length;
    const tier = ({ project }: TestSpecification) => tierNames.indexOf(project.name as Tier);
    return [...files].sort(
      (one, other) => tier(one) - tier(other) || rank(one) - rank(other) || (one.moduleId < other.moduleId ? -1 : 1),
    );
  }
}
