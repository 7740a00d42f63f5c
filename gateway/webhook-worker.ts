/**
 * Composes webhook delivery: the relay that adds due deliveries to the queue, and the consumer of the queue's jobs. The caller
 * passes in all ports, so that any world can run it. Any number of them run over one store.
 */
import type { Ports } from '../core/actors/contract.ts';
import type { Log } from '../core/actors/live/ports.ts';
import { withinLimit } from '../core/actors/waiting.ts';
import type { ClusterEnvironment } from '../proto/roster.ts';
import {
  Deliverer,
  EventBodies,
  type OutboxStore,
  Relay,
  type RelayOptions,
  relayDefaults,
  type WebhookQueue,
} from '../wallets/delivery/deliveries/public.ts';
import type { Send } from '../wallets/delivery/egress/public.ts';
import type { TenantStore } from '../wallets/store/contract.ts';
import { answerSeal } from '../wallets/store/secrets/answer-seal.ts';
import type { KeyRing } from '../wallets/store/secrets/key-ring.ts';

/** The ports of webhook delivery. */
export interface WebhookWorkerPorts extends Ports {
  readonly store: TenantStore;
  readonly hooks: OutboxStore;
  /** Opens webhooks' secrets. */
  readonly ring: KeyRing;
  readonly queue: WebhookQueue;
  readonly send: Send;
  /** Wake-ups of tenants with webhooks; the returned function ends them. */
  readonly followRelayWakes: (onWake: (tenant: string) => void) => () => void;
  readonly log: Log;
}

export interface WebhookWorkerOptions {
  readonly environment: ClusterEnvironment;
  /** Of this package. */
  readonly version: string;
  readonly scheduleMs?: readonly number[] | undefined;
  readonly timeoutMs?: number | undefined;
  readonly relay?: Partial<RelayOptions>;
}

export interface WebhookWorker {
  /** Begins to look for what waits. Jobs that are in the queue are done from the beginning. */
  start(): void;
  /** Accepts no more work and waits briefly for running tries; another worker repeats interrupted ones. */
  stop(): Promise<void>;
}

const drainMs = 3_500;
const cutMs = 250;

export function composeWebhookWorker(ports: WebhookWorkerPorts, options: WebhookWorkerOptions): WebhookWorker {
  const { store, hooks, ring, queue, send, clock, timers, random, log } = ports;
  const { environment, version, scheduleMs, timeoutMs } = options;
  const bodies = new EventBodies(store, environment);
  const relay = new Relay({ store, hooks, bodies, queue, clock, timers, log }, { ...relayDefaults, ...options.relay });
  const deliverer = new Deliverer({
    ...{ store, hooks, bodies, send, version, clock, timers, random, log },
    seal: answerSeal(ring),
    ...(scheduleMs !== undefined && { scheduleMs }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const consumer = queue.consume(async (job) => {
    const { behind, retryAtMs } = await deliverer.deliver(job);
    if (behind) relay.freed(job.tenant, job.webhookId);
    if (retryAtMs !== undefined) relay.retryAt(job.tenant, job.webhookId, retryAtMs);
  });
  const endWakes = ports.followRelayWakes((tenant) => relay.wake(tenant));
  return {
    start: () => relay.start(),
    stop: async () => {
      endWakes();
      await withinLimit(timers, drainMs, Promise.all([relay.stop(), consumer.close()]), () => undefined);
      // Another worker takes over its remaining jobs when their locks end.
      const cut = consumer.close(true).catch(() => undefined);
      await withinLimit(timers, cutMs, cut, () => undefined);
    },
  };
}
