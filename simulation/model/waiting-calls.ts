/**
 * The coordinator's unanswered calls, by their session: the time since when one waits there without a pause. A call whose
 * answer reports a vain wait for nodes must have waited.
 */
import type { CallReply, RefreshKeyRequest } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import type { Observation } from '../cluster/observation.ts';

interface Waiting {
  readonly calls: Set<bigint>;
  sinceMs: number;
  /** The time of the latest answer; events at that moment still concern it. */
  answeredMs: number;
}

export class WaitingCalls {
  /** "tenant session <id>", and for a Sign, which names none, "tenant intent <id>". */
  readonly #byName = new Map<string, Waiting>();
  readonly #names = new Map<bigint, string>();

  /** Call it with every observation. */
  take(observation: Observation): void {
    switch (observation.kind) {
      case 'called': {
        const { callId, atMs } = observation;
        const name = nameOf(observation);
        if (name === undefined) return;
        const waiting = this.#byName.get(name) ?? { calls: new Set(), sinceMs: atMs, answeredMs: 0 };
        this.#byName.set(name, waiting);
        if (waiting.calls.size === 0) waiting.sinceMs = atMs;
        waiting.calls.add(callId);
        this.#names.set(callId, name);
        return;
      }
      case 'frame': {
        const { body } = observation.envelope.message;
        if (body.case !== 'callReply') return;
        const { callId } = body.value as CallReply;
        const waiting = this.#byName.get(this.#names.get(callId) ?? '');
        if (waiting?.calls.delete(callId)) waiting.answeredMs = observation.atMs;
        return;
      }
      case 'process':
        if (observation.process === 'coordinator' && observation.what === 'down') this.#byName.clear();
        return;
      default:
        return;
    }
  }

  /** The time that calls for this session, or for its intent, have waited so far; undefined: no known call waits. */
  waitedMs(tenant: string, sessionId: string, intentId: string, nowMs: number): number | undefined {
    const found = [`${tenant} session ${sessionId}`, `${tenant} intent ${intentId}`].flatMap((name) => {
      const waiting = this.#byName.get(name);
      return waiting && (waiting.calls.size > 0 || waiting.answeredMs === nowMs) ? [waiting.sinceMs] : [];
    });
    return found.length === 0 ? undefined : nowMs - Math.min(...found);
  }
}

function nameOf({ tenant, method, request }: Extract<Observation, { kind: 'called' }>): string | undefined {
  const asked = request as Readonly<Record<string, string | undefined>>;
  switch (method) {
    case 'submitSignatureShare':
      return `${tenant} session ${asked.signingSessionId}`;
    case 'previewPartial':
    case 'exchangeDkgShares':
    case 'makeKey':
      return `${tenant} session ${asked.sessionId}`;
    case 'refreshKey': {
      const { keyId, version } = request as RefreshKeyRequest;
      return `${tenant} session ${refreshSessionId(keyId, version)}`;
    }
    case 'sign':
      return `${tenant} intent ${asked.transactionIntentId}`;
    default:
      return undefined;
  }
}
