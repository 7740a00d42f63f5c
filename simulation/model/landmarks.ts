/**
 * Landmarks: points that a search must reach sometimes, or it tests nothing. Each is a state, a change of state, or a path that
 * few runs take. A search counts the runs that reach each; a landmark at zero is a gap in the generator.
 */
import type { DealNonces, PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { DurableSessions, isSigning, type SessionChange, stateName } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';

/** In the order of the states, then of the paths. */
export const landmarks = [
  ...['PENDING_HUMAN_APPROVAL>RESUMED', 'PENDING_HUMAN_APPROVAL>EXPIRED', 'ACCEPTED>BACKEND_COMPLETED'],
  ...['ACCEPTED>BACKEND_FAILED', 'ACCEPTED>EXPIRED', 'ACCEPTED>REVOKED', 'RESUMED>BACKEND_COMPLETED'],
  ...['RESUMED>BACKEND_FAILED', 'RESUMED>EXPIRED', 'BACKEND_FAILED>RESUMED', 'BACKEND_FAILED>EXPIRED'],
  'BACKEND_FAILED>REVOKED',
  'a call waits while its session expires',
  'a call waits while its session is revoked',
  'a call is refused at overload',
  'the coordinator dies while a call waits',
  'a node restarts while it owes a partial',
  'a partial of an earlier attempt arrives',
  'a nonce is unknown to its node',
  'nonces are dealt again',
  'a wrong partial excludes its node',
  'a write is refused',
  'a newer session takes an intent over',
  'a key generation begins another attempt',
  'a key generation goes to other nodes',
  'a key is closed',
  'two coordinators run at once',
  'an earlier coordinator is refused',
] as const;
export type Landmark = (typeof landmarks)[number];

/** A checker without findings: it calls `reached` for each landmark, once. */
export function watchLandmarks(reached: (landmark: Landmark) => void): Checker {
  const known = new Set<string>(landmarks);
  const sessions = new DurableSessions();
  const seen = new Set<string>();
  /** Calls in progress, to their sessions. */
  const waiting = new Map<bigint, string>();
  /** "session node" of requests for a partial, and "session" to the latest attempt. */
  const owing = new Map<string, Set<string>>();
  const attempts = new Map<string, number>();
  const dealt = new Set<string>();
  let coordinatorBoot = '';

  function reach(landmark: string): void {
    if (seen.has(landmark) || !known.has(landmark)) return;
    seen.add(landmark);
    reached(landmark as Landmark);
  }

  function changed({ record, before, begins }: SessionChange, count: number): void {
    const { sessionId, state, ceremony } = record;
    if (begins && count > 1) reach('a newer session takes an intent over');
    if (before === undefined) return;
    if (state !== before.state) reach(`${stateName(before.state)}>${stateName(state)}`);
    const isBusy = state !== before.state && [...waiting.values()].includes(sessionId);
    if (isBusy && state === ReceiptState.EXPIRED) reach('a call waits while its session expires');
    if (isBusy && state === ReceiptState.REVOKED) reach('a call waits while its session is revoked');
    if (isSigning(record) && isSigning(before) && record.ceremony.excluded.length > before.ceremony.excluded.length)
      reach('a wrong partial excludes its node');
    if (ceremony.kind !== 'dkg' || before.ceremony.kind !== 'dkg' || ceremony.attempt === before.ceremony.attempt)
      return;
    reach('a key generation begins another attempt');
    if (before.ceremony.participants?.join() !== ceremony.participants?.join())
      reach('a key generation goes to other nodes');
  }

  function framed({ envelope: { from, to, message } }: Extract<Observation, { kind: 'frame' }>): void {
    const { session, attempt, body } = message;
    if (body.case === 'partialRequest') {
      owing.set(session, (owing.get(session) ?? new Set()).add(to));
      attempts.set(session, Math.max(attempt, attempts.get(session) ?? 0));
    } else if (body.case === 'partialReply') {
      if (attempt < (attempts.get(session) ?? 0)) reach('a partial of an earlier attempt arrives');
      owing.get(session)?.delete(from);
      const { outcome } = body.value as PartialReply;
      if (outcome.case === 'refusal' && outcome.value.code === PartialRefusalCode.NONCE_UNKNOWN)
        reach('a nonce is unknown to its node');
    } else if (body.case === 'dealNonces') {
      const name = `${to} ${(body.value as DealNonces).scheme}`;
      if (dealt.has(name)) reach('nonces are dealt again');
      dealt.add(name);
    }
  }

  return {
    invariant: 'landmarks-counted',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called': {
          const { sessionId, signingSessionId } = observation.request as Readonly<Record<string, string | undefined>>;
          waiting.set(observation.callId, signingSessionId ?? sessionId ?? '');
          return undefined;
        }
        case 'answered':
          waiting.delete(observation.callId);
          if (observation.method === 'closeKey') reach('a key is closed');
          return undefined;
        case 'failed':
          waiting.delete(observation.callId);
          if (observation.error.kind === 'overloaded') reach('a call is refused at overload');
          return undefined;
        case 'process': {
          const { process, what } = observation;
          if (process === 'coordinator' && what === 'up') coordinatorBoot = observation.boot;
          if (what !== 'down') return undefined;
          if (process === 'coordinator' && waiting.size > 0) reach('the coordinator dies while a call waits');
          if ([...owing.values()].some((asked) => asked.has(process))) reach('a node restarts while it owes a partial');
          return undefined;
        }
        case 'frame':
          framed(observation);
          return undefined;
        case 'written': {
          if (observation.outcome !== 'written') {
            reach('a write is refused');
            if (observation.process === 'coordinator' && observation.boot !== coordinatorBoot)
              reach('an earlier coordinator is refused');
          }
          const changes = sessions.take(observation);
          for (const change of changes) changed(change, changes.length);
          return undefined;
        }
        case 'fault':
          if (observation.fault === 'second_coordinator' && observation.what === 'fired')
            reach('two coordinators run at once');
          return undefined;
        default:
          return undefined;
      }
    },
  };
}
