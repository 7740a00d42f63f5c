/** The shared part of protobuf transports. Requests go out as bytes, responses come in as bytes. */
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type DiagnosticReceipt,
  DkgShareExchangeRequestSchema,
  DkgShareExchangeResponseSchema,
  InitiateDkgRequestSchema,
  InitiateDkgResponseSchema,
  InitiateSigningRequestSchema,
  InitiateSigningResponseSchema,
  ResumeSessionRequestSchema,
  ResumeSessionResponseSchema,
  type SessionCheckpoint,
  SignatureShareRequestSchema,
  SignatureShareResponseSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { SigningAnswer, SigningCaller } from './signing-caller.ts';

export type RpcMethod =
  | 'InitiateSigning'
  | 'SubmitSignatureShare'
  | 'InitiateDkg'
  | 'ExchangeDkgShares'
  | 'ResumeSession';

/** Sends the bytes of a request; rejects when there is no response message. */
export type SendRpc = (rpc: RpcMethod, request: Uint8Array) => Promise<Uint8Array>;

export function protobufCaller(call: SendRpc, close: () => Promise<void>): SigningCaller {
  return {
    async initiateSigning(transactionIntentId, walletId, messageHash) {
      const request = encode(InitiateSigningRequestSchema, { transactionIntentId, walletId, messageHash });
      const response = fromBinary(InitiateSigningResponseSchema, await call('InitiateSigning', request));
      return answerOf(response.signingSessionId, response);
    },
    async submitShare(signingSessionId) {
      const request = encode(SignatureShareRequestSchema, { signingSessionId });
      const response = fromBinary(SignatureShareResponseSchema, await call('SubmitSignatureShare', request));
      return {
        ...answerOf(response.signingSessionId, response),
        signature: response.fullSignature,
        recoveryId: response.recoveryId[0] ?? -1,
      };
    },
    async initiateDkg(sessionId, curve) {
      const request = encode(InitiateDkgRequestSchema, { sessionId, derivation: { curve } });
      const response = fromBinary(InitiateDkgResponseSchema, await call('InitiateDkg', request));
      return answerOf(response.sessionId, response);
    },
    async exchangeShares(sessionId) {
      const request = encode(DkgShareExchangeRequestSchema, { sessionId });
      const response = fromBinary(DkgShareExchangeResponseSchema, await call('ExchangeDkgShares', request));
      return answerOf(response.sessionId, response);
    },
    async resume(sessionId, resumeToken) {
      const request = encode(ResumeSessionRequestSchema, { sessionId, resumeToken });
      const response = fromBinary(ResumeSessionResponseSchema, await call('ResumeSession', request));
      return answerOf(sessionId, response);
    },
    close,
  };
}

function encode<D extends DescMessage>(schema: D, init: MessageInitShape<D>): Uint8Array {
  return toBinary(schema, create(schema, init));
}

interface Answered {
  readonly receipt?: DiagnosticReceipt | undefined;
  readonly checkpoint?: SessionCheckpoint | undefined;
}

function answerOf(sessionId: string, { receipt, checkpoint }: Answered): SigningAnswer {
  return {
    sessionId,
    reasonCode: receipt?.reasonCode ?? '',
    receiptId: receipt?.receiptId ?? '',
    resumeToken: checkpoint?.resumeToken ?? '',
  };
}
