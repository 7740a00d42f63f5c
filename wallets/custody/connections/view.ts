/** Connections and providers as the API and its events show them. Never a credential, sealed or not. */

import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import type { ProviderInfo } from '../../providers/port/port.ts';
import { shownRecord } from '../../store/contract.ts';
import { credentialSchema } from './credentials.ts';
import type { ConnectionRecord } from './record.ts';

export interface ConnectionView {
  readonly id: string;
  readonly provider: string;
  readonly name: string;
  readonly environment: string;
  readonly status: string;
  readonly capabilities: readonly string[];
  readonly credential_fingerprint: string;
  readonly metadata: MetadataValue;
  readonly version: number;
  readonly last_synced_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Throws StoreTampered. */
export function connectionView(connection: ConnectionRecord): ConnectionView {
  return shownRecord(connection.id, () => connectionViewOf(connection));
}

function connectionViewOf(connection: ConnectionRecord): ConnectionView {
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
    last_synced_at: timestampOrNull(connection.lastSyncedAtMs),
    created_at: timestamp(connection.createdAtMs),
    updated_at: timestamp(connection.updatedAtMs),
  };
}

export function providerView(info: ProviderInfo, connections: readonly ConnectionRecord[]): object {
  return {
    kind: info.kind,
    display_name: info.displayName,
    hosting: info.hosting,
    environments: info.environments,
    capabilities: info.capabilities,
    networks: info.networks,
    credential_schema: credentialSchema(info),
    connections: connections.map(connectionView),
  };
}
