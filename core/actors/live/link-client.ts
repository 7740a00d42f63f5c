/**
 * A peer's side of its one link: a node's or a gateway's, towards the coordinator. It is the Transport of everything
 * that is not local.
 *
 * It connects, authenticates, checks the coordinator's proof against the pinned key, and reconnects for ever when the link
 * breaks, so that processes may start in any order.
 *
 * Invariants: at most one connection at a time; `onUp` and `onDown` alternate; it sends and accepts no frame before it has
 * verified the coordinator's proof.
 */
import { type RawData, WebSocket } from 'ws';
import type { Envelope, RandomBytes, Transport, UndeliveredReason } from '../contract.ts';
import { type ClientHandshake, type ClientHandshakeConfig, clientHandshake, type RefusalCode } from './handshake.ts';
import { nonceBytes } from './handshake-crypto.ts';
import { closeSocket, defaultLinkLimits, Link, type LinkLimits, type LinkStats } from './link.ts';
import { channelOf, clientRefusal, clientTls, type LinkTls } from './link-tls.ts';
import { type Log, silentLog, systemRandom } from './ports.ts';
import type { WireCodec } from './wire-port.ts';

export interface LinkClientOptions<M> {
  /** wss://host:port of the coordinator, or ws:// for a plain link. */
  readonly url: string;
  readonly handshake: ClientHandshakeConfig;
  /** For wss:// URLs: this side's certificate, and the required name of the coordinator's. */
  readonly tls?: (LinkTls & { readonly coordinatorName: string }) | undefined;
  readonly codec: WireCodec<M>;
  /** Receives inbound envelopes: the system's `deliver`. */
  readonly deliver: (envelope: Envelope<M>) => UndeliveredReason | undefined;
  /** An inbound envelope that `deliver` refused. */
  readonly onRefused?: (envelope: Envelope<M>, reason: UndeliveredReason) => void;
  /** The link is up. The coordinator's boot id is fresh for every start of its process. */
  readonly onUp?: (coordinatorBoot: string) => void;
  readonly onDown?: (why: string) => void;
  readonly log?: Log;
  readonly random?: RandomBytes;
  readonly limits?: Partial<LinkLimits>;
  readonly backOff?: Partial<LinkBackOff>;
  /** From the connection to the Welcome. 5,000. */
  readonly handshakeTimeoutMs?: number;
}

/** Waits between attempts, in milliseconds, each jittered to between half and all of itself. */
export interface LinkBackOff {
  /** The first wait; doubled with every attempt. 50. */
  readonly minMs: number;
  /** 2,000. */
  readonly maxMs: number;
  /** After a refusal that a quick retry cannot resolve. 5,000. */
  readonly refusedMs: number;
}

const defaultBackOff: LinkBackOff = Object.freeze({ minMs: 50, maxMs: 2_000, refusedMs: 5_000 });
const slowCodes: readonly RefusalCode[] = [
  'ID_TAKEN',
  'TOO_OFTEN',
  'UNKNOWN_PEER',
  'PROTOCOL_VERSION',
  'CERTIFICATE_MISMATCH',
];

/** A link that lasted this long starts the back-off anew. */
const steadyMs = 1_000;

export class LinkClient<M> implements Transport<M> {
  readonly #options: LinkClientOptions<M>;
  readonly #limits: LinkLimits;
  readonly #backOff: LinkBackOff;
  readonly #log: Log;
  #ws: WebSocket | undefined;
  #link: Link<M> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;
  #lastComplaint = '';
  #stopped = false;

  /** Throws TypeError for a wss:// URL without a certificate. */
  constructor(options: LinkClientOptions<M>) {
    this.#options = options;
    if (isTls(options.url) && options.tls === undefined) throw new TypeError('a wss:// link needs a certificate');
    this.#limits = { ...defaultLinkLimits, ...options.limits };
    this.#backOff = { ...defaultBackOff, ...options.backOff };
    this.#log = options.log ?? silentLog;
  }

  get isUp(): boolean {
    return this.#link !== undefined;
  }

  /** Begins to connect, and returns at once. */
  start(): void {
    if (this.#ws === undefined && this.#retry === undefined && !this.#stopped) this.#connect();
  }

  /** Closes the link for good; resolves when the socket is gone. Repeatable. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    const ws = this.#ws;
    if (ws === undefined) return;
    const gone = new Promise<void>((resolve) => ws.once('close', () => resolve()));
    if (this.#link === undefined) ws.terminate();
    else this.#link.close('GOING_AWAY');
    await gone;
  }

  send(envelope: Envelope<M>): UndeliveredReason | undefined {
    return this.#link === undefined ? 'noRoute' : this.#link.send(envelope);
  }

  stats(): LinkStats | undefined {
    return this.#link?.stats();
  }

  #connect(): void {
    this.#retry = undefined;
    const { url, tls, handshake: config, codec, handshakeTimeoutMs = 5_000 } = this.#options;
    let handshake: ClientHandshake | undefined;
    const ws = new WebSocket(url, {
      // They go to node:tls as they are, though the types of ws say otherwise.
      ...(isTls(url) && tls && (clientTls(tls, tls.coordinatorName) as object)),
      perMessageDeflate: false,
      maxPayload: this.#limits.messageBytesMax,
      handshakeTimeout: handshakeTimeoutMs,
      // RFC 6455 masks a client's bytes so that a script in a browser cannot control the bytes that a proxy sees. No browser
      // runs here, and an all-zero mask costs neither side anything.
      generateMask: (mask) => mask.fill(0),
    });
    this.#ws = ws;
    let slow = false;

    const abandon = (complaint: string) => {
      clearTimeout(timer);
      this.#complain(complaint);
      ws.off('message', take);
      if (ws.readyState === ws.OPEN) closeSocket(ws, 'HANDSHAKE_REFUSED', this.#limits.closeGraceMs, complaint);
    };
    const take = (data: RawData, isBinary: boolean) => {
      if (!isBinary || !(data instanceof Uint8Array)) {
        abandon('MALFORMED');
        return;
      }
      const verdict = handshake?.receive(data);
      if (verdict === undefined) abandon('MALFORMED');
      else if (verdict.kind === 'hello') ws.send(verdict.hello, ignore);
      else if (verdict.kind === 'refused') {
        slow = slowCodes.includes(verdict.code);
        abandon(verdict.code);
      } else {
        clearTimeout(timer);
        ws.off('message', take);
        this.#up(ws, verdict.coordinatorBoot);
      }
    };
    const timer = setTimeout(() => {
      abandon('TIMEOUT');
      ws.terminate();
    }, handshakeTimeoutMs);
    ws.on('upgrade', (response) => {
      const nonce = (this.#options.random ?? systemRandom)(nonceBytes);
      handshake = clientHandshake(config, codec, nonce, channelOf(response)?.binding);
    });
    ws.on('message', take);
    ws.on('error', (error: NodeJS.ErrnoException) => {
      if (this.#link !== undefined) return;
      const refusal = clientRefusal(error);
      slow ||= refusal !== undefined;
      this.#complain(refusal ?? error.code ?? 'CONNECTION_FAILED');
    });
    ws.once('close', () => {
      clearTimeout(timer);
      this.#ws = undefined;
      this.#again(slow);
    });
  }

  #up(ws: WebSocket, coordinatorBoot: string): void {
    const steady = setTimeout(() => {
      this.#attempts = 0;
    }, steadyMs);
    steady.unref();
    this.#link = new Link<M>(ws, {
      peer: 'coordinator',
      codec: this.#options.codec,
      limits: this.#limits,
      log: this.#log,
      // The coordinator has authenticated and is the hub: it may send for every actor of other processes.
      maySpeakFor: () => true,
      onEnvelope: (envelope) => {
        const reason = this.#options.deliver(envelope);
        if (reason !== undefined) this.#options.onRefused?.(envelope, reason);
        return true;
      },
      onDown: (why) => {
        clearTimeout(steady);
        this.#link = undefined;
        this.#log.info({ peer: 'coordinator', why }, 'link down');
        this.#options.onDown?.(why);
      },
    });
    this.#lastComplaint = '';
    this.#log.info({ peer: 'coordinator', coordinatorBoot }, 'link up');
    this.#options.onUp?.(coordinatorBoot);
  }

  /** Logs a problem once, and again only when it changes. */
  #complain(code: string): void {
    if (this.#lastComplaint === code) return;
    this.#lastComplaint = code;
    const { url } = this.#options;
    // When the coordinator refuses a certificate, the connection ends without a message to the peer.
    const hint = isTls(url) &&
      code === 'ECONNRESET' && { hint: 'perhaps it refuses our certificate: its log says why' };
    this.#log.warn({ code, url, ...hint }, 'no link to the coordinator; retrying');
  }

  #again(slow: boolean): void {
    if (this.#stopped) return;
    const { minMs, maxMs, refusedMs } = this.#backOff;
    const ceilingMs = slow ? refusedMs : Math.min(maxMs, minMs * 2 ** Math.min(this.#attempts, 20));
    this.#attempts += 1;
    const [byte = 0] = (this.#options.random ?? systemRandom)(1);
    const waitMs = ceilingMs * (0.5 + byte / 510);
    this.#retry = setTimeout(() => this.#connect(), waitMs);
  }
}

const ignore = (): void => {};

function isTls(url: string): boolean {
  return url.startsWith('wss:');
}
