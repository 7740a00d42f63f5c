/**
 * The bytes of an event as they are sent: the event as GET /v1/events shows it, as JSON. An event never changes, so the bytes
 * are the same for every try and every webhook. The latest are cached, up to a limit, so that a process that dispatches a
 * delivery and also makes it need not read the event again.
 */
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import type { StoredEvent, TenantStore } from '../../store/contract.ts';
import { eventView } from '../events/public.ts';

const cachedBytesMax = 16 * 1024 * 1024;

export class EventBodies {
  readonly #store: TenantStore;
  readonly #environment: ClusterEnvironment;
  /** By tenant and event id; the oldest first. */
  readonly #cached = new Map<string, Buffer>();
  #cachedBytes = 0;

  constructor(store: TenantStore, environment: ClusterEnvironment) {
    this.#store = store;
    this.#environment = environment;
  }

  cache(tenant: string, event: StoredEvent): Buffer {
    const key = `${tenant} ${event.id}`;
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    const body = Buffer.from(JSON.stringify(eventView(event, this.#environment)));
    this.#cached.set(key, body);
    this.#cachedBytes += body.length;
    for (const [oldest, { length }] of this.#cached) {
      if (this.#cachedBytes <= cachedBytesMax) break;
      this.#cached.delete(oldest);
      this.#cachedBytes -= length;
    }
    return body;
  }

  /** undefined: the event is no longer kept. */
  async find(tenant: string, eventId: string, sequence: number): Promise<Buffer | undefined> {
    const known = this.#cached.get(`${tenant} ${eventId}`);
    if (known !== undefined) return known;
    const { events } = await this.#store.events(tenant, { afterSequence: sequence - 1, limit: 1, types: [] });
    const [event] = events;
    return event?.id === eventId ? this.cache(tenant, event) : undefined;
  }
}
