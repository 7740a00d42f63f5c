/** Reads of sessions: of one from its cluster, of a page from all clusters, newest first. */
import { create } from '@bufbuild/protobuf';
import {
  ReadSessionsRequestSchema,
  type ReadSessionsResponse,
  type SessionView,
} from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import { reasonCodes } from '../../proto/reason-codes.ts';
import type { SessionPageQuery, SessionPlace } from '../../proto/session-list.ts';
import type { RequestOf } from '../../proto/wire.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { ClusterView } from './cluster-view.ts';
import type { Calls, SigningCall } from './signing-calls.ts';

export interface Reader {
  readonly tenant: string;
  readonly traceparent: string;
  readonly requestId: string;
}

export interface SessionPage {
  readonly sessions: readonly SessionView[];
  /** The place after which there may be more. */
  readonly next: SessionPlace | undefined;
}

/** Both throw ServiceError when a cluster that is asked does not answer. */
export interface SessionReads {
  /** Throws ServiceError 409 when what is stored of it was not written by its coordinator. */
  one(reader: Reader, sessionId: string): Promise<SessionView | undefined>;
  page(reader: Reader, query: SessionPageQuery): Promise<SessionPage>;
}

const tamperedDetail = { field: '', issue: 'store_tampered' };

export function sessionReads(calls: Calls, view: Pick<ClusterView, 'clusters'>): SessionReads {
  return {
    one: async (reader, sessionId) => {
      const asked = create(ReadSessionsRequestSchema, { sessionId });
      const { sessions, tampered } = await read(calls, reader, asked);
      if (tampered) throw new ServiceError('tampered', reasonCodes.STORE_TAMPERED.text, { details: [tamperedDetail] });
      return sessions[0];
    },
    page: async (reader, { kind, states, limit, after }) => {
      const place = after && { afterEpochMs: BigInt(after.atMs), afterId: after.id };
      const asked = create(ReadSessionsRequestSchema, { kind, states: [...states], limit, ...place });
      const numbers = view.clusters.map(({ number }) => number);
      return merged(await Promise.all(numbers.map((cluster) => read(calls, reader, asked, cluster))), limit);
    },
  };
}

/**
 * A cluster whose page is short and not its last vouches for nothing behind its next place: the merged page ends where the first
 * of these ends.
 */
export function merged(pages: readonly ReadSessionsResponse[], limit: number): SessionPage {
  const ends = pages.flatMap(({ nextEpochMs, nextId }) =>
    nextId === '' ? [] : [{ atMs: Number(nextEpochMs), id: nextId }],
  );
  const end = ends.reduce<SessionPlace | undefined>(
    (first, one) => (first && isNewer(first, one) ? first : one),
    undefined,
  );
  const all = pages.flatMap(({ sessions }) => sessions).sort((a, b) => (isNewer(placeOf(a), placeOf(b)) ? -1 : 1));
  const sure = end === undefined ? all : all.filter((one) => !isNewer(end, placeOf(one)));
  const sessions = sure.slice(0, limit);
  const last = sessions.at(-1);
  if (sure.length > limit && last !== undefined) return { sessions, next: placeOf(last) };
  return { sessions, next: end };
}

function placeOf({ createdAtEpochMs, sessionId }: SessionView): SessionPlace {
  return { atMs: Number(createdAtEpochMs), id: sessionId };
}

function isNewer(one: SessionPlace, other: SessionPlace): boolean {
  return one.atMs > other.atMs || (one.atMs === other.atMs && one.id > other.id);
}

async function read(
  calls: Calls,
  { tenant, traceparent, requestId }: Reader,
  value: RequestOf<'readSessions'>,
  cluster?: number,
): Promise<ReadSessionsResponse> {
  const how: Partial<SigningCall> = cluster === undefined ? {} : { cluster };
  const outcome = await calls.ask('readSessions', value, { tenant, correlationId: requestId, traceparent, ...how });
  if (outcome.failure === undefined) return outcome.response;
  const { kind, message } = outcome.failure;
  throw kind === 'deadlineExceeded' ? new ServiceError('unavailable', message) : outcome.failure;
}
