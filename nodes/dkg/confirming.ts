/**
 * The echo: a node makes its key final only when all n nodes signed the same result.
 *
 * A dealer that sent two nodes different openings gives them different finish digests, so that no node confirms; the
 * coordinator, which holds the signed openings, finds the dealer. This module never blames a node.
 *
 * Of a refresh this is the commit: the node replaces its share by the new one, which all nodes hold.
 *
 * Invariant: `final`, the key record and the proof (every node's signature of the result) become durable in one write.
 */
import { equalBytes } from '../../core/crypto/bytes.ts';
import { type FinishedDkg, sameResult, verifyFinished } from '../../core/crypto/dkg-transcripts.ts';
import type { DkgConfirm } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { bindingAtMaking, type KeyBinding } from '../../proto/key-schemes.ts';
import { ownCopy } from '../records/messages.ts';
import { type DkgParty, identityKeyOf, idFault, type PartyOutcome, type Refused, refused } from './party.ts';
import type { Final, Provisional } from './state.ts';

/** DkgConfirm, first or repeated. */
export function confirm(state: Provisional | Final, request: DkgConfirm, party: DkgParty): PartyOutcome {
  const { terms, finished } = state;
  const results = [...request.results].sort((a, b) => a.nodeId - b.nodeId);
  const ids = results.map(({ nodeId }) => nodeId);
  const fault = idFault('node', ids, terms);
  if (fault !== undefined) return refused('REQUEST_INVALID', fault);
  if (ids.length !== terms.totalNodes) {
    return refused('REQUEST_INVALID', `${ids.length} results where ${terms.totalNodes} nodes must agree`);
  }
  const unsigned = results.find((result) => !isSigned(state, result, party));
  if (unsigned !== undefined) return refused('SIGNATURE_INVALID', `node ${unsigned.nodeId}`);
  const different = results.filter((result) => !sameResult(result, finished)).map(({ nodeId }) => nodeId);
  if (different.length > 0) {
    return refused('TRANSCRIPT_MISMATCH', `node ${party.nodeId} and nodes ${different.join(', ')} differ`);
  }

  const body = { case: 'dkgConfirmed', value: { nodeId: party.nodeId } } as const;
  if (state.phase === 'final') return { kind: 'answered', body };
  const { dealing, dealers, keyPackage } = state;
  const proof = results.map(({ nodeId, signature }) => ({ nodeId, signature: ownCopy(signature) }));
  const final: Final = { phase: 'final', terms, opening: dealing.opening, dealers, finished, proof };
  const scheme = bindingAtMaking(terms.curve, (terms.scheme ?? '') as KeyBinding) ?? '';
  return {
    kind: 'advanced',
    state: final,
    body,
    finalKey: { keyPackage, scheme, version: terms.refresh?.version ?? 1 },
  };
}

/** This node's own result needs no check of the signature that it made itself. */
function isSigned({ terms, finished }: Provisional | Final, result: FinishedDkg, party: DkgParty): boolean {
  const { nodeId } = result;
  const own =
    nodeId === party.nodeId && equalBytes(result.signature, finished.signature) && sameResult(result, finished);
  return own || verifyFinished(terms, result, identityKeyOf(party, nodeId));
}

/** A final node's answer to a late request: the code, and the proof that all nodes had finished. */
export function alreadyFinal({ finished, proof }: Final): Refused {
  return { ...refused('ALREADY_FINAL'), results: proof.map((signed) => ({ ...finished, ...signed })) };
}
