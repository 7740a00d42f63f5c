/**
 * The reference model of the end of a wallet's key: it is closed only when its gateway asked for that, and nodes are told to delete
 * their shares only when it is closed and no session of it can sign any more. A revocation of clients' sessions leaves the key.
 */
import type { CloseKeyRequest } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { DeleteKey } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { isSigning, stateName } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { isOpen, isPaused } from './answer-facts.ts';
import type { History } from './history.ts';

export function closingsAsked(history: History): Checker {
  /** "tenant/key" that a gateway asked to close. */
  const asked = new Set<string>();
  /** A stored record may have looked strange, and its session gone. */
  let wasTampered = false;

  function deleted(tenant: string, keyId: string, atMs: number): string | undefined {
    if (!asked.has(`${tenant}/${keyId}`)) return `nodes are told to delete the key ${keyId}, which no gateway closed`;
    if (!history.isClosed(tenant, keyId)) return `nodes are told to delete the key ${keyId}, and it is not closed`;
    if (wasTampered) return undefined;
    for (const versions of history.all()) {
      const { record } = versions.at(-1)!;
      if (!isSigning(record) || record.tenant !== tenant || record.ceremony.facts.keyId !== keyId) continue;
      // Without a hold on the intent it never signs, and is not listed.
      if (!record.ceremony.guarded || record.ceremony.curve === '' || history.isOverdue(record, atMs)) continue;
      if (isOpen(record.state) || isPaused(record.state))
        return `nodes are told to delete the key ${keyId}, and session ${record.sessionId} is ${stateName(record.state)}`;
    }
    return undefined;
  }

  return {
    invariant: 'closing-as-asked',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called':
          if (observation.method === 'closeKey') {
            const { keyId, revokeOnly } = observation.request as CloseKeyRequest;
            if (!revokeOnly) asked.add(`${observation.tenant}/${keyId}`);
          }
          return undefined;
        case 'written': {
          const { write } = observation;
          if (!('kind' in write) || write.kind !== 'closeKey' || observation.outcome !== 'written') return undefined;
          return asked.has(`${write.tenant}/${write.keyId}`)
            ? undefined
            : `the key ${write.keyId} is closed, and no gateway asked for it`;
        }
        case 'fault':
          if (observation.fault === 'store_tampered') wasTampered = true;
          return undefined;
        case 'frame': {
          const { from, to, message } = observation.envelope;
          if (message.body.case !== 'deleteKey' || observation.touched || !to.startsWith('node/')) return undefined;
          if (from.startsWith('node/')) return undefined;
          return deleted(message.tenant, (message.body.value as DeleteKey).keySession, observation.atMs);
        }
        default:
          return undefined;
      }
    },
  };
}
