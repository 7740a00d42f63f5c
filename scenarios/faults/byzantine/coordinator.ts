/**
 * A malicious coordinator: replaces the requests that its process sends to nodes. The process itself stays honest and sees
 * the answers, like with a man in the middle of all links.
 *
 * It has no node's identity: a node's signature does not cover its changes to that node's message.
 */
import type { RandomSource } from '../../../core/crypto/bytes.ts';
import { type Curve, groupOf } from '../../../core/crypto/group.ts';
import { type Polynomial, randomPolynomial } from '../../../core/crypto/polynomial.ts';
import { commitTo, shareFor } from '../../../core/crypto/vss.ts';
import type { DkgConfirm, DkgOpening, DkgSeal, DkgVerify } from '../../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { type PartialRequest, Scheme, type SignerCommitment } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody, WireBodyInit, WireEnvelope } from '../../../proto/wire.ts';
import type { FaultOf } from '../vocabulary/fault.ts';
import type { CoordinatorLie } from '../vocabulary/kinds.ts';
import { alteredFrame } from './altered.ts';
import type { AttemptMemory } from './memory.ts';
import { type Said, saidAfter, saidInstead, withBody } from './replacement.ts';

/** The requested node, and the attempt. */
export interface Asking {
  readonly nodeId: number;
  /** The DKG of the frame, if it belongs to one. */
  readonly attempt: AttemptMemory;
  /** A request to this node to sign in an earlier session, if any. */
  readonly earlier: PartialRequest | undefined;
  readonly random: RandomSource;
}

/** The frames that a node gets in place of `envelope`. Undefined: nothing changes. */
export function coordinatorLie(fault: CoordinatorLie, envelope: WireEnvelope, asking: Asking): Said | undefined {
  const body = envelope.message.body as WireBody;
  const instead = (said: WireBodyInit | undefined) => said && saidInstead(withBody(envelope, said));
  switch (fault.fault) {
    case 'other_message':
      return body.case === 'partialRequest' ? instead(withRequest(otherMessage(body.value))) : undefined;
    case 'false_order':
      return body.case === 'partialRequest' ? instead(falselyOrdered(fault.how, body.value, asking)) : undefined;
    case 'other_scheme':
      return body.case === 'partialRequest' ? mockRequest(fault.how, envelope, body.value) : undefined;
    case 'other_signers':
      return body.case === 'partialRequest' ? instead(otherSigners(fault.how, body.value, asking)) : undefined;
    case 'reuse_nonce':
      return body.case === 'partialRequest' ? secondRequest(envelope, body.value, asking) : undefined;
    case 'substitute_opening':
      if (body.case === 'dkgSeal') return instead(otherSealingKeys(fault.how, body.value, asking));
      return body.case === 'dkgVerify' ? instead(otherCommitments(fault.how, body.value, asking)) : undefined;
    case 'supply_dealers':
      return body.case === 'dkgVerify' ? instead(suppliedDealers(body.value, asking)) : undefined;
    case 'split_confirm':
      return body.case === 'dkgConfirm' ? instead(otherResults(body.value, asking)) : undefined;
    case 'altered_request': {
      const changed = alteredFrame(envelope, fault);
      return changed && saidInstead(changed);
    }
  }
}

type Request = Extract<WireBody, { readonly case: 'partialRequest' }>;

function withRequest(value: PartialRequest): Request {
  return { case: 'partialRequest', value };
}

/** Keeps the length, so that a digest stays a digest. */
function otherMessage(request: PartialRequest): PartialRequest {
  // A copy: a buffer's own slice would change the original request too.
  const message = Uint8Array.from(request.message);
  message[0] = (message[0] ?? 0) ^ 0xff;
  return { ...request, message };
}

/**
 * After the original request: the same ordered message, in another list of signers (FROST), so that the challenge
 * differs. Its tag differs, too: its answer never counts as one of the attempt.
 */
function secondRequest(envelope: WireEnvelope, request: PartialRequest, asking: Asking): Said | undefined {
  if (request.nonceNumber === 0n) return undefined;
  const changed = otherSigners('commitments', request, asking) ?? withRequest(request);
  const second = { ...changed.value, attemptTag: request.attemptTag ^ 1n };
  return saidAfter(envelope, withBody(envelope, withRequest(second)));
}

/** The message differs, too, unless only the witness is missing: a node without the check would sign it. */
function falselyOrdered(
  how: FaultOf<'false_order'>['how'],
  request: PartialRequest,
  { earlier, random }: Asking,
): Request | undefined {
  const { order, ...rest } = otherMessage(request);
  if (order === undefined) return undefined;
  switch (how) {
    case 'none':
      return withRequest(rest as PartialRequest);
    case 'earlier':
      return earlier?.order && withRequest({ ...rest, order: earlier.order });
    case 'unwitnessed':
      return order.needsWitness
        ? withRequest({ ...request, order: { ...order, witnessMac: new Uint8Array(0) } })
        : undefined;
    default:
      return withRequest({ ...rest, order: { ...order, mac: Uint8Array.from(random(order.mac.length)) } });
  }
}

/**
 * A request for mock ECDSA with the original request's order, after or instead of it. The nonce is 1 and R the generator, so
 * that a partial s gives the share (s − m)/r by one subtraction and one division.
 */
function mockRequest(
  how: FaultOf<'other_scheme'>['how'],
  envelope: WireEnvelope,
  request: PartialRequest,
): Said | undefined {
  if (request.scheme !== Scheme.FROST_BIP340) return undefined;
  const group = groupOf('secp256k1');
  const mock: PartialRequest = {
    ...request,
    scheme: Scheme.MOCK_ECDSA,
    nonceNumber: 0n,
    signers: [],
    noncePoint: Uint8Array.from(group.generator),
    mockNonceInverse: Uint8Array.from(group.encodeScalar(1n)),
  };
  if (how === 'instead') return saidInstead(withBody(envelope, withRequest(mock)));
  // Another tag: its answer never counts as one of the attempt.
  const behind = { ...mock, attemptTag: request.attemptTag ^ 1n };
  return saidAfter(envelope, withBody(envelope, withRequest(behind)));
}

function otherSigners(
  how: FaultOf<'other_signers'>['how'],
  request: PartialRequest,
  { nodeId, random }: Asking,
): Request | undefined {
  const { signers, scheme } = request;
  if (signers.length < 2) return undefined;
  const withSigners = (changed: SignerCommitment[]) => withRequest({ ...request, signers: changed });
  switch (how) {
    case 'fewer':
      return withSigners(signers.filter((signer) => signer.nodeId === nodeId));
    case 'unsorted':
      return withSigners([...signers].reverse());
    default: {
      const other = signers.find((signer) => (signer.nodeId === nodeId) === (how === 'own'));
      if (other === undefined) return undefined;
      const group = groupOf(scheme === Scheme.FROST_ED25519 ? 'ed25519' : 'secp256k1');
      const hiding = Uint8Array.from(group.baseMultiply(group.randomScalar(random)));
      return withSigners(signers.map((signer) => (signer === other ? { ...signer, hiding } : signer)));
    }
  }
}

/** Shares sealed to these keys could be read in transit. */
function otherSealingKeys(
  how: FaultOf<'substitute_opening'>['how'],
  { recipients, ...rest }: DkgSeal,
  { random }: Asking,
): WireBody | undefined {
  if (how === 'commitments' || recipients.length === 0) return undefined;
  const changed = recipients.map((opening) => ({ ...opening, sealingKey: Uint8Array.from(random(32)) }));
  return { case: 'dkgSeal', value: { ...rest, recipients: changed } };
}

function otherCommitments(
  how: FaultOf<'substitute_opening'>['how'],
  { dealers, ...rest }: DkgVerify,
  { nodeId, attempt, random }: Asking,
): WireBody | undefined {
  const { terms } = attempt;
  if (how !== 'commitments' || terms === undefined) return undefined;
  const group = groupOf(terms.curve);
  // The node knows its own.
  const dealer = dealers.find((opening) => opening.dealer !== nodeId && !opening.clientSupplied);
  if (dealer === undefined) return undefined;
  const last = Uint8Array.from(group.baseMultiply(group.randomScalar(random)));
  const commitments = [...dealer.commitments.slice(0, -1), last];
  const changed = dealers.map((opening) => (opening === dealer ? { ...opening, commitments } : opening));
  return { case: 'dkgVerify', value: { ...rest, dealers: changed } };
}

/** Marks every dealer of the request as client-supplied, with the coordinator's own polynomials. */
function suppliedDealers({ dealers }: DkgVerify, { nodeId, attempt, random }: Asking): WireBodyInit | undefined {
  const { terms } = attempt;
  if (terms === undefined || dealers.length === 0) return undefined;
  const { curve, threshold } = terms;
  const group = groupOf(curve);
  const none = new Uint8Array(0);
  const polynomialOf = (dealer: number): Polynomial => {
    const known = attempt.supplied.get(dealer);
    if (known !== undefined) return known;
    const fresh = randomPolynomial(curve, threshold, random);
    attempt.supplied.set(dealer, fresh);
    return fresh;
  };
  const openings = dealers.map((opening): DkgOpening => {
    const commitments = commitTo(curve, polynomialOf(opening.dealer)).map((point) => Uint8Array.from(point));
    return { ...opening, commitments, possession: none, sealingKey: none, signature: none, clientSupplied: true };
  });
  const clientSupplied = dealers.map(({ dealer }) => ({
    dealer,
    share: Uint8Array.from(group.encodeScalar(shareFor(curve, polynomialOf(dealer), nodeId))),
  }));
  return { case: 'dkgVerify', value: { dealers: openings, sealed: [], clientSupplied } };
}

/** Another group key in one of the results to compare; if the nodes share no key, another transcript. */
function otherResults({ results, ...rest }: DkgConfirm, { nodeId, attempt }: Asking): WireBody | undefined {
  const { terms } = attempt;
  const other = results.find((result) => result.nodeId !== nodeId);
  if (terms === undefined || other === undefined) return undefined;
  const changed = results.map((result) =>
    result === other ? { ...result, ...otherThan(other, terms.curve) } : result,
  );
  return { case: 'dkgConfirm', value: { ...rest, results: changed } };
}

function otherThan({ publicKey, transcriptDigest }: DkgConfirm['results'][number], curve: Curve) {
  if (publicKey.length === 0) return { transcriptDigest: transcriptDigest.map((byte) => byte ^ 1) };
  const group = groupOf(curve);
  return { publicKey: Uint8Array.from(group.add(publicKey, group.generator)) };
}
