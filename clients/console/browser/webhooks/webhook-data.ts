/**
 * What the panel of webhooks knows of whom acts: the event log, followed as it happens; endpoints and inboxes, and the deliveries of
 * the one that is open, which are read again when an event came, and while a delivery is under way. Runs in the browser.
 */
import type { Delivery, DeliveryWithAnswer, Event, SandboxInbox, Webhook } from '../../../client/generated-api.ts';
import { ApiError, type Client } from '../../../client/index.ts';
import type { ConsoleBrowser } from '../shared/dom.ts';
import { makePageRead, type PageRead } from '../shared/page-read.ts';

export interface Endpoints {
  /** The newest first. */
  readonly webhooks: readonly Webhook[];
  /** Ids of those whose receiver is the gateway. */
  readonly inboxes: ReadonlySet<string>;
}

export interface OpenEndpoint {
  /** The newest event first. */
  readonly deliveries: readonly Delivery[];
  readonly inbox: SandboxInbox | undefined;
}

export interface WebhookData {
  readonly endpoints: PageRead<Endpoints>;
  /** The newest last. */
  readonly events: readonly Event[];
  /** Why the log cannot be followed; empty: it can. */
  readonly problem: string;
  /** The one that is open from now on. */
  endpoint(id: string): PageRead<OpenEndpoint>;
  /** The endpoint that has this delivery; undefined: none, or not known yet. */
  endpointOf(delivery: string): string | undefined;
  /** What the receiver answered to the latest try of it; undefined: not read yet. */
  answerTo(delivery: Delivery): DeliveryWithAnswer['last_answer'] | undefined;
  /** Reads what may have changed. */
  refresh(): Promise<void>;
  stop(): void;
}

const eventsMax = 500;
/** How long ago the log begins: the longest of which it has fewer events than that. */
const historyMs = [3_600_000, 60_000, 1_000] as const;
const deliveriesShown = 100;
/** A worker has most deliveries done by then. */
const soonMs = 300;
/** A delivery under way is read again after so long, one that waits for its next try with that. */
const againMs = { min: 1_000, max: 5_000 } as const;

export function followWebhooks(
  page: Pick<ConsoleBrowser, 'setTimeout'>,
  client: Pick<Client, 'events' | 'webhooks' | 'sandbox'>,
  changed: () => void,
): WebhookData {
  const scope = new AbortController();
  let events: readonly Event[] = [];
  let problem = '';
  let open: { readonly id: string; readonly read: PageRead<OpenEndpoint> } | undefined;
  let isDue = false;
  const found = new Map<string, string | undefined>();
  const answers = new Map<string, DeliveryWithAnswer['last_answer'] | undefined>();

  const endpoints = makePageRead<Endpoints>(async () => {
    const [webhooks, inboxes] = await Promise.all([
      client.webhooks.list({ limit: 100 }).toArray(100),
      client.sandbox.inboxes().toArray(100).catch(noneIfRefused),
    ]);
    return { webhooks, inboxes: new Set(inboxes.map(({ id }) => id)) };
  }, changed);
  const refresh = async (): Promise<void> => {
    await Promise.all([endpoints.refresh(), open?.read.refresh()]);
    const nextMs = dueInMs(open?.read.value?.deliveries ?? []);
    if (nextMs !== undefined) later(nextMs);
  };
  const later = (ms: number): void => {
    if (isDue) return;
    isDue = true;
    page.setTimeout(() => {
      isDue = false;
      if (!scope.signal.aborted) void refresh();
    }, ms);
  };
  const run = async (): Promise<void> => {
    await refresh();
    for (const ms of historyMs) {
      const since = new Date(Date.now() - ms).toISOString();
      events = await client.events.list({ created_after: since, limit: 100 }).toArray(eventsMax);
      if (events.length < eventsMax) break;
    }
    changed();
    const last = events.at(-1)?.sequence;
    const { signal } = scope;
    for await (const event of client.events.follow({ signal, ...(last !== undefined && { afterSequence: last }) })) {
      events = [...events, event].slice(-eventsMax);
      later(soonMs);
      changed();
    }
  };
  run().catch((error: unknown) => {
    if (scope.signal.aborted) return;
    problem = error instanceof Error ? error.message : String(error);
    changed();
  });
  const find = async (delivery: string): Promise<void> => {
    for (const { id } of endpoints.value?.webhooks ?? []) {
      const has = await client.webhooks.delivery(id, delivery).then(
        () => true,
        () => false,
      );
      if (has) found.set(delivery, id);
    }
    changed();
  };
  return {
    endpoints,
    get events() {
      return events;
    },
    get problem() {
      return problem || endpoints.problem || (open?.read.problem ?? '');
    },
    endpoint: (id) => {
      if (open?.id === id) return open.read;
      const read = makePageRead<OpenEndpoint>(async () => {
        const [deliveries, inbox] = await Promise.all([
          client.webhooks.deliveries(id, { limit: deliveriesShown }).toArray(deliveriesShown),
          endpoints.value?.inboxes.has(id) === true ? client.sandbox.inbox(id) : undefined,
        ]);
        return { deliveries, inbox };
      }, changed);
      open = { id, read };
      void endpoints.refresh().then(refresh);
      return read;
    },
    endpointOf: (delivery) => {
      if (!found.has(delivery) && endpoints.value !== undefined) {
        found.set(delivery, undefined);
        void find(delivery);
      }
      return found.get(delivery);
    },
    answerTo: ({ id, webhook_id: webhook, attempt_count: tries }) => {
      const key = `${id} ${tries}`;
      if (!answers.has(key)) {
        answers.set(key, undefined);
        client.webhooks.delivery(webhook, id).then(
          (read) => {
            answers.set(key, read.last_answer);
            changed();
          },
          // Read again when it is drawn again.
          () => answers.delete(key),
        );
      }
      return answers.get(key);
    },
    refresh,
    stop: () => scope.abort(),
  };
}

/** Tokens of other people have no scope for inboxes. */
function noneIfRefused(error: unknown): readonly never[] {
  if (error instanceof ApiError && error.status < 500) return [];
  throw error;
}

/** undefined: none is under way. */
function dueInMs(deliveries: readonly Delivery[]): number | undefined {
  const due = deliveries.flatMap(({ status, next_attempt_at: next }) =>
    status === 'queued' || status === 'retrying' ? [next === null ? 0 : Date.parse(next) - Date.now()] : [],
  );
  return due.length === 0 ? undefined : Math.min(againMs.max, Math.max(againMs.min, soonMs + Math.min(...due)));
}
