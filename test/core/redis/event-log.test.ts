/** The arguments of an event for append-event.lua. */
import { expect, test } from 'vitest';
import { eventArguments, type LoggedEvent, tenantPrefix } from '../../../core/redis/event-log.ts';

const event: LoggedEvent = {
  id: 'evt_1',
  type: 'wallet.created',
  atMs: 1_000,
  resource: { type: 'wallet', id: 'wal_1', version: 3 },
  correlationId: 'cor_1',
  provider: 'bitgo',
  connectionId: 'pcn_1',
  object: { name: 'ä' },
};
const taken = {
  id: 'evt_1',
  type: 'wallet.created',
  atMs: 1_000,
  resourceType: 'wallet',
  resourceId: 'wal_1',
  resourceVersion: 3,
  correlationId: 'cor_1',
  provider: 'bitgo',
  connectionId: 'pcn_1',
  object: '{"name":"ä"}',
};

test('an event is given with all of its fields; what is null is empty', () => {
  expect(eventArguments(event)).toEqual(taken);
  expect(eventArguments(event, '{}')).toEqual({ ...taken, object: '{}' });
  expect(eventArguments({ ...event, provider: null, connectionId: null })).toEqual({
    ...taken,
    provider: '',
    connectionId: '',
  });
  expect(tenantPrefix('acme')).toBe('sm:{t:acme}:');
});
