/** Connections and providers as the API and its events show them. Never a credential, sealed or not. */
import type { TokenEnvironment } from '../auth/token-format.ts';
import type { ProviderInfo } from '../providers/port.ts';
import { credentialCharsMax } from './credentials.ts';
import type { ConnectionRecord } from './record.ts';

export interface ConnectionView {
  readonly id: string;
  readonly provider: string;
  readonly name: string;
  readonly environment: string;
  readonly status: string;
  readonly capabilities: readonly string[];
  readonly credential_fingerprint: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly version: number;
  readonly last_synced_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export function connectionView(connection: ConnectionRecord): ConnectionView {
  return {
    id: connection.id,
    provider: connection.provider,
    name: connection.name,
    environment: connection.environment,
    status: connection.status,
    capabilities: connection.capabilities,
    credential_fingerprint: connection.credentialFingerprint,
    metadata: connection.metadata,
    version: connection.version,
    last_synced_at: connection.lastSyncedAtMs === null ? null : timestamp(connection.lastSyncedAtMs),
    created_at: timestamp(connection.createdAtMs),
    updated_at: timestamp(connection.updatedAtMs),
  };
}

/** `installation`: what this installation is; a sandbox shows what can be connected in a sandbox. */
export function providerView(
  info: ProviderInfo,
  installation: TokenEnvironment,
  connections: readonly ConnectionRecord[],
): object {
  return {
    kind: info.kind,
    display_name: info.displayName,
    hosting: info.hosting,
    environments: environmentsHere(info, installation),
    capabilities: info.capabilities,
    networks: info.networks,
    credential_schema: credentialSchema(info),
    connections: connections.map(connectionView),
  };
}

/** Production takes a provider's sandbox too, as custodians' test workspaces are used; a sandbox takes nothing else. */
export function environmentsHere(info: ProviderInfo, installation: TokenEnvironment): readonly TokenEnvironment[] {
  return info.environments.filter((environment) => installation === 'production' || environment === 'sandbox');
}

/** JSON Schema 2020-12 of the `credentials` that the provider takes. */
function credentialSchema({ credentialFields }: ProviderInfo): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: credentialFields.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(
      credentialFields.map(({ name, secret, description }) => [
        name,
        { type: 'string', minLength: 1, maxLength: credentialCharsMax, description, writeOnly: secret },
      ]),
    ),
  };
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
