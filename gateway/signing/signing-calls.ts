/**
 * Calls to the coordinator: one frame out, one frame back, matched by call id. HTTP and gRPC both use it.
 *
 * Invariants
 * - Every call that was started is answered exactly once: by the coordinator's reply, its deadline, the loss of the
 *   link, or `stop`; a cancelled one not at all.
 * - At most `inFlightMax` calls wait. A call beyond that is refused and nothing is sent.
 * - The gateway never repeats a call by itself: the caller must find out whether a call took effect.
 */

import { BeginLimit } from '../../core/actors/admission/begin-limit.ts';
import { ReturnTimes, returnLeastMs } from '../../core/actors/admission/return-times.ts';
import type { Cancel, Clock, Ports, Timers } from '../../core/actors/contract.ts';
import { type Log, silentLog } from '../../core/actors/live/ports.ts';
import { ShortLivedMap } from '../../core/actors/short-lived-map.ts';
import { noTracer, type Span, type Tracer } from '../../core/telemetry/port.ts';
import type { WalletTerms } from '../../proto/call-orders.ts';
import { namedBy } from '../../proto/cluster-named.ts';
import { CallErrorCode, type CallReply } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { Roster } from '../../proto/roster.ts';
import {
  beginsSession,
  type CallCase,
  type CallRequest,
  type CallResponse,
  type RequestOf,
  type ResponseOf,
} from '../../proto/wire.ts';
import type { ErrorKind } from '../api/errors/kinds.ts';
import { internalError, ServiceError } from '../api/errors/service-error.ts';
import type { CoordinatorLink } from './coordinator-port.ts';
import { keyFault, refreshFault } from './key-confirmation.ts';
import type { OrderIssuer } from './order-issuer.ts';

/** How long a call waits when its caller names no deadline. */
export const callDeadlineDefaultMs = 30_000;
/** No call holds its place longer than this, also with a longer deadline. */
export const callDeadlineMaxMs = 120_000;
export const inFlightDefaultMax = 4_096;

export interface KeyedRequest {
  /** 16 bytes: names the request to its session. */
  readonly digest: Uint8Array;
  /** The session that an InitiateSigning begins. */
  readonly signingSessionId: string;
}

export interface SigningCall {
  /** What the call orders of the nodes is read from it. */
  readonly request: CallRequest;
  readonly tenant: string;
  readonly correlationId: string;
  /** W3C traceparent, or empty. */
  readonly traceparent: string;
  /** When the caller stops waiting, by `Timers.elapsedMs`; Infinity or undefined: the default. */
  readonly deadlineMs?: number | undefined;
  /** The wallet control plane asks, not a client. */
  readonly walletService?: boolean;
  readonly walletTerms?: WalletTerms | undefined;
  /** Of an InitiateDkg: the only scheme that the key will sign with. */
  readonly keyScheme?: Scheme | undefined;
  /** Of a call under an idempotency key; the same in every repeat. */
  readonly keyed?: KeyedRequest | undefined;
  /** The cluster that is asked, whatever the call names: its list of sessions is. */
  readonly cluster?: number | undefined;
}

export type CallOutcome =
  /** Of the same case as the request. */
  | { readonly response: CallResponse; readonly changedSession: boolean; readonly failure?: undefined }
  | { readonly response?: undefined; readonly failure: ServiceError };

/** What a call of a known kind gives. */
export type CallResult<K extends CallCase> =
  | { readonly response: ResponseOf<K>; readonly failure?: undefined }
  | { readonly response?: undefined; readonly failure: ServiceError };

export type Done = (outcome: CallOutcome) => void;

interface Waiting {
  readonly call: SigningCall;
  readonly done: Done;
  readonly cancelTimer: Cancel;
  readonly span: Span;
}

export interface SigningCallsOptions extends Pick<Ports, 'clock' | 'timers'> {
  readonly link: CoordinatorLink;
  readonly orders: OrderIssuer;
  /** Pinned: of the cluster that the link leads to. */
  readonly roster: Roster;
  readonly inFlightMax?: number;
  readonly log?: Log;
  readonly tracer?: Tracer;
}

const nothing = (): void => {};

/** Where calls to coordinators begin. */
export abstract class Calls {
  /**
   * Sends the call; `done` gets its outcome, possibly before `start` returns. The returned function abandons the call after its
   * caller disconnected: `done` is then never called.
   */
  abstract start(call: SigningCall, done: Done): () => void;

  /** Calls that wait for an answer. */
  abstract readonly inFlight: number;

  /** The call as a promise, which never rejects. An aborted call stays unanswered. */
  call(call: SigningCall, signal?: AbortSignal): Promise<CallOutcome> {
    return new Promise((resolve) => {
      const cancel = this.start(call, resolve);
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /** The same, with the types of one kind of request and its response. */
  async ask<K extends CallCase>(
    asked: K,
    value: RequestOf<K>,
    about: Omit<SigningCall, 'request'>,
  ): Promise<CallResult<K>> {
    const { response, failure } = await this.call({ ...about, request: { case: asked, value } as CallRequest });
    return failure === undefined ? { response: response.value as ResponseOf<K> } : { failure };
  }
}

/** Those to one coordinator. */
export class SigningCalls extends Calls {
  readonly #link: CoordinatorLink;
  readonly #orders: OrderIssuer;
  readonly #roster: Roster;
  readonly #inFlightMax: number;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #log: Log;
  readonly #tracer: Tracer;
  readonly #waiting = new ShortLivedMap<bigint, Waiting>();
  readonly #begins = new BeginLimit();
  readonly #returns = new ReturnTimes();
  #lastCallId = 0n;
  #stopped = false;
  #onIdle: (() => void)[] = [];

  constructor(options: SigningCallsOptions) {
    super();
    this.#link = options.link;
    this.#orders = options.orders;
    this.#roster = options.roster;
    this.#inFlightMax = options.inFlightMax ?? inFlightDefaultMax;
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#log = options.log ?? silentLog;
    this.#tracer = options.tracer ?? noTracer;
  }

  get inFlight(): number {
    return this.#waiting.size;
  }

  start(call: SigningCall, done: Done): () => void {
    const leftMs = this.#leftMs(call);
    if (leftMs <= 0) return refuse(done, 'deadlineExceeded', 'the deadline has passed');
    if (this.#stopped) return refuse(done, 'unavailable', 'the gateway is stopping');
    const begins = beginsSession(call.request.case);
    if (begins && !this.#begins.hasRoom()) {
      return refuse(
        done,
        'overloaded',
        'the cluster has more calls than it finishes in time: nothing was started, repeat later',
        this.#returnS(),
      );
    }
    if (this.#waiting.size >= this.#inFlightMax) {
      return refuse(done, 'overloaded', 'too many calls wait for the coordinator: repeat later', this.#returnS());
    }
    this.#lastCallId += 1n;
    const callId = this.#lastCallId;
    // Waits before it is sent: a link may answer within `send`.
    const cancelTimer = this.#timers.start(leftMs, () => this.#expire(callId));
    const span = this.#tracer.start(call.request.case, 'client', call.traceparent);
    if (begins) this.#begins.start();
    this.#waiting.set(callId, { call, done, cancelTimer, span });
    const undelivered = this.#link.send(
      {
        tenant: call.tenant,
        session: '',
        attempt: 0,
        body: { case: 'call', value: this.#frameOf(callId, call, leftMs) },
      },
      { correlationId: call.correlationId, traceparent: span.traceparent },
    );
    if (undelivered !== undefined && this.#take(callId)) {
      if (undelivered === 'noRoute') return refuse(done, 'unavailable', 'no coordinator is connected');
      return refuse(done, 'overloaded', 'the link to the coordinator is full: repeat later');
    }
    return () => {
      this.#take(callId);
    };
  }

  /** A reply came in. Late ones (cancelled, expired) and repeated ones find no call and are dropped. */
  onReply(reply: CallReply): void {
    const waiting = this.#take(reply.callId);
    if (waiting === undefined) return;
    const { outcome } = reply;
    const { call, done } = waiting;
    const refused = outcome.case === 'error' && outcome.value.code === CallErrorCode.OVERLOADED;
    if (beginsSession(call.request.case)) this.#begins.answered(refused, this.#timers.elapsedMs());
    if (refused) refuse((said) => this.#answer(done, said), 'overloaded', overloadText(outcome), this.#returnS());
    else if (!isAnswerTo(call, outcome)) this.#answer(done, { failure: failureOf(outcome) });
    else
      this.#answer(
        done,
        this.#unconfirmed(call, outcome) ?? { response: outcome, changedSession: reply.changedSession },
      );
  }

  /** The link is gone, and every answer with it. What the calls did is not known here; the message says so. */
  onLinkLost(): void {
    this.#failAll('the link to the coordinator was lost; whether the call took effect is unknown');
  }

  /** Resolves when no call waits any more, or after `graceMs`; then the rest is failed and new calls are refused. */
  async stop(graceMs: number): Promise<void> {
    if (this.#waiting.size > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#timers.start(graceMs, resolve);
        this.#onIdle.push(() => {
          cancel();
          resolve();
        });
      });
    }
    this.#stopped = true;
    this.#failAll('the gateway is stopping');
  }

  /** Seconds after which a caller returns that is refused for load now. */
  #returnS(): number {
    return Math.round(this.#returns.next(this.#timers.elapsedMs(), returnLeastMs) / 1000);
  }

  #expire(callId: bigint): void {
    const waiting = this.#take(callId);
    if (waiting === undefined) return;
    refuse(
      (outcome) => this.#answer(waiting.done, outcome),
      'deadlineExceeded',
      'the deadline passed before the coordinator answered',
    );
  }

  #failAll(message: string): void {
    for (const callId of [...this.#waiting.keys()]) {
      const waiting = this.#take(callId);
      if (waiting) this.#answer(waiting.done, { failure: new ServiceError('unavailable', message) });
    }
  }

  /** The refusal of a key that the cluster's nodes did not make; undefined: the response has no such key. */
  #unconfirmed({ request, tenant, keyScheme }: SigningCall, response: CallResponse): CallOutcome | undefined {
    const fault =
      request.case === 'makeKey' && response.case === 'makeKey'
        ? keyFault({ tenant, request: request.value, keyScheme }, response.value, this.#roster)
        : request.case === 'refreshKey' && response.case === 'refreshKey'
          ? refreshFault(tenant, request.value, response.value, this.#roster)
          : undefined;
    if (fault === undefined) return undefined;
    const said = { tenant, session: namedBy(request).id, reason: fault };
    this.#log.error(said, 'the coordinator named a key that its nodes did not confirm');
    const message = `the nodes of the cluster did not confirm the new key: ${fault}`;
    const details = [{ field: '', issue: 'key_not_confirmed', message: fault }];
    return { failure: new ServiceError('providerRejected', message, { details }) };
  }

  #frameOf(callId: bigint, call: SigningCall, leftMs: number) {
    const { request, tenant, walletService = false, walletTerms, keyScheme = Scheme.UNSPECIFIED, keyed } = call;
    const asked = { tenant, request, walletService, walletTerms, sessionId: keyed?.signingSessionId };
    const { order, witnessMacs, deletionMacs } = this.#orders(asked, this.#clock.nowMs());
    return {
      callId,
      request,
      walletService,
      keyScheme,
      // Rounded up: 0 would be no deadline.
      leftMs: Math.ceil(leftMs),
      ...(walletTerms && { walletTerms }),
      ...(keyed && { requestDigest: keyed.digest }),
      ...(order && { order }),
      ...(witnessMacs && { witnessMacs }),
      ...(deletionMacs && { deletionMacs }),
    };
  }

  /** Milliseconds until the call is answered at the latest. */
  #leftMs({ deadlineMs }: SigningCall): number {
    if (deadlineMs === undefined || !Number.isFinite(deadlineMs)) return callDeadlineDefaultMs;
    return Math.min(deadlineMs - this.#timers.elapsedMs(), callDeadlineMaxMs);
  }

  #take(callId: bigint): Waiting | undefined {
    const waiting = this.#waiting.get(callId);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(callId);
    if (beginsSession(waiting.call.request.case)) this.#begins.end();
    waiting.cancelTimer();
    waiting.span.end();
    if (this.#waiting.size === 0 && this.#onIdle.length > 0) {
      for (const idle of this.#onIdle.splice(0)) idle();
    }
    return waiting;
  }

  /** A callback that throws has a bug, which must affect neither the link nor other calls. */
  #answer(done: Done, outcome: CallOutcome): void {
    try {
      done(outcome);
    } catch (error) {
      this.#log.error(
        { reason: error instanceof Error ? error.stack : String(error) },
        'the answer of a call could not be sent',
      );
    }
  }
}

function isAnswerTo({ request }: SigningCall, outcome: CallReply['outcome']): outcome is CallResponse {
  return outcome.case === request.case;
}

/** `retryAfterS`: undefined for the default of the kind. */
function refuse(done: Done, kind: ErrorKind, message: string, retryAfterS?: number): () => void {
  done({ failure: new ServiceError(kind, message, retryAfterS === undefined ? {} : { retryAfterS }) });
  return nothing;
}

function overloadText(outcome: CallReply['outcome']): string {
  return (outcome.case === 'error' && outcome.value.message) || 'a queue is full: repeat later';
}

/** Any other reply that is no answer to its call, in the gateway's kinds. */
function failureOf(outcome: CallReply['outcome']): ServiceError {
  if (outcome.case !== 'error')
    return internalError(new Error(`the coordinator answered ${outcome.case ?? 'nothing'}`));
  const error = outcome.value;
  switch (error.code) {
    case CallErrorCode.UNAVAILABLE:
      return new ServiceError('unavailable', error.message || 'the session store cannot be reached');
    case CallErrorCode.DEADLINE_EXCEEDED:
      return new ServiceError('deadlineExceeded', error.message || 'the deadline passed');
    case CallErrorCode.MALFORMED:
      return new ServiceError('invalidRequest', error.message || 'the request does not decode');
    default:
      return internalError(new Error(`the coordinator answered: ${error.message}`));
  }
}
