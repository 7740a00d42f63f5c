/**
 * Records the simulated world: the trace in lines, observations for checkers, events for reports. It builds only what has a
 * consumer.
 *
 * Times are the scenario's, from 0; the trace has the world's own.
 */
import type { ActorEvent, Address } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { encodeFrame, type WireEnvelope } from '../../proto/wire.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault, FaultKind } from '../../scenarios/faults/vocabulary/fault.ts';
import { pointOf } from '../../scenarios/faults/vocabulary/trigger-points.ts';
import type { CallUnderWay } from './client.ts';
import type { ReceivedEnvelope } from './frame-codec.ts';
import type { FrameOutcome } from './network.ts';
import type { CallEvent, Observation } from './observation.ts';
import { publicState } from './public-state.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface RecorderOptions {
  readonly time: VirtualTime;
  readonly trace: string[] | undefined;
  readonly observe: ((observation: Observation) => void) | undefined;
  readonly record: ((event: RunEvent) => void) | undefined;
  readonly frameText: (envelope: WireEnvelope) => string;
}

/** An actor that acts again after so many others shows its state again. */
const shownMax = 1_000;

export class Recorder {
  readonly observe: ((observation: Observation) => void) | undefined;
  readonly record: ((event: RunEvent) => void) | undefined;
  readonly #options: RecorderOptions;
  /** The last state shown of each actor, as text; of the latest `shownMax` actors. */
  readonly #shown = new Map<Address, string>();
  /** Frames that a fault holds: their arrival times, by the frame. */
  readonly #held = new WeakMap<object, number[]>();

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.observe = options.observe;
    this.record = options.record;
  }

  /** Milliseconds since the scenario began. */
  get atMs(): number {
    const { time } = this.#options;
    return Math.floor(time.nowMs()) - time.beganMs;
  }

  /** Whether any consumer wants frames. */
  get seesFrames(): boolean {
    return this.#options.trace !== undefined || this.observe !== undefined || this.record !== undefined;
  }

  frame(
    received: ReceivedEnvelope,
    bytes: Uint8Array | undefined,
    arrivesMs: readonly number[],
    outcome: FrameOutcome | undefined,
  ): void {
    const { trace, time } = this.#options;
    const arrivals = outcome?.arrivals;
    if (trace !== undefined) this.#traceFrame(trace, received, bytes, arrivesMs, outcome);
    if (this.observe !== undefined) {
      const { atMs } = this;
      if (outcome === undefined) this.observe({ kind: 'frame', atMs, envelope: received, touched: false });
      else {
        const sent = new Set(outcome.arrivals.map((arrival) => arrival.envelope));
        const [first = received, ...others] = sent;
        const decided = { sent: received, arrivals: outcome.arrivals, faults: outcome.faults };
        this.observe({ kind: 'frame', atMs, envelope: first, touched: first !== received, decided });
        for (const envelope of others) this.observe({ kind: 'frame', atMs, envelope, touched: envelope !== received });
      }
    }
    const arrives = arrivesMs.map((ms) => ms - time.beganMs);
    if (arrives.length === 0 && outcome !== undefined && outcome.faults.length > 0) this.#held.set(received, arrives);
    if (this.record === undefined) return;
    const { from, to, message } = received;
    this.record({
      kind: 'frame',
      atMs: this.atMs,
      arrivesMs: arrives,
      from,
      to,
      point: pointOf(message.body.case),
      tenant: message.tenant,
      session: message.session,
      attempt: message.attempt,
      bytes: (bytes ?? encodeFrame(received)).length,
      text: this.#options.frameText(arrivals?.[0]?.envelope ?? received),
      faults: outcome?.faults ?? [],
    });
  }

  call(what: CallEvent, { request: { case: method, value: request }, ...call }: CallUnderWay): void {
    const { tenant, callId, walletService = false, walletTerms, keyScheme } = call;
    this.observe?.({
      ...{ ...what, atMs: this.atMs, tenant, callId, method, request, walletService },
      ...(walletTerms && { walletTerms }),
      ...(keyScheme !== undefined && { keyScheme }),
    });
  }

  /** A held frame is now in transit. Its event, recorded when it left, gets its arrival time. */
  released(envelope: WireEnvelope, arrivesMs: number): void {
    const { time, trace } = this.#options;
    trace?.push(
      `${time.nowMs()} ${envelope.from} > ${envelope.to} ${envelope.message.body.case} released +${arrivesMs - time.nowMs()}`,
    );
    const arrives = this.#held.get(envelope);
    if (arrives !== undefined) arrives.push(arrivesMs - time.beganMs);
    // The held frame is not the one that had left: checkers have not seen it yet.
    else this.observe?.({ kind: 'frame', atMs: this.atMs, envelope, touched: true });
  }

  emitted(process: ProcessName, address: Address, event: ActorEvent): void {
    const { type, level, fields } = event;
    this.#options.trace?.push(`${this.#options.time.nowMs()} ${address} ${type} ${JSON.stringify(fields)}`);
    this.observe?.({ kind: 'emitted', atMs: this.atMs, process, address, event });
    this.record?.({ kind: 'actor', atMs: this.atMs, address, type, level, fields });
  }

  /** An actor has taken a step; call only when `record` is set. */
  stepped(address: Address, state: unknown): void {
    const shown = publicState(address, state);
    if (shown === undefined) return;
    const text = JSON.stringify(shown);
    if (this.#shown.get(address) === text) return;
    this.#shown.delete(address);
    this.#shown.set(address, text);
    if (this.#shown.size > shownMax) this.#shown.delete(this.#shown.keys().next().value!);
    this.record?.({ kind: 'state', atMs: this.atMs, address, ...shown });
  }

  process(process: ProcessName, what: 'up' | 'down' | 'paused' | 'resumed', boot: string, storeLost: boolean): void {
    this.#options.trace?.push(`${this.#options.time.nowMs()} ${process} ${what} ${boot}`);
    // Its actors no longer exist.
    if (what === 'down')
      for (const address of this.#shown.keys()) if (livesIn(address, process)) this.#shown.delete(address);
    this.observe?.({ kind: 'process', atMs: this.atMs, process, what, boot, storeLost });
    this.record?.({
      kind: 'process',
      atMs: this.atMs,
      process,
      what,
      text: storeLost ? `${boot}, its store is lost` : boot,
    });
  }

  link(peer: ProcessName, what: 'linkUp' | 'linkDown', text: string): void {
    this.#options.trace?.push(`${this.#options.time.nowMs()} ${peer} ${what} ${text}`);
    this.observe?.({ kind: 'link', atMs: this.atMs, peer, what, boot: text });
    this.record?.({ kind: 'process', atMs: this.atMs, process: peer, what, text });
  }

  clock(process: ProcessName, offsetMs: number): void {
    this.#options.trace?.push(`${this.#options.time.nowMs()} ${process} clock ${offsetMs}`);
    this.observe?.({ kind: 'clock', atMs: this.atMs, process, offsetMs });
    const text = `off by ${offsetMs} ms`;
    this.record?.({ kind: 'process', atMs: this.atMs, process, what: 'clock', text });
  }

  healed(): void {
    this.observe?.({ kind: 'healed', atMs: this.atMs });
  }

  fault(
    id: string,
    fault: FaultKind,
    targets: readonly ProcessName[],
    what: 'armed' | 'fired' | 'ended',
    text: string,
    victims: readonly ProcessName[] = [],
    definition?: Fault,
  ): void {
    this.#options.trace?.push(`${this.#options.time.nowMs()} fault ${id} ${fault} ${what} ${targets.join(',')}`);
    const hit = victims.length === 0 ? targets : victims;
    this.observe?.({
      kind: 'fault',
      atMs: this.atMs,
      id,
      fault,
      targets: hit,
      what,
      ...(definition && { definition }),
    });
    this.record?.({ kind: 'fault', atMs: this.atMs, id, fault, targets: hit, what, text });
  }

  logged(tenant: string, event: LoggedEvent, sequence: number): void {
    this.observe?.({ kind: 'logged', atMs: this.atMs, tenant, event, sequence });
  }

  /** A try to deliver an event has ended; `status` 0: without an answer. */
  delivery(tenant: string, event: LoggedEvent, status: number, triesBefore: number, isFirst: boolean): void {
    this.#options.trace?.push(`${this.#options.time.nowMs()} delivery ${event.id} ${event.type} ${status}`);
    if (isFirst) this.observe?.({ kind: 'delivered', atMs: this.atMs, tenant, eventId: event.id });
    const text = `try ${triesBefore + 1}: ${status === 0 ? 'no answer' : status}`;
    this.record?.({ kind: 'delivery', atMs: this.atMs, event: event.type, session: event.resource.id, status, text });
  }

  bug(process: ProcessName, address: Address, text: string): void {
    this.observe?.({ kind: 'bug', atMs: this.atMs, process, address, text });
    this.#options.trace?.push(`${this.#options.time.nowMs()} ${address} bug ${text}`);
    this.record?.({ kind: 'violation', atMs: this.atMs, invariant: 'no-bugs', text: `${address}: ${text}` });
  }

  #traceFrame(
    trace: string[],
    received: ReceivedEnvelope,
    bytes: Uint8Array | undefined,
    arrivesMs: readonly number[],
    outcome: FrameOutcome | undefined,
  ): void {
    const nowMs = this.#options.time.nowMs();
    const { from, to, message } = received;
    const after = arrivesMs.map((ms) => `+${ms - nowMs}`).join(',') || 'lost';
    const why = outcome === undefined || outcome.faults.length === 0 ? '' : ` {${outcome.faults.join(',')}}`;
    const line = `${nowMs} ${from} > ${to} ${message.body.case} ${after}${why}`;
    trace.push(`${line} ${base64(bytes ?? encodeFrame(received))}`);
    if (outcome === undefined) return;
    for (const { envelope, damage } of outcome.arrivals) {
      if (damage !== undefined) trace.push(`${line} ${damage}`);
      else if (envelope !== received) trace.push(`${line} instead ${base64(encodeFrame(envelope))}`);
    }
  }
}

function livesIn(address: Address, process: ProcessName): boolean {
  if (process === 'coordinator') return !address.startsWith('node/');
  return address === process || address.startsWith(`${process}/`);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
