/** Kills what a plan names, at random moments and in a random order. */
import type { RoleName, TestCluster } from '../../support/cluster.ts';
import type { FurtherGateway } from './further-gateway.ts';
import type { Seeded } from './seeded.ts';

export type Target = RoleName | 'further gateway' | 'a node';

/** What dies at one moment. */
export type Moments = readonly (readonly Target[])[];

/** Every moment of the first part comes before those of the next. Waits for what is down to be there again, to kill it. */
export async function killAtRandom(
  cluster: TestCluster,
  further: FurtherGateway,
  parts: readonly Moments[],
  chance: Seeded,
): Promise<Target[]> {
  const killed: Target[] = [];
  const die = async (target: Target): Promise<void> => {
    killed.push(target);
    if (target === 'further gateway') await further.kill();
    else if (target === 'a node') await cluster.kill(`node-${chance.pick(cluster.nodeIds)}`);
    else await cluster.kill(target);
  };
  for (const moments of parts) {
    const left = [...moments];
    while (left.length > 0) {
      const [targets = []] = left.splice(chance.integer(0, left.length - 1), 1);
      // A moment of the fault, not a wait for anything.
      await new Promise((resolve) => setTimeout(resolve, chance.integer(50, 1200)));
      await Promise.all(targets.map(die));
    }
  }
  return killed;
}
