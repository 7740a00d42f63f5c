/**
 * The lifetimes of sessions, by the coordinator's clock: the lifetime of their state, counted from the write that begins it.
 * After it a session may only expire, and before it must not. From then on the coordinator asks nodes for nothing in its name,
 * and a call hears of no state but an end.
 * The scan expires a session that receives no calls.
 */
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { isRefreshSession } from '../../proto/limits.ts';
import { proofIn } from '../cluster/invariants/answer-parts.ts';
import { isSigning, type SessionChange, stateName } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import type { Promised } from './answer-facts.ts';
import type { History } from './history.ts';

export interface LifetimesMs {
  readonly signing: number;
  readonly pending: number;
  readonly dkg: number;
}

const S = ReceiptState;
const ended: ReadonlySet<ReceiptState> = new Set([S.BACKEND_COMPLETED, S.EXPIRED, S.REVOKED, S.DENIED]);
/** Calls whose answer shows that the coordinator looked at the session's lifetime. */
const steps: ReadonlySet<string> = new Set(['submitSignatureShare', 'resumeSession', 'exchangeDkgShares']);
const requests: ReadonlySet<string> = new Set(['partialRequest', 'dkgOpen', 'dkgSeal', 'dkgVerify', 'dkgConfirm']);
/**
 * A scan (every second) finds an overdue session; a session with a lost write is busy for 5 s, and for up to 3.1 s more if that write
 * began while two faults made the store slow.
 */
const scanMs = 9_500;
/** In calm, the scan of the next second finds it. */
const endedByMs = 2_500;
/** A session of new shares: a century. */
const refreshMs = 36_525 * 86_400_000;

export function lifetimes({ signing, pending, dkg }: LifetimesMs, history: History, beganMs: number): Checker {
  /** The offset of the coordinator's clock from virtual time. */
  let offsetMs = 0;
  /** The time since which nothing hinders the coordinator's scan; Infinity: something does. */
  let clearSinceMs = 0;
  const hindered = new Set<string>();
  /** Open sessions, by their latest record. */
  const live = new Map<string, SessionRecord>();
  /** Checkpoints that an answer named: their writes are over, so a later answer that names one comes from its own moment. */
  const told = new Set<string>();
  let isClockSet = false;
  let nextScanMs = 0;
  let lastMs = 0;

  function lifetimeOf({ sessionId, ceremony, state }: SessionRecord): number {
    if (isRefreshSession(sessionId)) return refreshMs;
    if (ceremony.kind === 'dkg') return dkg;
    return state === S.PENDING_HUMAN_APPROVAL ? pending : signing;
  }

  function changed({ record, before }: SessionChange): string | undefined {
    const { state, checkpointMs, expiresMs } = record;
    if (before === undefined) {
      return expiresMs === checkpointMs + lifetimeOf(record) ? undefined : `it lives ${expiresMs - checkpointMs} ms`;
    }
    if (state === S.RESUMED && before.state !== S.RESUMED && !isRefreshSession(record.sessionId)) {
      if (expiresMs !== checkpointMs + lifetimeOf(record)) return `resumed, it lives ${expiresMs - checkpointMs} ms`;
    } else if (expiresMs !== before.expiresMs && !atVendor(record)) return 'its lifetime has changed';
    const overdue = checkpointMs >= before.expiresMs;
    if (overdue && state !== S.EXPIRED) return `it continues ${checkpointMs - before.expiresMs} ms past its lifetime`;
    if (!overdue && state === S.EXPIRED && !atVendor(before))
      return `it expires ${before.expiresMs - checkpointMs} ms before its time`;
    return undefined;
  }

  function asked(tenant: string, session: string, what: string, atMs: number): string | undefined {
    const record = history.session(tenant, session);
    if (record === undefined) return `nodes are asked (${what}) for session ${session}, which does not exist`;
    const pastMs = beganMs + atMs + offsetMs - record.expiresMs;
    return pastMs >= 0 ? `nodes are asked (${what}) for session ${session} ${pastMs} ms past its lifetime` : undefined;
  }

  function answered({ atMs, tenant, method, response }: Promised): string | undefined {
    const { checkpoint } = proofIn(response) ?? {};
    if (checkpoint === undefined || checkpoint.checkpointId === '') return undefined;
    const isOwnMoment = told.has(checkpoint.checkpointId);
    told.add(checkpoint.checkpointId);
    const record = history.at(checkpoint.checkpointId);
    if (!isOwnMoment || !steps.has(method) || isClockSet || !record || ended.has(record.state)) return undefined;
    // Behind a newer version an answer has waited for that write.
    if (history.session(tenant, record.sessionId) !== record) return undefined;
    const pastMs = beganMs + atMs - record.expiresMs;
    return pastMs >= 0 && !atVendor(record)
      ? `${method} hears that session ${record.sessionId} is ${stateName(record.state)}, ${pastMs} ms past its lifetime`
      : undefined;
  }

  function scan(atMs: number): string | undefined {
    nextScanMs = atMs + 500;
    if (hindered.size > 0 || atMs - clearSinceMs < scanMs) return undefined;
    for (const record of live.values()) {
      const pastMs = beganMs + atMs + offsetMs - record.expiresMs;
      if (pastMs > scanMs) return `session ${record.sessionId} is ${pastMs} ms past its lifetime, and no scan ended it`;
    }
    return undefined;
  }

  return {
    invariant: 'lifetime-kept',
    finish() {
      const over = beganMs + lastMs + offsetMs - endedByMs;
      const left = [...live.values()].find(({ expiresMs }) => expiresMs < over);
      return left && `session ${left.sessionId} is past its lifetime at the end, and no scan ended it`;
    },
    observe(observation: Observation) {
      const { atMs } = observation;
      lastMs = atMs;
      switch (observation.kind) {
        case 'clock':
          if (observation.process !== 'coordinator') return undefined;
          offsetMs = observation.offsetMs;
          isClockSet = true;
          clearSinceMs = atMs;
          return undefined;
        case 'process':
          if (observation.process !== 'coordinator' && observation.process !== 'redis') return undefined;
          clearSinceMs = atMs;
          if (observation.what === 'down' || observation.what === 'paused') hindered.add(observation.process);
          else hindered.delete(observation.process);
          return undefined;
        case 'fault':
          // Faults of the store, the coordinator's connection to it, and its clock.
          if (!/^(store_|redis|rollback|clock)/.test(observation.fault)) return undefined;
          clearSinceMs = atMs;
          if (observation.what === 'ended') hindered.delete(observation.id);
          else hindered.add(observation.id);
          return undefined;
        case 'healed':
          hindered.clear();
          clearSinceMs = atMs;
          return undefined;
        case 'promised':
          return answered(observation);
        case 'frame': {
          const { from, to, message } = observation.envelope;
          if (observation.touched || from.startsWith('node/') || from.startsWith('gateway')) return undefined;
          const { body, tenant, session } = message;
          if (!to.startsWith('node/') || !requests.has(body.case ?? '')) return undefined;
          return asked(tenant, session, body.case!, atMs);
        }
        case 'written':
          for (const change of history.changes) {
            const { record } = change;
            const name = `${record.tenant}/${record.sessionId}`;
            if (ended.has(record.state)) live.delete(name);
            else live.set(name, record);
            const wrong = changed(change);
            if (wrong) return `session ${record.sessionId} (${stateName(record.state)}): ${wrong}`;
          }
          return undefined;
        default:
          return atMs >= nextScanMs ? scan(atMs) : undefined;
      }
    },
  };
}

/** Its order at the vendor has its own lifetime, and the vendor ends it. */
function atVendor(record: SessionRecord): boolean {
  return isSigning(record) && record.ceremony.vendorOrder !== undefined;
}
