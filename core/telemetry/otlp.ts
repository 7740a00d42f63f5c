/**
 * Spans by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/), through OpenTelemetry's own exporter. The variables of
 * OpenTelemetry apply: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_BSP_…
 *
 * Spans wait in a bounded queue and are dropped when it is full: a collector that does not answer delays no call.
 */
import { SpanKind as Kinds, ROOT_CONTEXT, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { SpanKind, Tracer } from './port.ts';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

export interface OtlpTracer extends Tracer {
  /** Sends what waits, within the exporter's own time limit. Never rejects. */
  stop(): Promise<void>;
}

const kinds: Readonly<Record<SpanKind, Kinds>> = {
  server: Kinds.SERVER,
  client: Kinds.CLIENT,
  internal: Kinds.INTERNAL,
  producer: Kinds.PRODUCER,
  consumer: Kinds.CONSUMER,
};

/** `service`: attributes of the resource, e.g. service.name. */
export function otlpTracer(service: Readonly<Record<string, string>>): OtlpTracer {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ ...service }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  const tracer = provider.getTracer('signmesh');
  return {
    isOn: true,
    start(name, kind, parentText, attributes = {}) {
      const parent = parseTraceparent(parentText);
      const context =
        parent === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: parent.traceId,
              spanId: parent.spanId,
              traceFlags: parent.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
              isRemote: true,
            });
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: { ...attributes } }, context);
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: formatTraceparent({ traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }),
        end({ error, attributes: more } = {}) {
          if (more !== undefined) span.setAttributes({ ...more });
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
          span.end();
        },
      };
    },
    stop: () => provider.shutdown().catch(() => undefined),
  };
}
