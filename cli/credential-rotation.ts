/**
 * Rotation of the key that wraps secrets: re-wraps every sealed field of every record under the current key, record by record
 * under compare-and-set. It may stop at any point and run again: finished records are skipped. The API shows no change but the
 * record's version, so there is no event.
 *
 * It does not change the sealed answers of idempotent requests: they expire after a day, and until then the older keys stay.
 */
import type { Redis } from 'ioredis';
import { type ConnectionRecord, connectionType } from '../wallets/custody/connections/public.ts';
import { type WebhookRecord, webhookType } from '../wallets/delivery/webhooks/public.ts';
import { update } from '../wallets/store/changes.ts';
import type { RecordType, TenantStore, Versioned } from '../wallets/store/contract.ts';
import { EnvelopeBroken, rewrap, wrappingKeyId } from '../wallets/store/secrets/envelope.ts';
import type { KeyRing } from '../wallets/store/secrets/key-ring.ts';
import { tenantsWith } from '../wallets/store/tenants-with.ts';

export interface RewrapReport {
  readonly tenants: number;
  /** Records that hold something sealed. */
  readonly records: number;
  /** Of them, those that were changed. */
  readonly rewrapped: number;
  /** Ids of the keys that still wrap something afterwards, ascending. */
  readonly keysInUse: readonly string[];
  /** Records with an envelope that no key opens, as "<tenant> <id>". They were left as they are. */
  readonly broken: readonly string[];
}

/** Where records hold envelopes. `withEnvelopes` puts others in their places. */
interface SealedKind<T extends Versioned> {
  readonly type: RecordType<T>;
  readonly index: string;
  readonly envelopes: (record: T) => readonly string[];
  readonly withEnvelopes: (record: T, envelopes: readonly string[]) => T;
}

const connections: SealedKind<ConnectionRecord> = {
  type: connectionType,
  index: 'connections',
  // A disconnected connection has no credentials.
  envelopes: ({ credentials }) => (credentials === '' ? [] : [credentials]),
  withEnvelopes: (record, [credentials = '']) => ({ ...record, credentials }),
};

const webhooks: SealedKind<WebhookRecord> = {
  type: webhookType,
  index: 'webhooks',
  envelopes: ({ secrets, sealedUrl }) => [
    ...secrets.map(({ sealed }) => sealed),
    ...(sealedUrl === undefined ? [] : [sealedUrl]),
  ],
  withEnvelopes: (record, envelopes) => ({
    ...record,
    secrets: record.secrets.map((secret, index) => ({ ...secret, sealed: envelopes[index] ?? secret.sealed })),
    ...(record.sealedUrl !== undefined && { sealedUrl: envelopes[record.secrets.length] ?? record.sealedUrl }),
  }),
};

const pageSize = 100;
const conflictRetriesMax = 10;

/** Throws StoreUnavailable; then it may be run again. */
export async function rewrapAll(redis: Redis, store: TenantStore, ring: KeyRing): Promise<RewrapReport> {
  const run = new Rewrapping(store, ring);
  const tenants = await tenantsWith(redis, connections.index, webhooks.index);
  for (const tenant of tenants) {
    await run.all(tenant, connections);
    await run.all(tenant, webhooks);
  }
  return run.report(tenants.length);
}

class Rewrapping {
  readonly #store: TenantStore;
  readonly #ring: KeyRing;
  readonly #inUse = new Set<string>();
  readonly #broken: string[] = [];
  #records = 0;
  #rewrapped = 0;

  constructor(store: TenantStore, ring: KeyRing) {
    this.#store = store;
    this.#ring = ring;
  }

  async all<T extends Versioned>(tenant: string, kind: SealedKind<T>): Promise<void> {
    let afterId: string | undefined;
    do {
      const page = await this.#store.list(tenant, kind.type, {
        indices: [kind.index],
        order: 'oldest',
        limit: pageSize,
        ...(afterId !== undefined && { afterId }),
      });
      for (const record of page.items) await this.#one(tenant, kind, record);
      afterId = page.hasMore ? page.nextId : undefined;
    } while (afterId !== undefined);
  }

  async #one<T extends Versioned>(tenant: string, kind: SealedKind<T>, listed: T): Promise<void> {
    let record: T | undefined = listed;
    for (let attempt = 0; attempt <= conflictRetriesMax; attempt += 1) {
      if (record === undefined || kind.envelopes(record).length === 0) return;
      const after: T | undefined = this.#renew(tenant, kind, record);
      if (after === undefined) return;
      if (after === record || (await this.#commit(tenant, kind, record, after))) {
        this.#records += 1;
        if (after !== record) this.#rewrapped += 1;
        for (const envelope of kind.envelopes(after)) this.#inUse.add(wrappingKeyId(envelope));
        return;
      }
      record = await this.#store.read(tenant, kind.type, record.id);
    }
    throw new Error(`${kind.type.name} ${listed.id} keeps changing`);
  }

  async #commit<T extends Versioned>(tenant: string, kind: SealedKind<T>, before: T, after: T): Promise<boolean> {
    const put = update(kind.type, before, { ...after, version: before.version + 1 });
    return (await this.#store.commit(tenant, { puts: [put] })).committed;
  }

  /** The record itself when there is nothing to do; undefined when an envelope is broken. */
  #renew<T extends Versioned>(tenant: string, kind: SealedKind<T>, record: T): T | undefined {
    try {
      const before = kind.envelopes(record);
      const after = before.map((envelope) => rewrap(envelope, this.#ring));
      return after.every((envelope, index) => envelope === before[index]) ? record : kind.withEnvelopes(record, after);
    } catch (error) {
      if (!(error instanceof EnvelopeBroken)) throw error;
      this.#broken.push(`${tenant} ${record.id}`);
      return undefined;
    }
  }

  report(tenants: number): RewrapReport {
    return {
      tenants,
      records: this.#records,
      rewrapped: this.#rewrapped,
      keysInUse: [...this.#inUse].sort((one, other) => Number(one) - Number(other)),
      broken: this.#broken,
    };
  }
}
