/** A webhook receiver on loopback with configurable behaviour: it answers, is slow, or resets the connection. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReceiverBehaviour } from '../faults/vocabulary/engine-contract.ts';
import { type ReceivedRequest, type Respond, respondWith } from './webhooks.ts';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  /** The status that it was answered with; 0: the connection was cut. */
  readonly status: number;
}

export class WebhookReceiver {
  readonly received: ReceivedEvent[] = [];
  readonly #server: Server;
  #behaviour: ReceiverBehaviour = {};

  private constructor(hears: (request: ReceivedRequest, failure?: unknown) => void, respond: Respond | undefined) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', async () => {
        const atMs = Date.now();
        const body = Buffer.concat(chunks).toString();
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        );
        const { status: told, slowMs = 0, reset = false } = this.#behaviour;
        const made = () => new Request(this.url, { method: 'POST', headers, body });
        const { status, retryAfter, failure } = await respondWith(told === undefined ? respond : () => told, made);
        const event = JSON.parse(body) as { id: string; type: string };
        setTimeout(() => {
          const given = reset ? 0 : status;
          this.received.push({ id: event.id, type: event.type, status: given });
          hears({ body, headers, status: given, atMs }, failure);
          if (reset) request.socket.resetAndDestroy();
          else response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
        }, slowMs);
      });
    });
  }

  /** `hears` is called with each request, once it was answered; `respond` answers while no behaviour is set. */
  static async start(
    hears: (request: ReceivedRequest, failure?: unknown) => void = () => undefined,
    respond?: Respond,
  ): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(hears, respond);
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  behave(behaviour: ReceiverBehaviour | undefined): void {
    this.#behaviour = behaviour ?? {};
  }

  /** Types of the events that it has acknowledged. */
  acknowledged(): readonly string[] {
    return this.received.filter(({ status }) => status >= 200 && status < 300).map(({ type }) => type);
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}
