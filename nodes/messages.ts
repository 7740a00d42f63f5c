/**
 * What a node's actors receive and send: the wire's bodies, nothing else. Both actors of a node speak only to the
 * coordinator's actors, over the link, so that there are no local messages.
 */
import type { Behaviour, Effect, Input, Step } from '../actors/contract.ts';
import type { WireBody, WireMessage } from '../proto/wire.ts';
import type { NodeRecord, NodeWrite } from './records.ts';

export type NodeMessage = WireMessage;
export type NodeInput = Input<NodeMessage, NodeWrite, NodeRecord>;
export type NodeMessageInput = Extract<NodeInput, { kind: 'message' }>;
export type NodeEffect = Effect<NodeMessage, NodeWrite>;
export type NodeStep<S> = Step<S, NodeMessage, NodeWrite>;
export type NodeBehaviour<S> = Behaviour<S, NodeMessage, NodeWrite, NodeRecord>;

/** The body of a message that came off the wire: complete, because it was decoded there, not written here. */
export function receivedBody(message: NodeMessage): WireBody {
  return message.body as WireBody;
}

/** A copy that shares no memory: what came off the wire is a view of a whole WebSocket message, often a Buffer. */
export function ownCopy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
