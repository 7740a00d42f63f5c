/**
 * The gateway's side of the simulated cluster: outgoing calls, their answers, and the failures that callers get without one. As
 * the live gateway (gateway/signing/signing-calls.ts), it retries nothing.
 */
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import type { Envelope, UndeliveredReason } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import type { CallOrders, OrderedCall, WalletTerms } from '../../proto/call-orders.ts';
import { complete } from '../../proto/complete.ts';
import {
  type CallError,
  CallErrorCode,
  CallErrorSchema,
  type CallReply,
  type CallSchema,
} from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ApprovalMode } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CallCase, CallRequest, ResponseOf, WireMessage } from '../../proto/wire.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The principal of a call: a client, unless set otherwise. */
export interface SimCaller extends Pick<MessageInitShape<typeof CallSchema>, 'walletService' | 'keyScheme'> {
  readonly walletTerms?: Partial<WalletTerms>;
  /** Changes the gateway's orders on their way to the coordinator. */
  readonly orders?: (made: CallOrders) => CallOrders;
}

/** A call in progress. */
export interface CallUnderWay {
  readonly tenant: string;
  readonly callId: bigint;
  readonly request: CallRequest;
  /** The wallet service calls, not a client. */
  readonly walletService: boolean;
  /** The terms of the wallet that a client's call names. */
  readonly walletTerms?: SimCaller['walletTerms'];
  /** For the making of a key: the only scheme that it will sign with. */
  readonly keyScheme?: SimCaller['keyScheme'];
}

/** The time of a refusal by the gateway: one round trip. */
export const apiServerMs = 20;

export interface CallPorts {
  readonly time: VirtualTime;
  /** undefined: a call waits for its answer for as long as its link lasts. */
  readonly timeoutMs: number | undefined;
  readonly send: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
  /** The gateway's orders to nodes for a call. */
  readonly orders: (call: OrderedCall) => CallOrders;
  readonly stateOf: () => 'up' | 'paused' | 'down';
  readonly called: ((call: CallUnderWay) => void) | undefined;
  readonly answered: ((call: CallUnderWay, response: unknown) => void) | undefined;
  readonly failed: ((call: CallUnderWay, error: CallError) => void) | undefined;
}

interface Waiting extends CallUnderWay {
  readonly done: (response: unknown) => void;
  readonly fail: (error: CallError) => void;
  readonly cancelTimeout: (() => void) | undefined;
}

export class SimulatedCalls {
  readonly #ports: CallPorts;
  readonly #waiting = new Map<bigint, Waiting>();
  /** Frames that arrive while the gateway is paused: it reads them when it resumes. */
  #unread: (() => void)[] = [];
  #last = 0n;
  /** The gateway's name: new for every start, so that an answer to an earlier start finds no receiver. */
  address = 'gateway/sim';
  #starts = 1;

  constructor(ports: CallPorts) {
    this.#ports = ports;
  }

  find(callId: bigint): CallUnderWay | undefined {
    return this.#waiting.get(callId);
  }

  /** `schema`: of the request. */
  start<K extends CallCase, Q extends DescMessage>(
    asked: K,
    schema: Q,
    init: MessageInitShape<Q>,
    tenant: string,
    caller: SimCaller,
  ): SimCall<ResponseOf<K>> {
    const { time, timeoutMs, stateOf } = this.#ports;
    const call = new SimCall<ResponseOf<K>>(time);
    this.#last += 1n;
    const callId = this.#last;
    const request = { case: asked, value: complete(schema, init) } as unknown as CallRequest;
    const waiting: Waiting = {
      tenant,
      callId,
      request,
      walletService: caller.walletService ?? false,
      walletTerms: caller.walletTerms,
      keyScheme: caller.keyScheme,
      done: (answer) => call.answered(answer as ResponseOf<K>),
      fail: (error) => call.failed(error),
      cancelTimeout:
        timeoutMs === undefined
          ? undefined
          : time.after(timeoutMs, () =>
              this.#fail(
                callId,
                CallErrorCode.DEADLINE_EXCEEDED,
                'the deadline passed before the coordinator answered',
              ),
            ),
    };
    this.#waiting.set(callId, waiting);
    const send = () => {
      if (!this.#waiting.has(callId)) return;
      this.#ports.called?.(waiting);
      const { walletTerms, orders = (made: CallOrders) => made, ...rest } = caller;
      const { walletService = false } = rest;
      const terms = walletTerms && { approvalMode: ApprovalMode.APPROVAL_MODE_UNSPECIFIED, ...walletTerms };
      const made = this.#ports.orders({ tenant, request, walletService, walletTerms: terms });
      const value = {
        callId,
        request,
        ...rest,
        ...(terms && { walletTerms: terms }),
        ...orders(made),
      };
      const message: WireMessage = { tenant, session: '', attempt: 0, body: { case: 'call', value } };
      const undelivered = this.#ports.send({ from: this.address, to: 'coordinator', message, trace: noTrace });
      if (undelivered === 'noRoute') this.#failSoon(callId, CallErrorCode.UNAVAILABLE, 'no coordinator is connected');
      else if (undelivered) this.#failSoon(callId, CallErrorCode.OVERLOADED, 'the link to the coordinator is full');
    };
    const state = stateOf();
    if (state === 'up') send();
    else if (state === 'paused') this.#unread.push(send);
    else this.#failSoon(callId, CallErrorCode.UNAVAILABLE, 'the gateway is gone');
    return call;
  }

  /** A frame for the gateway has arrived. */
  arrived(to: string, message: WireMessage): void {
    const { body } = message;
    if (to !== this.address || body.case !== 'callReply') return;
    const { callId, outcome } = body.value as CallReply;
    const waiting = this.#take(callId);
    if (waiting === undefined || outcome.case === undefined) return;
    if (outcome.case !== 'error') {
      const { value } = outcome;
      this.#ports.answered?.(waiting, value);
      waiting.done(value);
    } else {
      const error = create(CallErrorSchema, outcome.value);
      this.#ports.failed?.(waiting, error);
      waiting.fail(error);
    }
  }

  resumed(): void {
    for (const send of this.#unread.splice(0)) send();
  }

  /** The gateway has died; its next start is another. */
  crashed(): void {
    this.#unread = [];
    this.failAll('the gateway is gone');
    this.#starts += 1;
    this.address = `gateway/sim-${this.#starts}`;
  }

  failAll(text: string): void {
    for (const callId of [...this.#waiting.keys()]) this.#fail(callId, CallErrorCode.UNAVAILABLE, text);
  }

  #failSoon(callId: bigint, code: CallErrorCode, text: string): void {
    this.#ports.time.after(apiServerMs, () => this.#fail(callId, code, text));
  }

  #fail(callId: bigint, code: CallErrorCode, message: string): void {
    const waiting = this.#take(callId);
    if (waiting === undefined) return;
    const error = create(CallErrorSchema, { code, message });
    this.#ports.failed?.(waiting, error);
    waiting.fail(error);
  }

  #take(callId: bigint): Waiting | undefined {
    const waiting = this.#waiting.get(callId);
    this.#waiting.delete(callId);
    waiting?.cancelTimeout?.();
    return waiting;
  }
}

/** A call in progress. */
export class SimCall<T> {
  readonly #time: VirtualTime;
  #answer: T | undefined;
  #error: CallError | undefined;
  #listener: ((answer: T) => void) | undefined;
  #onDone: ((outcome: { readonly answer: T } | { readonly error: CallError }) => void) | undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Called with the answer when it comes. */
  onAnswer(listener: (answer: T) => void): void {
    this.#listener = listener;
  }

  /** Called when the answer arrives, or the call fails; never from within the call that made it. */
  onDone(listener: (outcome: { readonly answer: T } | { readonly error: CallError }) => void): void {
    this.#onDone = listener;
    // The gateway died during this very call.
    const error = this.#error;
    if (error) this.#time.after(0, () => listener({ error }));
  }

  answered(answer: T): void {
    this.#answer = answer;
    this.#listener?.(answer);
    this.#onDone?.({ answer });
  }

  failed(error: CallError): void {
    this.#error = error;
    this.#onDone?.({ error });
  }

  get isDone(): boolean {
    return this.#answer !== undefined || this.#error !== undefined;
  }

  /** Runs the world until the answer arrives. Throws when the world has no work left first, or the call has no response. */
  result(): T {
    this.#time.runUntil(() => this.isDone);
    if (this.#error) throw new Error(`call failed: ${this.#error.code} ${this.#error.message}`);
    if (!this.#answer) throw new Error('nothing is left to happen, and the call has no answer');
    return this.#answer;
  }
}
