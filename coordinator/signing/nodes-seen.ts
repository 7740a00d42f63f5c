/**
 * A signing session's knowledge of the nodes: ready, silent, or unable to sign. No function changes values in place.
 *
 * `watch` and `silent` last while a call waits; a node's own statements (`unable`, `forgot`) last as long as the actor.
 */

/** A node's durable reason not to sign; a reason code. */
export type LastingRefusal = 'KEYSTORE_MISMATCH' | 'INTENT_MESSAGE_CHANGED';

/** The reason why a node's token or vendor did not sign; a reason code. */
export type TokenFault =
  | 'KEYSTORE_UNAVAILABLE'
  | 'HSM_SESSION_LOST'
  | 'HSM_PIN_REFUSED'
  | 'HSM_TIMEOUT'
  | 'HSM_TOKEN_ABSENT'
  | 'HSM_FAILED'
  | 'VENDOR_UNAVAILABLE'
  | 'VENDOR_REJECTED'
  | 'VENDOR_CANCELLED'
  | 'VENDOR_SIGNATURE_INVALID';

/** The reason why a node cannot answer in this session. */
export type Inability =
  /** It will never sign this, according to its own records. */
  | { readonly kind: 'lasting'; readonly reason: LastingRefusal }
  /** It requires a gateway's order; `code`: the name of its refusal. */
  | { readonly kind: 'order'; readonly code: string }
  /** Its token did not sign; a reason code. Cleared when the session is resumed. */
  | { readonly kind: 'token'; readonly reason: TokenFault; readonly message: string }
  /**
   * It holds no share of the key, or not of this version: it lost its store, or has not confirmed the key, and is then asked to.
   * Cleared when the next call arrives, and repeatedly while the other nodes are too few.
   */
  | { readonly kind: 'keyless' }
  /** It keeps refusing. */
  | { readonly kind: 'other' };

export interface NodesSeen {
  /** undefined: this session does not watch the ready nodes. `ready`: once the cluster has reported them. */
  readonly watch: { readonly ready: ReadonlySet<number> | undefined } | undefined;
  /** Asked in this round and silent for too long, or unreachable. */
  readonly silent: ReadonlySet<number>;
  readonly unable: ReadonlyMap<number, Inability>;
  /** By node: how many times it did not know its nonce in this session. */
  readonly forgot: ReadonlyMap<number, number>;
}

const noIds: ReadonlySet<number> = new Set();

export const nothingSeen: NodesSeen = { watch: undefined, silent: noIds, unable: new Map(), forgot: new Map() };

export function readyNodes({ watch }: NodesSeen): ReadonlySet<number> | undefined {
  return watch?.ready;
}

export function watchBegun(nodes: NodesSeen): NodesSeen {
  return { ...nodes, watch: { ready: undefined } };
}

export function watchEnded(nodes: NodesSeen): NodesSeen {
  return { ...nodes, watch: undefined, silent: noIds };
}

/** The cluster reported the ready nodes. A node that reconnected is no longer silent. */
export function readyKnown(nodes: NodesSeen, ready: readonly number[]): NodesSeen {
  const before = readyNodes(nodes);
  const back = ready.filter((id) => before?.has(id) === false && nodes.silent.has(id));
  const silent = back.length === 0 ? nodes.silent : new Set([...nodes.silent].filter((id) => !back.includes(id)));
  return { ...nodes, watch: { ready: new Set(ready) }, silent };
}

export function fallenSilent(nodes: NodesSeen, ids: readonly number[]): NodesSeen {
  return ids.length === 0 ? nodes : { ...nodes, silent: new Set([...nodes.silent, ...ids]) };
}

export function heardOf(nodes: NodesSeen, nodeId: number): NodesSeen {
  if (!nodes.silent.has(nodeId)) return nodes;
  return { ...nodes, silent: new Set([...nodes.silent].filter((id) => id !== nodeId)) };
}

/** Gives all silent nodes another chance. */
export function silenceForgiven(nodes: NodesSeen): NodesSeen {
  return { ...nodes, silent: noIds };
}

export function foundUnable(nodes: NodesSeen, nodeId: number, why: Inability): NodesSeen {
  return { ...nodes, unable: new Map(nodes.unable).set(nodeId, why) };
}

export function noncesForgotten(nodes: NodesSeen, nodeId: number, times: number): NodesSeen {
  return { ...nodes, forgot: new Map(nodes.forgot).set(nodeId, times) };
}

/** A resumed session may have got an order that it lacked, and a token may sign again. */
export function ordersForgiven(nodes: NodesSeen): NodesSeen {
  const lasts = ({ kind }: Inability) => kind !== 'order' && kind !== 'token';
  return { ...nodes, unable: new Map([...nodes.unable].filter(([, why]) => lasts(why))) };
}

/** Nodes without the key may have it by the next call. */
export function keysForgiven(nodes: NodesSeen): NodesSeen {
  if (keylessNodes(nodes).length === 0) return nodes;
  return { ...nodes, unable: new Map([...nodes.unable].filter(([, { kind }]) => kind !== 'keyless')) };
}

/** Nodes that refused to sign without an order, and their codes. */
export function orderRefusers({ unable }: NodesSeen): ReadonlyMap<number, string> {
  const codes = new Map<number, string>();
  for (const [id, why] of unable) if (why.kind === 'order') codes.set(id, why.code);
  return codes;
}

/** Nodes that hold no share of the key; ascending. */
export function keylessNodes({ unable }: NodesSeen): number[] {
  const ids = [...unable].filter(([, why]) => why.kind === 'keyless').map(([id]) => id);
  return ids.sort((a, b) => a - b);
}

/** Nodes that will never sign this, for this reason; ascending. */
export function refusersFor({ unable }: NodesSeen, reason: LastingRefusal): number[] {
  const ids = [...unable].filter(([, why]) => why.kind === 'lasting' && why.reason === reason).map(([id]) => id);
  return ids.sort((a, b) => a - b);
}
