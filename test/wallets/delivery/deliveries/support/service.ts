/** A Redis, a store that webhooks and events are written to as the routes do, and workers in this process. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Clock } from '../../../../../core/actors/contract.ts';
import { silentLog, systemPorts } from '../../../../../core/actors/live/ports.ts';
import type { WorkerConfig } from '../../../../../gateway/config.ts';
import { type RunningWorker, runWorker, type WorkerParts } from '../../../../../gateway/worker.ts';
import { newId } from '../../../../../proto/ids.ts';
import { relayDefaults } from '../../../../../wallets/delivery/deliveries/outbox-relay.ts';
import { type DeliveryRecord, deliveryIndex, deliveryType } from '../../../../../wallets/delivery/deliveries/record.ts';
import { RedisOutboxStore } from '../../../../../wallets/delivery/deliveries/redis-outbox-store.ts';
import { aboutSecret, type WebhookRecord, webhookType } from '../../../../../wallets/delivery/webhooks/record.ts';
import { create, update } from '../../../../../wallets/store/changes.ts';
import type { NewEvent } from '../../../../../wallets/store/contract.ts';
import { RedisTenantStore } from '../../../../../wallets/store/redis-tenant-store.ts';
import { answerSeal } from '../../../../../wallets/store/secrets/answer-seal.ts';
import { fileKeyRing } from '../../../../../wallets/store/secrets/file-key-ring.ts';
import { openConnection } from '../../../../support/redis-connection.ts';
import { openDatabase, type RedisDatabase } from '../../../../support/redis-database.ts';
import { storePorts, testRecordKey } from '../../../../support/store-ports.ts';
import { until } from '../../../../support/until.ts';

export const scheduleMs = [100, 200, 400];

/** Longer than any test. */
export const foreverMs = 3_600_000;

export interface NewHook {
  readonly url: string;
  readonly events?: readonly string[];
}

export interface Hook {
  readonly id: string;
  readonly secret: string;
}

export class HookService {
  readonly redis: Redis;
  readonly store: RedisTenantStore;
  readonly hooks: RedisOutboxStore;
  readonly config: WorkerConfig;
  readonly #server: RedisDatabase;
  readonly #directory: string;
  readonly #workers: RunningWorker[] = [];

  constructor(server: RedisDatabase, redis: Redis, directory: string) {
    this.#server = server;
    this.#directory = directory;
    this.redis = redis;
    this.store = new RedisTenantStore(this.redis, storePorts);
    this.hooks = new RedisOutboxStore(this.redis);
    this.config = {
      environment: 'sandbox',
      redisUrl: server.url,
      credentialKeysDir: directory,
      recordKey: testRecordKey,
      retryScheduleMs: scheduleMs,
      chainBlockMs: 1_000,
      logLevel: 'silent',
    };
  }

  get seal() {
    return answerSeal(fileKeyRing(this.#directory, systemPorts));
  }

  /** Unless told, it waits for a receiver for ever: on a busy machine one that answers may take long. */
  async work(parts: WorkerParts = {}, config: Partial<WorkerConfig> = {}): Promise<RunningWorker> {
    const worker = await runWorker({ ...this.config, ...config }, { log: silentLog, timeoutMs: foreverMs, ...parts });
    this.#workers.push(worker);
    return worker;
  }

  async register(tenant: string, { url, events = ['*'] }: NewHook, nowMs = Date.now()): Promise<Hook> {
    const id = newId('whk', nowMs, randomBytes);
    const secret = newSecret();
    const record: WebhookRecord = {
      id,
      version: 1,
      url,
      events,
      description: null,
      status: 'enabled',
      secrets: [{ sealed: this.sealed(tenant, id, secret), endsAtMs: null }],
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
    const created = eventAt('webhook.created', nowMs, { type: 'webhook', id, version: 1 });
    const outcome = await this.store.commit(tenant, { puts: [create(webhookType, record)], events: [created] });
    if (!outcome.committed) throw new Error('the webhook was not committed');
    return { id, secret };
  }

  sealed(tenant: string, webhookId: string, secret: string): string {
    return this.seal.seal(secret, aboutSecret(tenant, webhookId));
  }

  async webhook(tenant: string, id: string): Promise<WebhookRecord> {
    const record = await this.store.read(tenant, webhookType, id);
    if (record === undefined) throw new Error(`no webhook ${id}`);
    return record;
  }

  async change(tenant: string, id: string, patch: Partial<WebhookRecord>): Promise<void> {
    const before = await this.webhook(tenant, id);
    const after = { ...before, updatedAtMs: Date.now(), ...patch, version: before.version + 1 };
    const outcome = await this.store.commit(tenant, { puts: [update(webhookType, before, after)] });
    if (!outcome.committed) throw new Error('the webhook was not changed');
  }

  /** Returns their sequences. */
  async happen(tenant: string, count: number, type = 'wallet.created', nowMs = Date.now()): Promise<number[]> {
    const sequences: number[] = [];
    while (sequences.length < count) {
      const size = Math.min(100, count - sequences.length);
      const events = Array.from({ length: size }, () => eventAt(type, nowMs));
      const outcome = await this.store.commit(tenant, { events });
      if (!outcome.committed) throw new Error('the events were not committed');
      for (let k = size - 1; k >= 0; k -= 1) sequences.push(outcome.sequence - k);
    }
    return sequences;
  }

  async deliveries(tenant: string, webhookId: string): Promise<readonly DeliveryRecord[]> {
    const all: DeliveryRecord[] = [];
    for (let afterId: string | undefined, more = true; more; ) {
      const page = await this.store.list(tenant, deliveryType, {
        indices: [deliveryIndex(webhookId)],
        order: 'oldest',
        limit: 100,
        ...(afterId !== undefined && { afterId }),
      });
      all.push(...page.items);
      more = page.hasMore;
      afterId = page.nextId;
    }
    return all;
  }

  /** Resolves when the webhook has looked at every event and nothing of it is on its way. */
  async settled(tenant: string, webhookId: string): Promise<void> {
    await this.begun(tenant, webhookId);
    await until(async () => {
      const { outstanding, retrying, behind } = await this.hooks.depth(tenant, webhookId);
      return outstanding + retrying + behind === 0;
    }, 'all deliveries to be final');
  }

  /** Resolves when the webhook has its place in the event log. */
  async begun(tenant: string, webhookId: string): Promise<void> {
    await until(
      async () =>
        (await this.hooks.outboxes(tenant, relayDefaults, Date.now())).webhooks.some(
          ({ id, cursor }) => id === webhookId && cursor !== undefined,
        ),
      'a cursor',
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    this.redis.disconnect();
    await this.#server.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** `server`, `connection`: where the test brings them; the service stops both. */
export async function startService(server?: RedisDatabase, connection?: Redis): Promise<HookService> {
  const database = server ?? (await openDatabase());
  const directory = mkdtempSync(join(tmpdir(), 'signmesh-hooks-'));
  writeFileSync(join(directory, '1.key'), randomBytes(32).toString('hex'));
  return new HookService(database, connection ?? (await openConnection(database.url)), directory);
}

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export function newTenant(): string {
  return `t_${randomBytes(6).toString('hex')}`;
}

export function eventAt(
  type: string,
  atMs: number,
  resource: NewEvent['resource'] = { type: 'wallet', id: newId('wal', atMs, randomBytes), version: 1 },
): NewEvent {
  return {
    id: newId('evt', atMs, randomBytes),
    type,
    atMs,
    resource,
    correlationId: 'req_test',
    provider: null,
    connectionId: null,
    object: { id: resource.id, name: 'grüße 🌍' },
  };
}

export class SetClock implements Clock {
  #offsetMs = 0;
  nowMs = (): number => Date.now() + this.#offsetMs;
  advance(ms: number): void {
    this.#offsetMs += ms;
  }
}
