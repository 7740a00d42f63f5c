/** A stored provider connection. Its credentials are sealed. */

import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { becoming, type StateChanges } from '../../../gateway/api/state-changes.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';

export const connectionStatuses = ['connected', 'degraded', 'error', 'disconnected'] as const;
export type ConnectionStatus = (typeof connectionStatuses)[number];

const checked = ['connected', 'degraded', 'error'] as const satisfies readonly ConnectionStatus[];

/** By operation. */
export const connectionStates = {
  test: { connected: checked, degraded: checked, error: checked } satisfies StateChanges<ConnectionStatus>,
  disconnect: becoming<ConnectionStatus>('disconnected', ...connectionStatuses),
};

export interface ConnectionRecord extends Versioned {
  readonly provider: ProviderKind;
  readonly name: string;
  readonly environment: ClusterEnvironment;
  readonly status: ConnectionStatus;
  readonly capabilities: readonly string[];
  /** A sealed envelope (wallets/store/secrets/envelope.ts). */
  readonly credentials: string;
  /** Short, stable, tells two sets of credentials apart and nothing else. */
  readonly credentialFingerprint: string;
  readonly metadata: MetadataValue;
  readonly lastSyncedAtMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const connectionType: RecordType<ConnectionRecord> = {
  name: 'provider_connection',
  status: ({ status }) => status,
  indices: ({ provider, status }) => [
    'connections',
    `connections:provider:${provider}`,
    `connections:status:${status}`,
  ],
};

/** While intents of a connection's wallets are open, they stand in this index: the connection cannot be disconnected. */
export function openIntentsOfConnectionIndex(connectionId: string): string {
  return `intents:open:${connectionId}`;
}

/**
 * The connection as its wallets are made with it. A connection of a sandbox may say `production`, which is recorded and
 * shown; its wallets are a sandbox's all the same, with test money and test amounts.
 */
export function asServedBy(installation: ClusterEnvironment, connection: ConnectionRecord): ConnectionRecord {
  return installation === 'sandbox' ? { ...connection, environment: 'sandbox' } : connection;
}
