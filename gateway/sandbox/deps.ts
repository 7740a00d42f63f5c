/** What the sandbox's routes stand on. */
import type { Timers } from '../../core/actors/contract.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import type { ServiceError } from '../api/errors/service-error.ts';
import type { Principal } from '../api/principal.ts';
import type { TokenStore } from '../auth/token-store.ts';
import type { SandboxSessions } from './sessions.ts';
import type { StreamPlaces } from './stream-places.ts';

export interface SandboxDeps {
  /** Of the service. */
  readonly version: string;
  /** undefined: no process supervisor is connected. */
  readonly control: SandboxControl | undefined;
  readonly sessions: SandboxSessions;
  readonly timers: Timers;
  /** Of the pages that look at it. */
  readonly places: StreamPlaces;
  /** undefined: it issues no tokens. */
  readonly tokens?: Pick<TokenStore, 'issueToken'>;
  /** Whose an access token is. Never rejects. */
  readonly ownerOf: (token: string) => Promise<Principal | ServiceError>;
}
