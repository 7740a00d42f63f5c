/** Request and response schemas of connections and providers. */
import Type from 'typebox';
import { Metadata } from '../../../gateway/api/metadata.ts';
import {
  Closed,
  Id,
  ListOf,
  Name,
  Nullable,
  OneOf,
  PathId,
  pageQuery,
  secret,
  Timestamp,
} from '../../../gateway/api/schema-kit.ts';
import { providerKinds } from '../../providers/port/kinds.ts';
import { credentialCharsMax } from './credentials.ts';
import { connectionStatuses } from './record.ts';

const environments = ['sandbox', 'production'] as const;
/** The sandbox provider is connected by `POST /v1/providers/connect` alone. */
const custodyKinds = [
  'fireblocks',
  'bitgo',
  'copper',
  'self_hosted',
] as const satisfies (typeof providerKinds)[number][];

const CredentialsBody = Type.Record(
  Type.String({ pattern: '^[\\s\\S]{1,100}$' }),
  Type.String({ maxLength: credentialCharsMax }),
  {
    ...secret,
    writeOnly: true,
    maxProperties: 50,
    additionalProperties: false,
    description:
      'an object of strings: the fields that `credential_schema` of GET /v1/providers names; `sandbox` takes any. Never returned',
    examples: [{ api_key: '…', private_key: '…' }],
  },
);

const environmentField = OneOf(environments, {
  description: 'by default `sandbox`; the custodians are simulated either way',
});

export const NewConnection = Closed({
  provider: OneOf(custodyKinds, { description: 'kind of the custody provider' }),
  name: Name,
  credentials: CredentialsBody,
  environment: Type.Optional(environmentField),
  metadata: Type.Optional(Metadata),
});

export const ConnectProvider = Closed({
  type: OneOf(providerKinds, {
    description: '`sandbox`: a mock provider with funded test wallets; or a provider kind',
  }),
  name: Type.Optional(Name),
  credentials: Type.Optional(CredentialsBody),
  environment: Type.Optional(environmentField),
  metadata: Type.Optional(Metadata),
});

export const ConnectionPatch = Closed(
  {
    name: Type.Optional(Name),
    metadata: Type.Optional(Metadata),
    credentials: Type.Optional(CredentialsBody),
    expected_version: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'change only this version; another one is 409',
      }),
    ),
  },
  { minProperties: 1, description: 'an object with at least one of name, metadata, credentials' },
);

export const ConnectionPath = Closed({ id: PathId('id of the connection') });

export const ConnectionQuery = Closed({
  ...pageQuery,
  provider: Type.Optional(OneOf(providerKinds)),
  status: Type.Optional(OneOf(connectionStatuses)),
});

const connectionFields = {
  id: Id('pcn'),
  provider: OneOf(providerKinds),
  name: Type.String(),
  environment: OneOf(environments),
  status: OneOf(connectionStatuses),
  capabilities: Type.Array(Type.String()),
  credential_fingerprint: Type.String({
    description: 'equal for equal credentials of this tenant; reveals nothing else about them',
  }),
  metadata: Metadata,
  version: Type.Integer({ minimum: 1 }),
  last_synced_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
} as const;

export const Connection = Closed(connectionFields, { title: 'ProviderConnection' });

export const ConnectedProvider = Closed(
  {
    ...connectionFields,
    test_wallets: Type.Array(
      Closed({ id: Id('wal'), name: Type.String(), network: Type.String(), address: Type.String() }),
      { description: 'wallets with test money of a sandbox connection; else empty' },
    ),
  },
  { title: 'ConnectedProvider' },
);

export const TestedConnection = Closed(
  {
    ...connectionFields,
    check: Closed({
      outcome: OneOf(['ok', 'rejected', 'unavailable'] as const),
      provider_code: Nullable(Type.String({ description: 'the provider’s own error' })),
      message: Type.String(),
    }),
  },
  { title: 'TestedProviderConnection' },
);

export const ConnectionList = ListOf('provider_connections', Connection);

export const ProviderList = Closed(
  {
    providers: Type.Array(
      Closed({
        kind: OneOf(providerKinds),
        display_name: Type.String(),
        hosting: OneOf(['hosted', 'self_hosted', 'sandbox'] as const),
        environments: Type.Array(OneOf(environments)),
        capabilities: Type.Array(Type.String()),
        networks: Type.Array(Type.String({ description: 'CAIP-2' })),
        credential_schema: Type.Object(
          {},
          { description: 'JSON Schema of the credentials', additionalProperties: true },
        ),
        connections: Type.Array(Connection, { description: 'the newest 100 that are visible to the token' }),
      }),
    ),
  },
  { title: 'ProviderList' },
);
