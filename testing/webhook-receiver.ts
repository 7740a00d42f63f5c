/** A webhook receiver on loopback with configurable behaviour: it answers, is slow, or resets the connection. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReceiverBehaviour } from '../faults/vocabulary/engine-contract.ts';

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

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { status = 204, slowMs = 0, reset = false } = this.#behaviour;
        const event = JSON.parse(Buffer.concat(chunks).toString()) as { id: string; type: string };
        setTimeout(() => {
          this.received.push({ id: event.id, type: event.type, status: reset ? 0 : status });
          if (reset) request.socket.resetAndDestroy();
          else response.writeHead(status).end();
        }, slowMs);
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
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
