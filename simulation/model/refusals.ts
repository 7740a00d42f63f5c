/** Nodes' reasons for refusing partial signatures, by session: the evidence for an answer or a failure with such a reason. */
import type { DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import {
  PartialRefusalCode,
  type PartialReply,
  type VendorSettled,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { Observation } from '../cluster/observation.ts';

/** The codes for an order that a node refuses; clients get ORDER_REFUSED. */
const ofOrders: ReadonlySet<string> = new Set(['ORDER_MISSING', 'ORDER_INVALID', 'ORDER_EXPIRED', 'WITNESS_MISSING']);

/** A node without its nonce is asked again this often; then it counts as unable to sign. */
const forgottenMax = 2;

export class Refusals {
  /** "tenant/session" to reason codes, to the nodes that gave them. */
  readonly #bySession = new Map<string, Map<string, Set<number>>>();
  /** "tenant/session node": the number of its answers without a nonce; the coordinator cannot tell a copy from an answer. */
  readonly #forgot = new Map<string, number>();

  /** "tenant/session node": it refused a dealing or a share in a key generation. */
  readonly #disputes = new Set<string>();

  /** Call it with every observation. A refusal that is lost or late counts too. */
  take(observation: Observation): void {
    if (observation.kind !== 'frame') return;
    const { envelope, decided } = observation;
    const { from, to, message } = envelope;
    const { body } = message;
    if (body.case === 'dkgRefused' || (body.case === 'dkgVerified' && hasDispute(body.value as DkgVerified)))
      this.#disputes.add(`${to.replace(/^dkg\//, '')} ${Number(from.split('/')[1])}`);
    if ((body.case !== 'partialReply' && body.case !== 'vendorSettled') || !from.startsWith('node/')) return;
    const { outcome } = body.value as PartialReply | VendorSettled;
    if (outcome.case === 'partial' || outcome.case === 'vendorOrder') return;
    const code = outcome.case === 'refusal' ? (PartialRefusalCode[outcome.value.code] ?? '') : '';
    // The address names its session, whatever the frame says.
    const name = to.replace(/^signing\//, '');
    const codes = this.#bySession.get(name) ?? new Map<string, Set<number>>();
    this.#bySession.set(name, codes);
    const node = Number(from.split('/')[1]);
    const reason = reasonOf(code);
    codes.set(reason, (codes.get(reason) ?? new Set()).add(node));
    if (code === 'NONCE_UNKNOWN') {
      const times = (this.#forgot.get(`${name} ${node}`) ?? 0) + Math.max(1, decided?.arrivals.length ?? 1);
      this.#forgot.set(`${name} ${node}`, times);
      if (times > forgottenMax) codes.set('', (codes.get('') ?? new Set()).add(node));
    }
  }

  /** The nodes whose reason clients get as this code; '': those that clients get as unavailable. */
  nodesFor(tenant: string, session: string, reason: string): ReadonlySet<number> {
    return this.#bySession.get(`${tenant}/${session}`)?.get(reason) ?? new Set();
  }

  /** Whether the node refused a dealing or a share in this key generation. */
  disputes(tenant: string, session: string, node: number): boolean {
    return this.#disputes.has(`${tenant}/${session} ${node}`);
  }

  /** The nodes that refused for any reason except an unknown nonce. */
  nodes(tenant: string, session: string): ReadonlySet<number> {
    const codes = [...(this.#bySession.get(`${tenant}/${session}`) ?? [])];
    return new Set(codes.flatMap(([reason, ids]) => (reason === 'NONCE_UNKNOWN' ? [] : [...ids])));
  }
}

function hasDispute({ verdicts }: DkgVerified): boolean {
  return verdicts.some(({ verified }) => !verified);
}

/** The reason code that a client gets for a node's refusal; empty: it gets that the node is unavailable. */
function reasonOf(code: string): string {
  if (ofOrders.has(code)) return 'ORDER_REFUSED';
  if (code === 'KEY_UNKNOWN' || code === 'REQUEST_INVALID') return '';
  return code.endsWith('_UNCONFIGURED') ? 'KEYSTORE_UNAVAILABLE' : code;
}
