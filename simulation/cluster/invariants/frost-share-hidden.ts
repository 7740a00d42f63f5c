/**
 * The data that a coordinator sees of FROST never makes a node's share computable:
 *
 * - No two partials with one nonce. Two answers z = d + ρe + λcs with the same d and e, and other ρ and c, are two equations more
 *   than they have unknowns beside the share s.
 * - No mock ECDSA partial under a key that signs FROST: there the coordinator knows the nonce k, and s = (k·z − m)/r.
 */
import { Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { Checker, Observation } from '../observation.ts';
import { keyRecordsIn } from './node-records.ts';
import { type AskedOf, PartialRequests } from './partial-requests.ts';
import { hexOf } from './sessions.ts';

export function frostShareHidden(): Checker {
  const requests = new PartialRequests();
  /** Own hiding commitments of nodes, to the round in which each was used. */
  const rounds = new Map<string, string>();
  /** Keys of nodes bound to FROST, by the nodes' own records or by a partial. */
  const frostKeys = new Set<string>();

  function answered({ node, tenant, session, request }: AskedOf): string | undefined {
    const key = `${node} ${tenant}/${request.keySession}`;
    if (request.scheme === Scheme.MOCK_ECDSA) {
      if (!frostKeys.has(key)) return undefined;
      return `${node} gives a mock ECDSA partial under the key ${request.keySession}, which signs FROST: its share is known`;
    }
    frostKeys.add(key);
    const own = request.signers.find(({ nodeId }) => `node/${nodeId}` === node);
    if (own === undefined) return undefined;
    const nonce = `${node} ${hexOf(own.hiding)}`;
    const round = roundOf({ node, tenant, session, request });
    const before = rounds.get(nonce) ?? round;
    rounds.set(nonce, before);
    if (before === round) return undefined;
    return `${node} gives two partials with one nonce (session ${session}): its share is known`;
  }

  return {
    invariant: 'frost-share-hidden',
    observe(observation: Observation) {
      if (observation.kind === 'written' && observation.process !== 'coordinator') {
        for (const { name, key } of keyRecordsIn(observation.write)) {
          if (key.scheme?.startsWith('frost')) frostKeys.add(`${observation.process} ${name}`);
        }
        return undefined;
      }
      const asked = requests.take(observation);
      // For a tag with several contents, the answered one is unknown: the others count when they have a tag to themselves.
      const [first] = asked;
      return first === undefined || asked.some((one) => roundOf(one) !== roundOf(first)) ? undefined : answered(first);
    },
  };
}

/** All inputs of ρ and c. */
function roundOf({ tenant, request }: AskedOf): string {
  const { keySession, derivationPath, message, signers, scheme } = request;
  const list = signers.map(({ nodeId, hiding, binding }) => `${nodeId}:${hexOf(hiding)}:${hexOf(binding)}`);
  return [scheme, tenant, keySession, derivationPath, hexOf(message), ...list].join(' ');
}
