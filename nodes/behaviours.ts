/**
 * The actors of one node, for both runtimes: "node/<id>" signs, "node/<id>/dkg/<tenant>/<session>" makes keys, and
 * "node/<id>/vendor/<tenant>/<reference>" has a vendor sign. A final key reaches the signer through the store.
 *
 * Made once for each start of a node process, live or simulated: the boot id must be fresh then.
 */

import { identityFromSeed } from '../core/crypto/identity.ts';
import { nodeOrderKey } from '../core/crypto/order-macs.ts';
import { type Roster, rosterDigest } from '../proto/roster.ts';
import { type DkgActorState, dkgBehaviour } from './dkg/dkg-actor.ts';
import type { DkgParty, SandboxKeys } from './dkg/party.ts';
import type { NodeBehaviour } from './records/messages.ts';
import { nonceHedge } from './signer/nonce-hedge.ts';
import { signerBehaviour } from './signer/signer-actor.ts';
import type { SignerState } from './signer/signer-state.ts';
import { type VendorOrderActorState, vendorOrderBehaviour } from './vendor/order-actor.ts';

export interface NodeIdentity {
  readonly nodeId: number;
  /** A fresh id for every start of the process. */
  readonly boot: string;
  readonly roster: Roster;
  /** Secret, 32 bytes. */
  readonly identitySeed: Uint8Array;
  /** Whether clients may supply dealers of keys that are not wallets'. */
  readonly allowClientDealers: boolean;
  readonly sandbox?: SandboxKeys | undefined;
}

export interface NodeBehaviours {
  readonly signer: NodeBehaviour<SignerState>;
  readonly dkg: NodeBehaviour<DkgActorState>;
  readonly vendorOrders: NodeBehaviour<VendorOrderActorState>;
}

export function nodeBehaviours(identity: NodeIdentity): NodeBehaviours {
  const { nodeId, boot, roster, identitySeed } = identity;
  const hedge = nonceHedge(identitySeed, boot);
  const orderKey = nodeOrderKey(roster, nodeId, identityFromSeed(identitySeed).secretKey);
  return {
    signer: signerBehaviour({ nodeId, boot, hedge, orderKey }),
    dkg: dkgBehaviour(dkgPartyOf(identity)),
    vendorOrders: vendorOrderBehaviour({ nodeId, clusterId: roster.clusterId }),
  };
}

/** The data of a node that is the same in every DKG. */
export function dkgPartyOf(identity: Omit<NodeIdentity, 'boot'>): DkgParty {
  const { nodeId, roster, identitySeed, allowClientDealers, sandbox } = identity;
  const { secretKey } = identityFromSeed(identitySeed);
  return {
    nodeId,
    identityKeys: roster.nodes.map(({ publicKey }) => publicKey),
    secretKey,
    rosterDigest: rosterDigest(roster),
    orderKey: nodeOrderKey(roster, nodeId, secretKey),
    allowClientDealers,
    sandbox,
  };
}
