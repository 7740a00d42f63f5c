/**
 * One live link between two processes, after the handshake; both sides use it alike.
 *
 * It encodes envelopes as frames, sends the frames of one turn of the event loop as one WebSocket message, and decodes inbound
 * messages. It detects a dead peer by heartbeats and refuses invalid messages (docs/wire.md).
 *
 * Invariants
 * - After `onDown` (called once) it receives and sends nothing.
 * - Frames leave in the order of `send`, and a message is delivered whole or, if any of it is malformed, not at all.
 * - A bad message closes this link and affects no other; the log names the peer and the kind of fault.
 */
import type { RawData, WebSocket } from 'ws';
import type { Address, Envelope, UndeliveredReason } from '../contract.ts';
import { safeErrorText, safeStack } from '../error-text.ts';
import type { Log } from './ports.ts';
import type { FrameCodec } from './wire-port.ts';

/** Why a link is closed: WebSocket close codes, with the name as the close reason. */
export const closeCodes = Object.freeze({
  GOING_AWAY: 1001,
  TEXT_FRAME: 1003,
  TOO_LARGE: 1009,
  HANDSHAKE_REFUSED: 4000,
  MALFORMED_FRAME: 4001,
  SPOOFED_SENDER: 4002,
  TAKEN_OVER: 4003,
  UNASKED_FRAMES: 4004,
} as const);
export type CloseName = keyof typeof closeCodes;

export interface LinkLimits {
  /** A ping so often, in milliseconds. */
  readonly heartbeatMs: number;
  /** After this many unanswered pings the peer counts as dead. */
  readonly heartbeatsMissedMax: number;
  /** One WebSocket message, either way. */
  readonly messageBytesMax: number;
  /** A batch is sent at once when it would grow beyond this. */
  readonly batchBytesMax: number;
  /** Bytes waiting to leave; beyond it `send` answers `linkFull`. */
  readonly sendBufferBytesMax: number;
  /** How long the closing handshake may take before the socket is cut. */
  readonly closeGraceMs: number;
}

export const defaultLinkLimits: LinkLimits = Object.freeze({
  heartbeatMs: 2_000,
  heartbeatsMissedMax: 3,
  messageBytesMax: 8 * 1024 * 1024,
  batchBytesMax: 256 * 1024,
  sendBufferBytesMax: 16 * 1024 * 1024,
  closeGraceMs: 1_000,
});

export interface LinkStats {
  readonly peer: string;
  readonly framesIn: number;
  readonly framesOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly messagesIn: number;
  readonly messagesOut: number;
  readonly bufferedBytes: number;
}

export interface LinkOptions<M> {
  /** The peer's name, for logs. */
  readonly peer: string;
  readonly codec: FrameCodec<M>;
  readonly limits: LinkLimits;
  readonly log: Log;
  /** Whether the peer may speak for this address. */
  readonly maySpeakFor: (from: Address) => boolean;
  /** Returns whether the envelope was asked for. */
  readonly onEnvelope: (envelope: Envelope<M>) => boolean;
  /** Frames of one message that were not asked for, and their bytes; or a ping or pong. */
  readonly onUnasked?: (frames: number, bytes: number) => void;
  /** Once; `why` is a close name or a short sentence. */
  readonly onDown: (why: string) => void;
}

export class Link<M> {
  readonly #ws: WebSocket;
  readonly #options: LinkOptions<M>;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #probes: ((alive: boolean) => void)[] = [];
  #missed = 0;
  #down = false;
  #batch: Uint8Array[] = [];
  #batchBytes = 0;
  #flushPlanned = false;
  #framesIn = 0;
  #framesOut = 0;
  #bytesIn = 0;
  #bytesOut = 0;
  #messagesIn = 0;
  #messagesOut = 0;

  constructor(ws: WebSocket, options: LinkOptions<M>) {
    this.#ws = ws;
    this.#options = options;
    ws.on('message', (data, isBinary) => this.#receive(data, isBinary));
    ws.on('pong', () => {
      this.#pong();
      this.#unasked(1, 0);
    });
    ws.on('ping', () => {
      this.#missed = 0;
      this.#unasked(1, 0);
    });
    ws.on('close', (code) => this.#finish(`closed by the peer (${code})`));
    ws.on('error', (error: NodeJS.ErrnoException) => this.#broken(error));
    this.#heartbeat = setInterval(() => this.#beat(), options.limits.heartbeatMs);
    this.#heartbeat.unref();
  }

  get isUp(): boolean {
    return !this.#down;
  }

  stats(): LinkStats {
    return {
      peer: this.#options.peer,
      framesIn: this.#framesIn,
      framesOut: this.#framesOut,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      messagesIn: this.#messagesIn,
      messagesOut: this.#messagesOut,
      bufferedBytes: this.#ws.bufferedAmount + this.#batchBytes,
    };
  }

  /** Sends an envelope, or returns the reason why it could not. Never throws. */
  send(envelope: Envelope<M>): UndeliveredReason | undefined {
    if (this.#down) return 'noRoute';
    const { codec, limits, log, peer } = this.#options;
    let frame: Uint8Array;
    try {
      frame = codec.encodeFrame(envelope);
    } catch (error) {
      log.error(
        { peer, from: envelope.from, error: safeErrorText(error), stack: safeStack(error) },
        'unencodable frame',
      );
      return 'noRoute';
    }
    if (frame.length > limits.messageBytesMax) {
      log.error({ peer, from: envelope.from, frameBytes: frame.length }, 'a frame is too large for the wire');
      return 'linkFull';
    }
    if (this.#ws.bufferedAmount + this.#batchBytes + frame.length > limits.sendBufferBytesMax) return 'linkFull';
    if (this.#batchBytes > 0 && this.#batchBytes + frame.length > limits.batchBytesMax) this.#flush();
    this.#batch.push(frame);
    this.#batchBytes += frame.length;
    this.#framesOut += 1;
    if (!this.#flushPlanned) {
      this.#flushPlanned = true;
      // When the event loop has read what its sockets have: a burst from several peers is answered in one message each.
      setImmediate(this.#plannedFlush);
    }
    return undefined;
  }

  /** Pings the peer; calls back once, with false after `timeoutMs` or when the link goes down. */
  probe(timeoutMs: number, answer: (alive: boolean) => void): void {
    if (this.#down) {
      answer(false);
      return;
    }
    const timer = setTimeout(() => settle(false), timeoutMs);
    const settle = (alive: boolean) => {
      clearTimeout(timer);
      this.#probes = this.#probes.filter((probe) => probe !== settle);
      answer(alive);
    };
    this.#probes.push(settle);
    this.#ping();
  }

  /** Reads nothing for this long; what the socket has read already still arrives. A shorter pause changes no longer one. */
  pause(ms: number): void {
    if (this.#down || ms <= 0 || this.#pause !== undefined) return;
    this.#ws.pause();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#ws.resume();
    }, ms);
  }

  /** Sends what waits, then closes; the socket is cut if the peer does not follow in time. */
  close(name: CloseName): void {
    if (this.#down) return;
    this.#flush();
    this.#finish(name);
    closeSocket(this.#ws, name, this.#options.limits.closeGraceMs);
  }

  /** Cuts the socket: for a peer that does not answer. */
  terminate(why: string): void {
    if (this.#down) return;
    this.#finish(why);
    this.#ws.terminate();
  }

  readonly #plannedFlush = (): void => {
    this.#flushPlanned = false;
    this.#flush();
  };

  #flush(): void {
    if (this.#batch.length === 0 || this.#down) return;
    const bytes = this.#batch.length === 1 ? (this.#batch[0] as Uint8Array) : Buffer.concat(this.#batch);
    this.#batch = [];
    this.#batchBytes = 0;
    this.#bytesOut += bytes.length;
    this.#messagesOut += 1;
    // A failed write shows as an error or close event.
    this.#ws.send(bytes, sendOptions, ignore);
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#down) return;
    this.#missed = 0;
    const { codec, log, peer, maySpeakFor, onEnvelope } = this.#options;
    if (!isBinary || !(data instanceof Uint8Array)) {
      this.#reject('TEXT_FRAME', {});
      return;
    }
    this.#bytesIn += data.length;
    this.#messagesIn += 1;
    let envelopes: Envelope<M>[];
    try {
      envelopes = codec.decodeFrames(data);
    } catch {
      this.#reject('MALFORMED_FRAME', { messageBytes: data.length });
      return;
    }
    this.#framesIn += envelopes.length;
    let unasked = 0;
    for (const envelope of envelopes) {
      // A frame before this one may have led to the link's end.
      if (this.#down) return;
      if (!maySpeakFor(envelope.from)) {
        this.#reject('SPOOFED_SENDER', { claimed: envelope.from.slice(0, 64) });
        return;
      }
      try {
        if (!onEnvelope(envelope)) unasked += 1;
      } catch (error) {
        log.error({ peer, to: envelope.to, error: safeErrorText(error), stack: safeStack(error) }, 'delivery threw');
      }
    }
    // A message without a frame was not asked for either.
    if (envelopes.length === 0) this.#unasked(1, 0);
    else if (unasked > 0) this.#unasked(unasked, (data.length * unasked) / envelopes.length);
  }

  #unasked(frames: number, bytes: number): void {
    if (!this.#down) this.#options.onUnasked?.(frames, bytes);
  }

  #reject(name: CloseName, fields: object): void {
    this.#options.log.warn({ peer: this.#options.peer, code: name, ...fields }, 'the peer broke the wire protocol');
    this.close(name);
  }

  #broken(error: NodeJS.ErrnoException): void {
    const code = error.code ?? error.name;
    const tooLarge = code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    if (tooLarge)
      this.#options.log.warn({ peer: this.#options.peer, code: 'TOO_LARGE' }, 'the peer broke the wire protocol');
    this.#finish(tooLarge ? 'TOO_LARGE' : `broken: ${code}`);
    // The library closes by itself, with its own timeout.
    cutAfter(this.#ws, this.#options.limits.closeGraceMs);
  }

  #ping(): void {
    this.#ws.ping('', undefined, ignore);
  }

  #pong(): void {
    this.#missed = 0;
    for (const probe of [...this.#probes]) probe(true);
  }

  #beat(): void {
    if (this.#missed >= this.#options.limits.heartbeatsMissedMax) {
      this.terminate('no sign of life');
      return;
    }
    this.#missed += 1;
    this.#ping();
  }

  #finish(why: string): void {
    if (this.#down) return;
    this.#down = true;
    clearInterval(this.#heartbeat);
    clearTimeout(this.#pause);
    // A paused socket would not read the other side's close.
    if (this.#pause !== undefined) this.#ws.resume();
    this.#batch = [];
    this.#batchBytes = 0;
    for (const probe of [...this.#probes]) probe(false);
    this.#options.onDown(why);
  }
}

const sendOptions = Object.freeze({ binary: true, compress: false, fin: true });
const ignore = (): void => {};

/** Closes by name; cuts the socket when the other side does not follow within the grace. */
export function closeSocket(ws: WebSocket, name: CloseName, graceMs: number, reason: string = name): void {
  ws.close(closeCodes[name], reason);
  cutAfter(ws, graceMs);
}

function cutAfter(ws: WebSocket, graceMs: number): void {
  if (ws.readyState === ws.CLOSED) return;
  const timer = setTimeout(() => ws.terminate(), graceMs);
  timer.unref();
  ws.once('close', () => clearTimeout(timer));
}
