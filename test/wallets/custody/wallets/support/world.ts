/** Wallet routes behind the HTTP door, over a tenant store on a real Redis, with a provider that does as the test says. */
import { randomBytes } from 'node:crypto';
import { silentLog } from '../../../../../core/actors/live/ports.ts';
import { allScopes, type Scope } from '../../../../../gateway/api/scopes.ts';
import { newToken } from '../../../../../gateway/auth/token-format.ts';
import { type IdPrefix, newId } from '../../../../../proto/ids.ts';
import type { ClusterEnvironment } from '../../../../../proto/roster.ts';
import { type ConnectionRecord, connectionType } from '../../../../../wallets/custody/connections/record.ts';
import { walletRoutes } from '../../../../../wallets/custody/wallets/routes.ts';
import { type NetworkId, networkIds } from '../../../../../wallets/networks/networks.ts';
import type { ProviderKind } from '../../../../../wallets/providers/port/kinds.ts';
import type {
  NewBalance,
  ProviderAdapter,
  ProviderConnection,
  WalletOrder,
} from '../../../../../wallets/providers/port/port.ts';
import { create } from '../../../../../wallets/store/changes.ts';
import type { AddressBook, AddressOwner } from '../../../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../../../wallets/store/redis-tenant-store.ts';
import { callJson, type JsonAnswer } from '../../../../support/gateway.ts';
import { restApp } from '../../../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../../../support/store.ts';

export const evm: NetworkId = 'eip155:11155111';
export const bitcoin: NetworkId = 'bip122:000000000933ea01ad0ee984209779ba';

export const fresh = (prefix: IdPrefix) => newId(prefix, Date.now(), (length) => randomBytes(length));

/** A provider in memory: one address and these balances for every wallet, or whatever `next` says. */
export class FakeProvider {
  readonly orders: WalletOrder[] = [];
  /** The connections that they were asked for with. */
  readonly connections: ProviderConnection[] = [];
  balances: readonly NewBalance[] = [{ asset: 'ETH', units: 1_500_000_000_000_000_000n }];
  /** Runs inside every createWallet. */
  next: (order: WalletOrder) => void | Promise<void> = () => undefined;

  adapter(kind: ProviderKind, networks: readonly NetworkId[] = networkIds): ProviderAdapter {
    const unused = () => Promise.reject(new Error('not used here'));
    return {
      info: {
        kind,
        displayName: kind,
        hosting: 'sandbox',
        environments: ['sandbox', 'production'],
        capabilities: [],
        credentialFields: [],
        networks,
      },
      connect: unused,
      createWallet: async (_meta, connection, order) => {
        this.connections.push(connection);
        this.orders.push(order);
        await this.next(order);
        return {
          providerWalletId: `vault-${order.walletId.slice(-12)}`,
          addresses: [{ network: order.network, address: addressOf(order.walletId) }],
          publicKey: null,
          balances: this.balances,
        };
      },
      quote: unused,
      sequenceCounter: () => undefined,
      advance: unused,
    };
  }
}

export const addressOf = (walletId: string) => `address-of-${walletId}`;

class MemoryAddressBook implements AddressBook {
  readonly owners = new Map<string, AddressOwner>();

  async register(network: string, address: string, owner: AddressOwner): Promise<void> {
    const key = `${network} ${address}`;
    if (!this.owners.has(key)) this.owners.set(key, owner);
  }

  async ownerOf(network: string, address: string): Promise<AddressOwner | undefined> {
    return this.owners.get(`${network} ${address}`);
  }
}

/** Calls of one token. */
export type Caller = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<JsonAnswer>;

export interface Tenant {
  readonly id: string;
  readonly call: Caller;
  /** Another token of the tenant. */
  token(options: { scopes?: readonly Scope[]; connections?: readonly string[] }): Caller;
  connection(over?: Partial<ConnectionRecord>): Promise<ConnectionRecord>;
  /** Creates a wallet and answers with its view. */
  wallet(connection: ConnectionRecord, over?: object): Promise<JsonAnswer['body']>;
}

export interface World {
  readonly backend: StoreUnderTest;
  readonly store: RedisTenantStore;
  readonly provider: FakeProvider;
  readonly addressBook: AddressBook;
  readonly policies: Set<string>;
  readonly woken: string[];
  tenant(): Tenant;
  stop(): Promise<void>;
}

export async function startWorld(environment: ClusterEnvironment = 'sandbox'): Promise<World> {
  const backend = await startStore();
  const store = await backend.open();
  const provider = new FakeProvider();
  const addressBook = new MemoryAddressBook();
  const policies = new Set(['default', 'treasury']);
  const woken: string[] = [];
  const routes = walletRoutes({
    adapters: new Map([
      ['sandbox', provider.adapter('sandbox')],
      ['self_hosted', provider.adapter('self_hosted')],
      ['bitgo', provider.adapter('bitgo', [bitcoin])],
    ]),
    addressBook,
    policyExists: async (_context, name) => policies.has(name),
    wake: (tenant) => woken.push(tenant),
  });
  const { app, tokens } = await restApp({ routes, store, environment, log: silentLog });

  function caller(tenant: string, scopes: readonly Scope[], connections: readonly string[] | undefined): Caller {
    const text = newToken(environment, (length) => randomBytes(length));
    tokens.put(text, { id: fresh('tok'), tenant, environment, scopes, providerConnectionIds: connections });
    return (method, url, body, headers = {}) => callJson(app, { method, url, token: text, body, headers });
  }

  return {
    backend,
    store,
    provider,
    addressBook,
    policies,
    woken,
    tenant() {
      const id = `tn_${randomBytes(6).toString('hex')}`;
      const call = caller(id, allScopes, undefined);
      return {
        id,
        call,
        token: ({ scopes = allScopes, connections }) => caller(id, scopes, connections),
        async connection(over = {}) {
          const connection: ConnectionRecord = {
            id: fresh('pcn'),
            version: 1,
            provider: 'sandbox',
            name: 'test',
            environment: 'sandbox',
            status: 'connected',
            capabilities: [],
            credentials: '',
            credentialFingerprint: '',
            metadata: {},
            lastSyncedAtMs: null,
            createdAtMs: 0,
            updatedAtMs: 0,
            ...over,
          };
          const result = await store.commit(id, { puts: [create(connectionType, connection)] });
          if (!result.committed) throw new Error('the connection was not written');
          return connection;
        },
        async wallet(connection, over = {}) {
          const body = { name: 'w', provider_connection_id: connection.id, network: evm, ...over };
          const made = await call('POST', '/v1/wallets', body);
          if (made.status !== 201) throw new Error(`no wallet: ${JSON.stringify(made.body)}`);
          return made.body;
        },
      };
    },
    async stop() {
      await app.close();
      await backend.stop();
    },
  };
}
