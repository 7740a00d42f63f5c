/**
 * The reference model of a sandbox gateway's reads: the durable state of a session, and a partial signature only of an open
 * session, of a node that takes part.
 */
import type {
  InspectSessionRequest,
  InspectSessionResponse,
  PreviewPartialRequest,
  PreviewPartialResponse,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { hexOf, isSigning, stateName } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { worldBeganMs } from '../cluster/virtual-time.ts';
import { type History, holdersOf } from './history.ts';

type Promised = Extract<Observation, { kind: 'promised' }>;

const isOpen = (state: ReceiptState) => state === ReceiptState.ACCEPTED || state === ReceiptState.RESUMED;

export function sandboxAnswers(history: History): Checker {
  const calledMs = new Map<bigint, number>();
  /** A fault replaced the stored record with one that no coordinator wrote. */
  let wasTampered = false;
  /** The offset of the coordinator's clock from virtual time. */
  let offsetMs = 0;

  function inspected({ tenant, request, response, callId }: Promised): string | undefined {
    const { sessionId } = request as InspectSessionRequest;
    const { found, state, epoch, kind, publicKey, threshold, totalNodes } = response as InspectSessionResponse;
    const versions = history.versions(tenant, sessionId);
    const record = versions.at(-1)?.record;
    if (!found && wasTampered) return undefined;
    if (!found || !record) {
      const isNew = (versions[0]?.fromMs ?? 0) >= (calledMs.get(callId) ?? 0);
      return found === (record !== undefined) || isNew ? undefined : `the session is ${found ? 'not' : ''} there`;
    }
    const { ceremony } = record;
    if (kind !== ceremony.kind) return `a session of kind ${ceremony.kind} is said to be ${kind}`;
    if (epoch > BigInt(record.epoch)) return 'it tells of an epoch that is not durable';
    const then = versions.find((version) => BigInt(version.record.epoch) === epoch)?.record;
    if (then?.state !== state) return 'it tells of another state';
    if (ceremony.kind !== 'dkg') return undefined;
    const isSame = threshold === ceremony.threshold && totalNodes === ceremony.totalNodes;
    if (!isSame) return 'it tells of another threshold or number of nodes';
    const isMade = then.state === ReceiptState.BACKEND_COMPLETED;
    return isMade && hexOf(publicKey) !== ceremony.publicKey ? 'it tells of another key' : undefined;
  }

  function previewed({ tenant, request, response, atMs }: Promised): string | undefined {
    const { sessionId, nodeId } = request as PreviewPartialRequest;
    const { partial, reasonCode } = response as PreviewPartialResponse;
    const record = history.session(tenant, sessionId);
    if (!record || !isSigning(record)) return partial.length > 0 ? 'it has a partial of no session' : undefined;
    const { state, ceremony, expiresMs } = record;
    const key = history.key(tenant, ceremony.facts.keyId);
    const isOutside = key && (!holdersOf(key).includes(nodeId) || ceremony.excluded.includes(nodeId));
    if (partial.length === 0) {
      if (reasonCode === '') return 'it has neither a partial nor a reason';
      if (reasonCode === 'NODE_NOT_PARTICIPANT') return key && !isOutside ? 'its node takes part' : undefined;
      const isSettled = (history.versions(tenant, sessionId).at(-1)?.fromMs ?? 0) < atMs - 1;
      const isTold = !isSettled || ['SESSION_EXPIRED', 'STORE_TAMPERED'].includes(reasonCode);
      return isOpen(state) && isOutside && !isTold ? `its node takes no part, and it hears ${reasonCode}` : undefined;
    }
    if (!isOpen(state)) return `it has a partial in state ${stateName(state)}`;
    if (worldBeganMs + atMs + offsetMs > expiresMs) return 'it has a partial past the lifetime of its session';
    if (!key || isOutside) return `it has a partial of node ${nodeId}, which takes no part`;
    return key.scheme.startsWith('vendor') ? 'it has a partial of a vendor' : undefined;
  }

  return {
    invariant: 'sandbox-answers',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called':
          calledMs.set(observation.callId, observation.atMs);
          return undefined;
        case 'fault':
          if (observation.fault === 'store_tampered') wasTampered = true;
          return undefined;
        case 'clock':
          if (observation.process === 'coordinator') offsetMs = observation.offsetMs;
          return undefined;
        case 'promised':
          if (observation.method === 'inspectSession') return inspected(observation);
          return observation.method === 'previewPartial' ? previewed(observation) : undefined;
        default:
          return undefined;
      }
    },
  };
}
