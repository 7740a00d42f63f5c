/** Builds events: every module reports its changes in one shape (docs/wallet-api.md, Events). */
import type { ProviderKind } from '../../wallets/providers/port/kinds.ts';
import type { NewEvent, Versioned } from '../../wallets/store/contract.ts';
import type { RequestContext } from './route.ts';

export const eventApiVersion = 'v1';

export interface EventAbout {
  /** e.g. "wallet.created". */
  readonly type: string;
  /** The kind of the resource, e.g. "wallet". */
  readonly resource: string;
  readonly record: Versioned;
  /** The resource as the API shows it. Never a secret. */
  readonly object: object;
  readonly provider?: ProviderKind;
  readonly connectionId?: string;
  readonly correlationId?: string;
}

/** The data of an event from its request, or from background work. */
export type Reporter = Pick<RequestContext, 'newId' | 'nowMs' | 'requestId'>;

export function eventOf(context: Reporter, about: EventAbout): NewEvent {
  return {
    id: context.newId('evt'),
    type: about.type,
    atMs: context.nowMs,
    resource: { type: about.resource, id: about.record.id, version: about.record.version },
    correlationId: about.correlationId ?? context.requestId,
    provider: about.provider ?? null,
    connectionId: about.connectionId ?? null,
    object: about.object,
  };
}
