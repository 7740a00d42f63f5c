/**
 * The live fault injector: the fault engine over real processes. Frames come to it from the proxy of links, what the engine
 * orders is done with signals, sockets and messages, and everything that is seen is recorded. It runs in the process
 * that supervises the cluster; product processes contain none of it.
 *
 * Times handed to the engine are milliseconds since the Unix epoch on a clock that never jumps: faults of clocks do not
 * touch it.
 */
import { bindApart } from '../../core/actors/live/bind-apart.ts';
import { splitName } from '../faults/cluster-names.ts';
import { type ArmedStatus, ControlError } from '../faults/control.ts';
import { describe, targetsOf } from '../faults/describe.ts';
import type {
  ApiServerRequest,
  ApiServerVerdict,
  FaultEngine,
  FrameVerdict,
  Order,
  ReceiverBehaviour,
  VendorFaultConduct,
} from '../faults/vocabulary/engine-contract.ts';
import type { Fault, FaultKind } from '../faults/vocabulary/fault.ts';
import { isApiServerKind, simulatedOnly } from '../faults/vocabulary/kinds.ts';
import type { ApiProxyOptions } from './api-proxy-ports.ts';
import { GrpcProxy } from './grpc-proxy.ts';
import { HttpProxy } from './http-proxy.ts';
import { InjectedClocks } from './injected-clocks.ts';
import { LinkProxy } from './link-proxy.ts';
import type { ProcessControl, QueueControl, StoredClocks } from './ports.ts';
import { nowMs } from './real-time.ts';
import { FrameRecorder } from './recorder.ts';
import { SecondProcesses, type SecondProcessesOptions } from './second-processes.ts';

export interface FaultInjectorOptions {
  readonly engine: FaultEngine;
  readonly nodesTotal: number;
  readonly processes: ProcessControl;
  readonly queue: QueueControl;
  /** ws://host:port of the coordinator now; undefined: it does not listen yet. */
  readonly coordinatorUrl: () => string | undefined;
  /** Ports of other listeners, which ours must not take. */
  readonly reservedPorts?: ReadonlySet<number>;
  /** Where callers find the doors, and where the gateway listens behind them; undefined: callers go to the gateway itself. */
  readonly doors?: Readonly<Record<'http' | 'grpc', Pick<ApiProxyOptions, 'listen' | 'upstream'>>> | undefined;
  /** Whether Redis is a child that can be stopped. */
  readonly ownsRedis: boolean;
  /** How a process with a node's identity shakes hands; each time with another boot. */
  readonly handshakeOf: SecondProcessesOptions['handshakeOf'];
  /** How the simulated vendor shall behave; undefined: this cluster runs none. */
  readonly vendor?: ((conduct: VendorFaultConduct | undefined) => void) | undefined;
  /** Undefined: clocks are right at the start, and end with this process. */
  readonly clocks?: StoredClocks;
  /** Where it writes down what it sees; its own by default. */
  readonly recorder?: FrameRecorder;
  /** What went wrong in carrying out an order, for a person. */
  readonly say: (line: string) => void;
}

/** Timers wait at most this long, then check again. */
const wakeWithinMs = 60_000;
const linkPollMs = 2;
const rememberedMax = 1_000;
/** What they made late would keep a link from healing for as long as a day. */
const lateKinds: readonly FaultKind[] = ['delay', 'slow', 'reorder'];

export class FaultInjector {
  readonly recorder: FrameRecorder;
  readonly #options: FaultInjectorOptions;
  readonly #engine: FaultEngine;
  readonly #proxy: LinkProxy;
  readonly #seconds: SecondProcesses;
  readonly #doors: readonly (HttpProxy | GrpcProxy)[];
  readonly #expiries = new Map<string, { readonly expiresMs: number; readonly timer: NodeJS.Timeout }>();
  /** Processes, by fault. */
  readonly #targets = new Map<string, readonly string[]>();
  readonly #clocks: InjectedClocks;
  #receiver: ReceiverBehaviour | null = null;
  #wake: NodeJS.Timeout | undefined;
  #wakeAtMs = Number.POSITIVE_INFINITY;

  constructor(options: FaultInjectorOptions) {
    this.#options = options;
    this.#clocks = new InjectedClocks(options.clocks);
    this.recorder = options.recorder ?? new FrameRecorder();
    const { engine } = options;
    this.#engine = engine;
    this.#seconds = new SecondProcesses(options);
    const { doors } = options;
    const evaluate = (request: ApiServerRequest): ApiServerVerdict => this.#evaluateRequest(request);
    this.#doors =
      doors === undefined
        ? []
        : [new HttpProxy({ ...doors.http, evaluate }), new GrpcProxy({ ...doors.grpc, evaluate })];
    this.#proxy = new LinkProxy({
      upstreamUrl: options.coordinatorUrl,
      evaluator: {
        get idle() {
          return engine.idle;
        },
        evaluate: (frame): FrameVerdict => engine.frame(frame, nowMs()),
        perform: (orders) => this.#perform(orders),
      },
      watcher: {
        passed: (head, message) => this.recorder.passed(head, message),
        evaluated: (head, envelope, verdict) => {
          this.recorder.evaluated(head, envelope, verdict);
          // It may have set off what ends by itself.
          this.#rearm();
        },
        connecting: (peer) => this.#connecting(peer),
        link: (peer, up, why) => this.recorder.process(peer, up ? 'linkUp' : 'linkDown', why),
      },
    });
  }

  /** Resolves with the URL at which nodes and gateways find the coordinator, and the ports of the doors for callers: REST, gRPC. */
  async start(): Promise<{ readonly url: string; readonly doors: readonly number[] }> {
    const reserved = this.#options.reservedPorts ?? new Set();
    const listens = [this.#options.doors?.http.listen, this.#options.doors?.grpc.listen];
    const doors: number[] = [];
    for (const [index, door] of this.#doors.entries()) {
      const isConfigured = listens[index]?.port !== 0;
      const apartFrom = isConfigured ? new Set<number>() : reserved;
      doors.push(await bindApart(apartFrom, { bind: () => door.start(), portOf: Number, release: () => door.stop() }));
    }
    const url = await bindApart(reserved, {
      bind: () => this.#proxy.start(),
      portOf: (bound) => Number(new URL(bound).port),
      release: () => this.#proxy.stop(),
    });
    return { url, doors };
  }

  /** The coordinator listens elsewhere now: new links find it; those of second processes are made anew. */
  coordinatorMoved(): void {
    this.#seconds.moved();
  }

  async stop(): Promise<void> {
    for (const { timer } of this.#expiries.values()) clearTimeout(timer);
    clearTimeout(this.#wake);
    await this.#seconds.stop();
    await Promise.all(this.#doors.map((door) => door.stop()));
    await this.#proxy.stop();
  }

  get receiver(): ReceiverBehaviour | null {
    return this.#receiver;
  }

  get clockOffsetMs(): number {
    return this.#clocks.offsetMs;
  }

  /** In all. */
  clockOffsetOf(process: string): number {
    return this.#clocks.offsetOf(process);
  }

  isLinked(process: string): boolean {
    return this.#proxy.isUp(process);
  }

  /** Resolves when all of them have their link, or `withinMs` have passed. */
  async untilLinked(processes: readonly string[], withinMs: number): Promise<void> {
    const untilMs = performance.now() + withinMs;
    while (!processes.every((process) => this.isLinked(process)) && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, linkPollMs));
    }
  }

  /** The process has died: its sockets are, too. */
  cut(process: string): void {
    this.#proxy.cut(process);
  }

  /** Throws ControlError for what a live cluster does not have; the engine's own error for what makes no sense. */
  arm(fault: Fault, expiresInMs: number): ArmedStatus {
    this.#refuseUnsupported(fault);
    const { id, orders } = this.#engine.arm(fault, nowMs());
    // One of that id may be over and still listed.
    this.#cancelExpiry(id);
    const expiresMs = nowMs() + expiresInMs;
    const timer = setTimeout(() => this.disarm(id), expiresInMs);
    timer.unref();
    this.#expiries.set(id, { expiresMs, timer });
    this.#prune();
    this.#targets.set(id, targetsOf(fault, this.#options.nodesTotal));
    this.#recordFault(id, fault.fault, 'armed', describe(fault));
    this.#perform(orders);
    return this.list().find((armed) => armed.id === id)!;
  }

  list(): readonly ArmedStatus[] {
    return this.#engine.list(nowMs()).map((status) => ({
      ...status,
      expiresMs: this.#expiries.get(status.id)?.expiresMs ?? status.endsMs ?? status.armedMs,
    }));
  }

  /** undefined: there is none. */
  disarm(id: string): ArmedStatus | undefined {
    const before = this.list().find((armed) => armed.id === id);
    const orders = this.#engine.disarm(id, nowMs());
    this.#cancelExpiry(id);
    if (orders !== undefined) this.#perform(orders);
    if (before !== undefined && before.state !== 'over' && lateKinds.includes(before.fault.fault)) this.#proxy.hurry();
    return before && (this.list().find((armed) => armed.id === id) ?? { ...before, state: 'over' });
  }

  /** All faults end. Returns how many there were. */
  clear(): number {
    const removed = this.list().filter(({ state }) => state !== 'over').length;
    for (const id of [...this.#expiries.keys()]) this.#cancelExpiry(id);
    // What is late was sent before what is held.
    this.#proxy.hurry();
    this.#perform(this.#engine.clear(nowMs()));
    return removed;
  }

  step(name: string): void {
    this.#perform(this.#engine.step(name, nowMs()));
  }

  /** Of every process. Resolves when those that can hear have taken it over. */
  async setClock(offsetMs: number): Promise<void> {
    this.#clocks.set(offsetMs);
    const names = this.#options.processes.list().map(({ process }) => process);
    await Promise.all(
      names
        .filter((process) => process !== 'redis')
        .map((process) => this.#options.processes.setClock(process, this.clockOffsetOf(process))),
    );
    this.recorder.process('cluster', 'clock', `every clock is off by ${offsetMs} ms`);
  }

  /** Clocks that jumped are right again. */
  async rightClocks(offsetMs = 0): Promise<void> {
    this.#clocks.right();
    this.#engine.rightClocks();
    await this.setClock(offsetMs);
  }

  /** What shares a process with this one, itself among it, by this cluster's own names. */
  #together(process: string): readonly string[] {
    const found = this.#options.processes.list().find((status) => status.process === process);
    return found?.together.map((full) => splitName(full).name) ?? [process];
  }

  /** Forgets what the engine does not list any more. */
  #prune(): void {
    if (this.#expiries.size < rememberedMax) return;
    const listed = new Set(this.list().map(({ id }) => id));
    for (const id of [...this.#expiries.keys()]) {
      if (listed.has(id)) continue;
      this.#cancelExpiry(id);
      this.#expiries.delete(id);
      this.#targets.delete(id);
    }
  }

  #refuseUnsupported(fault: Fault): void {
    const reason = simulatedOnly[fault.fault];
    if (reason !== undefined) {
      throw new ControlError({
        code: 'unsupported',
        field: 'fault',
        message: `${fault.fault} is for the simulator alone: ${reason}`,
      });
    }
    if (isApiServerKind(fault.fault) && this.#doors.length === 0) {
      throw new ControlError({
        code: 'unsupported',
        field: 'fault',
        message: `${fault.fault} needs a proxy before the gateway: start the sandbox with --door-faults, or SIGNMESH_DOOR_FAULTS=on`,
      });
    }
    if (fault.fault === 'crash' && fault.restart_after_ms === null && targetsOf(fault).includes('gateway')) {
      throw new ControlError({
        code: 'unsupported',
        field: 'restart_after_ms',
        message: 'the gateway answers this API: when it stays down, it cannot be restarted. Give a restart time',
      });
    }
    if (!this.#options.ownsRedis && (fault.fault === 'redis_gone' || targetsOf(fault).includes('redis'))) {
      throw new ControlError({
        code: 'unsupported',
        field: fault.fault === 'redis_gone' ? 'fault' : 'target',
        message:
          'this cluster runs on a Redis that REDIS_URL names: faults of Redis need one that `signmesh up` started',
      });
    }
  }

  #evaluateRequest(request: ApiServerRequest): ApiServerVerdict {
    const verdict = this.#engine.request(request, nowMs());
    // It may have set off what is told, or what ends.
    if (verdict.faults.length > 0) this.#perform(this.#engine.wake(nowMs()));
    return verdict;
  }

  /** Stops the timer that would end the fault. */
  #cancelExpiry(id: string): void {
    clearTimeout(this.#expiries.get(id)?.timer);
  }

  #perform(orders: readonly Order[]): void {
    for (const order of orders) {
      try {
        this.#performOne(order);
      } catch (error) {
        this.#options.say(`a fault could not be carried out (${order.kind}): ${textOf(error)}`);
      }
    }
    this.#rearm();
  }

  #performOne(order: Order): void {
    const { processes, queue } = this.#options;
    switch (order.kind) {
      case 'crash':
        this.#proxy.cut(order.process);
        this.#later(processes.crash(order.process, order));
        return;
      case 'secondProcess':
        this.#seconds.set(order.process, order.on);
        return;
      case 'copyStore':
      case 'dropCopy':
      case 'rollBack':
        // No fault that orders it is armed here: see `simulatedOnly`.
        return;
      case 'pause':
        this.#pause(order.process);
        return;
      case 'resume':
        this.#resume(order.process);
        return;
      case 'silence':
        this.#proxy.silence(order.process, order.on);
        return;
      case 'deliver':
        this.#proxy.deliver(order.peer, order.direction, order.envelopes);
        return;
      case 'clock': {
        // Nodes that share a process share its clock: the last change counts, whichever of them it names.
        const together = this.#together(order.process);
        for (const process of together) {
          this.recorder.process(process, 'clock', `its clock is off by ${order.offsetMs} ms`);
        }
        this.#clocks.skew(together, order.offsetMs);
        this.#later(processes.setClock(order.process, this.clockOffsetOf(order.process)));
        return;
      }
      case 'redis':
        if (order.up) this.#resume('redis');
        else this.#pause('redis');
        return;
      case 'worker':
        if (order.stalled) this.#pause('worker');
        else this.#resume('worker');
        return;
      case 'queue':
        this.#later(order.what === 'poison_job' ? queue.poisonJob() : queue.doubleDelivery());
        return;
      case 'receiver':
        this.#receiver = order.behaviour ?? null;
        return;
      case 'vendor':
        this.#options.vendor?.(order.conduct);
        return;
      case 'fired':
      case 'ended':
        this.#recordFault(order.id, order.fault, order.kind, '', order.victims);
        return;
    }
  }

  #pause(process: string): void {
    this.#options.processes.pause(process);
  }

  #resume(process: string): void {
    this.#options.processes.resume(process);
  }

  #later(work: Promise<void>): void {
    work.catch((error: unknown) => this.#options.say(`a fault could not be carried out: ${textOf(error)}`));
  }

  #rearm(): void {
    const atMs = this.#engine.nextWakeMs();
    if (atMs === this.#wakeAtMs) return;
    clearTimeout(this.#wake);
    this.#wakeAtMs = atMs;
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#wake = setTimeout(
      () => {
        this.#wakeAtMs = Number.POSITIVE_INFINITY;
        this.#perform(this.#engine.wake(nowMs()));
      },
      Math.min(wakeWithinMs, Math.max(0, Math.ceil(atMs - nowMs()))),
    );
    this.#wake.unref();
  }

  /** What was held of the old link is lost with it, and a half-open one has been noticed. */
  #connecting(peer: string): void {
    if (this.#engine.idle) return;
    this.#engine.linkDown(peer);
    this.#perform(this.#engine.wake(nowMs()));
  }

  #recordFault(
    id: string,
    fault: FaultKind,
    what: 'armed' | 'fired' | 'ended',
    text: string,
    victims: readonly string[] = [],
  ): void {
    this.recorder.fault(id, fault, victims.length === 0 ? (this.#targets.get(id) ?? []) : victims, what, text);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
