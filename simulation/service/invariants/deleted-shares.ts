/** "Archiving deletes the shares": at rest no node has a share of an archived wallet's key, nor of a key of an archived vault. */
import type { CustodyWorld } from '../custody-world.ts';
import type { ToldEvent } from './documented-ledger.ts';

/** A share that a node still has; undefined: none. */
export function keptShare(world: CustodyWorld, tenant: string, events: readonly ToldEvent[]): string | undefined {
  for (const key of closedKeys(events)) {
    for (const cluster of world.clusters.each) {
      const [node] = cluster.holdersOf(tenant, key);
      if (node !== undefined) return `node ${node} has a share of ${key}`;
    }
  }
  return undefined;
}

function closedKeys(events: readonly ToldEvent[]): readonly string[] {
  const vaultOf = new Map<string, string>();
  const archived = new Set<string>();
  for (const { type, resource, data } of events) {
    if (type === 'vault.key_created') vaultOf.set(resource.id, data.object.vault_id as string);
    if (type === 'wallet.archived' || type === 'vault.archived') archived.add(resource.id);
  }
  const ofVaults = [...vaultOf].filter(([, vault]) => archived.has(vault)).map(([key]) => key);
  return [...archived, ...ofVaults];
}
