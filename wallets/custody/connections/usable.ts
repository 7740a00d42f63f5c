/** Reads connections that are visible to a caller, and checks whether one may take new work. */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { mayUseConnection } from '../../../gateway/api/visibility.ts';
import type { Guard } from '../../store/contract.ts';
import { type ConnectionRecord, connectionType } from './record.ts';

export type ConnectionReader = Pick<RequestContext, 'tenant' | 'principal' | 'store'>;

/** Throws ServiceError 404. `field`: where the body names the connection; by default the path does. */
export async function readConnection(context: ConnectionReader, id: string, field?: string): Promise<ConnectionRecord> {
  const isVisible = mayUseConnection(context.principal, id);
  const found = isVisible ? await context.store.read(context.tenant, connectionType, id) : undefined;
  if (found !== undefined) return found;
  throw new ServiceError('notFound', 'no such provider connection', {
    ...(field !== undefined && { details: [{ field, issue: 'not_found' }] }),
  });
}

/** A connection to which new wallets and intents may be given. Throws ServiceError: 404, or 409 as `assertUsable`. */
export async function usableConnection(
  context: ConnectionReader,
  id: string,
  field = 'provider_connection_id',
): Promise<ConnectionRecord> {
  const connection = await readConnection(context, id, field);
  assertUsable(connection, field);
  return connection;
}

/**
 * Throws ServiceError 409 when the connection is disconnected or its provider refused its credentials. One that was only
 * out of reach (`degraded`) is tried.
 */
export function assertUsable({ status }: ConnectionRecord, field = 'provider_connection_id'): void {
  if (status === 'connected' || status === 'degraded') return;
  const why = status === 'disconnected' ? 'is disconnected' : 'has credentials that its provider refuses';
  throw new ServiceError('conflict', `the provider connection ${why}`, {
    details: [{ field, issue: status === 'disconnected' ? 'connection_disconnected' : 'connection_in_error' }],
  });
}

/** A guard: the connection must be unchanged at the commit; else the handler runs again on fresh reads. */
export function unchangedConnection({ id, version }: ConnectionRecord): Guard {
  return { kind: 'version', id, version };
}
