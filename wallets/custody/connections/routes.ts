/** The routes of provider connections and of the providers there are. */

import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type Route, route } from '../../../gateway/api/route.ts';
import { providerKinds } from '../../providers/port/kinds.ts';
import { type ConnectionDeps, connect } from './connect.ts';
import { disconnect, testConnection, updateConnection } from './lifecycle.ts';
import { listConnections } from './listing.ts';
import { connectionStates, connectionStatuses } from './record.ts';
import {
  ConnectedProvider,
  Connection,
  ConnectionList,
  ConnectionPatch,
  ConnectionPath,
  ConnectionQuery,
  ConnectProvider,
  NewConnection,
  ProviderList,
  TestedConnection,
} from './schemas.ts';
import { readConnection } from './usable.ts';
import { connectionView, providerView } from './view.ts';

const tag = 'Provider connections';
const connectionsShownMax = 100;

export function connectionRoutes(deps: ConnectionDeps): readonly Route[] {
  return [...connectingRoutes(deps), ...readingRoutes(deps), ...upkeepRoutes(deps)];
}

function connectingRoutes(deps: ConnectionDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/provider-connections',
      operationId: 'createProviderConnection',
      clientName: 'connections.create',
      example: { provider: 'self_hosted', name: 'our own nodes', credentials: {} },
      tag,
      summary: 'Connect a custody provider',
      description:
        'Checks the credentials with the provider, encrypts and stores them. No answer returns them. The hosted custodians are simulated.',
      scope: 'providers:write',
      body: NewConnection,
      responses: { 201: { schema: Connection, description: 'the connection' } },
      errors: [409, 422],
      handle: (context, { body }) => connect(deps, context, body, false),
    }),
    route({
      method: 'POST',
      path: '/v1/providers/connect',
      operationId: 'connectProvider',
      clientName: 'connections.connect',
      example: { type: 'sandbox', name: 'a mock custodian', credentials: { api_key: 'any text' } },
      tag,
      summary: 'Connect a provider, or the sandbox with funded test wallets',
      description: 'With `type: sandbox` test wallets are made along with the connection, one on each network.',
      scope: 'providers:write',
      body: ConnectProvider,
      responses: { 201: { schema: ConnectedProvider, description: 'the connection, and its test wallets' } },
      errors: [409, 422],
      handle: (context, { body: { type, ...order } }) => connect(deps, context, { ...order, provider: type }, true),
    }),
  ];
}

function readingRoutes(deps: ConnectionDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/providers',
      operationId: 'listProviders',
      clientName: 'connections.providers',
      tag,
      summary: 'List the providers, their credentials, and the connections to them',
      scope: 'providers:read',
      responses: { 200: { schema: ProviderList, description: 'every kind of provider' } },
      handle: async (context) => {
        const { items } = await listConnections(context, { limit: connectionsShownMax });
        const providers = providerKinds.flatMap((kind) => {
          const info = deps.adapters.get(kind)?.info;
          const connections = items.filter(({ provider }) => provider === kind);
          return info === undefined ? [] : [providerView(info, connections)];
        });
        return { status: 200, body: { providers } };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/provider-connections',
      operationId: 'listProviderConnections',
      clientName: 'connections.list',
      tag,
      summary: 'List connections, newest first',
      scope: 'providers:read',
      query: ConnectionQuery,
      responses: { 200: { schema: ConnectionList, description: 'a page of connections' } },
      handle: async (context, { query }) => {
        const { provider, status } = query;
        const page = readPage(context, 'provider_connections', query);
        const found = await listConnections(context, { provider, status, ...page.query });
        return { status: 200, body: listBody('provider_connections', found, connectionView, page) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/provider-connections/:id',
      operationId: 'getProviderConnection',
      clientName: 'connections.get',
      tag,
      summary: 'Read a connection',
      scope: 'providers:read',
      params: ConnectionPath,
      responses: { 200: { schema: Connection, description: 'the connection' } },
      errors: [404],
      handle: async (context, { params }) => ({
        status: 200,
        body: connectionView(await readConnection(context, params.id)),
      }),
    }),
  ];
}

function upkeepRoutes(deps: ConnectionDeps): readonly Route[] {
  return [
    route({
      method: 'PATCH',
      path: '/v1/provider-connections/:id',
      operationId: 'updateProviderConnection',
      clientName: 'connections.update',
      example: { name: 'renamed', metadata: { team: 'treasury' } },
      tag,
      summary: 'Rename a connection, replace its metadata or its credentials',
      description:
        'New credentials are checked with the provider and replace the old ones; they also revive a disconnected connection. `metadata` is replaced as a whole.',
      scope: 'providers:write',
      params: ConnectionPath,
      body: ConnectionPatch,
      responses: { 200: { schema: Connection, description: 'the connection' } },
      errors: [404, 409, 422],
      states: Object.fromEntries(connectionStatuses.map((status) => [status, [status, 'connected']])),
      handle: (context, { params, body }) => updateConnection(deps, context, params.id, body),
    }),
    route({
      method: 'POST',
      path: '/v1/provider-connections/:id/test',
      operationId: 'testProviderConnection',
      clientName: 'connections.test',
      tag,
      summary: 'Check a connection with its provider',
      description:
        'Sets `status`: `connected`; `error` when the provider refuses the credentials; `degraded` when it does not answer.',
      scope: 'providers:write',
      params: ConnectionPath,
      responses: { 200: { schema: TestedConnection, description: 'the connection, and the result of the check' } },
      errors: [404, 409],
      states: connectionStates.test,
      handle: (context, { params }) => testConnection(deps, context, params.id),
    }),
    route({
      method: 'POST',
      path: '/v1/provider-connections/:id/disconnect',
      operationId: 'disconnectProvider',
      clientName: 'connections.disconnect',
      tag,
      summary: 'End a connection and delete its credentials',
      description:
        'Idempotent. 409 while wallets of the connection have open intents. Its wallets remain, but take no new intents.',
      scope: 'providers:write',
      params: ConnectionPath,
      responses: { 200: { schema: Connection, description: 'the connection, disconnected' } },
      errors: [404, 409],
      states: connectionStates.disconnect,
      handle: (context, { params }) => disconnect(context, params.id),
    }),
  ];
}
