/** docs/metrics.md: every metric that a role declares. The rest of the page is hand-written. */

import { CoordinatorTelemetry } from '../../coordinator/telemetry.ts';
import { systemTimers } from '../../core/actors/live/ports.ts';
import { type MetricFamily, type Metrics, noMetrics, noTracer, type Telemetry } from '../../core/telemetry/port.ts';
import { measureGateway } from '../../gateway/telemetry/gateway.ts';
import { measureRequests } from '../../gateway/telemetry/requests.ts';
import { measureQueue, measureSending } from '../../gateway/telemetry/worker.ts';
import { NodeTelemetry } from '../../nodes/telemetry.ts';
import { code, table, withSections } from './sections.ts';

type Role = 'gateway' | 'coordinator' | 'node' | 'worker';

interface Declared extends MetricFamily<string> {
  readonly role: Role;
  readonly type: 'counter' | 'histogram' | 'gauge';
}

const declare: Readonly<Record<Role, (telemetry: Telemetry) => unknown>> = {
  gateway: (telemetry) => {
    measureRequests(telemetry);
    // Only a scrape reads gauges.
    measureGateway(telemetry.metrics, {} as Parameters<typeof measureGateway>[1]);
  },
  coordinator: (telemetry) => new CoordinatorTelemetry(telemetry, systemTimers),
  node: (telemetry) => new NodeTelemetry(telemetry, systemTimers),
  worker: (telemetry) => {
    measureSending(telemetry, systemTimers, () => Promise.reject(new Error('nothing is sent')));
    measureQueue(telemetry.metrics, () => Promise.resolve({}));
  },
};

/** In the order of roles, then of their declarations. */
export function metricFamilies(): readonly Declared[] {
  const families: Declared[] = [];
  for (const [role, open] of Object.entries(declare) as [Role, (telemetry: Telemetry) => unknown][]) {
    const noting = (type: Declared['type']) => (family: MetricFamily<string>) => {
      families.push({ ...family, role, type });
      return () => undefined;
    };
    const metrics: Metrics = {
      ...noMetrics,
      counter: noting('counter'),
      histogram: noting('histogram'),
      gauge: noting('gauge'),
    };
    open({ metrics, tracer: noTracer, isOn: true });
  }
  return families;
}

export function metricsPage(standing: string): string {
  const rows = metricFamilies().map(({ role, name, type, labels, help }) => [
    role,
    code(name),
    type,
    labels.map(code).join(', '),
    help,
  ]);
  return withSections(
    standing,
    new Map([['metrics', table(['Role', 'Metric', 'Type', 'Labels', 'What it is'], rows)]]),
  );
}
