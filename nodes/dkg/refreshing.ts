/**
 * What a node deals in a refresh: its part of the secret of a key that it holds, so that all parts add up to the same secret.
 *
 * Invariants
 * - Only a gateway's order, for this key, version and scheme, makes a node deal. The order's time counts when an attempt is dealt.
 * - The shares that are replaced are of the version before; the sharing (nodes, threshold) is theirs.
 * - A node that has signed a result deals in no later attempt until it is shown another node's opening of that attempt: not all
 *   nodes have signed the result then, and it can replace no share (state.ts).
 */
import { type DkgTerms, isSignedOpening, partOfSecret } from '../../core/crypto/dkg-transcripts.ts';
import { macHolds, refreshDigest } from '../../core/crypto/order-macs.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import type { DkgOpen } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import { isSharedKey, type KeyBinding } from '../../proto/key-schemes.ts';
import { isRefreshSession } from '../../proto/limits.ts';
import type { StoredKey } from '../records/key-record.ts';
import { keyRecordKey } from '../records/records.ts';
import { type DkgWorld, identityKeyOf, type PartyOutcome, refused } from './party.ts';
import type { DkgState } from './state.ts';

/** The terms of an attempt, and what this node deals. */
export interface Refreshing {
  readonly kind: 'refreshing';
  readonly terms: DkgTerms;
  /** The constant term of its polynomial. Secret. */
  readonly part: bigint;
  /** The key that is bound now: an unbound one is bound before its shares are replaced. */
  readonly binds: StoredKey | undefined;
}

/** Whether a request names a refresh as its session does. */
export function namesRefresh(session: string, { refresh }: DkgOpen): boolean {
  if (refresh === undefined) return !isRefreshSession(session);
  return refresh.version > 1 && refreshSessionId(refresh.keySession, refresh.version) === session;
}

/** A DkgOpen of a new attempt. */
export function beginRefresh(
  state: DkgState,
  { tenant, ...made }: DkgTerms,
  { refresh, scheme, renounced }: DkgOpen,
  { party, nowMs, key }: DkgWorld,
): Refreshing | PartyOutcome {
  const { keySession: keyId, version, expiresEpochMs, mac } = refresh!;
  const expiresMs = Number(expiresEpochMs);
  const digest = refreshDigest({ tenant, keyId, version, scheme, expiresMs });
  if (!macHolds(party.orderKey, digest, mac) || nowMs >= expiresMs) return refused('ORDER_INVALID');
  if (key === undefined) return { kind: 'reads', recordKey: keyRecordKey(tenant, keyId) };
  const { stored } = key;
  if (stored?.version !== version - 1) {
    return refused('KEY_UNKNOWN', `version ${version - 1} of ${keyId}, and has ${stored?.version ?? 'none'}`);
  }
  const { keyPackage } = stored;
  const { chainCode, verificationShares, signingShare } = keyPackage;
  const terms = { ...made, tenant, refresh: { keyId, version, chainCode, verificationShares } };
  if (!isSharedAs(terms, stored)) return refused('REQUEST_INVALID', 'the key is not shared so, or signs otherwise');
  if (state.phase === 'provisional') {
    const { dealer = 0 } = renounced ?? {};
    const other = dealer !== party.nodeId && participantsOf(terms).includes(dealer);
    if (!other || !isSignedOpening(terms, renounced!, identityKeyOf(party, dealer))) return refused('RESULT_SIGNED');
  }
  const binds = stored.scheme === '' ? { ...stored, scheme: terms.scheme as KeyBinding } : undefined;
  return { kind: 'refreshing', terms, part: partOfSecret(terms, party.nodeId, signingShare), binds };
}

function isSharedAs(terms: DkgTerms, { keyPackage, scheme }: StoredKey): boolean {
  const asked = terms.scheme as KeyBinding;
  const ids = participantsOf(terms);
  return (
    asked !== '' &&
    isSharedKey(asked) &&
    (scheme === '' || scheme === asked) &&
    keyPackage.curve === terms.curve &&
    keyPackage.threshold === terms.threshold &&
    keyPackage.participants.length === ids.length &&
    keyPackage.participants.every((id, index) => id === ids[index])
  );
}
