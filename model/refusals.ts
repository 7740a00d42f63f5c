/** Why nodes refused partial signatures, by session: what an answer or a failure that names such a reason stands on. */
import { PartialRefusalCode, type PartialReply, type VendorSettled } from '../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { Observation } from '../sim/observation.ts';

/** The codes for an order that a node does not follow; clients hear ORDER_REFUSED. */
const ofOrders: ReadonlySet<string> = new Set(['ORDER_MISSING', 'ORDER_INVALID', 'ORDER_EXPIRED', 'WITNESS_MISSING']);

export class Refusals {
  /** "tenant/session" to reason codes, to the nodes that gave them. */
  readonly #bySession = new Map<string, Map<string, Set<number>>>();

  /** To be told of every observation. A refusal that is lost or late counts too. */
  take(observation: Observation): void {
    if (observation.kind !== 'frame') return;
    const { from, to, message } = observation.envelope;
    const { body } = message;
    if ((body.case !== 'partialReply' && body.case !== 'vendorSettled') || !from.startsWith('node/')) return;
    const { outcome } = body.value as PartialReply | VendorSettled;
    if (outcome.case !== 'refusal') return;
    // The address tells its session, whatever the frame names.
    const name = to.replace(/^signing\//, '');
    const codes = this.#bySession.get(name) ?? new Map<string, Set<number>>();
    this.#bySession.set(name, codes);
    const reason = reasonOf(PartialRefusalCode[outcome.value.code] ?? '');
    codes.set(reason, (codes.get(reason) ?? new Set()).add(Number(from.split('/')[1])));
  }

  /** The nodes that gave a reason that clients hear as this code. */
  nodesFor(tenant: string, session: string, reason: string): ReadonlySet<number> {
    return this.#bySession.get(`${tenant}/${session}`)?.get(reason) ?? new Set();
  }

  /** The nodes that refused for any reason but a nonce that they do not know. */
  nodes(tenant: string, session: string): ReadonlySet<number> {
    const codes = [...(this.#bySession.get(`${tenant}/${session}`) ?? [])];
    return new Set(codes.flatMap(([reason, ids]) => (reason === 'NONCE_UNKNOWN' ? [] : [...ids])));
  }
}

/** The reason code that a client hears for a node's refusal. */
function reasonOf(code: string): string {
  if (ofOrders.has(code)) return 'ORDER_REFUSED';
  return code.endsWith('_UNCONFIGURED') ? 'KEYSTORE_UNAVAILABLE' : code;
}
