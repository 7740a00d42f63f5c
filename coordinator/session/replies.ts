/** Answers on their way to the gateway: response messages of the contract, and errors where there is none. */
import { type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { complete } from '../../proto/complete.ts';
import { CallErrorCode, Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  DkgShareExchangeResponseSchema,
  InitiateDkgResponseSchema,
  InitiateSigningResponseSchema,
  ResumeSessionResponseSchema,
  SignatureShareResponseSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type CallFacts, type CoordinatorEffect, wire } from '../messages.ts';
import type { Proof } from './receipts.ts';

/** What the response of a step says beside receipt and checkpoint. */
export interface StepResult {
  readonly verified?: boolean;
  readonly fullSignature?: Uint8Array;
  readonly recoveryId?: Uint8Array;
}

export function replyEffect(
  call: CallFacts & { readonly method: Method },
  proof: Proof,
  result: StepResult = {},
): CoordinatorEffect {
  return outcomeEffect(call, { case: 'response', value: encodeResponse(call.method, proof, result) });
}

/** A response message that is not a session's. */
export function encodedReplyEffect(call: CallFacts, response: Uint8Array): CoordinatorEffect {
  return outcomeEffect(call, { case: 'response', value: response });
}

export function errorEffect(call: CallFacts, code: CallErrorCode, message: string): CoordinatorEffect {
  return outcomeEffect(call, { case: 'error', value: { code, message } });
}

/** Nothing was promised: the client may call again. */
export function unavailableEffect(call: CallFacts): CoordinatorEffect {
  return errorEffect(call, CallErrorCode.UNAVAILABLE, 'the session store cannot be reached: repeat the call');
}

type OutcomeInit =
  | { case: 'response'; value: Uint8Array }
  | { case: 'error'; value: { code: CallErrorCode; message: string } };

function outcomeEffect(call: CallFacts, outcome: OutcomeInit): CoordinatorEffect {
  return {
    kind: 'send',
    to: call.gateway,
    message: wire({ tenant: call.tenant }, { case: 'callReply', value: { callId: call.callId, outcome } }),
  };
}

function encodeResponse(method: Method, { receipt, checkpoint }: Proof, result: StepResult): Uint8Array {
  const sessionId = receipt.sessionId;
  const { state, epoch } = receipt;
  switch (method) {
    case Method.INITIATE_DKG:
      return encode(InitiateDkgResponseSchema, { sessionId, state, epoch, receipt, checkpoint });
    case Method.EXCHANGE_DKG_SHARES:
      return encode(DkgShareExchangeResponseSchema, {
        sessionId,
        verified: result.verified ?? false,
        errorMessage: result.verified ? '' : receipt.message,
        receipt,
        checkpoint,
      });
    case Method.INITIATE_SIGNING:
      return encode(InitiateSigningResponseSchema, { signingSessionId: sessionId, state, epoch, receipt, checkpoint });
    case Method.SUBMIT_SIGNATURE_SHARE:
    case Method.SIGN:
      return encode(SignatureShareResponseSchema, {
        signingSessionId: sessionId,
        isComplete: result.fullSignature !== undefined,
        fullSignature: result.fullSignature ?? new Uint8Array(),
        recoveryId: result.recoveryId ?? new Uint8Array(),
        receipt,
        checkpoint,
      });
    case Method.RESUME_SESSION:
      return encode(ResumeSessionResponseSchema, { sessionId, state, epoch, receipt, checkpoint });
    case Method.CLOSE_KEY:
      throw new Error('a closed key has no session to tell of');
    case Method.INSPECT_SESSION:
    case Method.PREVIEW_PARTIAL:
      throw new Error('what a sandbox asks for has answers of its own');
    case Method.UNSPECIFIED:
      throw new Error('a call without a method');
  }
}

function encode<D extends DescMessage>(schema: D, init: MessageInitShape<D>): Uint8Array {
  return toBinary(schema, complete(schema, init));
}
