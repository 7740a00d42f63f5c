/**
 * The gateway of a simulated cluster: the calls of the live gateway (gateway/signing/signing-calls.ts) over a link of this world.
 * While its process is paused it reads no requests; when it dies, its calls fail.
 */
import type { Envelope, MachineMs, UndeliveredReason } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { ServiceError } from '../../gateway/api/errors/service-error.ts';
import type { OrderIssuer } from '../../gateway/signing/order-issuer.ts';
import {
  type CallOutcome,
  Calls,
  type Done,
  type SigningCall,
  SigningCalls,
} from '../../gateway/signing/signing-calls.ts';
import type { Call, CallReply } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { Roster } from '../../proto/roster.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { GatewayFailure, SimulatedCall } from './client.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A call that the gateway has sent. */
export type CallUnderWay = Pick<SigningCall, 'tenant' | 'request' | 'walletService' | 'walletTerms' | 'keyScheme'> & {
  readonly callId: bigint;
};

export interface CallPorts {
  readonly time: VirtualTime;
  readonly nowMs: () => number;
  readonly roster: Roster;
  readonly send: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
  readonly orders: OrderIssuer;
  readonly stateOf: () => 'up' | 'paused' | 'down';
  readonly called: ((call: CallUnderWay) => void) | undefined;
  readonly answered: ((call: CallUnderWay, response: unknown) => void) | undefined;
  readonly failed: ((call: CallUnderWay, error: GatewayFailure) => void) | undefined;
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
  address = 'gateway/sim';
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

  find(callId: bigint): CallUnderWay | undefined {
    const waiting = this.#waiting.get(callId);
    return waiting && { ...waiting.call, callId };
  }

  override start(call: SimulatedCall, done: Done): () => void {
    const waiting: Waiting = { call, done, callId: 0n, abandon: nothing };
    const state = this.#ports.stateOf();
    if (state === 'up') this.#start(waiting);
    else if (state === 'paused') this.#unread.push(waiting);
    else done({ failure: gone() });
    return () => waiting.abandon();
  }

  /** A frame for the gateway has arrived. */
  arrived(to: string, { body }: WireMessage): void {
    if (to !== this.address || body.case !== 'callReply') return;
    this.#calls.onReply(body.value as CallReply);
    this.#tell();
  }

  linkLost(): void {
    this.#calls.onLinkLost();
    this.#tell();
  }

  resumed(): void {
    for (const waiting of this.#unread.splice(0)) this.#start(waiting);
  }

  /** The gateway has died; its next start is another. */
  crashed(): void {
    for (const waiting of [...this.#waiting.values(), ...this.#unread.splice(0)]) {
      waiting.abandon();
      this.#ended(waiting, { failure: gone() });
    }
    this.#starts += 1;
    this.address = `gateway/sim-${this.#starts}`;
  }

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
    this.#ports.called?.({ ...waiting.call, callId: waiting.callId });
    return this.#ports.send({ from: this.address, to: 'coordinator', message, trace: noTrace });
  }

  #tell(): void {
    for (const tell of this.#outcomes.splice(0)) tell();
  }

  #ended({ call, callId, done }: Waiting, outcome: CallOutcome): void {
    const { response, failure } = outcome;
    const { answered, failed } = this.#ports;
    if (this.#waiting.delete(callId)) {
      if (failure === undefined) answered?.({ ...call, callId }, response.value);
      else failed?.({ ...call, callId }, failure);
    }
    done(outcome);
  }
}

function gone(): ServiceError {
  return new ServiceError('unavailable', 'the gateway is gone');
}
