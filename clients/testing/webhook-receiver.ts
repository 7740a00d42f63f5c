/** A webhook receiver on loopback with configurable behaviour: it answers, is slow, or resets the connection. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReceiverBehaviour } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { type ReceivedRequest, type Respond, respondWith } from './webhooks.ts';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  /** The status of its answer; 0: the connection was cut. */
  readonly status: number;
  /** The path of the request without its slash: the receiver's name; empty: the unnamed receiver. */
  readonly name: string;
  readonly resource: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A status; `never`: no answer; `reset`: the connection is cut. */
export type WebhookReceiverAnswer = number | 'never' | 'reset';

export class WebhookReceiver {
  readonly received: ReceivedEvent[] = [];
  readonly #server: Server;
  #behaviour: ReceiverBehaviour | undefined;
  /** By the receiver's name. */
  readonly #answers = new Map<string, WebhookReceiverAnswer[]>();

  private constructor(hears: (request: ReceivedRequest, failure?: unknown) => void, respond: Respond | undefined) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', async () => {
        const atMs = Date.now();
        const name = (request.url ?? '/').slice(1);
        const body = Buffer.concat(chunks).toString();
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([field, value]) => [field, String(value)]),
        );
        const { status: told, slowMs = 0, reset = false, never = false } = this.#behaviourOf(name);
        const made = () => new Request(this.url, { method: 'POST', headers, body });
        const { status, retryAfter, failure } = await respondWith(told === undefined ? respond : () => told, made);
        const { id, type, resource } = JSON.parse(body) as { id: string; type: string; resource: { id: string } };
        setTimeout(() => {
          const given = reset || never ? 0 : status;
          this.received.push({ name, id, type, resource: resource.id, headers, body, status: given });
          hears({ body, headers, status: given, atMs }, failure);
          if (never) return;
          if (reset) request.socket.resetAndDestroy();
          else response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
        }, slowMs);
      });
    });
  }

  /** Calls `hears` with each request after its answer; `respond` answers while no behaviour is set. */
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
    this.#behaviour = behaviour;
  }

  /** Sets the answers of the receiver of this name to its next requests, in turn; the last one repeats. */
  answer(name: string, answers: readonly WebhookReceiverAnswer[]): void {
    this.#answers.set(name, [...answers]);
  }

  /** A fault of all receivers overrides the answers of one of them. */
  #behaviourOf(name: string): ReceiverBehaviour & { readonly never?: boolean } {
    const answers = this.#answers.get(name) ?? [];
    const told = answers.length > 1 ? answers.shift() : answers[0];
    if (this.#behaviour !== undefined || told === undefined) return this.#behaviour ?? {};
    if (typeof told === 'number') return { status: told };
    return told === 'never' ? { never: true } : { reset: true };
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
