/**
 * Stands between the coordinator and its peers: nodes and gateways connect here, and each connection has one of its own
 * to the coordinator (proxied-link.ts). While nothing is armed messages pass as they are; otherwise the evaluator decides every frame's fate. The processes on both ends do not notice the proxy: the handshake, heartbeats and close codes pass as well.
 */
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { WireEnvelope } from '../../proto/wire.ts';
import { type FrameEvaluator, type LinkWatcher, proxyMessageBytesMax } from './link-ports.ts';
import { ProxiedLink } from './proxied-link.ts';

export interface LinkProxyOptions {
  /** ws://host:port of the coordinator now; undefined: it does not listen yet. */
  readonly upstreamUrl: () => string | undefined;
  readonly evaluator: FrameEvaluator;
  readonly watcher: LinkWatcher;
}

export class LinkProxy {
  readonly #options: LinkProxyOptions;
  readonly #links = new Set<ProxiedLink>();
  readonly #silent = new Set<string>();
  #server: WebSocketServer | undefined;

  constructor(options: LinkProxyOptions) {
    this.#options = options;
  }

  /** Listens on loopback; resolves with the URL for peers. */
  start(port = 0): Promise<string> {
    return new Promise((resolve, reject) => {
      const server = new WebSocketServer({
        host: '127.0.0.1',
        port,
        perMessageDeflate: false,
        maxPayload: proxyMessageBytesMax,
        autoPong: false,
      });
      this.#server = server;
      server.once('error', reject);
      server.once('listening', () => {
        server.off('error', reject);
        server.on('error', () => undefined);
        resolve(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
      });
      server.on('connection', (ws) => this.#accept(ws));
    });
  }

  /** Cuts every link and closes the port. */
  async stop(): Promise<void> {
    for (const link of this.#links) link.cut();
    const server = this.#server;
    if (server === undefined) return;
    for (const ws of server.clients) ws.terminate();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  /** Whether a link of this peer is up: its handshake has passed, and neither end has closed. */
  isUp(peer: string): boolean {
    return [...this.#links].some((link) => link.peer === peer && link.isUp);
  }

  /** The process is dead from this moment on: nothing more of it passes, and the other ends see their link break. */
  cut(process: string): void {
    for (const link of this.#links) if (process === 'coordinator' || link.peer === process) link.cut(process);
  }

  /** Whether heartbeats and handshakes of the peer pass. */
  silence(process: string, on: boolean): void {
    if (on) this.#silent.add(process);
    else this.#silent.delete(process);
    for (const link of this.#links) link.reconsider();
  }

  /** Frames that were held. Without a link they are lost. */
  deliver(peer: string, direction: 'in' | 'out', envelopes: readonly WireEnvelope[]): void {
    const link = [...this.#links].reverse().find((each) => each.peer === peer && each.isUp);
    for (const envelope of envelopes) link?.deliver(direction, envelope);
  }

  /** What is late on any link arrives now, in order. */
  hurry(): void {
    for (const link of this.#links) link.hurry();
  }

  #accept(ws: WebSocket): void {
    const { upstreamUrl, evaluator, watcher } = this.#options;
    const link: ProxiedLink = new ProxiedLink(ws, upstreamUrl, {
      evaluator,
      watcher,
      isSilent: (peer) => this.#silent.has(peer) || this.#silent.has('coordinator'),
      onEnd: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }
}
