/** The recording of an embedded service (service-recorder.ts), which recorded-scenario.ts turns into a scenario. */

import type { CallOutcome, SigningCall } from '../../gateway/signing/signing-calls.ts';
import type { ControlMethod, ControlTakes } from '../../scenarios/faults/control.ts';

export interface RecordedCall {
  readonly kind: 'call';
  readonly beganMs: number;
  readonly call: SigningCall;
  /** undefined: no answer came. */
  outcome: CallOutcome | undefined;
  endedMs: number;
}

export interface RecordedOrder<M extends ControlMethod = ControlMethod> {
  readonly kind: 'order';
  readonly beganMs: number;
  readonly method: M;
  readonly takes: ControlTakes<M>;
  /** Of the fault that it made. */
  readonly fault: string | undefined;
  endedMs: number;
}

/** The caller of a request. */
export interface RecordedPrincipal {
  readonly tenant: string;
  readonly actor: string;
}

/** A request of the wallet API. */
export interface RecordedRequest {
  readonly kind: 'request';
  readonly beganMs: number;
  readonly method: string;
  /** The pattern of its path. */
  readonly route: string;
  /** Path and query. */
  readonly target: string;
  readonly principal: RecordedPrincipal;
  /** The Idempotency-Key. */
  readonly key: string | undefined;
  /** As received; undefined: it has none, or it was not read. */
  readonly body: string | undefined;
  /** undefined: it was lost in transit, or the gateway died. */
  answer: RecordedAnswer | undefined;
  endedMs: number;
}

export interface RecordedAnswer {
  readonly status: number;
  /** Empty: it has none, or one that is too long. */
  readonly body: string;
  /** It repeats the answer to an earlier request with the same key. */
  readonly isReplayed: boolean;
}

export type Recorded = RecordedCall | RecordedOrder | RecordedRequest;

/** A resource at the end of the recording. */
export interface RecordedFinal {
  readonly principal: RecordedPrincipal;
  readonly route: string;
  readonly target: string;
  /** The body of a 200 answer. */
  readonly body: string;
}
