/**
 * One partial signature: the checks of a request, and the arithmetic behind them. Pure.
 *
 * `requestFault` checks only the request, `keyFault` request and key, and `computePartial` signs with a nonce that has already
 * left its pool. A node cannot check a request's data of the other signers: only the signature shows that all got the same
 * list. Of the mock's R it checks only the form, not that it is on the curve or fits the nonce's inverse: both come from the
 * coordinator, which knows the nonce and so can compute the key anyway.
 *
 * RFC 9591 §5.2 (round two); core/crypto/mock-ecdsa.ts; core/crypto/owner-ecdsa.ts.
 */
import { CryptoError } from '../../core/crypto/errors.ts';
import { frostPartialWithPoint } from '../../core/crypto/frost/frost.ts';
import { groupOf } from '../../core/crypto/group.ts';
import { mockEcdsaPartial } from '../../core/crypto/mock-ecdsa.ts';
import { signAsOwner } from '../../core/crypto/owner-ecdsa.ts';
import { integerAt } from '../../core/crypto/scalar.ts';
import { type PartialRequest, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { derivationPathCharsMax, nodesMax } from '../../proto/limits.ts';
import { isRecordName } from '../records/records.ts';
import type { TakenNonce } from './nonce-secrets.ts';
import { isDealtScheme, isSigningScheme, schemes } from './schemes.ts';
import type { SigningKey } from './signing-keys.ts';

/** The error of a request, independent of its key, or undefined. Public text. */
export function requestFault(request: PartialRequest, tenant: string, nodeId: number): string | undefined {
  const { scheme, message, derivationPath, nonceNumber } = request;
  if (!isSigningScheme(scheme)) return 'the scheme is unknown';
  if (!isRecordName(tenant, request.keySession)) return 'tenant and key session name no key';
  const { messageBytesMin, messageBytesMax } = schemes[scheme];
  if (message.length < messageBytesMin || message.length > messageBytesMax) {
    return `the message is not ${messageBytesMin} to ${messageBytesMax} bytes`;
  }
  if (derivationPath.length > derivationPathCharsMax)
    return `the path is longer than ${derivationPathCharsMax} characters`;
  if (!isDealtScheme(scheme)) return nonceNumber === 0n ? undefined : 'keys of this scheme take no dealt nonce';
  if (scheme === Scheme.MOCK_ECDSA) return undefined;
  if (nonceNumber === 0n) return 'a FROST partial needs a nonce';
  return signersFault(request, nodeId);
}

function signersFault({ signers }: PartialRequest, nodeId: number): string | undefined {
  let previous = 0;
  let ownIncluded = false;
  for (const { nodeId: id } of signers) {
    if (id < 1 || id > nodesMax) return `signer ${id} is not from 1 to ${nodesMax}`;
    if (id <= previous) return 'the signers are not ascending and distinct';
    previous = id;
    if (id === nodeId) ownIncluded = true;
  }
  return ownIncluded ? undefined : 'this node is not among the signers';
}

/** The fault of a sound request for this key, or undefined. */
export function keyFault(request: PartialRequest, key: SigningKey): string | undefined {
  const { scheme, signers } = request;
  if (!isSigningScheme(scheme) || schemes[scheme].curve !== key.curve) {
    return `the key is on ${key.curve}, which the scheme is not for`;
  }
  if (!('suite' in schemes[scheme])) return undefined;
  if (signers.length < key.threshold) return `${signers.length} signers are fewer than the threshold ${key.threshold}`;
  const stranger = signers.find(({ nodeId }) => !key.participants.includes(nodeId));
  return stranger && `signer ${stranger.nodeId} holds no share of the key`;
}

/** The partial signature, or the fault. */
export type PartialOutcome =
  | {
      readonly kind: 'partial';
      readonly partial: Uint8Array;
      /** FROST: R, computed by this node. */
      readonly noncePoint?: Uint8Array;
    }
  | { readonly kind: 'fault'; readonly message: string };

/**
 * Signs. The caller has taken the nonce from its pool, so that it is spent in every outcome.
 *
 * @param nonce undefined: mock ECDSA with a nonce without this node's contribution
 */
export function computePartial(
  request: PartialRequest,
  key: SigningKey,
  nonce: TakenNonce | undefined,
  nodeId: number,
): PartialOutcome {
  try {
    if (request.scheme === Scheme.OWNER_ECDSA) {
      return { kind: 'partial', partial: signAsOwner(key.signingShare, request.message) };
    }
    return nonce?.kind === 'frost' ? frost(request, key, nonce, nodeId) : mockEcdsa(request, key);
  } catch (error) {
    if (error instanceof CryptoError) return { kind: 'fault', message: error.message };
    throw error;
  }
}

function mockEcdsa(request: PartialRequest, key: SigningKey): PartialOutcome {
  const group = groupOf('secp256k1');
  const { noncePoint, mockNonceInverse, message } = request;
  const [prefix] = noncePoint;
  if (noncePoint.length !== group.pointBytes || (prefix !== 2 && prefix !== 3)) {
    return { kind: 'fault', message: 'R is not a compressed point' };
  }
  const r = integerAt(noncePoint, 1) % group.order;
  if (r === 0n) return { kind: 'fault', message: 'R has no r' };
  const kInverse = group.decodeNonZeroScalar(mockNonceInverse);
  const partial = mockEcdsaPartial({ kInverse, r, digest: message, signingShare: key.signingShare });
  return { kind: 'partial', partial: group.encodeScalar(partial) };
}

function frost(
  request: PartialRequest,
  key: SigningKey,
  nonce: Extract<TakenNonce, { kind: 'frost' }>,
  nodeId: number,
): PartialOutcome {
  const { signers, message } = request;
  // Refuses a list of signers in which this node's commitments differ from the nonce's (RFC 9591 §5.2).
  const { partial, noncePoint } = frostPartialWithPoint({
    suite: schemes[nonce.scheme].suite,
    nodeId,
    signingShare: key.signingShare,
    groupPublicKey: key.publicKey,
    message,
    commitments: signers,
    nonces: nonce.nonces,
  });
  return { kind: 'partial', partial: groupOf(key.curve).encodeScalar(partial), noncePoint };
}
