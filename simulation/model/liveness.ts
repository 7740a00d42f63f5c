/**
 * Strict liveness. In calm (no fault is armed, every process runs and every link is up), some time after its begin: each call
 * gets its answer within a bound, and no answer says that nodes are missing. At any time, a call gets at most one answer, and a
 * call whose gateway and coordinator run gets an answer or an error: none is lost.
 */
import type { CallReply } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { proofIn } from '../cluster/invariants/answer-parts.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { isPresent, Troubles } from './troubles.ts';

export interface LivenessOptions {
  readonly nodesTotal: number;
  /** The time that a call waits for unreachable nodes. */
  readonly nodesWaitMs: number;
  readonly partialTimeoutMs: number;
  /** The limit of waiting calls of one session. */
  readonly callsWaitingMax: number;
  /** Sessions refuse messages: then no answer has a bound, but each call still gets one. */
  readonly hasSmallMailboxes: boolean;
}

/** A write fails after 5 s; the next one waits for it. */
const storeSettleMs = 12_000;

/** The time until a call has reached its session, and is refused or waits. */
const takenInMs = 100;

const missing: ReadonlySet<string> = new Set(['QUORUM_UNAVAILABLE', 'NODES_UNAVAILABLE']);

export function answeredInTime(options: LivenessOptions): Checker {
  const { nodesTotal, nodesWaitMs, partialTimeoutMs, callsWaitingMax, hasSmallMailboxes } = options;
  /** The extra time for work that began before the calm: rounds that wait for nodes, a write whose answer is lost (5 s). */
  const settleMs = nodesWaitMs + 4 * partialTimeoutMs + 6_500;
  const boundMs = 1_000 + 2 * nodesWaitMs;
  const troubles = new Troubles(nodesTotal);
  /** Faults that hinder frames between gateway and coordinator, or stop one of them. */
  const silencing = new Set<string>();
  let silencedMs = 0;
  /** Faults between the coordinator and its store. A write whose answer is lost fails after 5 s. */
  const withoutStore = new Set<string>();
  let storelessMs = Number.NEGATIVE_INFINITY;
  let wasRolledBack = false;
  /** A call may reach the coordinator twice. */
  let mayRepeat = false;
  const calls = new Map<bigint, { readonly method: string; readonly atMs: number; readonly session: string }>();
  const replied = new Set<bigint>();
  /** Calls that the coordinator has not answered; their callers may have left. */
  const inHand = new Set<bigint>();
  let nextScanMs = 0;
  /** By checkpoint of a failed session: when it became durable. */
  const writtenMs = new Map<string, number>();

  const isCalm = (sinceMs: number) => !hasSmallMailboxes && troubles.isCalm && sinceMs >= troubles.sinceMs + settleMs;

  function noteSilencing(name: string, is: boolean, atMs: number): void {
    if (!is && !silencing.has(name)) return;
    silencedMs = atMs;
    if (is) silencing.add(name);
    else silencing.delete(name);
  }

  function noteStore(name: string, is: boolean, atMs: number): void {
    if (!is && !withoutStore.has(name)) return;
    storelessMs = atMs;
    if (is) withoutStore.add(name);
    else withoutStore.delete(name);
  }

  function answered(callId: bigint, response: unknown): string | undefined {
    const call = calls.get(callId);
    if (call === undefined || !isCalm(call.atMs) || wasRolledBack) return undefined;
    const { receipt, checkpoint } = proofIn(response) ?? {};
    // A session that failed before the call tells why it failed.
    const isOld = (writtenMs.get(checkpoint?.checkpointId ?? '') ?? call.atMs) < call.atMs;
    const reason = isOld ? '' : (receipt?.reasonCode ?? '');
    const { reasonCode = '', message = '' } = response as { readonly reasonCode?: string; readonly message?: string };
    // A preview and a step say why they have no partial: a node that holds no share of the key is ready, and cannot sign.
    const isMissing = [
      [reason, receipt?.message],
      [reasonCode, message],
    ].some(([code = '', why = '']) => missing.has(code) && !/cannot sign/.test(why));
    return isMissing
      ? `${call.method} hears ${reason || reasonCode}, and all nodes have been ready for ${settleMs} ms`
      : undefined;
  }

  return {
    invariant: 'answered-in-time',
    observe(observation: Observation) {
      const { atMs } = observation;
      troubles.take(observation);
      switch (observation.kind) {
        case 'link':
          if (observation.peer === 'gateway') noteSilencing('link', observation.what === 'linkDown', atMs);
          return undefined;
        case 'process': {
          const { process, what } = observation;
          if (what === 'down' && process === 'coordinator') inHand.clear();
          const isAway = what === 'down' || what === 'paused';
          if (process === 'gateway' || process === 'coordinator' || process === 'redis')
            noteSilencing(process, isAway, atMs);
          if (process === 'redis') noteStore(process, isAway, atMs);
          if (observation.storeLost) wasRolledBack = true;
          return undefined;
        }
        case 'fault': {
          const { id, what, fault, targets } = observation;
          if (fault === 'rollback') wasRolledBack = true;
          if (!isPresent(observation)) return undefined;
          if (fault === 'duplicate') mayRepeat = true;
          if (/^(store_(lost|unanswered|slow|failing)|redis_|rollback)/.test(fault))
            noteStore(id, what !== 'ended', atMs);
          if (/^(receiver_|worker_|double_|poison_)/.test(fault)) return undefined;
          const isFar = targets.length > 0 && targets.every((target) => target.startsWith('node/'));
          if (!isFar && !/^(store_|clock_|force_)/.test(fault)) noteSilencing(id, what !== 'ended', atMs);
          return undefined;
        }
        case 'healed':
          if (silencing.size > 0) silencedMs = atMs;
          silencing.clear();
          withoutStore.clear();
          return undefined;
        case 'called':
          inHand.add(observation.callId);
          calls.set(observation.callId, { method: observation.method, atMs, session: sessionOf(observation.request) });
          return undefined;
        case 'frame': {
          const { body } = observation.envelope.message;
          if (body.case !== 'callReply' || observation.touched) return undefined;
          const { callId, outcome } = body.value as CallReply;
          const others = inHand.has(callId) ? inHand.size - 1 : inHand.size;
          inHand.delete(callId);
          const isTooMany = outcome.case === 'error' && /too many calls waiting/.test(outcome.value.message);
          if (isTooMany && others < callsWaitingMax && !mayRepeat && !hasSmallMailboxes)
            return `a call is refused because of ${others} others`;
          if (replied.has(callId) && !mayRepeat)
            return `a call (${calls.get(callId)?.method ?? 'unknown'}) is answered twice`;
          replied.add(callId);
          return undefined;
        }
        case 'written': {
          if (observation.process !== 'coordinator' || observation.write.kind === 'closeKey') return undefined;
          const { state, checkpointId } = observation.write.session;
          if (state === ReceiptState.BACKEND_FAILED && !writtenMs.has(checkpointId)) writtenMs.set(checkpointId, atMs);
          return undefined;
        }
        case 'answered': {
          const wrong = answered(observation.callId, observation.response);
          calls.delete(observation.callId);
          return wrong;
        }
        case 'failed': {
          const { callId, error, method } = observation;
          const call = calls.get(callId);
          calls.delete(callId);
          if (call === undefined) return undefined;
          // A read of no sense is refused (session-reads.ts).
          if (error.kind === 'invalidRequest' && method === 'readSessions') return undefined;
          // Whether so many wait is checked where the call is refused.
          if (isCalm(call.atMs) && !/too many calls waiting/.test(error.message))
            return `${method} fails (${error.kind}), and nothing is wrong`;
          const hasStore = withoutStore.size === 0 && atMs - storelessMs > storeSettleMs;
          if (/session store/.test(error.message) && hasStore)
            return `${method} hears that the store does not answer, and it does`;
          const isLost = error.kind === 'deadlineExceeded' && !replied.has(callId);
          const isClear = silencing.size === 0 && silencedMs < call.atMs;
          return isLost && isClear
            ? `${method} was lost: its gateway and its coordinator ran, and no answer came`
            : undefined;
        }
        default: {
          if (atMs < nextScanMs) return undefined;
          nextScanMs = atMs + 250;
          const waiting = new Map<string, number>();
          for (const { method, atMs: sinceMs, session } of calls.values()) {
            if (!isCalm(sinceMs) || atMs - sinceMs <= takenInMs) continue;
            if (atMs - sinceMs > boundMs) return `${method} waits for ${atMs - sinceMs} ms, and nothing is wrong`;
            const count = (waiting.get(session) ?? 0) + 1;
            waiting.set(session, count);
            if (session !== '' && count > callsWaitingMax) return `${count} calls wait for session ${session}`;
          }
          return undefined;
        }
      }
    },
  };
}

/** The session of a call; empty: none. */
function sessionOf(request: unknown): string {
  const { signingSessionId, sessionId } = request as Readonly<Record<string, string | undefined>>;
  return signingSessionId ?? sessionId ?? '';
}
