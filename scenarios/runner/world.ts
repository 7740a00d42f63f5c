/**
 * The world that a scenario runs in, as its runner sees it: simulated or live. The runner asks, the world answers later,
 * in virtual time or in real time; so one runner serves both. A callback, not a promise: virtual time runs synchronously.
 */

import type { LoggedEvent } from '../../core/redis/event-log.ts';
import type {
  CloseKeyRequest,
  CloseKeyResponse,
  MakeKeyResponse,
  RefreshKeyRequest,
  SignResponse,
} from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type {
  InspectSessionRequest,
  InspectSessionResponse,
  PreviewPartialRequest,
  PreviewPartialResponse,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import type { ReadSessionsRequest, ReadSessionsResponse } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import type {
  DkgShareExchangeRequest,
  DkgShareExchangeResponse,
  InitiateDkgRequest,
  InitiateDkgResponse,
  InitiateSigningRequest,
  InitiateSigningResponse,
  ResumeSessionRequest,
  ResumeSessionResponse,
  SignatureShareRequest,
  SignatureShareResponse,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Violation } from '../../simulation/cluster/violation.ts';
import type { RunEvent } from '../faults/recording.ts';
import type { Fault } from '../faults/vocabulary/generated-types.ts';
import type { GrpcCode, OwnKeystore, ReceiverAnswer, ScenarioWalletTerms } from './terms.ts';

export interface CallTypes {
  initiateDkg: readonly [InitiateDkgRequest, InitiateDkgResponse];
  exchangeDkgShares: readonly [DkgShareExchangeRequest, DkgShareExchangeResponse];
  initiateSigning: readonly [InitiateSigningRequest, InitiateSigningResponse];
  submitSignatureShare: readonly [SignatureShareRequest, SignatureShareResponse];
  resumeSession: readonly [ResumeSessionRequest, ResumeSessionResponse];
  /** Of the sandbox API. Without a scheme: the gateway finds it out. */
  refreshKey: readonly [RefreshKeyRequest, MakeKeyResponse];
}
export type CallName = keyof CallTypes;

/** Requests that only the wallet service, or the gateway for itself, makes of the coordinator: only in simulated worlds. */
export interface WalletCallTypes {
  makeKey: readonly [InitiateDkgRequest, MakeKeyResponse];
  sign: readonly [InitiateSigningRequest, SignResponse];
  closeKey: readonly [CloseKeyRequest, CloseKeyResponse];
  inspectSession: readonly [InspectSessionRequest, InspectSessionResponse];
  previewPartial: readonly [PreviewPartialRequest, PreviewPartialResponse];
  readSessions: readonly [ReadSessionsRequest, ReadSessionsResponse];
}
export type WalletCallName = keyof WalletCallTypes;

/** Why a call has no answer. `lost`: the caller's timeout expired. */
export type CallFailure = 'UNAVAILABLE' | 'OVERLOADED' | 'DEADLINE_EXCEEDED' | 'INTERNAL' | 'MALFORMED' | 'LOST';

export interface NoAnswer {
  readonly failure: CallFailure;
  readonly message: string;
  /** Seconds after which the service asks for another call. */
  readonly retryAfterS?: number;
  /** Of a gRPC call. */
  readonly grpc?: GrpcEnd;
}

/** The end of a gRPC call without an answer. `reason`: of google.rpc.ErrorInfo; empty: it ended below the service. */
export interface GrpcEnd {
  readonly code: GrpcCode;
  readonly reason: string;
}

/** The facts of a session by its own record. */
export interface SessionFacts {
  readonly sessionId: string;
  /** Without the prefix RECEIPT_STATE_. */
  readonly state: string;
  readonly reasonCode: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly culprits: readonly number[];
  /** Of a key: its compressed public key in hex; else empty. */
  readonly publicKey: string;
  /** Of a key: its chain code in hex; else empty. */
  readonly chainCode: string;
}

/** A delivery as a receiver got it. */
export interface ReceivedDelivery {
  /** Of the event. */
  readonly type: string;
  /** The id of the resource that it is about. */
  readonly resource: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As received. */
  readonly body: string;
  /** The status of its answer; 0: none. */
  readonly status: number;
}

/** The runner's questions, with the types of their answers. */
export interface Questions {
  call: {
    readonly asks: {
      [N in CallName]: {
        readonly name: N;
        readonly request: CallTypes[N][0];
        /** Of a key that nodes do not share. */
        readonly keystoreType?: OwnKeystore | undefined;
        /** Of the key’s wallet. */
        readonly walletTerms?: ScenarioWalletTerms | undefined;
        /** undefined: the world’s default. */
        readonly transport?: 'grpc' | undefined;
        /** Of a gRPC call. */
        readonly deadlineMs?: number | undefined;
      };
    }[CallName];
    readonly gets: { readonly response: CallTypes[CallName][1] } | NoAnswer;
  };
  walletCall: {
    readonly asks: {
      [N in WalletCallName]: { readonly name: N; readonly request: WalletCallTypes[N][0] };
    }[WalletCallName];
    readonly gets: { readonly response: WalletCallTypes[WalletCallName][1] } | NoAnswer;
  };
  /** One try of a call of the REST API, as a client makes it. `by`: the principal, "alice" or "alice@other". */
  request: {
    readonly asks: {
      readonly by: string;
      readonly method: string;
      /** Path and query. */
      readonly target: string;
      readonly body?: object;
      /** The Idempotency-Key. */
      readonly key?: string;
    };
    readonly gets: { readonly status: number; readonly body: unknown; readonly retryAfterS?: number } | NoAnswer;
  };
  /** A receiver of webhooks by its name, made at its first use; `answers`: from now on. */
  receiver: {
    readonly asks: { readonly name: string; readonly answers?: readonly ReceiverAnswer[] };
    readonly gets: { readonly url: string };
  };
  /** The deliveries of this receiver so far, oldest first. */
  received: { readonly asks: { readonly name: string }; readonly gets: readonly ReceivedDelivery[] };
  /** The partial that the node would submit now; a failure: there is none. 32 bytes. */
  previewPartial: {
    readonly asks: { readonly sessionId: string; readonly nodeId: number };
    readonly gets: { readonly partial: Uint8Array } | { readonly failure: string };
  };
  session: { readonly asks: { readonly sessionId: string }; readonly gets: SessionFacts | undefined };
  nodesReady: { readonly asks: Record<string, never>; readonly gets: number };
  inject: {
    readonly asks: { readonly fault: Fault };
    readonly gets: { readonly id: string } | { readonly failure: string };
  };
  triggerCount: { readonly asks: { readonly id: string }; readonly gets: number };
  heal: { readonly asks: Record<string, never>; readonly gets: undefined };
  advance: { readonly asks: { readonly byMs: number }; readonly gets: undefined };
  /** A step begins: for triggers that name it, and for the record. */
  step: { readonly asks: Omit<Extract<RunEvent, { kind: 'step' }>, 'kind' | 'atMs'>; readonly gets: undefined };
  wait: { readonly asks: { readonly ms: number }; readonly gets: undefined };
  /** The tenant's event log so far, oldest first. */
  events: { readonly asks: Record<string, never>; readonly gets: readonly LoggedEvent[] };
  /** Types of events that the webhook receiver has acknowledged. */
  delivered: { readonly asks: Record<string, never>; readonly gets: readonly string[] };
}
export type QuestionName = keyof Questions;

export interface ScenarioWorld {
  readonly kind: 'simulated' | 'live';
  /** Milliseconds since the scenario began. */
  nowMs(): number;
  /** An id of this run for a name of the scenario; the same for the same name. */
  idOf(name: string): string;
  ask<Q extends QuestionName>(
    question: Q,
    asks: Questions[Q]['asks'],
    gets: (answer: Questions[Q]['gets']) => void,
    /** Live: the sandbox refuses the question, or does not answer. Without it the whole run fails. */
    fails?: (error: Error) => void,
  ): void;
  /** The recorded events of the run so far. */
  recording(): readonly RunEvent[];
  /** Violations of invariants so far; a live world sees fewer. */
  violations(): readonly Violation[];
}

/** The outcome of a run. */
export type Verdict =
  | { readonly kind: 'passed' }
  /** An expectation does not hold: which one, and the actual value. `also`: the other failed ones, in order. */
  | { readonly kind: 'failed'; readonly what: string; readonly cause: string; readonly also?: readonly string[] }
  | { readonly kind: 'violated'; readonly invariant: string; readonly cause: string }
  /** A required outcome did not come in time. */
  | { readonly kind: 'stuck'; readonly what: string; readonly cause: string }
  /** This world cannot run it, and why. */
  | { readonly kind: 'unsupported'; readonly cause: string };

/** Exit codes of `scenario run` and `sim`, by verdict; 0 passed, 2 is a wrong command line, 1 anything else. */
export const verdictExitCodes: Readonly<Record<Verdict['kind'], number>> = {
  passed: 0,
  failed: 10,
  violated: 11,
  stuck: 12,
  unsupported: 13,
};

/** One run of one scenario, for reports. */
export interface Run {
  readonly scenario: string;
  readonly about: string;
  readonly world: 'simulated' | 'live';
  readonly seed: string;
  /** Of each cluster. */
  readonly nodes: number;
  /** undefined: one. */
  readonly clusters?: number | undefined;
  readonly verdict: Verdict;
  /** Scenario time. */
  readonly tookMs: number;
  /** The command that runs it again. */
  readonly replay: string;
  readonly events: readonly RunEvent[];
}
