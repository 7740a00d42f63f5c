/**
 * The live followers of events, and their notifications. Wake-ups of the followed tenants announce new events, and a poll of
 * the log every second replaces lost messages. Each follower reads new events from the log: a wake-up carries only the last
 * sequence.
 */
import type { Cancel, Timers } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import { repeat } from '../../../core/actors/waiting.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { TenantStore } from '../../store/contract.ts';
import type { Wakes } from './wakes.ts';

/** A follower of a tenant's events. */
export interface Follower {
  /** The tenant's last sequence, as far as is known; it was read again. */
  news(lastSequence: number): void;
  /** There is nothing more to wait for here: the gateway stops, or the log began anew. */
  end(): void;
}

export interface FeedLimits {
  /** Followers in this gateway. */
  readonly perTenantMax: number;
  readonly perGatewayMax: number;
  readonly pollEveryMs: number;
}

export const feedLimits: FeedLimits = { perTenantMax: 20, perGatewayMax: 1_000, pollEveryMs: 1_000 };
const retryAfterS = 5;

interface Followed {
  /** Places taken, some of them by followers who are not there yet. */
  places: number;
  readonly followers: Set<Follower>;
  lastSequence: number;
  polling: boolean;
}

/** A place of a follower, taken before its stream stands. */
export interface FollowerPlace {
  readonly tenant: string;
  /** The follower that takes the place; gets the known last sequence at once. */
  join(follower: Follower): void;
  /** Gives the place back. Repeatable. */
  leave(): void;
}

export interface LiveFeedDeps {
  readonly wakes: Wakes;
  readonly store: Pick<TenantStore, 'events'>;
  readonly timers: Timers;
  readonly log: Log;
}

export class LiveFeed {
  readonly #deps: LiveFeedDeps;
  readonly #limits: FeedLimits;
  readonly #tenants = new Map<string, Followed>();
  #places = 0;
  #cancelPolls: Cancel | undefined;
  #stopped = false;

  constructor(deps: LiveFeedDeps, limits: Partial<FeedLimits> = {}) {
    this.#deps = deps;
    this.#limits = { ...feedLimits, ...limits };
    deps.wakes.listen({
      onWake: (tenant, lastSequence) => {
        const followed = this.#tenants.get(tenant);
        if (followed !== undefined) tell(followed, lastSequence);
      },
      // A read at once finds events written before the subscription was active.
      onListening: (tenants) => {
        for (const tenant of tenants) this.#poll(tenant);
      },
    });
  }

  /** Places that are taken. */
  get places(): number {
    return this.#places;
  }

  /** Throws ServiceError when all places are taken, or the gateway stops. */
  take(tenant: string): FollowerPlace {
    if (this.#stopped) throw new ServiceError('unavailable', 'the gateway stops: connect again');
    const followed = this.#tenants.get(tenant) ?? this.#follow(tenant);
    const { perTenantMax, perGatewayMax } = this.#limits;
    const isFull = followed.places >= perTenantMax;
    if (isFull || this.#places >= perGatewayMax) {
      if (followed.places === 0) this.#unfollow(tenant);
      const whose = isFull ? `${perTenantMax} of the tenant` : `${perGatewayMax} in all`;
      throw new ServiceError('rateLimited', `too many event streams: a gateway has ${whose}`, { retryAfterS });
    }
    followed.places += 1;
    this.#places += 1;
    let joined: Follower | undefined;
    let left = false;
    return {
      tenant,
      join: (follower) => {
        joined = follower;
        followed.followers.add(follower);
        if (this.#stopped) follower.end();
        else follower.news(followed.lastSequence);
      },
      leave: () => {
        if (left) return;
        left = true;
        if (joined !== undefined) followed.followers.delete(joined);
        followed.places -= 1;
        this.#places -= 1;
        if (followed.places === 0) this.#unfollow(tenant);
      },
    };
  }

  /** Ends every follower and accepts no new one. Repeatable. */
  stop(): void {
    this.#stopped = true;
    this.#cancelPolls?.();
    for (const { followers } of [...this.#tenants.values()]) for (const follower of [...followers]) follower.end();
    this.#deps.wakes.close();
  }

  /** The log was replaced: followers start again. */
  restored(): void {
    for (const followed of [...this.#tenants.values()]) {
      followed.lastSequence = 0;
      for (const follower of [...followed.followers]) follower.end();
    }
  }

  #follow(tenant: string): Followed {
    const followed: Followed = { places: 0, followers: new Set(), lastSequence: 0, polling: false };
    this.#tenants.set(tenant, followed);
    this.#cancelPolls ??= repeat(this.#deps.timers, this.#limits.pollEveryMs, () => {
      for (const each of this.#tenants.keys()) this.#poll(each);
    });
    this.#deps.wakes.follow(tenant);
    return followed;
  }

  #unfollow(tenant: string): void {
    this.#tenants.delete(tenant);
    if (this.#tenants.size === 0) {
      this.#cancelPolls?.();
      this.#cancelPolls = undefined;
    }
    this.#deps.wakes.unfollow(tenant);
  }

  async #poll(tenant: string): Promise<void> {
    const followed = this.#tenants.get(tenant);
    if (followed === undefined || followed.polling || this.#stopped) return;
    followed.polling = true;
    const known = followed.lastSequence;
    try {
      const { lastSequence } = await this.#deps.store.events(tenant, { afterSequence: known, limit: 1, types: [] });
      // The log began anew (a Redis that came back empty): what was seen of the old one means nothing in it.
      if (lastSequence < known) for (const follower of [...followed.followers]) follower.end();
      else tell(followed, lastSequence);
    } catch (error) {
      this.#deps.log.debug({ reason: String(error) }, 'the event log cannot be read; retrying');
    } finally {
      followed.polling = false;
    }
  }
}

function tell(followed: Followed, lastSequence: number): void {
  followed.lastSequence = Math.max(followed.lastSequence, lastSequence);
  for (const follower of [...followed.followers]) follower.news(followed.lastSequence);
}
