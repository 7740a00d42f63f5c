/** The client of a simulated world: the calls of the signing API and of the wallet control plane, with answers in virtual time. */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceError } from '../../gateway/api/errors/service-error.ts';
import type { Done, SigningCall } from '../../gateway/signing/signing-calls.ts';
import type { CallOrders, WalletTerms } from '../../proto/call-orders.ts';
import { complete } from '../../proto/complete.ts';
import { CloseKeyRequestSchema, RefreshKeyRequestSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  InspectSessionRequestSchema,
  PreviewPartialRequestSchema,
  ReadNoncePoolsRequestSchema,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import { ReadSessionsRequestSchema } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import {
  ApprovalMode,
  DkgShareExchangeRequestSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  ResumeSessionRequestSchema,
  SignatureShareRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CallCase, CallRequest, ResponseOf } from '../../proto/wire.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The failure of a call, as its gateway states it. */
export type GatewayFailure = Pick<ServiceError, 'kind' | 'message' | 'cause'>;

/** The principal of a call: a client, unless set otherwise. */
export interface SimCaller extends Pick<SigningCall, 'walletService' | 'keyScheme'> {
  /** The terms of the wallet that a client's call names. */
  readonly walletTerms?: Partial<WalletTerms>;
  /** When the caller stops waiting; the gateway's default otherwise. */
  readonly timeoutMs?: number;
  /** Changes the gateway's orders on their way to the coordinator. */
  readonly orders?: (made: CallOrders) => CallOrders;
}

export type SimulatedCall = SigningCall & Pick<SimCaller, 'orders'>;

/** A call that the gateway has sent. */
export type CallUnderWay = Pick<SigningCall, 'tenant' | 'request' | 'walletService' | 'walletTerms' | 'keyScheme'> & {
  readonly callId: bigint;
};

/** The time of a refusal by the gateway: one round trip. */
const refusalMs = 20;

export abstract class SimClient {
  abstract readonly time: VirtualTime;
  /** As `Calls.start` of the gateway. */
  protected abstract readonly send: (call: SimulatedCall, done: Done) => unknown;

  /** The five calls. Each resolves in virtual time: call `run` until it does. */
  initiateDkg = this.#method('initiateDkg', InitiateDkgRequestSchema);
  exchangeDkgShares = this.#method('exchangeDkgShares', DkgShareExchangeRequestSchema);
  initiateSigning = this.#method('initiateSigning', InitiateSigningRequestSchema);
  submitSignatureShare = this.#method('submitSignatureShare', SignatureShareRequestSchema);
  resumeSession = this.#method('resumeSession', ResumeSessionRequestSchema);
  /** Calls that only the wallet control plane makes; pass `{ walletService: true }`. */
  makeKey = this.#method('makeKey', InitiateDkgRequestSchema);
  refreshKey = this.#method('refreshKey', RefreshKeyRequestSchema);
  sign = this.#method('sign', InitiateSigningRequestSchema);
  closeKey = this.#method('closeKey', CloseKeyRequestSchema);
  /** With several clusters, a page is of one cluster's sessions. */
  readSessions = this.#method('readSessions', ReadSessionsRequestSchema);
  /** Calls that only a sandbox's gateway makes. */
  inspectSession = this.#method('inspectSession', InspectSessionRequestSchema);
  previewPartial = this.#method('previewPartial', PreviewPartialRequestSchema);
  readNoncePools = this.#method('readNoncePools', ReadNoncePoolsRequestSchema);

  #method<K extends CallCase, Q extends DescMessage>(asked: K, schema: Q) {
    return (init: MessageInitShape<Q>, tenant = 'tn_sim', caller: SimCaller = {}): SimCall<ResponseOf<K>> => {
      const { time } = this;
      const { walletTerms, timeoutMs, ...by } = caller;
      const call = new SimCall<ResponseOf<K>>(time);
      let isSending = true;
      this.send(
        {
          ...{ ...by, tenant, correlationId: '', traceparent: '' },
          request: { case: asked, value: complete(schema, init) } as unknown as CallRequest,
          ...(timeoutMs !== undefined && { deadlineMs: time.nowMs() + timeoutMs }),
          // The codec completes the message.
          ...(walletTerms && {
            walletTerms: { approvalMode: ApprovalMode.APPROVAL_MODE_UNSPECIFIED, ...walletTerms } as WalletTerms,
          }),
        },
        ({ response, failure }) => {
          const tell = () => (failure ? call.failed(failure) : call.answered(response.value as ResponseOf<K>));
          if (isSending) time.after(refusalMs, tell);
          else tell();
        },
      );
      isSending = false;
      return call;
    };
  }
}

/** A call in progress. */
export class SimCall<T> {
  readonly #time: VirtualTime;
  #answer: T | undefined;
  #error: GatewayFailure | undefined;
  #listener: ((answer: T) => void) | undefined;
  #onDone: ((outcome: { readonly answer: T } | { readonly error: GatewayFailure }) => void) | undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Called with the answer when it comes. */
  onAnswer(listener: (answer: T) => void): void {
    this.#listener = listener;
  }

  /** Called when the answer arrives, or the call fails; never from within the call that made it. */
  onDone(listener: (outcome: { readonly answer: T } | { readonly error: GatewayFailure }) => void): void {
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

  failed(error: GatewayFailure): void {
    this.#error = error;
    this.#onDone?.({ error });
  }

  get isDone(): boolean {
    return this.#answer !== undefined || this.#error !== undefined;
  }

  /** Runs the world until the answer arrives. Throws when the world has no work left first, or the call has no response. */
  result(): T {
    this.#time.runUntil(() => this.isDone);
    if (this.#error) throw new Error(`call failed: ${this.#error.kind}: ${this.#error.message}`);
    if (!this.#answer) throw new Error('nothing is left to happen, and the call has no answer');
    return this.#answer;
  }
}
