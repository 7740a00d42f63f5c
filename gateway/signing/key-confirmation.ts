/**
 * Checks that the nodes made the key that a coordinator names. Every node of a key generation signs its result with the
 * identity that the roster pins (core/crypto/dkg-transcripts.ts); the gateway verifies these signatures before it returns a key.
 *
 * Of a refresh they verify the same: every node has signed that it holds its share of this version, and replaces the one before.
 *
 * Invariant: no key of another session, tenant, curve, scheme, threshold or number of nodes than asked for passes, and none that a
 * participant did not sign. So a coordinator can refuse to make a key; it cannot name another.
 */
import { equalBytes } from '../../core/crypto/bytes.ts';
import { type DkgTerms, type FinishedDkg, verifyFinished } from '../../core/crypto/dkg-transcripts.ts';
import { areParticipants } from '../../core/crypto/participants.ts';
import type { MakeKeyResponse } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import { bindingAtMaking, keyBinding, ownKeysOf, schemeFacts, sharingAtMaking } from '../../proto/key-schemes.ts';
import { defaultSharing, type Roster, rosterDigest } from '../../proto/roster.ts';
import type { RequestOf } from '../../proto/wire.ts';

export interface AskedKey {
  readonly tenant: string;
  readonly request: RequestOf<'makeKey'>;
  readonly keyScheme?: Scheme | undefined;
}

/** The fault of an answer's key; undefined: every node has signed it, or the answer has no key. */
export function keyFault(asked: AskedKey, made: MakeKeyResponse, roster: Roster): string | undefined {
  return unconfirmed(made, termsOf(asked, made, roster), roster);
}

/** The same of new shares of a key. */
export function refreshFault(
  tenant: string,
  { keyId, version, scheme }: RequestOf<'refreshKey'>,
  made: MakeKeyResponse,
  roster: Roster,
): string | undefined {
  const { threshold, participants, chainCode, confirmation } = made;
  const name = keyBinding(scheme) ?? '';
  const terms: DkgTerms | undefined =
    name === ''
      ? undefined
      : {
          tenant,
          session: refreshSessionId(keyId, version),
          attempt: confirmation?.attempt ?? 0,
          rosterDigest: rosterDigest(roster),
          curve: schemeFacts(name).curve,
          threshold,
          totalNodes: participants.length,
          participants,
          scheme: name,
          refresh: { keyId, version, chainCode, verificationShares: [] },
        };
  return unconfirmed(made, terms, roster);
}

function unconfirmed(made: MakeKeyResponse, terms: DkgTerms | undefined, roster: Roster): string | undefined {
  const { publicKey, chainCode, ownerKeys, participants, confirmation } = made;
  if (publicKey.length === 0 && ownerKeys.length === 0) return undefined;
  if (terms === undefined) return 'no key was asked for on these terms';
  if (!areParticipants(participants, terms.totalNodes, roster.nodes.length)) return 'its nodes are not as asked for';
  if (confirmation === undefined || confirmation.signatures.length !== participants.length) {
    return 'not every node of it has signed';
  }
  const { verificationShares, transcriptDigest, signatures } = confirmation;
  // Of owners' keys they are what is signed: the public key is empty then.
  const owners = publicKey.length === 0 ? verificationShares : [];
  if (ownerKeys.length !== owners.length || !ownerKeys.every((key, index) => equalBytes(key, owners[index]!))) {
    return 'the nodes signed other owners';
  }
  const result = { publicKey, verificationShares, chainCode, transcriptDigest };
  const unsigned = participants.find((nodeId, index) => {
    const finished: FinishedDkg = { nodeId, ...result, signature: signatures[index]! };
    return !verifyFinished(terms, finished, roster.nodes[nodeId - 1]!.publicKey);
  });
  return unsigned === undefined ? undefined : `node ${unsigned} has not signed it`;
}

/** undefined: the request asks for no key that there can be. */
function termsOf(
  { tenant, request, keyScheme = Scheme.UNSPECIFIED }: AskedKey,
  { participants, confirmation }: MakeKeyResponse,
  roster: Roster,
): DkgTerms | undefined {
  const curve = request.derivation?.curve || 'secp256k1';
  const asked = keyBinding(keyScheme);
  if ((curve !== 'secp256k1' && curve !== 'ed25519') || asked === undefined) return undefined;
  const scheme = bindingAtMaking(curve, asked);
  if (scheme === undefined) return undefined;
  return {
    tenant,
    session: request.sessionId,
    attempt: confirmation?.attempt ?? 0,
    rosterDigest: rosterDigest(roster),
    curve,
    ...sharingAtMaking(request, scheme, roster.sharing ?? defaultSharing(roster.nodes.length)),
    scheme,
    ownKeys: ownKeysOf(scheme),
    participants,
  };
}
