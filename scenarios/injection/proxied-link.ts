/**
 * One link through the proxy: the peer's socket, the coordinator's, and what passes between them.
 *
 *   shaking ──Welcome passes──▶ open ──either side closes──▶ ended
 *
 * Invariants
 * - In `shaking` messages pass untouched; the Hello says who the peer is. In `open` every message holds frames.
 * - A side's close reaches the other with its code, after what was sent before it. A side that breaks off without a
 *   code breaks the other off.
 * - In silence no heartbeat, no Hello and no close passes; what was missed of them is made up for when it ends.
 */
import { WebSocket } from 'ws';
import { decodeFrames, decodeHandshake, encodeFrame, type WireEnvelope } from '../../proto/wire.ts';
import type { FrameArrival } from '../faults/vocabulary/engine-contract.ts';
import { damaged } from './damage.ts';
import { type FrameHead, scanFrames } from './frame-scan.ts';
import { type FrameEvaluator, type LinkWatcher, proxyMessageBytesMax } from './link-ports.ts';
import { Pipe } from './pipe.ts';

export interface ProxiedLinkOptions {
  readonly evaluator: FrameEvaluator;
  readonly watcher: LinkWatcher;
  readonly isSilent: (peer: string) => boolean;
  readonly onEnd: () => void;
}

type Direction = 'in' | 'out';
interface Closed {
  readonly code: number;
  readonly reason: Buffer;
}

/** How long the proxy retries a coordinator that does not listen yet; the peer's own timeout is 5 s. */
const upstreamPatienceMs = 4_000;
const upstreamRetryMs = 20;
/** How long a close waits for delayed frames before it, and the closing handshake may take. */
const closeGraceMs = 1_000;
const roleNode = 1;

export class ProxiedLink {
  /** "node/3", "gateway"; empty before its Hello. */
  peer = '';
  readonly #options: ProxiedLinkOptions;
  readonly #down: WebSocket;
  readonly #url: () => string | undefined;
  readonly #bornMs = performance.now();
  #up: WebSocket | undefined;
  #phase: 'shaking' | 'open' | 'ended' = 'shaking';
  #out: Pipe | undefined;
  #in: Pipe | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** The Hello, while silence holds it. */
  #heldHello: Buffer | undefined;
  /** A close that silence holds, by the side that closed. */
  readonly #heldCloses = new Map<WebSocket, Closed>();

  constructor(down: WebSocket, url: () => string | undefined, options: ProxiedLinkOptions) {
    this.#down = down;
    this.#url = url;
    this.#options = options;
    down.on('error', ignore);
    down.on('close', (code, reason) => this.#closed(down, { code, reason }));
    down.on('message', (data, isBinary) => this.#fromPeer(data as Buffer, isBinary));
    down.on('ping', (data) => this.#beat('ping', this.#up, data));
    down.on('pong', (data) => this.#beat('pong', this.#up, data));
    this.#connect();
  }

  get isUp(): boolean {
    return this.#phase === 'open';
  }

  /** Nothing more passes. `dead`: the process whose sockets are gone with it. */
  cut(dead?: string): void {
    if (this.#phase === 'ended') return;
    if (dead === undefined) {
      this.#end('the proxy stops');
      this.#down.terminate();
      this.#up?.terminate();
      return;
    }
    const toCoordinator = dead !== 'coordinator';
    const survivor = toCoordinator ? this.#up : this.#down;
    const pipe = toCoordinator ? this.#out : this.#in;
    this.#end(`${dead} is missing`, pipe);
    (toCoordinator ? this.#down : this.#up)?.terminate();
    if (survivor === undefined) return;
    // What the dead had sent is on its way.
    if (pipe === undefined) breakOff(survivor);
    else pipe.whenDrained(closeGraceMs, () => breakOff(survivor));
  }

  /** Silence came or went. */
  reconsider(): void {
    if (this.#phase === 'ended' || this.#isSilent) return;
    const hello = this.#heldHello;
    this.#heldHello = undefined;
    if (hello !== undefined && this.#up?.readyState === WebSocket.OPEN) this.#up.send(hello, ignore);
    for (const [ws, closed] of this.#heldCloses) this.#closed(ws, closed);
    this.#heldCloses.clear();
  }

  deliver(direction: Direction, envelope: WireEnvelope): void {
    this.#pipe(direction)?.put(encodeFrame(envelope));
  }

  /** What is late arrives now. */
  hurry(): void {
    this.#in?.hurry();
    this.#out?.hurry();
  }

  get #isSilent(): boolean {
    return this.#options.isSilent(this.peer);
  }

  #pipe(direction: Direction): Pipe | undefined {
    return direction === 'out' ? this.#out : this.#in;
  }

  #connect(): void {
    const url = this.#url();
    if (url === undefined) {
      this.#again(() => this.cut());
      return;
    }
    const up = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: proxyMessageBytesMax,
      handshakeTimeout: upstreamPatienceMs,
      autoPong: false,
      // See core/actors/live/link-client.ts: a mask that costs nothing.
      generateMask: (mask) => mask.fill(0),
    });
    this.#up = up;
    let opened = false;
    up.on('error', ignore);
    up.on('open', () => {
      opened = true;
      this.#out = new Pipe(this.#down, up);
      this.#in = new Pipe(up, this.#down);
    });
    up.on('close', (code, reason) => {
      if (opened) this.#closed(up, { code, reason });
      else this.#again(() => this.#closed(up, { code, reason }));
    });
    up.on('message', (data, isBinary) => this.#fromCoordinator(data as Buffer, isBinary));
    up.on('ping', (data) => this.#beat('ping', this.#down, data));
    up.on('pong', (data) => this.#beat('pong', this.#down, data));
  }

  /** Connects again soon; `giveUp` after too long a time. */
  #again(giveUp: () => void): void {
    const isPatient = performance.now() - this.#bornMs < upstreamPatienceMs;
    if (isPatient && this.#phase !== 'ended') this.#retry = setTimeout(() => this.#connect(), upstreamRetryMs);
    else giveUp();
  }

  #beat(kind: 'ping' | 'pong', to: WebSocket | undefined, data: Buffer): void {
    if (to?.readyState !== WebSocket.OPEN || this.#isSilent) return;
    to[kind](data, undefined, ignore);
  }

  #fromPeer(data: Buffer, isBinary: boolean): void {
    if (this.#phase === 'open' && isBinary) this.#frames('out', data);
    else if (this.#phase !== 'ended') this.#hello(data, isBinary);
  }

  #hello(data: Buffer, isBinary: boolean): void {
    if (this.peer === '') {
      this.peer = peerOf(data);
      if (this.peer !== '') this.#options.watcher.connecting(this.peer);
    }
    if (this.#isSilent) this.#heldHello = data;
    else if (this.#up?.readyState === WebSocket.OPEN) this.#up.send(data, { binary: isBinary }, ignore);
  }

  #fromCoordinator(data: Buffer, isBinary: boolean): void {
    if (this.#phase === 'open' && isBinary) {
      this.#frames('in', data);
      return;
    }
    if (this.#phase === 'ended' || this.#down.readyState !== WebSocket.OPEN) return;
    this.#down.send(data, { binary: isBinary }, ignore);
    if (this.#phase !== 'shaking' || !isWelcome(data)) return;
    this.#phase = 'open';
    this.#options.watcher.link(this.peer, true, '');
  }

  #frames(direction: Direction, data: Buffer): void {
    const pipe = this.#pipe(direction);
    if (pipe === undefined) return;
    const { evaluator, watcher } = this.#options;
    const heads = scanFrames(data);
    if (evaluator.idle || heads === undefined) {
      pipe.put(data);
      for (const head of heads ?? []) watcher.passed(head, data);
      return;
    }
    let envelopes: readonly WireEnvelope[];
    try {
      envelopes = decodeFrames(data);
    } catch {
      pipe.put(data);
      return;
    }
    for (const [index, envelope] of envelopes.entries()) {
      const head = heads[index];
      // What the process sent after it died was never sent.
      if (head === undefined || (this.#phase as string) === 'ended') return;
      this.#evaluated(direction, pipe, head, envelope, data.subarray(head.begin, head.end));
    }
  }

  #evaluated(direction: Direction, pipe: Pipe, head: FrameHead, envelope: WireEnvelope, bytes: Buffer): void {
    const { evaluator, watcher } = this.#options;
    const { point } = head;
    const verdict = evaluator.evaluate({ peer: this.peer, direction, point, envelope });
    const { arrivals, orders } = verdict;
    for (const arrival of arrivals) {
      pipe.put(bytesOf(arrival, envelope, bytes), arrival.afterMs, arrival.unordered === true);
    }
    watcher.evaluated(head, envelope, verdict);
    if (orders.length > 0) evaluator.perform(orders);
  }

  #closed(ws: WebSocket, closed: Closed): void {
    if (this.#phase === 'ended') return;
    if (this.#isSilent) {
      this.#heldCloses.set(ws, closed);
      // No receiver is left.
      if (this.#heldCloses.size === 2) this.#end('silence');
      return;
    }
    const other = ws === this.#down ? this.#up : this.#down;
    const pipe = ws === this.#down ? this.#out : this.#in;
    this.#end(`closed by ${ws === this.#down ? this.peer || 'the peer' : 'the coordinator'} (${closed.code})`, pipe);
    if (other === undefined) return;
    const pass = () => passClose(other, closed);
    if (pipe === undefined) pass();
    else pipe.whenDrained(closeGraceMs, pass);
  }

  /** `draining`: still has something to say. */
  #end(why: string, draining?: Pipe): void {
    if (this.#phase === 'ended') return;
    const wasUp = this.#phase === 'open';
    this.#phase = 'ended';
    clearTimeout(this.#retry);
    for (const pipe of [this.#in, this.#out]) if (pipe !== draining) pipe?.end();
    this.#options.onEnd();
    if (wasUp) this.#options.watcher.link(this.peer, false, why);
  }
}

const ignore = (): void => {};

function bytesOf(arrival: FrameArrival, sent: WireEnvelope, bytes: Buffer): Uint8Array {
  const whole = arrival.envelope === sent ? bytes : encodeFrame(arrival.envelope);
  return arrival.damage === undefined ? whole : damaged(whole, arrival.damage);
}

function peerOf(data: Buffer): string {
  try {
    const step = decodeHandshake(data);
    if (step.case !== 'hello') return '';
    return step.value.role === roleNode ? `node/${step.value.nodeId}` : 'gateway';
  } catch {
    return '';
  }
}

function isWelcome(data: Buffer): boolean {
  try {
    return decodeHandshake(data).case === 'welcome';
  } catch {
    return false;
  }
}

/** Codes that stand for "there was none" cannot be sent: such a side broke off. */
function passClose(ws: WebSocket, { code, reason }: Closed): void {
  if (code === 1005 || code === 1006 || code === 1015) breakOff(ws);
  else if (ws.readyState === WebSocket.CONNECTING) ws.terminate();
  else {
    ws.close(code, reason);
    const timer = setTimeout(() => ws.terminate(), closeGraceMs);
    timer.unref();
    ws.once('close', () => clearTimeout(timer));
  }
}

/** Ends a socket without a word, once it has said what it was given. */
function breakOff(ws: WebSocket, lastMs = performance.now() + closeGraceMs): void {
  if (ws.readyState === WebSocket.OPEN && ws.bufferedAmount > 0 && performance.now() < lastMs) {
    setTimeout(() => breakOff(ws, lastMs), 1);
  } else ws.terminate();
}
