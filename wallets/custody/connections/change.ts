/** Builds a change of a connection: its next version and its event. */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import { create, update } from '../../store/changes.ts';
import type { Change, NewEvent } from '../../store/contract.ts';
import { type ConnectionRecord, connectionType } from './record.ts';
import { connectionView } from './view.ts';

export function connectionCreated(reporter: Reporter, connection: ConnectionRecord): Change {
  return {
    puts: [create(connectionType, connection)],
    events: [connectionEvent(reporter, 'created', connection)],
  };
}

/** The next version of a connection, with its event. */
export function connectionChanged(
  reporter: Reporter,
  happening: 'updated' | 'tested' | 'disconnected',
  before: ConnectionRecord,
  patch: Partial<Omit<ConnectionRecord, 'id' | 'version' | 'provider' | 'environment' | 'createdAtMs' | 'updatedAtMs'>>,
): { readonly after: ConnectionRecord; readonly change: Change } {
  const after: ConnectionRecord = { ...before, ...patch, version: before.version + 1, updatedAtMs: reporter.nowMs };
  return {
    after,
    change: {
      puts: [update(connectionType, before, after)],
      events: [connectionEvent(reporter, happening, after)],
    },
  };
}

function connectionEvent(reporter: Reporter, happening: string, connection: ConnectionRecord): NewEvent {
  return eventOf(reporter, {
    type: `${connectionType.name}.${happening}`,
    resource: connectionType.name,
    record: connection,
    object: connectionView(connection),
    provider: connection.provider,
    connectionId: connection.id,
  });
}
