/** The keys of a random scenario. */
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';
import type { KeyPlan } from './step-writer.ts';

/** `types`: a separate stream for the types of keys, so that shared keys are the same without it. */
export function drawKeys(swarm: Swarm, draw: Draw, types: Draw): KeyPlan[] {
  const liars = swarm.liars.length;
  return Array.from({ length: draw.pick([1, 1, 1, 2]) }, (_, index) => {
    const totalNodes = draw.int(Math.max(2 + liars, 2), swarm.nodes);
    const ids = Array.from({ length: totalNodes }, (__, at) => at + 1);
    return {
      session: `key-${index + 1}`,
      threshold: draw.int(2, totalNodes - liars),
      totalNodes,
      curve: draw.pick(['secp256k1', 'secp256k1', 'ed25519'] as const),
      keystore: draw.chance(0.4) ? 'MPC_FROST' : 'MOCK_THRESHOLD',
      supplied: swarm.stories.includes('client_supplied') && draw.chance(0.3) ? draw.some(ids, draw.int(1, 2)) : [],
      ownType: undefined,
      wallet: false,
      closes: false,
    } as const;
  })
    .map((key) => (types.chance(swarm.ownKeys) ? ownKey(key, swarm, types) : key))
    .map((key) => (swarm.stories.includes('wallet') && types.chance(0.6) ? walletKey(key, types) : key));
}

/** The same key, of a type that nodes do not share. A token's or a vendor's key has one node, which must be an honest one. */
function ownKey(key: KeyPlan, { liars, losesState }: Swarm, draw: Draw): KeyPlan {
  const isHeld = liars.length === 0 && !losesState && draw.chance(0.75);
  const ownType = draw.chance(0.5) ? 'HSM_PKCS11' : 'MPC_VENDOR';
  if (isHeld) return { ...key, ownType, threshold: 1, totalNodes: 1, supplied: [] };
  return { ...key, ownType: 'MULTISIG_EVM_WALLET', curve: 'secp256k1', supplied: [] };
}

/** The same key, of a wallet. A client supplies none of its dealers. */
function walletKey(key: KeyPlan, draw: Draw): KeyPlan {
  if (key.ownType !== undefined) return key;
  const session = `${draw.chance(0.2) ? 'vky' : 'wal'}_${key.session}`;
  return { ...key, session, supplied: [], wallet: true, closes: draw.chance(0.5) };
}

export function keyTerms({ session, threshold, totalNodes, curve, ownType }: KeyPlan) {
  const shared = { session, threshold, total_nodes: totalNodes, curve };
  return ownType === undefined ? shared : { ...shared, keystore_type: ownType };
}
