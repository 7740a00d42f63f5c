/**
 * Events and their webhooks: the rate of changes with an event through the API, the rate at which one worker process drains a
 * webhook's backlog, and the time from a change to its receipt on an idle service.
 */

import type { Client } from '../../../clients/client/index.ts';
import { httpClient } from '../../../clients/load/calls/http.ts';
import { makeWallets } from '../../../clients/load/operations/wallets.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import type { DrainRate, EventPhase, Phase } from '../report/results.ts';
import { Receiver } from './receiver.ts';

export interface EventBenchOptions {
  readonly inFlight: readonly number[];
  readonly phase: (what: string, inFlight: number, ceremony: () => Promise<void>) => Promise<Phase>;
  readonly say: (line: string) => void;
}

export interface EventBenchResult {
  readonly phases: readonly EventPhase[];
  readonly drain: DrainRate;
  readonly faults: readonly string[];
}

const drainWithinMs = 120_000;
const wallets = 16;

export async function eventPhases(cluster: BenchCluster, options: EventBenchOptions): Promise<EventBenchResult> {
  const { phase, say } = options;
  const callers = Math.max(...options.inFlight);
  const { client } = cluster;
  const http = httpClient(cluster.httpUrl, cluster.token, callers);
  const receiver = await Receiver.start();
  const hanging = await Receiver.start(true);
  try {
    const made = await makeWallets(client, 'sandbox', wallets);
    const changed = made.map(({ id }): Changeable => ({ id, version: 1, last: Promise.resolve() }));
    const webhook = await client.webhooks.create({ url: receiver.url, events: ['wallet.updated'] });
    let turn = 0;
    const change = async (after: (id: string, version: number) => Promise<void>) => {
      turn += 1;
      const mark = String(turn);
      const wallet = changed[turn % changed.length]!;
      // One at a time for each wallet: a change that lost a race would be another measurement.
      const mine = wallet.last.then(async () => {
        wallet.version += 1;
        const arrived = after(wallet.id, wallet.version);
        const body = JSON.stringify({ metadata: { mark } });
        const { status, text } = await http.send('PATCH', `/v1/wallets/${wallet.id}`, body);
        if (status !== 200) throw new Error(`HTTP ${status} ${text.slice(0, 200)}`);
        await arrived;
      });
      wallet.last = mine.catch(() => undefined);
      await mine;
    };
    // The worker handles a tenant's first webhook within a second or two, which is not measured.
    await change((id, version) => receiver.arrival(id, version));
    const phases: EventPhase[] = [];
    const alone = await phase('from a change to its receipt', 1, () =>
      change((id, version) => receiver.arrival(id, version)),
    );
    phases.push({ name: 'from a change to its receipt', ...alone });
    await client.webhooks.create({ url: hanging.url, events: ['wallet.updated'] });
    const besideName = 'the same, beside a webhook that hangs';
    const beside = await phase(besideName, 1, () => change((id, version) => receiver.arrival(id, version)));
    phases.push({ name: besideName, ...beside });
    const before = await behind(client, webhook.id);
    if (before !== 0) throw new Error(`${before} events wait before the load`);
    const loaded = await phase('change a wallet (one event)', callers, () => change(async () => undefined));
    phases.push({ name: 'change a wallet (one event)', ...loaded });
    const drain = await drained(client, webhook.id, receiver);
    say(`bench: deliveries while draining: ${drain.perSecond.toFixed(0)}/s`);
    const missing = turn - receiver.received;
    const faults = missing > 0 ? [`of ${turn} events ${receiver.received} were delivered`] : [];
    return { phases, drain, faults };
  } finally {
    await Promise.all([receiver.stop(), hanging.stop()]);
    await http.close();
  }
}

interface Changeable {
  readonly id: string;
  version: number;
  last: Promise<unknown>;
}

/** The webhook's pending events and deliveries. */
async function behind({ webhooks }: Client, webhookId: string): Promise<number> {
  const { queue } = await webhooks.get(webhookId);
  return queue.outstanding + queue.retrying + queue.behind;
}

async function drained(client: Client, webhookId: string, receiver: Receiver): Promise<DrainRate> {
  const beganMs = performance.now();
  const before = receiver.received;
  while ((await behind(client, webhookId)) > 0) {
    if (performance.now() - beganMs > drainWithinMs) throw new Error('the deliveries do not come to an end');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const seconds = (performance.now() - beganMs) / 1000;
  const deliveries = receiver.received - before;
  return { deliveries, seconds, perSecond: deliveries / seconds };
}
