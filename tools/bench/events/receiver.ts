/** A receiver of webhooks in the bench's own process: it answers 204 at once and notifies waiting callers. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export class Receiver {
  readonly #server: Server;
  readonly #waiting = new Map<string, () => void>();
  #received = 0;

  private constructor(hangs: boolean) {
    this.#server = createServer((request, response) => {
      if (hangs) return;
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        response.writeHead(204).end();
        this.#take(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      });
    });
  }

  /** `hangs`: it accepts connections and never answers. */
  static async start(hangs = false): Promise<Receiver> {
    const receiver = new Receiver(hangs);
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Deliveries so far, including repetitions. */
  get received(): number {
    return this.#received;
  }

  /** Resolves when an event with this version of this resource arrives. Call it before the change. */
  arrival(resourceId: string, version: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(`${resourceId} ${version}`, resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(body: Buffer): void {
    this.#received += 1;
    if (this.#waiting.size === 0) return;
    const { resource } = JSON.parse(body.toString()) as { resource: { id: string; version: number } };
    const key = `${resource.id} ${resource.version}`;
    this.#waiting.get(key)?.();
    this.#waiting.delete(key);
  }
}
