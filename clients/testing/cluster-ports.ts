/** The ports that each kind of cluster gives `TestCluster`, and the types of events and webhooks that tests see. */

import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { ClientPorts } from '../client/contract.ts';
import type { Event } from '../client/generated-api.ts';
import type { EventMatch, EventOf } from './event-reader.ts';
import type { OptionNames } from './option-names.ts';
import type { NextOptions, WalletWorld } from './wallet-side.ts';
import type { OpenReceiver, Webhook, WebhookOptions } from './webhooks.ts';

/** The address and the tokens of its API. */
export interface ClusterAddress {
  /** e.g. http://127.0.0.1:8080 */
  readonly url: string;
  /** With every scope. */
  readonly token: string;
  /** host:port; undefined for a running sandbox, which prints it only in its banner. */
  readonly grpc?: string;
  /** Likewise. */
  readonly approverToken?: string;
}

/** A token of a simulated cluster. */
export interface TokenOptions {
  /** The name of its principal: two tokens are two people, even with equal names. */
  readonly name?: string;
  /** Every scope by default. */
  readonly scopes?: readonly string[];
  /** The cluster's own by default; another tenant sees none of its data. */
  readonly tenant?: string;
}

export const tokenNames: OptionNames<TokenOptions> = { name: true, scopes: true, tenant: true };

/** The ports that a kind of cluster adds to its world. */
export interface ClusterPorts extends Pick<WalletWorld, 'ports' | 'since' | 'drive' | 'obstacles'> {
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  readonly address: ClusterAddress;
  /** For `signmesh/client`: time passes while it waits. */
  readonly userPorts: Partial<ClientPorts> & Pick<ClientPorts, 'fetch'>;
  readonly openReceiver: OpenReceiver;
  /** undefined: its tokens are issued by a command. */
  readonly issueToken?: (options: TokenOptions) => Promise<string>;
  readonly takeSnapshot: () => Promise<unknown>;
  readonly restoreSnapshot: (snapshot: unknown) => Promise<void>;
  readonly reset: () => Promise<void>;
  readonly recording: () => Promise<readonly RunEvent[]>;
  readonly stop: () => Promise<void>;
}

export interface ClusterEvents {
  /** The whole log since the cluster was taken, oldest first. */
  (): Promise<readonly LoggedEvent[]>;
  /**
   * The oldest event that matches and was not given by `next` before; time passes until it happens. Rejects with
   * StillPending, which says what is pending, when it does not happen in time.
   */
  next<M extends EventMatch>(match: M, options?: NextOptions): Promise<EventOf<M>>;
  /** Of any type. */
  next(): Promise<Event>;
  /** `next` will skip every event so far. */
  skip(): Promise<void>;
}

export interface ClusterWebhooks {
  /** Registers a webhook, whose receiver is in this process. */
  open(options?: WebhookOptions): Promise<Webhook>;
}
