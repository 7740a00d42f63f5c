/** The port that Prometheus scrapes: GET /metrics, and nothing else. It needs no token: listen where only Prometheus is. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { PrometheusMetrics } from './prometheus.ts';

export interface MetricsServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** PEM texts. `key` is secret. */
export interface MetricsTls {
  readonly cert: string;
  readonly key: string;
  /** Who scrapes needs a certificate of it; undefined: none. */
  readonly clientCa?: string | undefined;
}

/** `tls` undefined: plain HTTP. Rejects with the error of `listen`. */
export async function serveMetrics(
  metrics: PrometheusMetrics,
  host: string,
  port: number,
  tls?: MetricsTls,
): Promise<MetricsServer> {
  const limits = { requestTimeout: 5_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const answer: RequestListener = (request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (path !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('metrics are at /metrics\n');
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain' }).end('only GET is served\n');
      return;
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500, { 'content-type': 'text/plain' }).end('the metrics could not be collected\n'),
    );
  };
  const server =
    tls === undefined
      ? createServer(limits, answer)
      : createTlsServer({ ...limits, ...tlsOptions(tls), handshakeTimeout: 5_000 }, answer);
  server.maxConnections = 64;
  await listen(server, host, port);
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${bound}/metrics`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function tlsOptions({ cert, key, clientCa }: MetricsTls) {
  const client = clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  return { cert, key, minVersion: 'TLSv1.2' as const, ...client };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
