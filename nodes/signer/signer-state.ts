/** The state of a node's signer. */
import type { SigningAsked as Asked } from '../records/messages.ts';
import type { IntentMemory, NamedIntent } from './intent-memory.ts';
import type { NonceHedge } from './nonce-hedge.ts';
import type { NoncePools } from './nonce-secrets.ts';
import type { PendingNodeWrite } from './pending-write.ts';
import type { SigningKeys } from './signing-keys.ts';
import type { WaitingRequests } from './waiting-requests.ts';

export interface SignerIdentity {
  readonly nodeId: number;
  /** A fresh id for every start of the process; part of every nonce's id. */
  readonly boot: string;
  readonly hedge: NonceHedge;
  /** Secret, 32 bytes: shared with the gateways, whose orders it proves. */
  readonly orderKey: Uint8Array;
}

/** A request in progress that a gateway ordered for an intent. */
export interface Ordered extends Asked {
  readonly intent: NamedIntent;
}

/** Owned by the actor, changed in place by steps without a write (signer-actor.ts). */
export interface SignerState {
  readonly pools: NoncePools;
  readonly keys: SigningKeys;
  readonly intents: IntentMemory;
  /** Requests that wait for a record to be loaded: their key's, or their intent's. */
  readonly waiting: WaitingRequests<Ordered>;
  /** Partials that wait until their records are durable. */
  readonly pending: PendingNodeWrite;
  /** Records that were written while they were loading: the load may return the earlier content. */
  readonly stale: Set<string>;
}
