/**
 * The gateway of a simulated cluster: the calls of the live gateway (gateway/signing/signing-calls.ts) over a link of this world.
 * While its process is paused it reads no requests; when it dies, its calls fail.
 */
import type { Envelope, MachineMs, UndeliveredReason } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import type { OrderIssuer } from '../../gateway/signing/order-issuer.ts';
import { type CallOutcome, Calls, type Done, SigningCalls } from '../../gateway/signing/signing-calls.ts';
import type { Call, CallReply } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { Roster } from '../../proto/roster.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { CallUnderWay, SimulatedCall } from './client.ts';
import type { ExternalProcessLink } from './external-processes.ts';
import type { CallEvent } from './observation.ts';
import type { Life } from './processes.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface CallPorts {
  readonly time: VirtualTime;
  readonly nowMs: () => number;
  readonly roster: Roster;
  readonly send: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
  readonly orders: OrderIssuer;
  readonly stateOf: () => 'up' | 'paused' | 'down';
  readonly observed: (what: CallEvent, call: CallUnderWay) => void;
}

/** A call that waits for its answer. `callId` 0: it is not sent. */
interface Waiting {
  readonly call: SimulatedCall;
  readonly done: Done;
  callId: bigint;
  abandon: () => void;
}

const nothing = (): void => undefined;

export class SimulatedCalls extends Calls {
  readonly #ports: CallPorts;
  readonly #calls: SigningCalls;
  /** Those that were sent. */
  readonly #waiting = new Map<bigint, Waiting>();
  /** The call that `#calls` starts now. */
  #starting: Waiting | undefined;
  /** Outcomes that their callers get outside the gateway's code, which catches what a callback throws. */
  #outcomes: (() => void)[] = [];
  /** Requests that arrive while the gateway is paused: it reads them when it resumes. */
  #unread: Waiting[] = [];
  /** The gateway's name: new for every start, so that an answer to an earlier start finds no receiver. */
  #address = 'gateway/sim';
  #starts = 1;

  constructor(ports: CallPorts) {
    super();
    this.#ports = ports;
    const { time, nowMs, roster, orders } = ports;
    this.#calls = new SigningCalls({
      roster,
      link: { send: (message) => this.#send(message), listen: nothing },
      orders: (call, atMs) => {
        const made = orders(call, atMs);
        return this.#starting?.call.orders?.(made) ?? made;
      },
      clock: { nowMs },
      timers: {
        epochMs: () => time.nowMs() as MachineMs,
        elapsedMs: () => time.nowMs(),
        start: (afterMs, run) =>
          time.after(afterMs, () => {
            run();
            this.#tell();
          }),
      },
    });
  }

  get inFlight(): number {
    return this.#calls.inFlight;
  }

  override start(call: SimulatedCall, done: Done): () => void {
    const waiting: Waiting = { call, done, callId: 0n, abandon: nothing };
    const state = this.#ports.stateOf();
    if (state === 'up') this.#start(waiting);
    else if (state === 'paused') this.#unread.push(waiting);
    else done({ failure: gone() });
    return () => waiting.abandon();
  }

  /** A frame for the gateway leaves the coordinator: with an answer, its call is promised one. */
  promised({ to, message: { body } }: Envelope<WireMessage>): void {
    if (to !== this.#address || body.case !== 'callReply') return;
    const { callId, outcome } = body.value as CallReply;
    const waiting = this.#waiting.get(callId);
    if (waiting === undefined || outcome.case === undefined || outcome.case === 'error') return;
    this.#ports.observed({ kind: 'promised', response: outcome.value }, { ...waiting.call, callId });
  }

  readonly link: ExternalProcessLink = {
    address: () => this.#address,
    arrived: ({ body }) => {
      if (body.case !== 'callReply') return;
      this.#calls.onReply(body.value as CallReply);
      this.#tell();
    },
    linked: (up) => {
      if (up) return;
      this.#calls.onLinkLost();
      this.#tell();
    },
  };

  readonly life: Life = {
    start: nothing,
    crash: () => {
      for (const waiting of [...this.#waiting.values(), ...this.#unread.splice(0)]) {
        waiting.abandon();
        this.#ended(waiting, { failure: gone() });
      }
      this.#starts += 1;
      this.#address = `gateway/sim-${this.#starts}`;
    },
    pause: nothing,
    resume: () => {
      for (const waiting of this.#unread.splice(0)) this.#start(waiting);
    },
  };

  #start(waiting: Waiting): void {
    this.#starting = waiting;
    waiting.abandon = this.#calls.start(waiting.call, (outcome) => {
      if (this.#starting === waiting) this.#ended(waiting, outcome);
      else this.#outcomes.push(() => this.#ended(waiting, outcome));
    });
    this.#starting = undefined;
  }

  #send(message: WireMessage): UndeliveredReason | undefined {
    const waiting = this.#starting!;
    waiting.callId = (message.body.value as Call).callId;
    this.#waiting.set(waiting.callId, waiting);
    this.#ports.observed({ kind: 'called' }, { ...waiting.call, callId: waiting.callId });
    return this.#ports.send({ from: this.#address, to: 'coordinator', message, trace: noTrace });
  }

  #tell(): void {
    for (const tell of this.#outcomes.splice(0)) tell();
  }

  #ended({ call, callId, done }: Waiting, outcome: CallOutcome): void {
    const { response, failure } = outcome;
    if (this.#waiting.delete(callId)) {
      const what: CallEvent =
        failure === undefined ? { kind: 'answered', response: response.value } : { kind: 'failed', error: failure };
      this.#ports.observed(what, { ...call, callId });
    }
    done(outcome);
  }
}

function gone(): ServiceError {
  return new ServiceError('unavailable', 'the gateway is gone');
}
