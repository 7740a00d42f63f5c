/** The identities of a simulated cluster, and the roster that names them: they follow from its randomness alone. */
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { defaultTotalNodes } from '../../proto/limits.ts';
import { defaultSharing, type Roster, type Sharing } from '../../proto/roster.ts';
import type { SimOptions } from './options.ts';
import { randomStream } from './random.ts';

export interface Identities {
  /** Of the nodes, 32 bytes each. Secret. */
  readonly nodes: readonly Uint8Array[];
  /** Of all gateways of the world, 32 bytes. Secret. */
  readonly gateway: Uint8Array;
  readonly roster: Roster;
}

/** `gateway`: the seed of the gateways' identity; by default this cluster makes it. */
export function identitiesOf(
  options: Pick<SimOptions, 'seed' | 'randomOf' | 'nodes' | 'number' | 'sharing'>,
  gateway?: Uint8Array,
): Identities {
  const { seed, randomOf, nodes = 5, number = firstCluster, sharing = sharingOfFew(nodes) } = options;
  const seedOf = (member: string) => {
    const label = `identity/${member}`;
    return (randomOf === undefined ? randomStream(seed, label) : randomOf(label))(32);
  };
  const own = Array.from({ length: nodes }, (_, index) => seedOf(`node/${index + 1}`));
  const gatewaySeed = gateway ?? seedOf('gateway');
  return {
    nodes: own,
    gateway: gatewaySeed,
    roster: {
      clusterId: `sim-${seed}`,
      coordinator: identityFromSeed(seedOf('coordinator')).publicKey,
      gateway: identityFromSeed(gatewaySeed).publicKey,
      nodes: own.map((each, index) => ({ id: index + 1, publicKey: identityFromSeed(each).publicKey })),
      ...(number !== firstCluster && { number }),
      ...(sharing && { sharing }),
    },
  };
}

/** The rosters of `signmesh init` always say it; here only where it differs from what a roster without it means. */
function sharingOfFew(nodes: number): Sharing | undefined {
  return nodes < defaultTotalNodes ? defaultSharing(nodes) : undefined;
}
