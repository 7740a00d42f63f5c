/** What every panel of the page is given: what is known, where the reader is, and how to act. */
import type { Client } from '../../../client/index.ts';
import type { Call, Request } from './call.ts';
import type { ConsoleRequest } from './console-requests.ts';
import type { ConsoleBrowser } from './dom.ts';
import type { FaultSchema } from './fault-form.ts';
import type { ConsolePlace } from './place.ts';
import type { ConsoleStore } from './store.ts';
import type { Tenants } from './tenants.ts';
import type { Reasons } from './why.ts';

/** The vocabulary of faults and the reason codes, as the service gives them (clients/console/page.ts). */
export interface Words {
  readonly kinds: readonly {
    readonly kind: string;
    readonly schema: FaultSchema;
    /** The worlds that have it; undefined: all. */
    readonly only?: 'simulated' | 'live';
  }[];
  readonly trigger: FaultSchema;
  readonly reasons: Reasons;
  /** What each `sub_status` of an intent means. */
  readonly sub_statuses: Readonly<Record<string, string>>;
}

/** A call that this page has made. */
export interface MadeCall {
  readonly call: Call;
  /** undefined: it is under way. */
  outcome: { readonly isGood: boolean; readonly text: string } | undefined;
}

/** What a panel reads with one client for as long as it is open. */
export interface FollowedData {
  stop(): void;
}
export type Follow<T extends FollowedData> = (page: ConsoleBrowser, client: Client, changed: () => void) => T;

export interface ConsoleContext {
  readonly page: ConsoleBrowser;
  readonly store: ConsoleStore;
  /** Reads the stream, and acts on the cluster. */
  readonly client: Client;
  /** Who acts otherwise: on keys, sessions, wallets. */
  readonly tenants: Tenants;
  readonly place: ConsolePlace;
  /** undefined: they are not loaded yet. */
  readonly words: Words | undefined;
  /** The newest last. */
  readonly made: readonly MadeCall[];
  /** What the page did since it was loaded, the newest last. */
  readonly ownRequests: readonly ConsoleRequest[];
  /** Changes the address; a panel that is named begins afresh. */
  go(to: Partial<ConsolePlace>): void;
  /** Shows the call and its outcome. `send`: performs it; the text that it resolves with is shown. Never rejects. */
  perform(call: Call, send: () => Promise<unknown>): Promise<boolean>;
  /** Performs a request as it stands; resolves with its status in words. */
  resend(request: Request): Promise<string>;
  /** What the panel follows as who acts; it begins anew for someone else, and ends with the panel. */
  following<T extends FollowedData>(follow: Follow<T>): T;
  /** Draws the page again, before the next event: for what the reader did. */
  changed(): void;
  announce(words: string): void;
}
