/**
 * The earlier frames that byzantine behaviours need: terms and openings of each DKG attempt, the curve of each partial
 * request, and what each node sent. Bounded, and recorded only while a byzantine fault is armed: arm one before the DKG
 * that it affects.
 */
import type { DealerOpening, DkgTerms } from '../../../core/crypto/dkg-transcripts.ts';
import type { Curve } from '../../../core/crypto/group.ts';
import { BoundedMemo } from '../../../core/crypto/memo.ts';
import type { Polynomial } from '../../../core/crypto/polynomial.ts';
import type { DkgOpening } from '../../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { type PartialRequest, Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { keyBinding } from '../../../proto/key-schemes.ts';
import type { WireBody, WireEnvelope } from '../../../proto/wire.ts';
import type { FrameInTransit, ProcessName } from '../vocabulary/engine-contract.ts';
import type { Point } from '../vocabulary/trigger-points.ts';

/** The most recorded frames of one node at one point. */
const sentMax = 16;

/** One attempt of one DKG session. */
export interface AttemptMemory {
  terms: DkgTerms | undefined;
  /** As relayed to others; before that as their dealers sent them. */
  readonly openings: Map<number, DealerOpening>;
  /** False openings by kind of lie and dealer: a dealer repeats the same one. */
  readonly falseOpenings: Map<string, DealerOpening>;
  /** Equivocating dealers that have shown their first opening. */
  readonly shown: Set<number>;
  /** Polynomials of a coordinator that supplies the dealers' shares itself. Secret. */
  readonly supplied: Map<number, Polynomial>;
}

export class LiarMemory {
  readonly #rosterDigest: Uint8Array;
  readonly #attempts = new BoundedMemo<string, AttemptMemory>(256);
  readonly #curves = new BoundedMemo<string, Curve>(4096);
  readonly #sent = new Map<string, WireEnvelope[]>();
  /** The first request of each of the latest two sessions, by node. */
  readonly #requests = new Map<ProcessName, { readonly session: string; readonly request: PartialRequest }[]>();

  constructor(rosterDigest: Uint8Array) {
    this.#rosterDigest = rosterDigest;
  }

  note({ peer, direction, point, envelope }: FrameInTransit): void {
    const body = envelope.message.body as WireBody;
    if (direction === 'out') this.#noteSent(peer, point, envelope);
    switch (body.case) {
      case 'partialRequest': {
        const curve = body.value.scheme === Scheme.FROST_ED25519 ? 'ed25519' : 'secp256k1';
        this.#curves.set(`${peer} ${body.value.attemptTag}`, curve);
        this.#noteRequest(peer, envelope.message.session, body.value);
        return;
      }
      case 'dkgOpen': {
        const { threshold, totalNodes, participants, scheme } = body.value;
        const { tenant, session, attempt } = envelope.message;
        const curve = body.value.curve as Curve;
        if (curve !== 'secp256k1' && curve !== 'ed25519') return;
        const terms: DkgTerms = {
          tenant,
          session,
          attempt,
          rosterDigest: this.#rosterDigest,
          curve,
          threshold,
          totalNodes,
          scheme: keyBinding(scheme) ?? '',
          participants: participants.length > 0 ? participants : undefined,
        };
        this.attempt(envelope).terms = terms;
        return;
      }
      case 'dkgOpened':
        this.#noteOpenings(envelope, body.value.opening === undefined ? [] : [body.value.opening]);
        return;
      case 'dkgSeal':
        this.#noteOpenings(envelope, body.value.recipients);
        return;
      case 'dkgVerify':
        this.#noteOpenings(envelope, body.value.dealers);
        return;
      default:
        return;
    }
  }

  attempt({ message: { tenant, session, attempt } }: WireEnvelope): AttemptMemory {
    const key = JSON.stringify([tenant, session, attempt]);
    const known = this.#attempts.get(key);
    if (known !== undefined) return known;
    const fresh: AttemptMemory = {
      terms: undefined,
      openings: new Map(),
      falseOpenings: new Map(),
      shown: new Set(),
      supplied: new Map(),
    };
    this.#attempts.set(key, fresh);
    return fresh;
  }

  /** The curve of a partial requested from this node. Undefined: the request came before recording began. */
  curveOf(peer: ProcessName, attemptTag: bigint): Curve | undefined {
    return this.#curves.get(`${peer} ${attemptTag}`);
  }

  /** The latest frame that this node sent at this point in another attempt or session; without either, any earlier frame. */
  earlier({ peer, point, envelope }: FrameInTransit): WireEnvelope | undefined {
    const { tenant, session, attempt } = envelope.message;
    return this.#sent
      .get(`${peer} ${point}`)
      ?.findLast(
        ({ message }, index, all) =>
          message.tenant !== tenant ||
          message.session !== session ||
          message.attempt !== attempt ||
          (session === '' && index < all.length - 1),
      );
  }

  /** The first request to this node to sign in an earlier session than the frame's. */
  earlierRequest({ peer, envelope }: FrameInTransit): PartialRequest | undefined {
    return this.#requests.get(peer)?.findLast(({ session }) => session !== envelope.message.session)?.request;
  }

  #noteRequest(peer: ProcessName, session: string, request: PartialRequest): void {
    const known = this.#requests.get(peer) ?? [];
    if (known.some((one) => one.session === session)) return;
    this.#requests.set(peer, [...known.slice(-1), { session, request }]);
  }

  #noteSent(peer: ProcessName, point: Point, envelope: WireEnvelope): void {
    const key = `${peer} ${point}`;
    const sent = this.#sent.get(key);
    if (sent === undefined) this.#sent.set(key, [envelope]);
    else if (sent.push(envelope) > sentMax) sent.shift();
  }

  #noteOpenings(envelope: WireEnvelope, openings: readonly DkgOpening[]): void {
    if (openings.length === 0) return;
    const known = this.attempt(envelope).openings;
    for (const opening of openings) known.set(opening.dealer, opening);
  }
}
