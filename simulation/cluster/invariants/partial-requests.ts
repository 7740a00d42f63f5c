/**
 * The requests to sign that arrived at each node, and those that it answered with its own partial signature; several checkers use
 * them. A request that a fault changed appears as changed.
 */
import type { PartialReply, PartialRequest } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { Observation } from '../observation.ts';

export interface AskedOf {
  /** "node/2". */
  readonly node: string;
  readonly tenant: string;
  readonly session: string;
  readonly request: PartialRequest;
}

export class PartialRequests {
  /** By node and tag. One tag is one attempt, so several requests mean that frames were changed or copied. */
  readonly #asked = new Map<string, AskedOf[]>();

  /**
   * When a node answers with a partial signature: its distinct requests under that tag. Empty otherwise, and for answers that a
   * fault changed.
   */
  take(observation: Observation): readonly AskedOf[] {
    if (observation.kind !== 'frame') return [];
    const { envelope, touched } = observation;
    const { message, from, to } = envelope;
    const { tenant, session, body } = message;
    if (body.case === 'partialRequest' && to.startsWith('node/')) {
      const request = body.value as PartialRequest;
      const key = `${to} ${request.attemptTag}`;
      this.#asked.set(key, [...(this.#asked.get(key) ?? []), { node: to, tenant, session, request }]);
      return [];
    }
    if (body.case !== 'partialReply' || touched || !from.startsWith('node/')) return [];
    const { attemptTag, outcome } = body.value as PartialReply;
    return outcome.case === 'partial' ? (this.#asked.get(`${from} ${attemptTag}`) ?? []) : [];
  }
}
