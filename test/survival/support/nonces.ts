/**
 * Which nonce signed what, by the nodes' own word: at debug level every partial signature is logged with the nonce that
 * it spent (node boot, coordinator boot, scheme, number). No nonce may be there twice, whatever was killed.
 */
import type { TestCluster } from '../../support/cluster.ts';

export interface NonceUse {
  readonly partials: number;
  readonly spentTwice: readonly string[];
}

export function nonceUse(cluster: Pick<TestCluster, 'nodeIds' | 'records'>): NonceUse {
  const seen = new Set<string>();
  const spentTwice: string[] = [];
  let partials = 0;
  for (const id of cluster.nodeIds) {
    for (const record of cluster.records(`node-${id}`, 'signer.partial.signed')) {
      partials += 1;
      const { boot, coordinatorBoot, scheme, nonce, session } = record;
      // 0: a mock partial of a node that dealt nothing to this nonce.
      if (nonce === 0) continue;
      const name = `node ${id} ${boot} ${coordinatorBoot} ${scheme} ${nonce}`;
      if (seen.has(name)) spentTwice.push(`${name}, last for ${session}`);
      seen.add(name);
    }
  }
  return { partials, spentTwice };
}
