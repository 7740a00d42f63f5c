/** Webhooks for a test: a receiver that checks signatures, and whose answers the test may choose. */
import type { Event } from '../client/generated-api.ts';
import { verifyWebhook } from '../client/webhooks.ts';
import { type EventMatch, type EventOf, type EventPattern, matcher } from './event-reader.ts';
import { Feed } from './feed.ts';
import { checkNames, type OptionNames } from './option-names.ts';
import { ApiError } from './sandbox-api.ts';
import { type NextOptions, nextNames, resourceOf, type WalletSide } from './wallet-side.ts';

/** A received request, and its answer. */
export interface ReceivedRequest {
  /** As received: the bytes that the signature covers. */
  readonly body: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of the answer; 0: the connection was cut. */
  readonly status: number;
  /** The time of arrival, by the clock of the receiver: milliseconds since 1970. */
  readonly atMs: number;
}

export interface WebhookDelivery<E extends Event = Event> extends ReceivedRequest {
  readonly event: E;
}

/** A status, or a whole answer. */
export type Respond = (request: Request) => number | Response | Promise<number | Response>;

/** The receiving side of a world. */
export interface ReceiverPlace {
  readonly url: string;
  close(): Promise<void>;
}

/** Calls `hears` with each request after its answer; `respond` undefined: 204. */
export type OpenReceiver = (
  hears: (request: ReceivedRequest, failure?: unknown) => void,
  respond: Respond | undefined,
) => Promise<ReceiverPlace>;

export interface WebhookOptions {
  /** The event types to receive; ["*"] by default. */
  readonly events?: readonly EventPattern[];
  /** Answers each request; 204 by default. An error that it throws becomes a 500, and rejects the next `next`. */
  readonly respond?: Respond;
}

const webhookNames: OptionNames<WebhookOptions> = { events: true, respond: true };
const withinMsDefault = 60_000;

/** A registered webhook and its receiver. */
export class Webhook {
  readonly id: string;
  readonly url: string;
  /** whsec_… */
  readonly secret: string;
  readonly #side: WalletSide;
  readonly #feed: Feed<WebhookDelivery>;
  readonly #failures: unknown[];
  readonly #place: ReceiverPlace;

  private constructor(
    side: WalletSide,
    made: Made,
    place: ReceiverPlace,
    feed: Feed<WebhookDelivery>,
    failures: unknown[],
  ) {
    this.#side = side;
    this.id = made.id;
    this.secret = made.secret;
    this.url = place.url;
    this.#place = place;
    this.#feed = feed;
    this.#failures = failures;
  }

  static async open(side: WalletSide, open: OpenReceiver, options: WebhookOptions): Promise<Webhook> {
    checkNames('webhooks.open', options, webhookNames);
    const { events = ['*'], respond } = options;
    if (respond !== undefined && typeof respond !== 'function')
      throw new TypeError('respond must be a function that gives a status or a Response');
    const feed = new Feed<WebhookDelivery>();
    const failures: unknown[] = [];
    const place = await open((request, failure) => {
      if (failure !== undefined) failures.push(failure);
      feed.push({ ...request, event: JSON.parse(request.body) as Event });
    }, respond);
    try {
      const made = await side.call<Made>('POST', '/v1/webhooks', { url: place.url, events });
      return new Webhook(side, made, place, feed, failures);
    } catch (error) {
      await place.close();
      throw error;
    }
  }

  /** Every request so far, oldest first; an event repeats after an answer other than 2xx. */
  get received(): readonly WebhookDelivery[] {
    return this.#feed.all;
  }

  /**
   * The next request of a matching event that was not given yet; time passes until it arrives. Checks its signature under the
   * secret. Rejects with WebhookVerificationError, and with StillPending when none arrives in time.
   */
  next<M extends EventMatch>(match: M, options?: NextOptions): Promise<WebhookDelivery<EventOf<M>>>;
  /** Of any event. */
  next(): Promise<WebhookDelivery>;
  async next(match: EventMatch = '*', options: NextOptions = {}): Promise<WebhookDelivery> {
    checkNames('next', options, nextNames);
    const { of, withinMs = withinMsDefault } = options;
    const resource = resourceOf(of);
    const wanted = matcher(match);
    const matches = ({ event }: WebhookDelivery) =>
      (resource === undefined || event.resource.id === resource) && wanted(event);
    const name = typeof match === 'function' ? 'an event that matches the function' : match;
    const what = `webhook ${this.id} got no request of ${name}${resource === undefined ? '' : ` of ${resource}`}`;
    const found = await this.#side.within(what, withinMs, (signal) => this.#feed.first(matches, true, signal));
    const failure = this.#failures.shift();
    if (failure !== undefined) throw failure;
    await verifyWebhook(found.body, found.headers, this.secret, { nowMs: found.atMs });
    return found;
  }

  /** Removes the webhook and its receiver. Repeatable. */
  async close(): Promise<void> {
    try {
      await this.#side.call('DELETE', `/v1/webhooks/${this.id}`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    } finally {
      await this.#place.close();
    }
  }
}

interface Made {
  readonly id: string;
  readonly secret: string;
}

/** The answer of a test's own `respond`. Never rejects. */
export async function respondWith(
  respond: Respond | undefined,
  request: () => Request,
): Promise<{ readonly status: number; readonly retryAfter?: string; readonly failure?: unknown }> {
  if (respond === undefined) return { status: 204 };
  try {
    const given = await respond(request());
    const status = typeof given === 'number' ? given : given?.status;
    if (!Number.isInteger(status) || status < 200 || status > 599)
      throw new TypeError('respond must give a status from 200 to 599, or a Response');
    const retryAfter = typeof given === 'number' ? null : given.headers.get('retry-after');
    return { status, ...(retryAfter !== null && { retryAfter }) };
  } catch (failure) {
    return { status: 500, failure };
  }
}
