/**
 * A gateway's links to the coordinators of all its clusters, with the orders for each cluster's nodes. It finds a coordinator
 * without a configured URL in the registry; the pinned roster decides whether it is the right one.
 */
import type { Trace, UndeliveredReason } from '../core/actors/contract.ts';
import { isPlainAcross } from '../core/actors/live/link-tls.ts';
import { type Log, systemPorts } from '../core/actors/live/ports.ts';
import { type ClusterRegistry, firstCluster } from '../core/redis/clusters.ts';
import type { Roster } from '../proto/roster.ts';
import type { WireMessage } from '../proto/wire.ts';
import type { GatewayConfig } from './config.ts';
import { LiveCoordinatorLink } from './signing/coordinator-link.ts';
import type { CoordinatorLink, LinkListener } from './signing/coordinator-port.ts';
import { orderIssuer } from './signing/order-issuer.ts';
import type { SigningCallsOptions } from './signing/signing-calls.ts';

export interface ClusterLinks {
  /** By number. */
  readonly clusters: ReadonlyMap<number, Pick<SigningCallsOptions, 'link' | 'orders' | 'roster'>>;
  /** Begins to connect, and to look for coordinators whose address is not known. */
  start(): void;
  stop(): Promise<void>;
}

const lookEveryMs = 1_000;

export function liveClusterLinks(
  config: GatewayConfig,
  registry: ClusterRegistry,
  boot: string,
  log: Log,
): ClusterLinks {
  const { identitySeed, furtherClusters = [], linkTls: tls, plainLinks = false } = config;
  const { timers, random } = systemPorts;
  const links = new Map<number, FoundLink>();
  const clusters = new Map<number, Pick<SigningCallsOptions, 'link' | 'orders' | 'roster'>>();
  // Redis is not trusted: its registry cannot make a link plain or skip certificates.
  const mayOpen = (url: string) => (url.startsWith('wss:') ? tls !== undefined : plainLinks || !isPlainAcross(url));
  for (const { roster, joinSecret, coordinatorUrl } of [config, ...furtherClusters]) {
    const open = (url: string) => new LiveCoordinatorLink({ url, roster, tls, identitySeed, joinSecret, boot, log });
    const link = new FoundLink({ open, mayOpen, log }, roster, coordinatorUrl);
    links.set(roster.number ?? firstCluster, link);
    clusters.set(roster.number ?? firstCluster, {
      link,
      roster,
      orders: orderIssuer({ roster, identitySeed, random }),
    });
  }
  const sought = [...links.values()].filter(({ isConfigured }) => !isConfigured);
  let cancel = (): void => undefined;
  let stopped = false;
  const look = (): void => {
    registry
      .list()
      .then((entries) => {
        for (const link of sought) link.foundAt(entries.find(({ clusterId }) => clusterId === link.clusterId)?.url);
      })
      // The gateway's watch of Redis says why.
      .catch(() => undefined)
      .finally(() => {
        if (!stopped) cancel = timers.start(lookEveryMs, look);
      });
  };
  return {
    clusters,
    start() {
      for (const link of links.values()) link.start();
      if (sought.length > 0) look();
    },
    async stop() {
      stopped = true;
      cancel();
      await Promise.all([...links.values()].map((link) => link.stop()));
    },
  };
}

interface FoundLinkParts {
  readonly open: (url: string) => LiveCoordinatorLink;
  /** Whether a URL of the registry may be used. */
  readonly mayOpen: (url: string) => boolean;
  readonly log: Log;
}

/** A link whose address may be found later, and may change. */
class FoundLink implements CoordinatorLink {
  readonly isConfigured: boolean;
  readonly clusterId: string;
  readonly #parts: FoundLinkParts;
  #refused: string | undefined;
  #url: string | undefined;
  #link: LiveCoordinatorLink | undefined;
  #listener: LinkListener | undefined;

  constructor(parts: FoundLinkParts, { clusterId }: Roster, url: string | undefined) {
    this.#parts = parts;
    this.#url = url;
    this.clusterId = clusterId;
    this.isConfigured = url !== undefined;
  }

  send(message: WireMessage, trace: Trace): UndeliveredReason | undefined {
    return this.#link === undefined ? 'noRoute' : this.#link.send(message, trace);
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
    listener.onStatus(false);
  }

  start(): void {
    if (this.#url !== undefined) this.#connect(this.#url);
  }

  /** undefined: the registry does not know it now; a link that stands may be good for longer. */
  foundAt(url: string | undefined): void {
    if (url === undefined || url === this.#url) return;
    if (!this.#parts.mayOpen(url)) {
      this.#refuse(url);
      return;
    }
    const before = this.#link;
    this.#url = url;
    this.#connect(url);
    void before?.stop();
  }

  async stop(): Promise<void> {
    await this.#link?.stop();
  }

  /** Says it once. */
  #refuse(url: string): void {
    if (this.#refused === url) return;
    this.#refused = url;
    const code = url.startsWith('wss:') ? 'NO_CERTIFICATE' : 'PLAIN_LINK';
    this.#parts.log.warn({ code, url, cluster: this.clusterId }, 'the registry names a link that is not allowed');
  }

  #connect(url: string): void {
    const link = this.#parts.open(url);
    this.#link = link;
    link.listen({
      onMessage: (message) => this.#listener?.onMessage(message),
      onStatus: (up) => {
        // Reports of a replaced link are ignored.
        if (this.#link === link) this.#listener?.onStatus(up);
      },
    });
    link.start();
  }
}
