/**
 * The ports of metrics and traces. A process that exports neither gets `noTelemetry`, which costs nothing and loads nothing.
 *
 * Rooms declare what they measure through `Metrics`, once for each process; the names are those of docs/metrics.md.
 */

/** What a metric is called, in which unit (by its suffix: _seconds, _bytes, _total), and by what it is told apart. */
export interface MetricFamily<L extends string> {
  readonly name: string;
  readonly help: string;
  /** Values must be few: never an id, a tenant or a path with parameters filled in. */
  readonly labels: readonly L[];
}

export type Labels<L extends string> = Readonly<Record<L, string>>;

export interface Reading<L extends string> {
  readonly labels: Labels<L>;
  readonly value: number;
}

export interface Metrics {
  /** Rises alone. `by`: 1 unless told. */
  counter<L extends string>(family: MetricFamily<L>): (labels: Labels<L>, by?: number) => void;
  /** Of seconds, over the buckets of `bucketsS`. */
  histogram<L extends string>(family: MetricFamily<L>): (labels: Labels<L>, seconds: number) => void;
  /** Read at each scrape; a reader that fails gives none. */
  gauge<L extends string>(
    family: MetricFamily<L>,
    read: () => readonly Reading<L>[] | Promise<readonly Reading<L>[]>,
  ): void;
}

/** From half a millisecond, a signature's round on a quiet machine, to the 30 s that a caller waits. */
export const bucketsS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export type SpanKind = 'server' | 'client' | 'internal' | 'producer' | 'consumer';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** W3C traceparent of this span, to be handed on; without a tracer, the parent's. */
  readonly traceparent: string;
  /** `error`: what went wrong, a code rather than a sentence. Ending it again changes nothing. */
  end(outcome?: { readonly error?: string | undefined; readonly attributes?: Attributes }): void;
}

export interface Tracer {
  /** Whether spans go anywhere: the rest is not worth preparing otherwise. */
  readonly isOn: boolean;
  /** `parent`: W3C traceparent; empty or malformed begins a trace of its own. Attributes never hold a secret. */
  start(name: string, kind: SpanKind, parent: string, attributes?: Attributes): Span;
}

export interface Telemetry {
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** Whether anything is measured at all. */
  readonly isOn: boolean;
}

const nothing = (): void => undefined;

export const noMetrics: Metrics = Object.freeze({
  counter: () => nothing,
  histogram: () => nothing,
  gauge: nothing,
});

export const noTracer: Tracer = Object.freeze({
  isOn: false,
  start: (_name: string, _kind: SpanKind, parent: string): Span => ({ traceparent: parent, end: nothing }),
});

export const noTelemetry: Telemetry = Object.freeze({ metrics: noMetrics, tracer: noTracer, isOn: false });
