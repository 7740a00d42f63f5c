/**
 * The links of the simulated cluster, a star: one from each node and from the gateway to the coordinator.
 *
 * A link preserves the order of its frames in each direction, unless a fault says otherwise. It breaks when either end dies, when
 * a frame arrives damaged, and when no frame arrived within the heartbeat limit; frames in transit are then lost. A link that
 * broke while both ends live reconnects after a short pause, to the same boot. Frames that a dead end had sent before still
 * arrive: then the other end learns of the death.
 *
 * A second process with a peer's identity gets the link when no other holds it, as at the live link server; it sends nothing, and
 * the peer's own process has no link until the second one has ended.
 */
import type { Envelope, RandomBytes, UndeliveredReason } from '../../core/actors/contract.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { FrameArrival, ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { type Codec, type ReceivedEnvelope, throughCodec } from './frame-codec.ts';
import type { Runnable, Task, VirtualTime } from './virtual-time.ts';

/** From the peer's side: `out` leaves it, `in` goes to it. */
export type Direction = 'in' | 'out';

/** The arrival of a sent frame: changed, delayed, several times, or never. */
export interface FrameOutcome {
  readonly arrivals: readonly (FrameArrival & {
    /** Replaces the link's own latency. */
    readonly exactly?: boolean;
  })[];
  /** Ids of the faults that touched it. */
  readonly faults: readonly string[];
  /** Called once the arrivals are scheduled. */
  readonly afterwards: (() => void) | undefined;
}

export interface NetworkPorts {
  readonly time: VirtualTime;
  readonly codec: Codec;
  readonly latency: { readonly minMs: number; readonly maxMs: number };
  /** Without a frame for this time, the link is dead. */
  readonly linkTimeoutMs: number;
  /** The pause before a broken link reconnects. */
  readonly backOff: { readonly minMs: number; readonly maxMs: number };
  /** Randomness by label. */
  readonly random: (label: string) => RandomBytes;
  /** undefined: no fault touches the frame. `envelope`: as sent; `received`: as it would arrive. */
  readonly filter: (
    peer: ProcessName,
    direction: Direction,
    envelope: Envelope<WireMessage>,
    received: ReceivedEnvelope,
  ) => FrameOutcome | undefined;
  /** A frame has left: its arrival times, one a copy. `bytes` only with the codec. */
  readonly left:
    | ((
        received: ReceivedEnvelope,
        bytes: Uint8Array | undefined,
        arrivesMs: number[],
        outcome: FrameOutcome | undefined,
      ) => void)
    | undefined;
  /** A frame arrives at a process that accepts it. */
  readonly arrive: (peer: ProcessName, direction: Direction, envelope: ReceivedEnvelope) => void;
  readonly stateOf: (process: ProcessName) => 'up' | 'paused' | 'down';
  /** `bySecond`: the link is that of a second process. */
  readonly onUp: (peer: ProcessName, bySecond: boolean) => void;
  /** `why`: for people. */
  readonly onDown: (peer: ProcessName, why: string) => void;
}

class Line {
  /** Frames of an earlier life of the line do not arrive. */
  life = 0;
  /** Frames in transit, including those that are about to leave or wait at a paused end. */
  flying = 0;
  lastArrivalMs = 0;
  /** Arrived at a paused end. */
  waiting: Flight[] = [];
}

class Link {
  readonly peer: ProcessName;
  readonly lines = { in: new Line(), out: new Line() };
  readonly chance: RandomBytes;
  up = false;
  /** One end has died; the other learns of it when all earlier frames in this direction have arrived. */
  closing: Direction | undefined = undefined;
  silent = false;
  /** A second process asks for the link; `bySecond`: it has the link. */
  contested = false;
  contention: Task | undefined = undefined;
  bySecond = false;
  /** It stays with a coordinator that another one has replaced. */
  held = false;
  timeout: Task | undefined = undefined;
  retry: Task | undefined = undefined;

  constructor(peer: ProcessName, chance: RandomBytes) {
    this.peer = peer;
    this.chance = chance;
  }
}

/** One frame on its way. */
class Flight implements Runnable {
  readonly network: SimulatedNetwork;
  readonly link: Link;
  readonly direction: Direction;
  readonly life: number;
  readonly envelope: ReceivedEnvelope;
  readonly damage: FrameArrival['damage'];

  constructor(
    network: SimulatedNetwork,
    link: Link,
    direction: Direction,
    life: number,
    envelope: ReceivedEnvelope,
    damage: FrameArrival['damage'],
  ) {
    this.network = network;
    this.link = link;
    this.direction = direction;
    this.life = life;
    this.envelope = envelope;
    this.damage = damage;
  }

  run(): void {
    this.network.land(this);
  }
}

export class SimulatedNetwork {
  readonly #ports: NetworkPorts;
  readonly #links = new Map<ProcessName, Link>();

  constructor(ports: NetworkPorts, peers: readonly ProcessName[]) {
    this.#ports = ports;
    for (const peer of peers) this.#links.set(peer, new Link(peer, ports.random(`link/${peer}`)));
  }

  isUp(peer: ProcessName): boolean {
    return this.#links.get(peer)?.up === true;
  }

  /** Sends a frame, or returns the reason why not. */
  send(peer: ProcessName, direction: Direction, envelope: Envelope<WireMessage>): UndeliveredReason | undefined {
    const link = this.#links.get(peer);
    if (link === undefined || !link.up || (link.bySecond && direction === 'out')) return 'noRoute';
    const line = link.lines[direction];
    const { life } = line;
    const { envelope: received, bytes } = throughCodec(envelope, this.#ports.codec);
    // From here on it counts as sent, even if its sender dies while sending.
    line.flying += 1;
    const outcome = this.#ports.filter(peer, direction, envelope, received);
    if (outcome === undefined) {
      const arrivesMs = this.#fly(link, direction, life, received);
      this.#ports.left?.(received, bytes, [arrivesMs], undefined);
    } else {
      const arrivesMs: number[] = [];
      for (const arrival of outcome.arrivals) {
        // A replacement by a fault or a hook is encoded too.
        const { envelope: sent } =
          arrival.envelope === received ? { envelope: received } : throughCodec(arrival.envelope, this.#ports.codec);
        arrivesMs.push(this.#fly(link, direction, life, sent, arrival));
      }
      this.#ports.left?.(received, bytes, arrivesMs, outcome);
      outcome.afterwards?.();
    }
    if (line.life === life) line.flying -= 1;
    this.#finishClosing(link);
    return undefined;
  }

  /** Sends frames that were held, in order; a link that is down takes none. Returns the arrival time of each. */
  deliver(peer: ProcessName, direction: Direction, envelopes: readonly Envelope<WireMessage>[]): number[] {
    const link = this.#links.get(peer);
    if (link === undefined || !link.up) return [];
    const { life } = link.lines[direction];
    return envelopes.map((envelope) =>
      this.#fly(link, direction, life, throughCodec(envelope, this.#ports.codec).envelope),
    );
  }

  /** A frame arrives; only its task calls this. */
  land(flight: Flight): void {
    const { link, direction, envelope } = flight;
    const line = link.lines[direction];
    if (line.life !== flight.life) return;
    const receiver = direction === 'in' ? link.peer : 'coordinator';
    switch (link.bySecond && direction === 'in' ? 'down' : this.#ports.stateOf(receiver)) {
      case 'paused':
        line.waiting.push(flight);
        return;
      case 'down':
        break;
      case 'up':
        if (flight.damage !== undefined) {
          this.cut(link.peer, `a frame was ${flight.damage === 'corrupt' ? 'corrupt' : 'cut short'}`);
          return;
        }
        this.#ports.arrive(link.peer, direction, envelope);
    }
    if (line.life !== flight.life) return;
    line.flying -= 1;
    this.#finishClosing(link);
  }

  /** Breaks the link now, for both ends. It reconnects by itself if it can. */
  cut(peer: ProcessName, why: string): void {
    const link = this.#links.get(peer)!;
    if (!link.up) return;
    this.#down(link, why);
    this.#comeBack(link);
  }

  /** Keeps every link of a node with the coordinator that is being replaced. */
  holdNodes(): void {
    for (const link of this.#links.values()) link.held = link.up && link.peer.startsWith('node/');
  }

  isHeld(peer: ProcessName): boolean {
    return this.#links.get(peer)?.held === true;
  }

  /** The replaced coordinator is gone: its links reconnect to the other one. */
  release(): void {
    for (const link of this.#links.values()) if (link.held) this.cut(link.peer, 'its coordinator is gone');
  }

  // --- what happens to the ends ------------------------------------------------------------------------------------

  /** A process has started: its link is up at once, or after a pause. */
  started(process: ProcessName, atOnce: boolean): void {
    for (const link of this.#linksOf(process)) {
      // A process that connects anew takes over the remains of its predecessor's link, and no other's.
      if (link.up && !(link.bySecond && process === link.peer)) this.#down(link, 'taken over');
      if (atOnce) this.#connect(link);
      else this.#comeBack(link);
    }
  }

  crashed(process: ProcessName): void {
    for (const link of this.#linksOf(process)) {
      this.#watch(link);
      if (!link.up || (link.bySecond && process === link.peer)) continue;
      if (link.closing !== undefined) {
        this.#down(link, 'both ends are gone');
        continue;
      }
      // Frames in transit to it are lost; frames that it had sent still arrive, unless the heartbeats end the link first.
      const [to, from] = process === 'coordinator' ? (['out', 'in'] as const) : (['in', 'out'] as const);
      this.#empty(link.lines[to]);
      link.closing = from;
      this.#finishClosing(link);
    }
  }

  paused(process: ProcessName): void {
    for (const link of this.#linksOf(process)) this.#watch(link);
  }

  /** It takes its waiting frames, in order, and its links reconnect. */
  resumed(process: ProcessName): void {
    const direction: Direction = process === 'coordinator' ? 'out' : 'in';
    for (const link of this.#linksOf(process)) {
      for (const flight of link.lines[direction].waiting.splice(0)) this.#ports.time.schedule(0, flight);
      this.#watch(link);
    }
  }

  /** Starts (or stops) a second process with this peer's identity, which asks for its link. */
  second(peer: ProcessName, on: boolean): void {
    const link = this.#links.get(peer);
    if (link === undefined) return;
    link.contested = on;
    if (on) this.#contend(link);
    else if (link.bySecond) {
      this.#down(link, 'the second process is gone');
      this.#comeBack(link);
    }
  }

  /** It asks until it has the link: a living holder keeps it. */
  #contend(link: Link): void {
    if (!link.contested || link.bySecond) return;
    if (!link.up && !link.silent && this.#ports.stateOf('coordinator') === 'up') {
      link.bySecond = true;
      this.#connect(link);
      return;
    }
    this.#contendLater(link);
  }

  #contendLater(link: Link): void {
    if (!link.contested || link.contention !== undefined) return;
    const run = () => {
      link.contention = undefined;
      this.#contend(link);
    };
    link.contention = this.#ports.time.schedule(this.#ports.backOff.minMs, { run }, true);
  }

  /** Starts (or stops) silence on the links of a process: they carry no frames and no heartbeats. */
  silence(process: ProcessName, on: boolean): void {
    for (const link of this.#linksOf(process)) {
      link.silent = on;
      this.#watch(link);
    }
  }

  // --- one link ----------------------------------------------------------------------------------------------------

  #fly(
    link: Link,
    direction: Direction,
    life: number,
    envelope: ReceivedEnvelope,
    arrival?: FrameOutcome['arrivals'][number],
  ) {
    const { time } = this.#ports;
    const line = link.lines[direction];
    const nowMs = time.nowMs();
    const extraMs = arrival?.afterMs ?? 0;
    let atMs = nowMs + extraMs + (arrival?.exactly === true ? 0 : this.#latencyMs(link));
    if (arrival?.exactly !== true && arrival?.unordered !== true) {
      if (atMs < line.lastArrivalMs) atMs = line.lastArrivalMs;
      line.lastArrivalMs = atMs;
    }
    if (line.life === life) line.flying += 1;
    time.schedule(atMs - nowMs, new Flight(this, link, direction, life, envelope, arrival?.damage));
    return atMs;
  }

  #latencyMs(link: Link): number {
    const { minMs, maxMs } = this.#ports.latency;
    return minMs === maxMs ? minMs : between(minMs, maxMs, link.chance);
  }

  #linksOf(process: ProcessName): Link[] {
    if (process === 'coordinator') return [...this.#links.values()].filter(({ held }) => !held);
    const link = this.#links.get(process);
    return link === undefined ? [] : [link];
  }

  #isMute(link: Link): boolean {
    const { stateOf } = this.#ports;
    return link.silent || (!link.bySecond && stateOf(link.peer) !== 'up') || stateOf('coordinator') !== 'up';
  }

  /** The state of a link may have changed. */
  #watch(link: Link): void {
    if (this.#isMute(link)) {
      if (link.retry !== undefined) this.#ports.time.cancel(link.retry);
      link.retry = undefined;
      if (link.up) this.#expectSilence(link);
      return;
    }
    if (link.closing === undefined) this.#calm(link);
    if (!link.up) this.#comeBack(link);
  }

  #expectSilence(link: Link): void {
    if (link.timeout !== undefined) return;
    link.timeout = this.#ports.time.schedule(this.#ports.linkTimeoutMs, {
      run: () => {
        link.timeout = undefined;
        if (link.up) this.#down(link, 'no sign of life');
        this.#watch(link);
      },
    });
  }

  #calm(link: Link): void {
    if (link.timeout !== undefined) this.#ports.time.cancel(link.timeout);
    link.timeout = undefined;
  }

  #finishClosing(link: Link): void {
    if (link.closing === undefined || !link.up) return;
    if (link.lines[link.closing].flying === 0) this.#down(link, 'the other end is gone');
  }

  #empty(line: Line): void {
    line.life += 1;
    line.flying = 0;
    line.waiting = [];
    line.lastArrivalMs = 0;
  }

  #down(link: Link, why: string): void {
    link.up = false;
    link.bySecond = false;
    link.closing = undefined;
    this.#calm(link);
    this.#contendLater(link);
    this.#empty(link.lines.in);
    this.#empty(link.lines.out);
    this.#ports.onDown(link.peer, why);
    link.held = false;
  }

  #comeBack(link: Link): void {
    if (link.retry !== undefined || this.#isMute(link)) return;
    const { minMs, maxMs } = this.#ports.backOff;
    link.retry = this.#ports.time.schedule(between(minMs, maxMs, link.chance), {
      run: () => {
        link.retry = undefined;
        this.#connect(link);
      },
    });
  }

  #connect(link: Link): void {
    if (link.up || this.#isMute(link)) return;
    if (link.retry !== undefined) this.#ports.time.cancel(link.retry);
    link.retry = undefined;
    link.up = true;
    this.#ports.onUp(link.peer, link.bySecond);
  }
}

/** A whole number, both ends included. */
function between(min: number, max: number, chance: RandomBytes): number {
  const [a = 0, b = 0, c = 0] = chance(3);
  return min + Math.floor(((a * 65_536 + b * 256 + c) / 16_777_216) * (max - min + 1));
}
