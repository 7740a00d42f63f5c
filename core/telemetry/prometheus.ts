/** Metrics in a registry of prom-client, and what Prometheus scrapes of it. Node's own metrics of the process are among them. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { bucketsS, type Labels, type Metrics } from './port.ts';

export interface PrometheusMetrics extends Metrics {
  readonly contentType: string;
  /** The text that a scrape gets. */
  text(): Promise<string>;
}

/**
 * `defaults`: labels of every metric, e.g. the role. A counter or histogram that is asked for again is the same one: nodes that share
 * a process share its metrics.
 */
export function prometheusMetrics(defaults: Readonly<Record<string, string>>): PrometheusMetrics {
  const registry = new Registry();
  registry.setDefaultLabels({ ...defaults });
  collectDefaultMetrics({ register: registry });
  const settings = <L extends string>(family: { name: string; help: string; labels: readonly L[] }) => ({
    name: family.name,
    help: family.help,
    labelNames: [...family.labels],
    registers: [registry],
  });
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    counter: (family) => {
      const counter = (registry.getSingleMetric(family.name) as Counter | undefined) ?? new Counter(settings(family));
      return (labels, by = 1) => counter.inc(asTheyAre(labels), by);
    },
    histogram: (family) => {
      const histogram =
        (registry.getSingleMetric(family.name) as Histogram | undefined) ??
        new Histogram({ ...settings(family), buckets: [...bucketsS] });
      return (labels, seconds) => histogram.observe(asTheyAre(labels), seconds);
    },
    gauge: (family, read) => {
      const gauge = new Gauge({
        ...settings(family),
        collect: async () => {
          gauge.reset();
          try {
            for (const { labels, value } of await read()) gauge.set(asTheyAre(labels), value);
          } catch {
            // What cannot be read now has no value now; the rest of the scrape has.
          }
        },
      });
    },
  };
}

/** The library's types ask for a mutable record. */
function asTheyAre<L extends string>(labels: Labels<L>): Record<L, string> {
  return labels as Record<L, string>;
}
