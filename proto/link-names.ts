/**
 * The name of a process in its certificate for links: one URI with cluster, role and the identity that the roster
 * pins. So a certificate of another role, node or cluster, or of a replaced identity, is refused.
 */
import type { Roster } from './roster.ts';

export type LinkRole = 'coordinator' | 'node' | 'gateway';

/** `nodeId`: of a node. undefined: the roster has no such node. All gateways of an installation have one name. */
export function certificateName(roster: Roster, role: LinkRole, nodeId = 0): string | undefined {
  const { clusterId, installation = clusterId } = roster;
  if (role === 'coordinator') return nameOf(clusterId, role, roster.coordinator);
  if (role === 'gateway') return nameOf(installation, role, roster.gateway);
  const node = roster.nodes.find(({ id }) => id === nodeId);
  return node && nameOf(clusterId, `node/${nodeId}`, node.publicKey);
}

function nameOf(cluster: string, who: string, identity: Uint8Array): string {
  return `signmesh://${cluster}/${who}/${Buffer.from(identity).toString('hex')}`;
}
