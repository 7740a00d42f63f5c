/**
 * The reference model of reads of sessions: a read shows the durable sessions of one moment between its call and its answer. A page
 * has the sessions of the tenant that fit the query, newest first.
 */
import { createHash } from 'node:crypto';
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import type {
  ReadSessionsRequest,
  ReadSessionsResponse,
  SessionView,
} from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import { hexOf, isSigning, type SessionChange } from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { isPaused, type Promised } from './answer-facts.ts';
import type { History } from './history.ts';
import { routeOf } from './receipts.ts';
import { messageOf } from './record-rules.ts';

const pageMax = 100;

/** Sessions by "tenant/session". */
type Sessions = ReadonlyMap<string, SessionRecord>;

export function sessionReads(history: History): Checker {
  /** By unanswered read: the durable sessions when it left, and the changes of each write since then. */
  const reading = new Map<bigint, { readonly before: Sessions; readonly writes: (readonly SessionChange[])[] }>();
  let wasTampered = false;

  function promised({ callId, tenant, request, response }: Promised): string | undefined {
    const query = request as ReadSessionsRequest;
    const answer = response as ReadSessionsResponse;
    if (isWrong(query)) return 'a query without sense is answered';
    if (answer.tampered) return wasTampered ? undefined : 'it hears of a strange record, and there is none';
    const read = reading.get(callId);
    if (read === undefined) return undefined;
    const sessions = new Map(read.before);
    let wrong = faultOf(query, answer, tenant, sessions);
    for (const write of read.writes) {
      if (wrong === undefined) return undefined;
      for (const { record } of write) sessions.set(`${record.tenant}/${record.sessionId}`, record);
      wrong = faultOf(query, answer, tenant, sessions);
    }
    return wrong && `a read: ${wrong}`;
  }

  return {
    invariant: 'reads-as-modelled',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called':
          if (observation.method !== 'readSessions') return undefined;
          reading.set(observation.callId, { before: sessionsOf(history), writes: [] });
          return undefined;
        case 'written':
          if (reading.size === 0 || history.changes.length === 0) return undefined;
          for (const { writes } of reading.values()) writes.push(history.changes);
          return undefined;
        case 'fault':
          if (observation.fault === 'store_tampered') wasTampered = true;
          return undefined;
        case 'promised':
          return observation.method === 'readSessions' ? promised(observation) : undefined;
        case 'answered':
          reading.delete(observation.callId);
          return undefined;
        case 'failed':
          reading.delete(observation.callId);
          if (observation.method !== 'readSessions' || observation.error.kind !== 'invalidRequest') return undefined;
          return isWrong(observation.request as ReadSessionsRequest) ? undefined : 'a read of sense is refused';
        default:
          return undefined;
      }
    },
  };
}

function sessionsOf(history: History): Sessions {
  const sessions = new Map<string, SessionRecord>();
  for (const versions of history.all()) {
    const { record } = versions.at(-1)!;
    sessions.set(`${record.tenant}/${record.sessionId}`, record);
  }
  return sessions;
}

/** A gateway checks the queries of clients. */
function isWrong({ sessionId, kind, limit }: ReadSessionsRequest): boolean {
  return sessionId === '' && (!['', 'dkg', 'signing'].includes(kind) || limit < 1 || limit > pageMax);
}

/** The difference of an answer from what a read of these sessions shows. */
function faultOf(
  query: ReadSessionsRequest,
  { sessions: shown, nextId, nextEpochMs }: ReadSessionsResponse,
  tenant: string,
  sessions: Sessions,
): string | undefined {
  const { sessionId, kind, states, limit, afterEpochMs, afterId } = query;
  const one = sessions.get(`${tenant}/${sessionId}`);
  const isAfter = ({ createdMs, sessionId: id }: SessionRecord) =>
    afterId === '' || createdMs < Number(afterEpochMs) || (createdMs === Number(afterEpochMs) && id < afterId);
  const all =
    sessionId === ''
      ? [...sessions.values()]
          .filter((record) => record.tenant === tenant && (kind === '' || record.ceremony.kind === kind))
          .filter((record) => (states.length === 0 || states.includes(record.state)) && isAfter(record))
          .sort((a, b) => b.createdMs - a.createdMs || (a.sessionId < b.sessionId ? 1 : -1))
      : one === undefined
        ? []
        : [one];
  const expected = sessionId === '' ? all.slice(0, limit) : all;
  const ids = (list: readonly { readonly sessionId: string }[]) => list.map((each) => each.sessionId).join();
  if (ids(shown) !== ids(expected))
    return `it shows ${ids(shown) || 'nothing'}, expected ${ids(expected) || 'nothing'}`;
  const last = all.length > expected.length ? expected.at(-1) : undefined;
  if (nextId !== (last?.sessionId ?? '') || nextEpochMs !== BigInt(last?.createdMs ?? 0))
    return `its next page begins after ${nextId || 'nothing'}, expected ${last?.sessionId ?? 'nothing'}`;
  for (const [index, view] of shown.entries()) {
    const wrong = viewFault(view, expected[index]!);
    if (wrong !== undefined) return `it shows another ${wrong} of session ${view.sessionId}`;
  }
  return undefined;
}

/** The first field that differs from the record. */
function viewFault(view: SessionView, record: SessionRecord): string | undefined {
  const { ceremony, state, sessionId } = record;
  const common = {
    kind: ceremony.kind,
    state,
    reasonCode: record.reasonCode,
    message: record.message,
    resumable: isPaused(state),
    epoch: BigInt(record.epoch),
    checkpointId: record.checkpointId,
    approvalMode: record.approvalMode,
    keystoreType: record.keystoreType,
    backendRoute: routeOf(record),
    correlationId: record.correlationId,
    createdAtEpochMs: BigInt(record.createdMs),
    changedAtEpochMs: BigInt(record.checkpointMs),
    expiresAtEpochMs: BigInt(record.expiresMs),
    curve: ceremony.curve as string,
  };
  const expected: Readonly<Record<string, unknown>> = isSigning(record)
    ? { ...common, ...signingView(record.ceremony) }
    : ceremony.kind === 'dkg'
      ? {
          ...common,
          walletService: /^(wal|vky)_/.test(sessionId),
          networkId: ceremony.networkId,
          threshold: ceremony.threshold,
          totalNodes: ceremony.totalNodes,
          culprits: (ceremony.culprits ?? []).join(),
          publicKey: ceremony.publicKey,
        }
      : common;
  const shown = view as unknown as Readonly<Record<string, unknown>>;
  return Object.keys(expected).find((field) => plain(shown[field]) !== expected[field]);
}

function signingView(ceremony: Extract<SessionRecord['ceremony'], { kind: 'signing' }>) {
  const { facts, excluded, submitted, signature, recoveryId } = ceremony;
  const short = messageOf(ceremony);
  const isDigested = facts.messageSha256 !== undefined || facts.messageHash.length > 64;
  return {
    walletService: facts.walletService,
    networkId: facts.networkId,
    intentId: facts.intentId,
    keyId: facts.keyId,
    derivationPath: facts.derivationPath,
    messageSha256: isDigested ? short : sha256Of(short),
    submitted: submitted.join(),
    culprits: excluded.join(),
    signature,
    recoveryId: recoveryId < 0 ? '' : hexOf(Uint8Array.of(recoveryId)),
  };
}

/** Of a message of at most 32 bytes, in hex. */
function sha256Of(hex: string): string {
  return createHash('sha256').update(Buffer.from(hex, 'hex')).digest('hex');
}

/** Lists as text, bytes as hex. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return hexOf(value);
  return Array.isArray(value) ? value.join() : value;
}
