/**
 * The pair of a dealer with itself, and which pairs a DKG still misses.
 *
 * A DKG takes the n·(n−1) ordered pairs of two different nodes. A real dealer's own share needs no call: its node computes
 * it once all of these have verified. A client-supplied dealer's own share is interpolated from any t of the shares that
 * the client gave for the other nodes, each verified against the same commitments (Shamir 1979). These shares are in this
 * actor's memory only, never in a store: after a crash or a pause the client is asked for the pair of that dealer with
 * itself.
 */
import { decodeShare } from '../../core/crypto/dkg-transcripts.ts';
import { groupOf } from '../../core/crypto/group.ts';
import { interpolateAt } from '../../core/crypto/polynomial.ts';
import {
  type DkgSession,
  type DkgSessionStep,
  type DkgWork,
  isClientSupplied,
  nodeIds,
  type Pair,
  pair,
} from './state.ts';

/** Every pair of two nodes has verified, and every dealer's own share is verified or can be computed without a call. */
export function isComplete(record: DkgSession, work: DkgWork): boolean {
  const { totalNodes } = record.ceremony;
  if (work.verified.size < totalNodes * (totalNodes - 1)) return false;
  return missingPairs(record, work).length === 0;
}

/** The pairs that still need a call, by dealer, then by recipient. */
export function missingPairs(record: DkgSession, work: DkgWork): Pair[] {
  const ids = nodeIds(record);
  return ids.flatMap((dealer) => {
    const missing = ids.filter((recipient) => recipient !== dealer && !work.verified.has(pair(dealer, recipient)));
    const names = missing.map((recipient) => pair(dealer, recipient));
    if (isClientSupplied(record, dealer) && !work.verified.has(pair(dealer, dealer))) {
      const coming = supplied(record, work, dealer).length + missing.length;
      const vanishes = missing.length === 0 && ownShare(record, work, dealer) === undefined;
      if (coming < record.ceremony.threshold || vanishes) names.push(pair(dealer, dealer));
    }
    return names;
  });
}

const namedMax = 10;

/** The progress of the pairs, in a message of bounded length. */
export function pairsText(record: DkgSession, work: DkgWork): string {
  const { totalNodes } = record.ceremony;
  const missing = missingPairs(record, work);
  const total = totalNodes * (totalNodes - 1);
  const others = [...work.verified].filter((name) => !isOwn(name)).length;
  const count = `${others} of ${total} pairs have verified`;
  if (missing.length === 0) return count;
  const more = missing.length > namedMax ? ` and ${missing.length - namedMax} more` : '';
  const dealers = [...new Set(missing.map((name) => Number(name.split('>')[0])))].filter((id) =>
    isClientSupplied(record, id),
  );
  const owed = dealers.length > 0 ? `; the client supplies dealer ${dealers.join(', ')}` : '';
  return `${count}, missing ${missing.slice(0, namedMax).join(', ')}${more}${owed}`;
}

function isOwn(name: Pair): boolean {
  const [dealer, recipient] = name.split('>');
  return dealer === recipient;
}

/** The own share of a client-supplied dealer, as the curve encodes scalars. Undefined: memory holds too few shares. Secret. */
export function ownShare(record: DkgSession, work: DkgWork, dealer: number): Uint8Array | undefined {
  const { curve, threshold } = record.ceremony;
  const points = supplied(record, work, dealer).slice(0, threshold);
  if (points.length < threshold) return undefined;
  const value = interpolateAt(curve, points, dealer);
  // A share of zero is refused everywhere.
  return value === 0n ? undefined : groupOf(curve).encodeScalar(value);
}

/** The shares of a dealer that its client gave for other nodes. */
function supplied(record: DkgSession, work: DkgWork, dealer: number) {
  return nodeIds(record).flatMap((recipient) => {
    const bytes = recipient === dealer ? undefined : work.supplied.get(pair(dealer, recipient));
    const value = bytes && decodeShare(record.ceremony.curve, bytes);
    return value === undefined ? [] : [{ x: recipient, value }];
  });
}

/** Stores a verified client-supplied share in memory, until the session leaves memory. */
export function storeSupplied(
  { state: { work } }: DkgSessionStep,
  dealer: number,
  recipient: number,
  share: Uint8Array,
): void {
  work.supplied.set(pair(dealer, recipient), Uint8Array.from(share));
}
