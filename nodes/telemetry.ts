/** What a node's process measures: requests of the coordinator by kind, from the frame to its answer. Actors know nothing of it. */
import { LRUCache } from 'lru-cache';
import type { ActorEvent, Envelope, Timers } from '../core/actors/contract.ts';
import type { MetricFamily, Span, Telemetry } from '../core/telemetry/port.ts';
import type { WireMessage } from '../proto/wire.ts';

const requestDuration: MetricFamily<'request'> = {
  name: 'signmesh_node_request_duration_seconds',
  help: 'From the frame of a request to the frame of its answer, by the kind of request.',
  labels: ['request'],
};
const answers: MetricFamily<'answer'> = {
  name: 'signmesh_node_answers_total',
  help: 'Frames to the coordinator, by kind of message: partial_reply, nonces_dealt, dkg_refused, ...',
  labels: ['answer'],
};
const actorEvents: MetricFamily<'type'> = {
  name: 'signmesh_node_events_total',
  help: 'What the actors of a node emitted, by type.',
  labels: ['type'],
};

interface OpenRequest {
  readonly name: string;
  readonly sinceMs: number;
  readonly span: Span;
}

/** Beyond this the oldest are forgotten unmeasured. */
const openMax = 4_096;

export class NodeTelemetry {
  readonly #tracer: Telemetry['tracer'];
  readonly #timers: Timers;
  readonly #open = new LRUCache<string, OpenRequest>({ max: openMax, dispose: ({ span }) => span.end() });
  readonly #observe;
  readonly #countAnswer;
  readonly #countEvent;

  constructor({ metrics, tracer }: Telemetry, timers: Timers) {
    this.#tracer = tracer;
    this.#timers = timers;
    this.#observe = metrics.histogram(requestDuration);
    this.#countAnswer = metrics.counter(answers);
    this.#countEvent = metrics.counter(actorEvents);
  }

  received({ message, trace }: Envelope<WireMessage>): void {
    const name = message.body.case ?? 'none';
    const span = this.#tracer.start(name, 'server', trace.traceparent);
    this.#open.set(keyOf(message), { name, sinceMs: this.#timers.elapsedMs(), span });
  }

  sending({ message }: Envelope<WireMessage>): void {
    this.#countAnswer({ answer: message.body.case ?? 'none' });
    const key = keyOf(message);
    const request = this.#open.get(key);
    if (request === undefined) return;
    this.#observe({ request: request.name }, (this.#timers.elapsedMs() - request.sinceMs) / 1000);
    request.span.end();
    this.#open.delete(key);
  }

  event({ type }: ActorEvent): void {
    this.#countEvent({ type });
  }
}

/** The coordinator has one request of a session and attempt with a node at a time. */
function keyOf({ tenant, session, attempt }: WireMessage): string {
  return `${tenant}/${session}/${attempt}`;
}
