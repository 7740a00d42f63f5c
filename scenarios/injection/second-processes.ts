/**
 * Second processes with the identity of a node: each asks the coordinator for that node's link, and says nothing once it
 * has it. They connect past the proxy of links, as a stranger with a copy of the node's identity would.
 */
import type { ClientHandshakeConfig } from '../../core/actors/live/handshake.ts';
import { LinkClient } from '../../core/actors/live/link-client.ts';
import { decodeFrames, decodeHandshake, encodeFrame, encodeHandshake, type WireMessage } from '../../proto/wire.ts';

export interface SecondProcessesOptions {
  /** ws://host:port of the coordinator now; undefined: it does not listen yet. */
  readonly coordinatorUrl: () => string | undefined;
  /** As the node's own process shakes hands, with another boot. */
  readonly handshakeOf: (nodeId: number) => ClientHandshakeConfig;
}

/** Refused while the node's own process lives: it asks again soon. */
const refusedMs = 100;

export class SecondProcesses {
  readonly #options: SecondProcessesOptions;
  readonly #links = new Map<string, LinkClient<WireMessage>>();

  constructor(options: SecondProcessesOptions) {
    this.#options = options;
  }

  /** `process`: "node/2". Repeatable. */
  set(process: string, on: boolean): void {
    const known = this.#links.get(process);
    if (!on) {
      this.#links.delete(process);
      void known?.stop();
      return;
    }
    const url = this.#options.coordinatorUrl();
    if (known !== undefined || url === undefined) return;
    const link = new LinkClient<WireMessage>({
      url,
      handshake: this.#options.handshakeOf(Number(process.slice('node/'.length))),
      codec: { encodeFrame, decodeFrames, encodeHandshake, decodeHandshake },
      deliver: () => undefined,
      backOff: { maxMs: refusedMs, refusedMs },
    });
    this.#links.set(process, link);
    link.start();
  }

  /** The coordinator listens elsewhere now. */
  moved(): void {
    for (const process of [...this.#links.keys()]) {
      this.set(process, false);
      this.set(process, true);
    }
  }

  async stop(): Promise<void> {
    const links = [...this.#links.values()];
    this.#links.clear();
    await Promise.all(links.map((link) => link.stop()));
  }
}
