/**
 * The simulated vendor as a separate server on loopback: it stores keys and book in a journal, answers after its decision, and
 * calls back by HTTP. It only shares a secret with the cluster (core/crypto/vendor-mac.ts).
 *
 * | Request | Answer |
 * |---|---|
 * | `POST /v1/keys` `{ key, curve, challenge }` | `{ publicKey, signature }`, of the challenge; a key is made once |
 * | `DELETE /v1/keys` `{ key }` | `{}`; its open orders are cancelled |
 * | `POST /v1/orders` `{ externalId, key, message, callback }` | the order; for a known external id the existing one |
 * | `POST /v1/orders/cancel` `{ externalId }` | the order |
 *
 * The vendor writes a decision to the journal before it reports it. It retries a refused callback a few times, then stops: a
 * client that waits for an order polls it.
 */
import { timingSafeEqual } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Ports } from '../../../core/actors/contract.ts';
import { fromHex } from '../../../core/crypto/bytes.ts';
import { vendorMac, vendorMacAgeMaxMs } from '../../../core/crypto/vendor-mac.ts';
import {
  type BookEntry,
  type Notice,
  VendorBook,
  type VendorConduct,
  type VendorOrder,
  VendorRefusal,
} from './model.ts';

const bodyBytesMax = 256 * 1024;
const connectionsMax = 256;
const limits = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };
const redeliveriesMs = [1_000, 5_000, 25_000, 120_000];
const callbackTimeoutMs = 5_000;

export interface VendorServerOptions {
  /** The directory of its journal; created if missing. */
  readonly directory: string;
  readonly port: number;
  /** Secret. */
  readonly secret: Uint8Array;
  /** Its decision time. */
  readonly decideMs: number;
  readonly lifetimeMs: number;
  readonly ports: Ports;
}

export class VendorServer {
  readonly #options: VendorServerOptions;
  readonly #book: VendorBook;
  readonly #server: Server;
  #wake: (() => void) | undefined;
  #stopped = false;

  private constructor(options: VendorServerOptions) {
    this.#options = options;
    const { directory, decideMs, lifetimeMs, ports } = options;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const journal = join(directory, 'journal.jsonl');
    const changed = (entry: BookEntry) => appendFileSync(journal, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    const { random } = ports;
    this.#book = new VendorBook({ random, decideMs, lifetimeMs, changed }, journalOf(journal));
    this.#server = createServer(limits, (request, response) => {
      this.#asked(request, response).catch(() => response.destroy());
    });
    this.#server.maxConnections = connectionsMax;
  }

  /** Resolves when it listens. */
  static async start(options: VendorServerOptions): Promise<VendorServer> {
    const vendor = new VendorServer(options);
    await new Promise<void>((resolve, reject) => {
      vendor.#server.once('error', reject);
      vendor.#server.listen(options.port, '127.0.0.1', resolve);
    });
    vendor.#decide();
    return vendor;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Its orders, for tests. */
  get orders(): readonly VendorOrder[] {
    return this.#book.orders;
  }

  get keys(): readonly string[] {
    return this.#book.keys;
  }

  /** undefined: it behaves well. */
  behave(conduct: VendorConduct | undefined): void {
    this.#book.conduct = conduct;
  }

  stop(): Promise<void> {
    this.#stopped = true;
    this.#wake?.();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  get #nowMs(): number {
    return this.#options.ports.clock.nowMs();
  }

  async #asked(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { secret } = this.#options;
    const mac = String(request.headers['x-vendor-mac'] ?? '');
    const { status, body } = await this.#answer(request, mac);
    const text = JSON.stringify(body);
    response.writeHead(status, {
      'content-type': 'application/json',
      'x-vendor-mac': vendorMac(secret, 'answer', mac, String(status), text),
    });
    response.end(text);
    this.#decide();
  }

  async #answer(request: IncomingMessage, mac: string): Promise<{ status: number; body: object }> {
    const { method = '', url = '', headers } = request;
    // Undefined: the connection broke in the middle.
    const text = await bodyOf(request).catch(() => undefined);
    if (text === undefined) return refusal(400, 'the request was cut short');
    const time = String(headers['x-vendor-time'] ?? '');
    const expected = Buffer.from(vendorMac(this.#options.secret, 'request', time, method, url, text));
    // A header holds Latin-1: as many characters may be more bytes.
    const given = Buffer.from(mac);
    const isKnown = expected.length === given.length && timingSafeEqual(expected, given);
    if (!isKnown || !(Math.abs(this.#nowMs - Number(time)) <= vendorMacAgeMaxMs))
      return refusal(401, 'not authenticated');
    if (this.#book.isUnavailable) return refusal(503, 'unavailable');
    try {
      return { status: 200, body: this.#serve(`${method} ${url}`, JSON.parse(text) as Record<string, string>) };
    } catch (error) {
      if (error instanceof VendorRefusal) return refusal(error.status, error.message);
      return refusal(400, 'the request is malformed');
    }
  }

  #serve(route: string, asked: Readonly<Record<string, string>>): object {
    const { key = '', externalId = '', message = '', callback = '', curve, challenge = '' } = asked;
    switch (route) {
      case 'POST /v1/keys': {
        if (key === '' || (curve !== 'secp256k1' && curve !== 'ed25519')) throw new VendorRefusal(409, 'key and curve');
        const made = this.#book.makeKey(key, curve, fromHex(challenge));
        return { publicKey: hex(made.publicKey), signature: hex(made.signature) };
      }
      case 'DELETE /v1/keys':
        this.#book.deleteKey(key, this.#nowMs);
        return {};
      case 'POST /v1/orders':
        if (externalId === '' || message === '' || !URL.canParse(callback)) throw new VendorRefusal(409, 'an order');
        return shown(this.#book.place({ externalId, key, message: hex(fromHex(message)), callback }, this.#nowMs));
      case 'POST /v1/orders/cancel':
        return shown(this.#book.cancel(externalId, this.#nowMs));
      default:
        throw new VendorRefusal(404, 'there is no such route');
    }
  }

  /** Decides due orders, calls back, and waits for the next due order. */
  #decide(): void {
    this.#wake?.();
    this.#wake = undefined;
    if (this.#stopped) return;
    for (const notice of this.#book.advance(this.#nowMs)) void this.#callBack(notice, 0);
    const nextMs = this.#book.nextMs();
    if (nextMs === Number.POSITIVE_INFINITY) return;
    this.#wake = this.#options.ports.timers.start(Math.max(1, nextMs - this.#nowMs), () => this.#decide());
  }

  async #callBack(notice: Notice, tries: number): Promise<void> {
    const { callback, externalId, status } = notice;
    if ((await this.#post(callback, JSON.stringify({ externalId, status }))) || this.#stopped) return;
    const againMs = redeliveriesMs[tries];
    if (againMs !== undefined) {
      this.#options.ports.timers.start(againMs, () => void this.#callBack(notice, tries + 1));
    }
  }

  /** Whether the receiver accepted it. */
  async #post(callback: string, text: string): Promise<boolean> {
    const time = String(this.#nowMs);
    const { pathname } = new URL(callback);
    const mac = vendorMac(this.#options.secret, 'callback', time, pathname, text);
    try {
      const { ok } = await fetch(callback, {
        method: 'POST',
        body: text,
        headers: { 'content-type': 'application/json', 'x-vendor-time': time, 'x-vendor-mac': mac },
        redirect: 'error',
        signal: AbortSignal.timeout(callbackTimeoutMs),
      });
      return ok;
    } catch {
      return false;
    }
  }
}

/** Only the last line can be incomplete after a crash, and the vendor never answered it. */
function* journalOf(file: string): Generator<BookEntry> {
  if (!existsSync(file)) return;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    try {
      yield JSON.parse(line) as BookEntry;
    } catch {}
  }
}

function shown({ externalId, status, signature, expiresMs }: VendorOrder): object {
  return { externalId, status, signature, expiresAt: new Date(expiresMs).toISOString() };
}

function refusal(status: number, message: string) {
  return { status, body: { message } };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > bodyBytesMax) return '';
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}
