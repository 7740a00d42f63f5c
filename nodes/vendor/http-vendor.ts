/**
 * The live VendorPort: the vendor over HTTP, and a server for its callbacks.
 *
 * Both directions carry a MAC under the secret that the node and the vendor share, over a time and the content; an answer's
 * also covers its request's. So both are authentic, even without TLS. A callback only names an order to poll: a forged or
 * repeated one only costs a poll.
 *
 * Every request gets one answer: from the vendor, or with VENDOR_UNAVAILABLE when it refuses, is unreachable, takes too long, or
 * sends an invalid answer.
 */
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bindApart } from '../../core/actors/live/bind-apart.ts';
import { type Log, systemClock } from '../../core/actors/live/ports.ts';
import { fromHex, toHex, utf8 } from '../../core/crypto/bytes.ts';
import { vendorMac, vendorMacAgeMaxMs } from '../../core/crypto/vendor-mac.ts';
import type { HsmOutcome, HsmRequest, VendorFault } from '../records/hsm-port.ts';
import type { VendorOrderState, VendorOutcome, VendorPort, VendorRequest } from '../records/vendor-port.ts';

const answerBytesMax = 64 * 1024;
const callbackBytesMax = 4 * 1024;
/** Strangers may reach the port of callbacks. */
const vendorConnectionsMax = 64;
const vendorLimits = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };
const callbackPath = '/v1/vendor-callbacks/';

export interface VendorConfig {
  /** URL of the vendor's API, without a path. */
  readonly url: string;
  /** Secret, at least 32 bytes: shared with the vendor. */
  readonly secret: Uint8Array;
  readonly timeoutMs: number;
  readonly callbackHost: string;
  /** 0: any free port. */
  readonly callbackPort: number;
  /** Ports of other listeners, which a free one must not be. */
  readonly reservedPorts?: ReadonlySet<number>;
  /** The URL for the vendor; undefined: host and port. */
  readonly callbackUrl: string | undefined;
}

/** A node's vendor, which ends with the node. */
export interface StoppableVendor extends VendorPort {
  /** Stops the callback server. */
  stop(): Promise<void>;
}

/** Polls an order; false: not now, the vendor may call again. */
export type OnNews = (tenant: string, reference: string) => boolean;

const unconfigured = {
  kind: 'failed' as const,
  fault: 'VENDOR_UNCONFIGURED' as const,
  message: 'no vendor is configured',
};

export const noVendor: StoppableVendor = {
  ask: (_, answer) => queueMicrotask(() => answer(unconfigured)),
  order: (_, answer) => queueMicrotask(() => answer(unconfigured)),
  stop: () => Promise.resolve(),
};

export class HttpVendor implements StoppableVendor {
  readonly #config: VendorConfig;
  readonly #clusterId: string;
  readonly #log: Log;
  readonly #onNews: OnNews;
  readonly #door: Server;

  private constructor(config: VendorConfig, clusterId: string, onNews: OnNews, log: Log) {
    this.#config = config;
    this.#clusterId = clusterId;
    this.#onNews = onNews;
    this.#log = log;
    this.#door = createServer(vendorLimits, (request, response) => void this.#called(request, response));
    this.#door.maxConnections = vendorConnectionsMax;
  }

  /** Resolves when it accepts callbacks. Rejects when it cannot listen on their address. */
  static async start(config: VendorConfig, clusterId: string, onNews: OnNews, log: Log): Promise<HttpVendor> {
    const vendor = new HttpVendor(config, clusterId, onNews, log);
    const door = vendor.#door;
    const { callbackPort: port, callbackHost: host, reservedPorts } = config;
    await bindApart((port === 0 && reservedPorts) || new Set(), {
      bind: () =>
        new Promise<Server>((resolve, reject) => {
          door.once('error', reject);
          door.listen(port, host, () => resolve(door));
        }),
      portOf: (bound) => (bound.address() as AddressInfo).port,
      release: (bound) => new Promise((resolve) => bound.close(resolve)),
    });
    log.info({ vendor: new URL(config.url).host, callbacks: vendor.#callbackUrl }, 'vendor configured');
    return vendor;
  }

  ask(request: HsmRequest, answer: (outcome: HsmOutcome) => void): void {
    const key = this.#keyName(request.label);
    if (request.kind === 'destroy') {
      this.#request('DELETE', '/v1/keys', { key }, (): HsmOutcome => ({ kind: 'destroyed' }), answer);
    } else if (request.kind === 'make') {
      const body = { key, curve: request.curve, challenge: toHex(request.challenge) };
      this.#request('POST', '/v1/keys', body, madeKey, answer);
    } else {
      queueMicrotask(() => answer(unavailable('a vendor is asked by orders')));
    }
  }

  order(request: VendorRequest, answer: (outcome: VendorOutcome) => void): void {
    const { externalId } = request;
    if (request.kind === 'cancel') {
      this.#request('POST', '/v1/orders/cancel', { externalId }, orderState, answer);
      return;
    }
    const { label, message, tenant, reference } = request;
    const callback = `${this.#callbackUrl}${callbackPath}${encodeURIComponent(tenant)}/${reference}`;
    const body = { externalId, key: this.#keyName(label), message: toHex(message), callback };
    this.#request('POST', '/v1/orders', body, orderState, answer);
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#door.close(() => resolve());
      this.#door.closeAllConnections();
    });
  }

  #keyName(label: string): string {
    return `${this.#clusterId}/${label}`;
  }

  get #callbackUrl(): string {
    const { callbackUrl, callbackHost } = this.#config;
    return callbackUrl ?? `http://${callbackHost}:${(this.#door.address() as AddressInfo).port}`;
  }

  /** Sends one request. `read` returns undefined for an invalid answer. */
  #request<T>(
    method: 'POST' | 'DELETE',
    path: string,
    content: object,
    read: (answer: Readonly<Record<string, unknown>>) => T | undefined,
    answer: (outcome: T | ReturnType<typeof unavailable>) => void,
  ): void {
    const { host } = new URL(this.#config.url);
    this.#exchange(method, path, JSON.stringify(content)).then(
      ({ status, body }) => {
        if (status !== 200) answer(unavailable(`${host} answers ${status}`));
        else answer(read(body) ?? unavailable(`${host} answers what is no answer`));
      },
      (error: unknown) => answer(unavailable(`${host}: ${textOf(error)}`)),
    );
  }

  /** Rejects without an authentic answer of the vendor. */
  async #exchange(method: string, path: string, content: string) {
    const { url, secret, timeoutMs } = this.#config;
    const time = String(systemClock.nowMs());
    const mac = vendorMac(secret, 'request', time, method, path, content);
    const response = await fetch(new URL(path, url), {
      method,
      body: content,
      headers: { 'content-type': 'application/json', 'x-vendor-time': time, 'x-vendor-mac': mac },
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await limitedText(response);
    const expected = vendorMac(secret, 'answer', mac, String(response.status), text);
    if (!sameText(expected, response.headers.get('x-vendor-mac') ?? ''))
      throw new Error('the answer is not the vendor’s');
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null) throw new Error('the answer is no object');
    return { status: response.status, body: body as Readonly<Record<string, unknown>> };
  }

  async #called(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const status = await this.#take(request).catch(() => 400);
    response.writeHead(status).end();
  }

  /** The status of the answer to a callback. */
  async #take(request: IncomingMessage): Promise<number> {
    const { method = '', url = '', headers } = request;
    if (method !== 'POST' || !url.startsWith(callbackPath)) return 404;
    const text = await bodyOf(request);
    const time = String(headers['x-vendor-time'] ?? '');
    const expected = vendorMac(this.#config.secret, 'callback', time, url, text);
    const ageMs = Math.abs(systemClock.nowMs() - Number(time));
    if (!sameText(expected, String(headers['x-vendor-mac'] ?? '')) || !(ageMs <= vendorMacAgeMaxMs)) {
      this.#log.warn({ event: 'vendor.callback.refused' }, 'a callback is not the vendor’s');
      return 401;
    }
    const [tenant = '', reference = ''] = url.slice(callbackPath.length).split('/');
    return this.#onNews(decodeURIComponent(tenant), reference) ? 204 : 503;
  }
}

function unavailable(message: string): { kind: 'failed'; fault: VendorFault; message: string } {
  return { kind: 'failed', fault: 'VENDOR_UNAVAILABLE', message };
}

function madeKey({ publicKey, signature }: Readonly<Record<string, unknown>>): HsmOutcome | undefined {
  if (!isHex(publicKey) || !isHex(signature)) return undefined;
  return { kind: 'made', publicKey: fromHex(publicKey), signature: fromHex(signature) };
}

/** The vendor's names for the states of an order. */
const states: ReadonlyMap<unknown, VendorOrderState['state']> = new Map([
  ['SUBMITTED', 'open'],
  ['PENDING_SIGNATURE', 'open'],
  ['COMPLETED', 'signed'],
  ['REJECTED', 'rejected'],
  ['CANCELLED', 'cancelled'],
  ['TIMEOUT', 'expired'],
]);

function orderState({ status, signature, expiresAt }: Readonly<Record<string, unknown>>): VendorOutcome | undefined {
  const state = states.get(status);
  const expiresMs = Date.parse(String(expiresAt));
  if (state === undefined || !isHex(signature) || Number.isNaN(expiresMs)) return undefined;
  return { kind: 'order', state, signature: fromHex(signature), expiresMs, detail: String(status) };
}

function isHex(value: unknown): value is string {
  return typeof value === 'string' && /^([0-9a-f]{2}){0,128}$/.test(value);
}

/** In bytes: a header holds Latin-1, of which as many characters may be more bytes. */
function sameText(a: string, b: string): boolean {
  const [one, other] = [utf8(a), utf8(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function limitedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > answerBytesMax) throw new Error('the answer is too long');
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > callbackBytesMax) throw new Error('the callback is too long');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unreachable';
  const { cause } = error;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : error.message;
}
