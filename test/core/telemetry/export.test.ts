/** The adapters: what Prometheus scrapes, and what a collector gets by OTLP. */
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect as connectPlain } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import { afterEach, expect, test, vi } from 'vitest';
import { openTelemetry } from '../../../core/telemetry/live.ts';
import { noTelemetry } from '../../../core/telemetry/port.ts';
import { prometheusMetrics } from '../../../core/telemetry/prometheus.ts';
import { formatTraceparent, parseTraceparent } from '../../../core/telemetry/traceparent.ts';
import { TestAuthority } from '../../support/certificates.ts';

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
  const refused = await fetch(url, { method: 'POST' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
  const head = await fetch(`${url}?x=1`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  await opened.stop();
  await expect(fetch(url)).rejects.toThrow();
});

test('a histogram counts a duration in each bucket from its own limit on, from 0.5 ms to 30 s', async () => {
  const metrics = prometheusMetrics({});
  const observe = metrics.histogram({ name: 'd_seconds', help: 'of a test', labels: [] });
  for (const seconds of [0.0005, 0.00051, 0.0025, 30, 30.1]) observe({}, seconds);
  const counts = [...(await metrics.text()).matchAll(/^d_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)];
  expect(counts.map(([, limit, count]) => `${limit} ${count}`)).toEqual([
    ...['0.0005 1', '0.001 2', '0.0025 3', '0.005 3', '0.01 3', '0.025 3', '0.05 3', '0.1 3', '0.25 3', '0.5 3', '1 3'],
    ...['2.5 3', '5 3', '10 3', '30 4', '+Inf 5'],
  ]);
});

test('a gauge has the values of the present scrape alone', async () => {
  const metrics = prometheusMetrics({});
  let state = 'waiting';
  const family = { name: 'jobs', help: 'of a test', labels: ['state'] as const };
  metrics.gauge(family, () => [{ labels: { state }, value: 1 }]);
  expect(await metrics.text()).toContain('jobs{state="waiting"} 1');
  state = 'active';
  const text = await metrics.text();
  expect(text).toContain('jobs{state="active"} 1');
  expect(text).not.toContain('waiting');
});

test('the port asks for a certificate of the given authority, by TLS 1.2 or newer', async () => {
  const [authority, stranger] = [new TestAuthority(), new TestAuthority('another authority')];
  const { cert, key } = authority.issue({ uris: ['signmesh://test/metrics'], usage: ['server'] });
  const metrics = { host: '127.0.0.1', port: 0, tls: { cert, key, clientCa: authority.ca } };
  const opened = await openTelemetry({ about, metrics, traces: false });
  const url = new URL(opened.metricsUrl!);
  expect(url.protocol).toBe('https:');
  const status = (options: ConnectionOptions) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: Number(url.port), rejectUnauthorized: false, ...options });
      let text = '';
      socket.on('data', (part) => {
        text += part.toString();
        if (text.includes('\r\n')) socket.destroy();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(text.split('\r\n', 1)[0]!));
      socket.write('GET /metrics HTTP/1.0\r\n\r\n');
    });
  expect(await status(authority.issue({ uris: ['a'] }))).toBe('HTTP/1.1 200 OK');
  expect(await status({})).toBe('');
  expect(await status(stranger.issue({ uris: ['a'] }))).toBe('');
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  expect(await status({ ...authority.issue({ uris: ['a'] }), ...old })).toBe('');
  await opened.stop();
});

test('the port closes its connections when it stops, also one that has not asked yet', async () => {
  const opened = await openTelemetry({ about, metrics: { host: '127.0.0.1', port: 0 }, traces: false });
  const socket = connectPlain(Number(new URL(opened.metricsUrl!).port), '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  await Promise.all([opened.stop(), closed]);
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
  expect(telemetry.isOn).toBe(true);
  const { tracer } = telemetry;
  const outer = tracer.start('outer', 'server', parent, { 'signmesh.attempt': 2 });
  const inner = tracer.start('inner', 'client', outer.traceparent);
  inner.end({ error: 'nodes_silent' });
  outer.end({ attributes: { 'signmesh.nodes': 3 } });
  outer.end({ error: 'later' });
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
  expect(resourceSpans[0].resource.attributes).toEqual([
    { key: 'service.namespace', value: { stringValue: 'signmesh' } },
    { key: 'service.name', value: { stringValue: 'signmesh-node' } },
    { key: 'signmesh.node', value: { stringValue: '3' } },
  ]);
  const spans = resourceSpans[0].scopeSpans[0].spans as Record<string, unknown>[];
  const named = new Map(spans.map((span) => [span.name, span]));
  expect([...named.keys()].sort()).toEqual(['inner', 'outer', 'root']);
  expect(named.get('outer')).toMatchObject({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    parentSpanId: '00f067aa0ba902b7',
    kind: 2,
    status: { code: 0 },
    attributes: [
      { key: 'signmesh.attempt', value: { intValue: 2 } },
      { key: 'signmesh.nodes', value: { intValue: 3 } },
    ],
  });
  expect(named.get('inner')).toMatchObject({
    kind: 3,
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

test.each([
  ['00', false],
  ['01', true],
  ['02', false],
  ['03', true],
  ['ff', true],
])('of the flags %s the last bit alone says whether it is sampled', (flags, isSampled) => {
  expect(parseTraceparent(parent.replace(/01$/, flags))).toMatchObject({ isSampled });
});

test('a traceparent is written as it is read', () => {
  expect(formatTraceparent(parseTraceparent(parent)!)).toBe(parent);
});
