/** What the sandbox's routes stand on. */
import type { Timers } from '../../core/actors/contract.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import type { Chains } from '../../wallets/providers/chains/public.ts';
import type { ServiceError } from '../api/errors/service-error.ts';
import type { Principal } from '../api/principal.ts';
import type { Answer, RequestContext, Route } from '../api/route.ts';
import type { TokenStore } from '../auth/token-store.ts';
import type { Inboxes } from './inboxes.ts';
import type { RequestLog } from './request-log.ts';
import type { SandboxSessions } from './sessions.ts';
import type { StreamPlaces } from './stream-places.ts';

/** How webhooks are made and removed (wallets/delivery/webhooks). */
export interface InboxWebhooks {
  register(
    context: RequestContext,
    asked: { readonly url: string; readonly events: string[]; readonly description: string },
  ): Promise<Answer>;
  remove(context: RequestContext, id: string): Promise<Answer>;
}

export interface SandboxQueues {
  /** Of this gateway, that wait for a coordinator. */
  calls(): number;
  /** Tries of deliveries, by state. */
  deliveries(): Promise<Partial<Record<'waiting' | 'active' | 'delayed', number>>>;
}

export interface SandboxDeps {
  /** Of the service. */
  readonly version: string;
  /** undefined: no process supervisor is connected. */
  readonly control: SandboxControl | undefined;
  readonly sessions: SandboxSessions;
  readonly chains: Pick<Chains, 'of'>;
  readonly timers: Timers;
  /** Of the pages that look at it. */
  readonly places: StreamPlaces;
  /** Of this gateway; undefined: it keeps none. */
  readonly requests?: RequestLog | undefined;
  /** undefined: what waits is not known here. */
  readonly queues?: SandboxQueues | undefined;
  /** At this gateway; undefined: it has none. */
  readonly inboxes?: Inboxes | undefined;
  readonly webhooks: InboxWebhooks;
  /** Of the whole API. */
  readonly routes: () => readonly Route[];
  /** undefined: it issues no tokens. */
  readonly tokens?: Pick<TokenStore, 'issueToken'>;
  /** Whose an access token is. Never rejects. */
  readonly ownerOf: (token: string) => Promise<Principal | ServiceError>;
}
