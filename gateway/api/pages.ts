/**
 * Pages of lists: limit and opaque cursors in, the list's body out. A cursor holds the position where the next page begins. A
 * MAC binds it to its tenant, list and filters: an invented cursor, or one of another list, is refused, so that lists continue
 * only at positions that they returned themselves. It is not secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { type Balances, type Page, shownRecord } from '../../wallets/store/contract.ts';
import { ServiceError } from './errors/service-error.ts';
import { canonicalJson } from './idempotency.ts';
import type { RequestContext } from './route.ts';
import { Timestamp } from './schema-kit.ts';

const limitDefault = 50;
const tagBytes = 9;

export interface PageRequest {
  /** For `ListQuery`: spread it in. */
  readonly query: { readonly limit: number; readonly afterId?: string };
  /** The cursor for the page after this id. */
  cursorOf(id: string): string;
}

type QueryValues = Readonly<Record<string, unknown>>;
type CursorContext = Pick<RequestContext, 'tenant' | 'cursorKey'>;

/**
 * `list`: the unique name of the list, e.g. "wallets" or "wallets/wal_…/transaction_intents". `query`: the checked query with
 * its filters; limit and cursor in it are read here. `isPlace`: validates the list's positions, if they are not ids. Throws
 * ServiceError.
 */
export function readPage(
  { tenant, cursorKey }: CursorContext,
  list: string,
  query: QueryValues,
  isPlace: (id: string) => boolean = () => true,
): PageRequest {
  const { limit, cursor, ...filters } = query;
  const bound = canonicalJson([tenant, list, filters]);
  const tagOf = (id: string): Buffer =>
    createHmac('sha256', cursorKey).update(`cursor\n${bound}\n`).update(id).digest().subarray(0, tagBytes);
  const afterId = typeof cursor === 'string' ? openCursor(cursor, tagOf, isPlace) : undefined;
  return {
    query: {
      limit: typeof limit === 'string' ? Number(limit) : limitDefault,
      ...(afterId === undefined ? {} : { afterId }),
    },
    cursorOf: (id) => Buffer.concat([tagOf(id), Buffer.from(id)]).toString('base64url'),
  };
}

function openCursor(cursor: string, tagOf: (id: string) => Buffer, isPlace: (id: string) => boolean): string {
  const bytes = Buffer.from(cursor, 'base64url');
  const id = bytes.subarray(tagBytes).toString();
  const tag = bytes.subarray(0, tagBytes);
  const isOurs = tag.length === tagBytes && timingSafeEqual(tag, tagOf(id));
  if (bytes.toString('base64url') !== cursor || !isOurs || !isPlace(id)) {
    throw new ServiceError('invalidRequest', 'the cursor does not belong to this list', {
      details: [{ field: 'cursor', issue: 'invalid_format', message: 'takes next_cursor of this list, same filters' }],
    });
  }
  return id;
}

export interface ListBody {
  readonly [key: string]: unknown;
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** The body of a list, as `ListOf(key, …)` has it. Throws StoreTampered for a record that `view` cannot show. */
export function listBody<T extends { readonly id: string }>(
  key: string,
  page: Page<T>,
  view: (record: T, balances: Balances | undefined) => object,
  request: PageRequest,
): ListBody {
  const { items, balances, hasMore, nextId } = page;
  return {
    [key]: items.map((item) => shownRecord(item.id, () => view(item, balances.get(item.id)))),
    has_more: hasMore,
    next_cursor: hasMore && nextId !== undefined ? request.cursorOf(nextId) : null,
  };
}

/** The filters of lists by time. */
export const createdQuery = {
  created_after: Type.Optional(Timestamp),
  created_before: Type.Optional(Timestamp),
} as const;

export interface CreatedRange {
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
}

/** Times before 1970 count as 1970. Throws ServiceError when the range is reversed. */
export function readCreated(query: {
  readonly created_after?: string | undefined;
  readonly created_before?: string | undefined;
}): CreatedRange {
  const { created_after: after, created_before: before } = query;
  const createdAfterMs = after === undefined ? undefined : Math.max(0, Date.parse(after));
  const createdBeforeMs = before === undefined ? undefined : Math.max(0, Date.parse(before));
  if (createdAfterMs !== undefined && createdBeforeMs !== undefined && createdAfterMs > createdBeforeMs) {
    throw new ServiceError('invalidRequest', 'created_after lies after created_before', {
      details: [{ field: 'created_after', issue: 'too_large', message: 'must not be after created_before' }],
    });
  }
  return {
    ...(createdAfterMs === undefined ? {} : { createdAfterMs }),
    ...(createdBeforeMs === undefined ? {} : { createdBeforeMs }),
  };
}
