/** The telemetry of a role process: what its settings ask for is loaded and opened, and nothing else. */
import type { MetricsTls } from './metrics-server.ts';
import { noMetrics, noTelemetry, noTracer, type Telemetry } from './port.ts';

export interface TelemetrySettings {
  /** Labels of every metric and attributes of every span: at least `role`. */
  readonly about: Readonly<Record<string, string>>;
  /** Where /metrics is served; undefined: nowhere. */
  readonly metrics: MetricsAddress | undefined;
  /** Whether spans are exported; where to is OpenTelemetry's to read. */
  readonly traces: boolean;
}

export interface LiveTelemetry {
  readonly telemetry: Telemetry;
  /** undefined: metrics are not served. */
  readonly metricsUrl: string | undefined;
  /** Sends the spans that wait, closes the port. Repeatable. */
  stop(): Promise<void>;
}

export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
  readonly tls?: MetricsTls | undefined;
}

/** Rejects with the error of `listen` when the port is not available. */
export async function openTelemetry({ about, metrics, traces }: TelemetrySettings): Promise<LiveTelemetry> {
  if (metrics === undefined && !traces) {
    return { telemetry: noTelemetry, metricsUrl: undefined, stop: () => Promise.resolve() };
  }
  const [served, tracer] = await Promise.all([
    metrics && openMetrics(about, metrics),
    traces ? import('./otlp.ts').then(({ otlpTracer }) => otlpTracer(resourceOf(about))) : undefined,
  ]);
  return {
    telemetry: { metrics: served?.metrics ?? noMetrics, tracer: tracer ?? noTracer, isOn: true },
    metricsUrl: served?.server.url,
    stop: async () => {
      await Promise.all([served?.server.stop(), tracer?.stop()]);
    },
  };
}

async function openMetrics(about: Readonly<Record<string, string>>, { host, port, tls }: MetricsAddress) {
  const [{ prometheusMetrics }, { serveMetrics }] = await Promise.all([
    import('./prometheus.ts'),
    import('./metrics-server.ts'),
  ]);
  const metrics = prometheusMetrics(about);
  return { metrics, server: await serveMetrics(metrics, host, port, tls) };
}

/** As OpenTelemetry names what a span comes from. */
function resourceOf({ role = '', ...rest }: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.fromEntries(Object.entries(rest).map(([name, value]) => [`signmesh.${name}`, value]));
  return { 'service.namespace': 'signmesh', 'service.name': `signmesh-${role}`, ...own };
}
