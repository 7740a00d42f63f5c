/**
 * What a node's actors receive and send: the wire's bodies, to and from the coordinator's actors, and what the signer says
 * to itself, which never leaves the process.
 */
import type { Address, Behaviour, Effect, Input, Step, Trace } from '../../core/actors/contract.ts';
import type { Curve } from '../../core/crypto/group.ts';
import type { PartialRequest } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody, WireMessage } from '../../proto/wire.ts';
import type { HsmOutcome, HsmRequest } from './hsm-port.ts';
import type { NodeRecord, NodeWrite } from './records.ts';
import type { VendorOutcome, VendorRequest } from './vendor-port.ts';

/** The signer to itself: write the pending records. */
export interface LocalNodeMessage {
  readonly kind: 'flush';
}

/** To the signer: the record of a key was replaced. It sends the answer once it no longer uses the record of before. */
export interface KeyReplaced {
  readonly kind: 'keyReplaced';
  readonly recordKey: string;
  readonly answer: { readonly to: Address; readonly trace: Trace; readonly message: WireMessage };
}

/** A request to the node's PKCS#11 token, over the port of nodes/records/hsm-port.ts. */
export interface HsmAsked {
  readonly kind: 'hsmAsked';
  readonly request: HsmRequest;
  /** Comes back with the answer. */
  readonly about: HsmAbout;
}

/** What the token answered. */
export interface HsmAnswered {
  readonly kind: 'hsmAnswered';
  readonly outcome: HsmOutcome;
  readonly about: HsmAbout;
}

/** The request of the coordinator that waits for the token. */
export interface HsmAbout {
  readonly from: Address;
  readonly trace: Trace;
  readonly message: WireMessage;
  /** For a PartialRequest: the key and message that the signature must verify for. */
  readonly publicKey?: Uint8Array;
}

/** The signer to the actor of an order: a checked request, with its intent's record durable. */
export interface VendorSign {
  readonly kind: 'vendorSign';
  readonly asked: SigningAsked;
  readonly curve: Curve;
  /** Of the key at the vendor. */
  readonly publicKey: Uint8Array;
  /** The digest of message, key and scheme (signer/intent-memory.ts). */
  readonly digest: string;
}

/** A PartialRequest, and who asks. */
export interface SigningAsked {
  readonly from: Address;
  readonly trace: Trace;
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
  readonly request: PartialRequest;
}

/** The actor of an order to the vendor, over the port of nodes/records/vendor-port.ts. */
export interface VendorAsked {
  readonly kind: 'vendorAsked';
  readonly request: VendorRequest;
}

export interface VendorAnswered {
  readonly kind: 'vendorAnswered';
  readonly externalId: string;
  readonly outcome: VendorOutcome;
}

/** To the actor of an order: poll the order. The vendor called back, or the process has started. */
export interface VendorNews {
  readonly kind: 'vendorNews';
}

export type NodeMessage =
  | WireMessage
  | LocalNodeMessage
  | KeyReplaced
  | HsmAsked
  | HsmAnswered
  | VendorSign
  | VendorAsked
  | VendorAnswered
  | VendorNews;
export type NodeInput = Input<NodeMessage, NodeWrite, NodeRecord>;
/** A message off the wire. */
export type NodeMessageInput = Extract<NodeInput, { kind: 'message' }> & { readonly message: WireMessage };
export type NodeEffect = Effect<NodeMessage, NodeWrite>;
export type NodeStep<S> = Step<S, NodeMessage, NodeWrite>;
export type NodeBehaviour<S> = Behaviour<S, NodeMessage, NodeWrite, NodeRecord>;

export function isLocal(message: NodeMessage): message is Exclude<NodeMessage, WireMessage> {
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
