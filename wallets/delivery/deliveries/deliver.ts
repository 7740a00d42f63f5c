/**
 * One try of a delivery: reads it and its webhook, signs, sends, and records the result. At least once: if a process dies
 * between sending and recording, another makes the same try again, with the same webhook-id.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Ports } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import { ShortLivedMap } from '../../../core/actors/short-lived-map.ts';
import { pause } from '../../../core/actors/waiting.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import { newId } from '../../../proto/ids.ts';
import { update } from '../../store/changes.ts';
import { StoreUnavailable, type TenantStore } from '../../store/contract.ts';
import type { AnswerSeal } from '../../store/secrets/answer-seal.ts';
import type { Send, SendOutcome } from '../egress/public.ts';
import { aboutSecret, urlOf, type WebhookRecord, webhookType, webhookView } from '../webhooks/public.ts';
import { evaluateTry, signingSecrets, suspends } from './attempt.ts';
import type { EventBodies } from './event-bodies.ts';
import { sealAnswer } from './last-answer.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { WebhookJob } from './queue.ts';
import { type DeliveryRecord, deliveryType } from './record.ts';
import { deliveryTimeoutMs, retryAfterMs, retryScheduleMs } from './retry-schedule.ts';
import { signDelivery } from './webhook-signature.ts';

export interface DelivererDeps extends Ports {
  readonly store: TenantStore;
  readonly hooks: OutboxStore;
  readonly bodies: EventBodies;
  /** Opens webhooks' secrets, seals what receivers answer. */
  readonly seal: AnswerSeal;
  readonly send: Send;
  /** Of this package: receivers read it in `user-agent`. */
  readonly version: string;
  readonly log: Log;
  readonly scheduleMs?: readonly number[];
  readonly timeoutMs?: number;
}

export interface Delivered {
  /** More waits for this webhook: events, or retries that are due. */
  readonly behind: boolean;
  /** When this delivery is tried again. */
  readonly retryAtMs: number | undefined;
}

/** While Redis is unreachable: how long sent deliveries are retained in memory, to record them afterwards. */
const recordWithinMs = 30_000;
const recordAgainMs = 200;
const changesMax = 10;
/** Opened secrets that are remembered. */
const openedMax = 1_000;

const idle: Delivered = { behind: false, retryAtMs: undefined };

export class Deliverer {
  readonly #deps: DelivererDeps;
  readonly #opened = new Map<string, string>();
  /** Tries under way in this process, by delivery and number. */
  readonly #underWay = new ShortLivedMap<string, Promise<Delivered>>();

  constructor(deps: DelivererDeps) {
    this.#deps = deps;
  }

  /**
   * Throws if the try could not be made or recorded; then it is repeated. A process without CPU time loses the locks of its
   * jobs and gets the jobs again: it then joins the running try, and sends nothing twice.
   */
  deliver(job: WebhookJob): Promise<Delivered> {
    const key = `${job.deliveryId}-${job.tries}`;
    const known = this.#underWay.get(key);
    if (known !== undefined) return known;
    const running = this.#deliver(job).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, running);
    return running;
  }

  async #deliver(job: WebhookJob): Promise<Delivered> {
    const { store, hooks, clock } = this.#deps;
    const { tenant, webhookId, deliveryId } = job;
    const [delivery, webhook] = await Promise.all([
      store.read(tenant, deliveryType, deliveryId),
      store.read(tenant, webhookType, webhookId),
    ]);
    if (delivery === undefined || delivery.status === 'delivered' || delivery.status === 'failed') {
      await hooks.release(tenant, webhookId, deliveryId, 'drop', clock.nowMs());
      return idle;
    }
    // Another process made this try already, or the webhook was removed and its deliveries with it.
    if (delivery.attemptCount !== job.tries || webhook === undefined) return idle;
    if (webhook.status !== 'enabled') {
      await hooks.release(tenant, webhookId, deliveryId, 'hold', clock.nowMs());
      return idle;
    }
    const body = await this.#deps.bodies.find(tenant, delivery.eventId, delivery.sequence);
    if (body === undefined) return this.#abandon(tenant, delivery);
    const outcome = await this.#send(tenant, webhook, delivery, body);
    return this.#record(tenant, webhook, delivery, outcome);
  }

  #send(tenant: string, webhook: WebhookRecord, { eventId }: DeliveryRecord, body: Buffer): Promise<SendOutcome> {
    const { send, clock, timers, timeoutMs = deliveryTimeoutMs, version } = this.#deps;
    const secrets = signingSecrets(webhook, clock.nowMs()).map((sealed) => this.#open(tenant, webhook.id, sealed));
    const headers = {
      'content-type': 'application/json',
      'user-agent': `signmesh-webhooks/${version}`,
      ...signDelivery(secrets, eventId, timers.epochMs(), body),
    };
    return send({ url: urlOf(this.#deps, tenant, webhook), headers, body, timeoutMs });
  }

  /** Another worker may have recorded a try meanwhile: then this one is appended after it. */
  async #record(
    tenant: string,
    webhook: WebhookRecord,
    read: DeliveryRecord,
    outcome: SendOutcome,
  ): Promise<Delivered> {
    const { hooks, clock, timers, random, scheduleMs = retryScheduleMs } = this.#deps;
    const chance = (random(1)[0]! + 0.5) / 256;
    const nowMs = clock.nowMs();
    const askedPauseMs = outcome.kind === 'answered' ? retryAfterMs(outcome.retryAfter, timers.epochMs()) : 0;
    const lastAnswer = sealAnswer(this.#deps.seal, tenant, read, outcome);
    let before: DeliveryRecord | undefined = read;
    while (before !== undefined && before.status !== 'delivered' && before.status !== 'failed') {
      const standing: DeliveryRecord = before;
      const { after, retryAtMs, endpoint, gone } = evaluateTry(
        standing,
        outcome,
        nowMs,
        chance,
        scheduleMs,
        askedPauseMs,
        lastAnswer,
      );
      const place = retryAtMs === undefined ? undefined : { kind: 'retry' as const, atMs: retryAtMs };
      const moved = await this.#patiently(() =>
        hooks.move(tenant, { before: standing, after, place, endpoint }, nowMs),
      );
      if (moved !== undefined) {
        if (gone) await this.#changeWebhook(tenant, webhook.id, standing, 'disabled', () => true);
        else if (suspends(webhook, moved.failingSinceMs, nowMs)) {
          const { failingSinceMs } = moved;
          await this.#changeWebhook(tenant, webhook.id, standing, 'suspended', (now) =>
            suspends(now, failingSinceMs, nowMs),
          );
        }
        return { behind: moved.behind, retryAtMs };
      }
      before = await this.#patiently(() => this.#deps.store.read(tenant, deliveryType, standing.id));
      // It was this very move, and only its reply was lost.
      if (isDeepStrictEqual(before, after)) return { behind: true, retryAtMs };
    }
    return idle;
  }

  /** The event is no longer stored, so it cannot be sent. That does not count as a failure of the receiver. */
  async #abandon(tenant: string, before: DeliveryRecord): Promise<Delivered> {
    const { hooks, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const outcome = { kind: 'failed', code: 'event_not_kept', message: '', tookMs: 0 } as const;
    const { after } = evaluateTry(before, outcome, nowMs, 0, []);
    const moved = await hooks.move(tenant, { before, after, place: undefined, endpoint: undefined }, nowMs);
    return { behind: moved?.behind === true, retryAtMs: undefined };
  }

  async #changeWebhook(
    tenant: string,
    webhookId: string,
    cause: DeliveryRecord,
    status: 'disabled' | 'suspended',
    stillHolds: (webhook: WebhookRecord) => boolean,
  ): Promise<void> {
    const { store, clock, random, log } = this.#deps;
    for (let attempt = 0; attempt < changesMax; attempt += 1) {
      const before = await this.#patiently(() => store.read(tenant, webhookType, webhookId));
      if (before === undefined || before.status !== 'enabled' || !stillHolds(before)) return;
      const nowMs = clock.nowMs();
      const after: WebhookRecord = {
        ...before,
        version: before.version + 1,
        status,
        updatedAtMs: Math.max(nowMs, before.updatedAtMs),
        ...(status === 'suspended' && { suspendedAtMs: nowMs }),
      };
      const event = eventOf(
        { newId: (prefix) => newId(prefix, nowMs, random), nowMs, requestId: cause.id },
        {
          type: status === 'suspended' ? 'webhook.suspended' : 'webhook.updated',
          resource: webhookType.name,
          record: after,
          object: webhookView(after),
        },
      );
      const change = { puts: [update(webhookType, before, after)], events: [event] };
      const outcome = await this.#patiently(() => store.commit(tenant, change));
      if (outcome.committed) {
        log.info({ webhook: webhookId, tenant, status }, 'a webhook gets no more deliveries');
        return;
      }
    }
    throw new Error(`webhook ${webhookId} keeps changing`);
  }

  /** Retries while Redis is unreachable: the request was made, and only its record prevents a second one. */
  async #patiently<T>(ask: () => Promise<T>): Promise<T> {
    const { timers } = this.#deps;
    const untilMs = timers.elapsedMs() + recordWithinMs;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || timers.elapsedMs() >= untilMs) throw error;
        await pause(timers, recordAgainMs);
      }
    }
  }

  #open(tenant: string, webhookId: string, sealed: string): string {
    const key = `${tenant} ${webhookId} ${sealed}`;
    const known = this.#opened.get(key);
    if (known !== undefined) return known;
    const secret = this.#deps.seal.open(sealed, aboutSecret(tenant, webhookId));
    if (this.#opened.size >= openedMax) this.#opened.clear();
    this.#opened.set(key, secret);
    return secret;
  }
}
