/** The adapters: what Prometheus scrapes, and what a collector gets by OTLP. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { openTelemetry } from '../../telemetry/live.ts';
import { noTelemetry } from '../../telemetry/port.ts';
import { formatTraceparent, parseTraceparent } from '../../telemetry/traceparent.ts';

const about = { role: 'node', node: '3' };
const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('without settings nothing is opened, and a span hands its parent on', async () => {
  const { telemetry, metricsUrl, stop } = await openTelemetry({ about, metrics: undefined, traces: false });
  expect(telemetry).toBe(noTelemetry);
  expect(metricsUrl).toBeUndefined();
  expect(telemetry.tracer.start('x', 'internal', parent).traceparent).toBe(parent);
  await stop();
});

test('GET /metrics answers what was counted, with the role; a gauge that fails costs itself alone', async () => {
  const opened = await openTelemetry({ about, metrics: { host: '127.0.0.1', port: 0 }, traces: false });
  const { metrics } = opened.telemetry;
  const family = (name: string) => ({ name, help: 'of a test', labels: ['kind'] as const });
  metrics.counter(family('a_total'))({ kind: 'x' }, 3);
  metrics.histogram(family('b_seconds'))({ kind: 'x' }, 0.02);
  // Another node of the same process.
  metrics.counter(family('a_total'))({ kind: 'x' }, 4);
  metrics.histogram(family('b_seconds'))({ kind: 'x' }, 0.02);
  metrics.gauge(family('c'), () => [{ labels: { kind: 'y' }, value: 5 }]);
  metrics.gauge(family('d'), () => Promise.reject(new Error('Redis is gone')));
  const url = opened.metricsUrl!;
  const answer = await fetch(url);
  const text = await answer.text();
  expect(answer.headers.get('content-type')).toContain('text/plain');
  expect(text).toMatch(/^a_total\{(?=.*kind="x")(?=.*role="node")(?=.*node="3").*\} 7$/m);
  expect(text).toMatch(/^b_seconds_bucket\{(?=.*le="0.025").*\} 2$/m);
  expect(text).toMatch(/^c\{.*kind="y".*\} 5$/m);
  expect(text).not.toMatch(/^d\{/m);
  expect(text).toContain('nodejs_eventloop_lag_seconds');
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
  await opened.stop();
  await expect(fetch(url)).rejects.toThrow();
});

test('a port that is taken is the error of its settings', async () => {
  const first = await openTelemetry({ about, metrics: { host: '127.0.0.1', port: 0 }, traces: false });
  const port = Number(new URL(first.metricsUrl!).port);
  await expect(openTelemetry({ about, metrics: { host: '127.0.0.1', port }, traces: false })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
  await first.stop();
});

test('spans reach a collector with their parents, attributes and errors', async () => {
  const bodies: string[] = [];
  const collector = createServer((request: IncomingMessage, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      bodies.push(`${request.url} ${Buffer.concat(parts).toString()}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`);
  const { telemetry, stop } = await openTelemetry({ about, metrics: undefined, traces: true });
  const { tracer } = telemetry;
  const outer = tracer.start('outer', 'server', parent, { 'signmesh.attempt': 2 });
  const inner = tracer.start('inner', 'client', outer.traceparent);
  inner.end({ error: 'nodes_silent' });
  outer.end();
  const unsampled = tracer.start('unsampled', 'server', parent.replace(/01$/, '00'));
  expect(unsampled.traceparent).toMatch(/-00$/);
  unsampled.end();
  const root = tracer.start('root', 'server', 'not a traceparent');
  root.end();
  await stop();
  await new Promise((resolve) => collector.close(resolve));
  expect(bodies).toHaveLength(1);
  const [path, ...json] = bodies[0]!.split(' ');
  expect(path).toBe('/v1/traces');
  const { resourceSpans } = JSON.parse(json.join(' '));
  const text = JSON.stringify(resourceSpans[0].resource);
  expect(text).toContain('signmesh-node');
  const spans = resourceSpans[0].scopeSpans[0].spans as Record<string, unknown>[];
  const named = new Map(spans.map((span) => [span.name, span]));
  expect([...named.keys()].sort()).toEqual(['inner', 'outer', 'root']);
  expect(named.get('outer')).toMatchObject({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    parentSpanId: '00f067aa0ba902b7',
    attributes: [{ key: 'signmesh.attempt', value: { intValue: 2 } }],
  });
  expect(named.get('inner')).toMatchObject({
    parentSpanId: parseTraceparent(outer.traceparent)!.spanId,
    status: { code: 2, message: 'nodes_silent' },
  });
  expect(named.get('root')!.parentSpanId).toBeUndefined();
});

test.each(['', 'x', '00-00000000000000000000000000000000-00f067aa0ba902b7-01', `${parent}-more`, parent.toUpperCase()])(
  'a malformed traceparent is none: %j',
  (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  },
);

test('a traceparent is written as it is read', () => {
  expect(formatTraceparent(parseTraceparent(parent)!)).toBe(parent);
});
