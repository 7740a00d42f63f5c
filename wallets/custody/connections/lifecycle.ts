/** The lifecycle of a connection: new credentials, a check with the provider, disconnection. */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { assertVersion } from '../../../gateway/api/failures.ts';
import { type MetadataValue, sameMetadata } from '../../../gateway/api/metadata.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { ProviderRejected, ProviderUnavailable } from '../../providers/port/port.ts';
import { EnvelopeBroken } from '../../store/secrets/envelope.ts';
import { adapterOf, metaOf } from '../provider-calls/calling.ts';
import { askingProvider } from '../provider-calls/refusals.ts';
import { connectionChanged } from './change.ts';
import type { ConnectionDeps } from './connect.ts';
import { type Credentials, checkCredentials, fingerprintOf, openCredentials, sealCredentials } from './credentials.ts';
import {
  type ConnectionRecord,
  type ConnectionStatus,
  connectionStates,
  openIntentsOfConnectionIndex,
} from './record.ts';
import { revokeConnectionDue } from './revoking.ts';
import { readConnection } from './usable.ts';
import { connectionView } from './view.ts';

export interface Patch {
  readonly name?: string;
  readonly metadata?: MetadataValue;
  /** New credentials of the custodian: checked with it, and then the only ones. They also revive what was disconnected. */
  readonly credentials?: Credentials;
  readonly expected_version?: number;
}

/** A patch that changes nothing makes no new version and no event. Throws ServiceError as `connect`, and 409. */
export async function updateConnection(
  deps: ConnectionDeps,
  context: RequestContext,
  id: string,
  patch: Patch,
): Promise<Answer> {
  const before = await readConnection(context, id);
  assertVersion('the provider connection', before, patch.expected_version);
  if (isSame(before, patch)) return { status: 200, body: connectionView(before) };
  const { after, change } = connectionChanged(context, 'updated', before, {
    ...(patch.name !== undefined && { name: patch.name }),
    ...(patch.metadata !== undefined && { metadata: patch.metadata }),
    ...(patch.credentials !== undefined && (await renewed(deps, context, before, patch.credentials))),
  });
  return { status: 200, body: connectionView(after), change };
}

/** Credentials are always tried anew. */
function isSame(record: ConnectionRecord, { name, metadata, credentials }: Patch): boolean {
  if (credentials !== undefined) return false;
  return (
    (name === undefined || name === record.name) && (metadata === undefined || sameMetadata(record.metadata, metadata))
  );
}

async function renewed(
  deps: ConnectionDeps,
  context: RequestContext,
  { id, provider, environment }: ConnectionRecord,
  given: Credentials,
): Promise<Partial<ConnectionRecord>> {
  const adapter = adapterOf(deps, provider);
  const credentials = checkCredentials(adapter.info, given);
  await askingProvider(provider, () => adapter.connect(metaOf(context), id, credentials, environment, false));
  return {
    status: 'connected',
    capabilities: adapter.info.capabilities,
    credentials: sealCredentials(deps.ring, context.tenant, id, credentials),
    credentialFingerprint: fingerprintOf(deps.fingerprintKey, context.tenant, provider, credentials),
    lastSyncedAtMs: context.nowMs,
  };
}

interface Check {
  readonly outcome: 'ok' | 'rejected' | 'unavailable';
  readonly provider_code: string | null;
  readonly message: string;
}

const statusAfter: Readonly<Record<Check['outcome'], ConnectionStatus>> = {
  ok: 'connected',
  rejected: 'error',
  unavailable: 'degraded',
};

/** If the provider refuses or does not answer, that is the result of the check and not an error of the request. */
export async function testConnection(deps: ConnectionDeps, context: RequestContext, id: string): Promise<Answer> {
  const before = await readConnection(context, id);
  if (!isAllowedIn(connectionStates.test, before.status)) {
    throw new ServiceError('conflict', 'the provider connection is disconnected: give it credentials first', {
      details: [{ field: 'status', issue: 'connection_disconnected' }],
    });
  }
  const check = await checkWithProvider(deps, context, before);
  const { after, change } = connectionChanged(context, 'tested', before, {
    status: statusAfter[check.outcome],
    ...(check.outcome === 'ok' && { lastSyncedAtMs: context.nowMs }),
  });
  return { status: 200, body: { ...connectionView(after), check }, change };
}

async function checkWithProvider(
  deps: ConnectionDeps,
  context: RequestContext,
  { id, provider, environment, credentials: sealed }: ConnectionRecord,
): Promise<Check> {
  try {
    const credentials = openCredentials(deps.ring, context.tenant, id, sealed);
    await adapterOf(deps, provider).connect(metaOf(context), id, credentials, environment, true);
    return { outcome: 'ok', provider_code: null, message: `${provider} takes the credentials` };
  } catch (error) {
    if (error instanceof ProviderRejected) {
      return { outcome: 'rejected', provider_code: error.providerCode, message: error.message };
    }
    if (error instanceof ProviderUnavailable) {
      return { outcome: 'unavailable', provider_code: null, message: error.message };
    }
    if (!(error instanceof EnvelopeBroken)) throw error;
    context.log.error({ connection_id: id, reason: error.message }, 'stored credentials cannot be decrypted');
    return {
      outcome: 'rejected',
      provider_code: null,
      message: 'the stored credentials cannot be decrypted: give them again',
    };
  }
}

/**
 * Deletes the credentials. Refused while intents of the connection's wallets are open, since they need the provider. The
 * wallets remain visible, but take no new intents and sign nothing for clients: open sessions are revoked.
 */
export async function disconnect(context: RequestContext, id: string): Promise<Answer> {
  const before = await readConnection(context, id);
  if (before.status === 'disconnected') return { status: 200, body: connectionView(before) };
  const { after, change } = connectionChanged(context, 'disconnected', before, {
    status: 'disconnected',
    credentials: '',
  });
  return {
    status: 200,
    body: connectionView(after),
    change: {
      ...change,
      guards: [{ kind: 'emptyIndex', index: openIntentsOfConnectionIndex(id) }],
      ...(before.provider === 'self_hosted' && { due: [revokeConnectionDue(id, context.nowMs)] }),
    },
    onRefusal: (refusal) => {
      if (refusal.kind !== 'notEmpty') throw new Error(`a disconnection was refused for ${refusal.kind}`);
      throw new ServiceError('conflict', 'wallets of this connection have open transaction intents', {
        details: [{ field: 'status', issue: 'open_intents' }],
      });
    },
  };
}
