/**
 * The coordinator's side of all links: listens, performs handshakes, and is the Transport to nodes and gateways.
 *
 * It admits peers (handshake.ts), gives each address at most one live link, and routes an envelope by the first two segments of
 * its receiver. The sender of a peer's frames must be at or below the peer's own address.
 *
 * One peer cannot take the others' share: peer-share.ts slows down, and at last cuts, a peer that sends what nothing asked for.
 *
 * Invariants: `onPeerUp` and `onPeerDown` alternate for each address, and a link that takes over an id comes up after the old
 * one went down. An unauthenticated peer reaches no actor and costs at most `unprovenBytesMax` and twice `handshakeTimeoutMs`. With
 * `tls`, bytes of a peer without a valid certificate do not reach the HTTP parser.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { liesUnder, peerOf } from '../address.ts';
import type { Address, Envelope, RandomBytes, Transport, UndeliveredReason } from '../contract.ts';
import {
  encodeRefused,
  handshakeBytesMax,
  type Peer,
  type RefusalCode,
  type ServerHandshakeConfig,
  serverHandshake,
} from './handshake.ts';
import { nonceBytes } from './handshake-crypto.ts';
import { closeSocket, defaultLinkLimits, Link, type LinkLimits, type LinkStats } from './link.ts';
import { channelOf, type LinkTls, refusalOf, serverTls } from './link-tls.ts';
import { PeerShare } from './peer-share.ts';
import { type Log, silentLog, systemRandom, systemTimers } from './ports.ts';
import { RefusalLog } from './refusal-log.ts';
import { UnprovenConnections } from './unproven-connections.ts';
import type { WireCodec } from './wire-port.ts';

export interface LinkServerOptions<M> {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** A listening server whose port this one takes over, instead of `host` and `port`. */
  readonly listenOn?: NetServer | undefined;
  readonly handshake: ServerHandshakeConfig;
  /** Its certificate, and the authority of its peers'; undefined: links are plain. */
  readonly tls?: LinkTls | undefined;
  readonly codec: WireCodec<M>;
  /** Where inbound envelopes go: the system's `deliver`. */
  readonly deliver: (envelope: Envelope<M>) => UndeliveredReason | undefined;
  /** An inbound envelope that `deliver` refused (not one that was unasked), so that the sender can be answered. */
  readonly onRefused?: (envelope: Envelope<M>, reason: UndeliveredReason) => void;
  readonly onPeerUp?: (peer: Peer) => void;
  readonly onPeerDown?: (peer: Peer, why: string) => void;
  /** Plain HTTP on the same port, e.g. a health check. 404 by default. */
  readonly onRequest?: RequestListener;
  readonly log?: Log;
  readonly random?: RandomBytes;
  readonly limits?: Partial<LinkLimits>;
  /** From the connection to the upgrade, and from there to the Hello. 5,000. */
  readonly handshakeTimeoutMs?: number;
  /** How long the holder of an id has to answer when another peer claims it. 1,000. */
  readonly probeTimeoutMs?: number;
  /** The most connections without a proof; at the bound a new one replaces another (unproven-connections.ts). 256. */
  readonly handshakesMax?: number;
}

/** Bytes that a connection may send before its proof: the upgrade's rest and one Hello. */
const unprovenBytesMax = 4 * handshakeBytesMax;
const handshakeDefaultMs = 5_000;
const checkDefaultMs = 1_000;
const handshakesDefaultMax = 256;

interface Admitted<M> {
  readonly peer: Peer;
  readonly link: Link<M>;
}

export class LinkServer<M> implements Transport<M> {
  readonly #options: LinkServerOptions<M>;
  readonly #limits: LinkLimits;
  readonly #log: Log;
  readonly #refusals: RefusalLog;
  readonly #http: Server;
  readonly #sockets: WebSocketServer;
  readonly #links = new Map<Address, Admitted<M>>();
  readonly #unproven: UnprovenConnections;
  /** By address, for every peer that cost something lately. */
  readonly #shares = new Map<Address, PeerShare>();
  /** Ids whose holder is being probed. */
  readonly #contested = new Set<Address>();
  #stopping = false;

  constructor(options: LinkServerOptions<M>) {
    this.#options = options;
    this.#limits = { ...defaultLinkLimits, ...options.limits };
    this.#log = options.log ?? silentLog;
    this.#refusals = new RefusalLog(this.#log, 'a link was refused');
    const { tls, onRequest = notFound, handshakeTimeoutMs = handshakeDefaultMs } = options;
    // Before the upgrade Node cuts who sends nothing, or sends too slowly.
    const times = {
      headersTimeout: handshakeTimeoutMs,
      requestTimeout: handshakeTimeoutMs,
      connectionsCheckingInterval: Math.min(checkDefaultMs, handshakeTimeoutMs),
    };
    this.#http =
      tls === undefined
        ? createServer(times, onRequest)
        : createTlsServer({ ...times, ...serverTls(tls, handshakeTimeoutMs) }, onRequest);
    if (tls !== undefined) this.#watchTls();
    this.#unproven = new UnprovenConnections(options.handshakesMax ?? handshakesDefaultMax);
    this.#http.on('connection', (socket: Socket) => this.#unproven.add(socket));
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: true,
      perMessageDeflate: false,
      maxPayload: this.#limits.messageBytesMax,
    });
    this.#http.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** Binds; rejects with the system's error when it cannot. */
  start(): Promise<{ readonly host: string; readonly port: number; readonly url: string }> {
    const { host, port, listenOn } = this.#options;
    return new Promise((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(listenOn ?? { port, host }, () => {
        this.#http.off('error', reject);
        this.#http.on('error', (error) => this.#log.error({ error: error.message }, 'the link server failed'));
        const bound = this.#http.address() as AddressInfo;
        const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
        resolve({ host: bound.address, port: bound.port, url: `${this.#scheme}://${name}:${bound.port}` });
      });
    });
  }

  /** Closes every link and the port; resolves when all sockets are gone. Repeatable. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#unproven.destroy();
    for (const { link } of [...this.#links.values()]) link.close('GOING_AWAY');
    if (!this.#http.listening) return;
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    this.#http.closeIdleConnections();
    const cut = setTimeout(() => this.#http.closeAllConnections(), this.#limits.closeGraceMs);
    await closed;
    clearTimeout(cut);
  }

  send(envelope: Envelope<M>): UndeliveredReason | undefined {
    const admitted = this.#links.get(peerOf(envelope.to));
    return admitted === undefined ? 'noRoute' : admitted.link.send(envelope);
  }

  /** The live peers, by address. */
  peers(): readonly Peer[] {
    return [...this.#links.values()]
      .map(({ peer }) => peer)
      .sort((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0));
  }

  stats(): readonly LinkStats[] {
    return [...this.#links.values()].map(({ link }) => link.stats());
  }

  #shareOf(peer: Address): PeerShare {
    let share = this.#shares.get(peer);
    if (share === undefined) {
      for (const [address, other] of this.#shares)
        if (other.isIdle && !this.#links.has(address)) this.#shares.delete(address);
      share = new PeerShare(() => systemTimers.elapsedMs());
      this.#shares.set(peer, share);
    }
    return share;
  }

  get #scheme(): string {
    return this.#options.tls === undefined ? 'ws' : 'wss';
  }

  /** Logs why TLS was refused. */
  #watchTls(): void {
    this.#http.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const refusal = refusalOf(error, socket);
      if (refusal !== undefined) this.#refusals.refused({ ...refusal, remote: remoteOf(socket) });
    });
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', ignore);
    if (this.#stopping) {
      socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#shake(ws, socket, request));
  }

  #shake(ws: WebSocket, socket: Duplex, request: IncomingMessage): void {
    const remote = remoteOf(request.socket);
    const nonce = (this.#options.random ?? systemRandom)(nonceBytes);
    const handshake = serverHandshake(this.#options.handshake, this.#options.codec, nonce, channelOf(request));
    let unprovenBytes = 0;
    let settled = false;

    const settle = () => {
      settled = true;
      clearTimeout(timer);
      socket.off('data', count);
      ws.off('message', take);
      ws.off('close', settle);
      this.#unproven.proven(request.socket);
    };
    const refuse = (code: RefusalCode, peer?: Address) => {
      settle();
      this.#refuse(ws, code, remote, peer);
    };
    const count = (chunk: Buffer) => {
      unprovenBytes += chunk.length;
      if (settled || unprovenBytes <= unprovenBytesMax) return;
      refuse('TOO_LARGE');
      // It reads nothing more of it, not even a close frame.
      ws.pause();
    };
    const take = (data: RawData, isBinary: boolean) => {
      if (!isBinary || !(data instanceof Uint8Array)) {
        refuse('MALFORMED');
        return;
      }
      const verdict = handshake.receive(data);
      if (verdict.kind === 'refused') {
        refuse(verdict.code);
        return;
      }
      clearTimeout(timer);
      const waitMs = this.#shareOf(verdict.peer.address).link();
      if (waitMs === undefined) {
        refuse('TOO_OFTEN', verdict.peer.address);
        return;
      }
      after(waitMs, () =>
        this.#claim(verdict.peer, ws, (admitted) => {
          if (ws.readyState !== ws.OPEN) settle();
          else if (!admitted) refuse('ID_TAKEN', verdict.peer.address);
          else {
            settle();
            this.#admit(verdict.peer, ws, verdict.welcome);
          }
        }),
      );
    };
    const timer = setTimeout(() => refuse('TIMEOUT'), this.#options.handshakeTimeoutMs ?? handshakeDefaultMs);
    timer.unref();
    ws.on('error', ignore);
    ws.on('close', settle);
    ws.on('message', take);
    socket.on('data', count);
    ws.send(handshake.challenge, ignore);
  }

  /** `peer`: authenticated, but refused. Before authentication only its network address is known. */
  #refuse(ws: WebSocket, code: RefusalCode, remote: string, peer?: Address): void {
    this.#refusals.refused({ code, remote, ...(peer !== undefined && { peer }) });
    if (ws.readyState !== ws.OPEN) return;
    ws.send(encodeRefused(this.#options.codec, code), ignore);
    closeSocket(ws, 'HANDSHAKE_REFUSED', this.#limits.closeGraceMs, code);
  }

  /** Checks whether the id is free, or its holder dead. */
  #claim(peer: Peer, ws: WebSocket, answer: (admitted: boolean) => void): void {
    const holder = this.#links.get(peer.address);
    if (holder === undefined) {
      answer(true);
    } else if (holder.peer.boot === peer.boot) {
      // The same process: it would not connect again if it still held the other end.
      holder.link.close('TAKEN_OVER');
      answer(true);
    } else if (this.#contested.has(peer.address)) {
      answer(false);
    } else {
      this.#contested.add(peer.address);
      holder.link.probe(this.#options.probeTimeoutMs ?? 1_000, (alive) => {
        this.#contested.delete(peer.address);
        // Without a living claimant even a silent holder keeps its link; the heartbeats decide.
        if (!alive && ws.readyState === ws.OPEN) holder.link.terminate('TAKEN_OVER');
        answer(!this.#links.has(peer.address));
      });
    }
  }

  #admit(peer: Peer, ws: WebSocket, welcome: Uint8Array): void {
    const link = new Link<M>(ws, {
      peer: peer.address,
      codec: this.#options.codec,
      limits: this.#limits,
      log: this.#log,
      maySpeakFor: (from) => liesUnder(from, peer.address),
      onEnvelope: (envelope) => {
        const reason = this.#options.deliver(envelope);
        if (reason === 'unasked') return false;
        if (reason !== undefined) this.#options.onRefused?.(envelope, reason);
        return true;
      },
      onUnasked: (frames, bytes) => {
        const pauseMs = this.#shareOf(peer.address).unasked(frames, bytes);
        if (pauseMs !== 'cut') link.pause(pauseMs);
        else {
          this.#log.warn({ peer: peer.address, code: 'UNASKED_FRAMES' }, 'the peer sends what nothing asked it for');
          link.terminate('UNASKED_FRAMES');
        }
      },
      onDown: (why) => {
        this.#links.delete(peer.address);
        this.#log.info({ peer: peer.address, boot: peer.boot, why }, 'link down');
        this.#options.onPeerDown?.(peer, why);
      },
    });
    this.#links.set(peer.address, { peer, link });
    ws.send(welcome, ignore);
    this.#log.info({ peer: peer.address, boot: peer.boot }, 'link up');
    this.#options.onPeerUp?.(peer);
  }
}

const ignore = (): void => {};

function after(waitMs: number, act: () => void): void {
  if (waitMs > 0) setTimeout(act, waitMs).unref();
  else act();
}

const notFound: RequestListener = (_request, response) => {
  response.writeHead(404, { 'content-length': 0 }).end();
};

function remoteOf({ remoteAddress = 'unknown', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
