/**
 * What a node's actors receive and send: the wire's bodies, to and from the coordinator's actors, and what the signer says
 * to itself, which never leaves the process.
 */
import type { Behaviour, Effect, Input, Step } from '../../actors/contract.ts';
import type { WireBody, WireMessage } from '../../proto/wire.ts';
import type { NodeRecord, NodeWrite } from './records.ts';

/** The signer to itself: write what waits to become durable. */
export interface LocalNodeMessage {
  readonly kind: 'flush';
}
export type NodeMessage = WireMessage | LocalNodeMessage;
export type NodeInput = Input<NodeMessage, NodeWrite, NodeRecord>;
/** A message off the wire. */
export type NodeMessageInput = Extract<NodeInput, { kind: 'message' }> & { readonly message: WireMessage };
export type NodeEffect = Effect<NodeMessage, NodeWrite>;
export type NodeStep<S> = Step<S, NodeMessage, NodeWrite>;
export type NodeBehaviour<S> = Behaviour<S, NodeMessage, NodeWrite, NodeRecord>;

export function isLocal(message: NodeMessage): message is LocalNodeMessage {
  return 'kind' in message;
}

/** The body of a message that came off the wire: complete, because it was decoded there, not written here. */
export function receivedBody(message: WireMessage): WireBody {
  return message.body as WireBody;
}

/** A copy that shares no memory: what came off the wire is a view of a whole WebSocket message, often a Buffer. */
export function ownCopy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
