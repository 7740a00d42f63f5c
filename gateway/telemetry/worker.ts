/** Metrics and spans of a worker: what it sends to webhooks. */
import type { Timers } from '../../core/actors/contract.ts';
import type { MetricFamily, Metrics, Telemetry } from '../../core/telemetry/port.ts';
import type { Send } from '../../wallets/delivery/egress/public.ts';

const sendDuration: MetricFamily<'outcome'> = {
  name: 'signmesh_webhook_attempt_duration_seconds',
  help: 'Attempts to deliver an event to a webhook. outcome: the class of the status (2xx, 4xx, ...), or error.',
  labels: ['outcome'],
};
const queued: MetricFamily<'state'> = {
  name: 'signmesh_webhook_queue_jobs',
  help: 'Jobs in the queue of deliveries, by state: waiting, active, delayed.',
  labels: ['state'],
};

export function measureSending({ metrics, tracer }: Telemetry, timers: Timers, send: Send): Send {
  const observe = metrics.histogram(sendDuration);
  return async (request) => {
    const sinceMs = timers.elapsedMs();
    const span = tracer.start('webhook attempt', 'client', '', { 'server.address': hostOf(request.url) });
    const outcome = await send(request);
    const name = outcome.kind === 'answered' ? `${Math.floor(outcome.status / 100)}xx` : 'error';
    observe({ outcome: name }, (timers.elapsedMs() - sinceMs) / 1000);
    span.end(name === '2xx' ? {} : { error: name });
    return outcome;
  };
}

export function measureQueue(metrics: Metrics, counts: () => Promise<Readonly<Record<string, number>>>): void {
  metrics.gauge(queued, async () =>
    Object.entries(await counts()).map(([state, value]) => ({ labels: { state }, value })),
  );
}

/** Of a webhook's URL, which may carry secrets in its path and query. */
function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return '';
  }
}
