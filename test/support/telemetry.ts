/** Ports of metrics and traces that remember what they were told. */
import type { Attributes, Labels, MetricFamily, Metrics, Span, SpanKind, Tracer } from '../../core/telemetry/port.ts';

export interface RecordedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parent: string;
  readonly traceparent: string;
  readonly attributes: Record<string, unknown>;
  error?: string | undefined;
  ended: boolean;
}

export function recordingTracer(): Tracer & { readonly spans: RecordedSpan[] } {
  const spans: RecordedSpan[] = [];
  return {
    spans,
    isOn: true,
    start(name, kind, parent, attributes: Attributes = {}): Span {
      const id = String(spans.length + 1).padStart(16, '0');
      const trace = /^00-([0-9a-f]{32})-/.exec(parent)?.[1] ?? String(spans.length + 1).padStart(32, '0');
      const span: RecordedSpan = {
        ...{ name, kind, parent, traceparent: `00-${trace}-${id}-01` },
        attributes: { ...attributes },
        ended: false,
      };
      spans.push(span);
      return {
        traceparent: span.traceparent,
        end({ error, attributes: more } = {}) {
          if (span.ended) return;
          span.ended = true;
          span.error = error;
          Object.assign(span.attributes, more);
        },
      };
    },
  };
}

export interface Observation {
  readonly name: string;
  readonly labels: Labels<string>;
  readonly value: number;
}

export function recordingMetrics(): Metrics & {
  readonly families: MetricFamily<string>[];
  readonly seen: Observation[];
  readonly gauges: Map<string, () => unknown>;
} {
  const families: MetricFamily<string>[] = [];
  const seen: Observation[] = [];
  const gauges = new Map<string, () => unknown>();
  return {
    families,
    seen,
    gauges,
    counter: (family) => {
      families.push(family);
      return (labels, by = 1) => seen.push({ name: family.name, labels, value: by });
    },
    histogram: (family) => {
      families.push(family);
      return (labels, seconds) => seen.push({ name: family.name, labels, value: seconds });
    },
    gauge: (family, read) => {
      families.push(family);
      gauges.set(family.name, read);
    },
  };
}
