/**
 * Calls that the coordinator has in hand, by the session that they are about: since when one waits there without a pause. What
 * says that it waited for nodes in vain must have waited.
 */
import type { CallReply } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { Observation } from '../sim/observation.ts';

interface Waiting {
  readonly calls: Set<bigint>;
  sinceMs: number;
  /** When the latest one was answered; what happens at that moment still concerns it. */
  answeredMs: number;
}

export class WaitingCalls {
  /** "tenant session <id>", and of a Sign, which names none, "tenant intent <id>". */
  readonly #byName = new Map<string, Waiting>();
  readonly #names = new Map<bigint, string>();

  /** To be told of every observation. */
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

  /** How long calls for this session, or for its intent, have waited by now; undefined: none is known to wait. */
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
      return `${tenant} session ${asked.sessionId}`;
    case 'sign':
      return `${tenant} intent ${asked.transactionIntentId}`;
    default:
      return undefined;
  }
}
