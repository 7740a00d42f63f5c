/** The gateway's port to a coordinator that is a whole simulated cluster: a call is answered as soon as it is sent. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { CoordinatorLink, LinkListener } from '../../../gateway/signing/coordinator-port.ts';
import {
  type Call,
  CallErrorCode,
  CallReplySchema,
  CloseKeyRequestSchema,
  CloseKeyResponseSchema,
  InspectSessionRequestSchema,
  InspectSessionResponseSchema,
  Method,
  PreviewPartialRequestSchema,
  PreviewPartialResponseSchema,
} from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  DkgShareExchangeRequestSchema,
  DkgShareExchangeResponseSchema,
  InitiateDkgRequestSchema,
  InitiateDkgResponseSchema,
  InitiateSigningRequestSchema,
  InitiateSigningResponseSchema,
  ResumeSessionRequestSchema,
  ResumeSessionResponseSchema,
  SignatureShareRequestSchema,
  SignatureShareResponseSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireMessage } from '../../../proto/wire.ts';
import type { SimCluster } from '../../../sim/cluster.ts';

export class SimLink implements CoordinatorLink {
  readonly #cluster: SimCluster;
  /** The answer to the call with this number, from 1, never arrives, though its effect stands. */
  loseAnswerOf = 0;
  calls: Method[] = [];
  #listener: LinkListener | undefined;

  constructor(cluster: SimCluster) {
    this.#cluster = cluster;
  }

  send(message: WireMessage): undefined {
    const call = message.body.value as Call;
    this.calls.push(call.method);
    const value = create(CallReplySchema, { callId: call.callId });
    try {
      value.outcome = { case: 'response', value: this.#ask(call, message.tenant) };
    } catch (error) {
      const code = CallErrorCode.UNAVAILABLE;
      value.outcome = {
        case: 'error',
        value: { $typeName: 'signmesh.wire.v1.CallError', code, message: String(error) },
      };
    }
    if (this.calls.length === this.loseAnswerOf) {
      value.outcome = {
        case: 'error',
        value: { $typeName: 'signmesh.wire.v1.CallError', code: CallErrorCode.UNAVAILABLE, message: 'lost' },
      };
    }
    queueMicrotask(() =>
      this.#listener?.onMessage({ tenant: '', session: '', attempt: 0, body: { case: 'callReply', value } }),
    );
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
    listener.onStatus(true);
  }

  #ask({ method, request, walletService, walletTerms, keyScheme }: Call, tenant: string): Uint8Array {
    const cluster = this.#cluster;
    const caller = { walletService, keyScheme, ...(walletTerms && { walletTerms }) };
    switch (method) {
      case Method.INITIATE_DKG: {
        const init = fromBinary(InitiateDkgRequestSchema, request);
        return toBinary(InitiateDkgResponseSchema, cluster.initiateDkg(init, tenant, caller).result());
      }
      case Method.EXCHANGE_DKG_SHARES: {
        const init = fromBinary(DkgShareExchangeRequestSchema, request);
        return toBinary(DkgShareExchangeResponseSchema, cluster.exchangeDkgShares(init, tenant, caller).result());
      }
      case Method.INITIATE_SIGNING: {
        const init = fromBinary(InitiateSigningRequestSchema, request);
        return toBinary(InitiateSigningResponseSchema, cluster.initiateSigning(init, tenant, caller).result());
      }
      case Method.SUBMIT_SIGNATURE_SHARE: {
        const init = fromBinary(SignatureShareRequestSchema, request);
        return toBinary(SignatureShareResponseSchema, cluster.submitSignatureShare(init, tenant, caller).result());
      }
      case Method.RESUME_SESSION: {
        const init = fromBinary(ResumeSessionRequestSchema, request);
        return toBinary(ResumeSessionResponseSchema, cluster.resumeSession(init, tenant, caller).result());
      }
      case Method.CLOSE_KEY: {
        const init = fromBinary(CloseKeyRequestSchema, request);
        return toBinary(CloseKeyResponseSchema, cluster.closeKey(init, tenant, caller).result());
      }
      case Method.SIGN: {
        const init = fromBinary(InitiateSigningRequestSchema, request);
        return toBinary(SignatureShareResponseSchema, cluster.sign(init, tenant, caller).result());
      }
      case Method.INSPECT_SESSION: {
        const init = fromBinary(InspectSessionRequestSchema, request);
        return toBinary(InspectSessionResponseSchema, cluster.inspectSession(init, tenant, caller).result());
      }
      case Method.PREVIEW_PARTIAL: {
        const init = fromBinary(PreviewPartialRequestSchema, request);
        return toBinary(PreviewPartialResponseSchema, cluster.previewPartial(init, tenant, caller).result());
      }
      case Method.UNSPECIFIED:
        throw new Error('no method');
    }
  }
}
