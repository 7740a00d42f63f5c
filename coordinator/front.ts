/**
 * The actor "coordinator": the door for gateways. It decodes a call, looks at what is the same for all of them (contract
 * version, orchestration context, the form of session ids), and hands it to the session's actor, which answers the
 * gateway itself: also when the door found a fault, since the answer then carries the session's checkpoint. It keeps no
 * state.
 */
import type { Address, Behaviour, Context, Step, Trace } from '../actors/contract.ts';
import { contractVersion, isSupportedContractVersion } from '../proto/contract-version.ts';
import { decodeRequest } from '../proto/decode-request.ts';
import {
  type Call,
  CallErrorCode,
  CloseKeyRequestSchema,
  InspectSessionRequestSchema,
  Method,
  PreviewPartialRequestSchema,
} from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  DkgShareExchangeRequestSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  type OrchestrationContext,
  ResumeSessionRequestSchema,
  SignatureShareRequestSchema,
} from '../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from '../proto/ids.ts';
import { keyBinding } from '../proto/key-schemes.ts';
import {
  identifierCharsMax,
  isWalletKey,
  opaqueBytesMax,
  reservedSessionPrefixes,
  sessionIdPattern,
  signingIdPattern,
} from '../proto/limits.ts';
import {
  type CallFacts,
  type ClientCall,
  type ClientRequest,
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  dkgAddress,
  finalizingAddress,
  frontAddress,
  isLocal,
  receivedBody,
  sessionAddress,
  signingAddress,
} from './messages.ts';
import { type Answer, answer } from './session/answers.ts';
import { noPreviewReply, nothingToInspect } from './session/inspection.ts';
import { proofOf } from './session/receipts.ts';
import { errorEffect, replyEffect } from './session/replies.ts';
import { quote } from './session/wording.ts';

type FrontState = null;
type FrontStep = Step<FrontState, CoordinatorMessage, CoordinatorWrite>;

export interface FrontConfig {
  readonly resumeKey: Uint8Array;
  readonly sandbox: boolean;
}

export function frontBehaviour(
  config: FrontConfig,
): Behaviour<FrontState, CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> {
  return {
    prefix: frontAddress,
    mailboxMax: 8192,
    durableKey: () => undefined,
    start: () => ({ state: null, effects: [] }),
    receive: (_, input, context) => ({ state: null, effects: receive(input, context, config) }),
  };
}

function receive(input: CoordinatorInput, context: Context, config: FrontConfig): FrontStep['effects'] {
  if (input.kind === 'undelivered') {
    const message = input.message;
    if (!isLocal(message) || !('call' in message)) return [];
    return [
      errorEffect(message.call, CallErrorCode.OVERLOADED, 'this session has too many calls waiting: repeat later'),
    ];
  }
  if (input.kind !== 'message' || isLocal(input.message)) return [];
  const body = receivedBody(input.message);
  // A node that makes calls would be a client without a token, and a wallet service too.
  if (body.case !== 'call' || !input.from.startsWith('gateway/')) return [];
  return [route(input.message.tenant, input.from, body.value, input.trace, context, config)];
}

function route(
  tenant: string,
  gateway: Address,
  frame: Call,
  trace: Trace,
  context: Context,
  config: FrontConfig,
): CoordinatorEffect {
  const facts: CallFacts = {
    callId: frame.callId,
    gateway,
    tenant,
    clientName: '',
    clientVersion: '',
    correlationId: '',
    traceparent: '',
    receiptId: '',
    walletService: frame.walletService,
    walletTerms: frame.walletTerms,
    order: frame.order,
    witnessMacs: frame.witnessMacs,
    keyScheme: keyBinding(frame.keyScheme) ?? '',
    fault: undefined,
  };
  if (frame.method === Method.CLOSE_KEY) return closeKey(facts, frame);
  if (frame.method === Method.INSPECT_SESSION || frame.method === Method.PREVIEW_PARTIAL) {
    if (config.sandbox) return lookInto(facts, frame);
    const text = 'only the coordinator of a sandbox shows what is in a session';
    return errorEffect(facts, CallErrorCode.MALFORMED, text);
  }
  if (frame.method === Method.SIGN && !frame.walletService) {
    const text = 'the wallet service signs in one call, and nothing else does';
    return errorEffect(facts, CallErrorCode.MALFORMED, text);
  }
  let client: ClientRequest;
  try {
    client = decode(frame);
  } catch {
    return errorEffect(facts, CallErrorCode.MALFORMED, 'the request does not decode');
  }
  const orchestration = client.request.context;
  // Field by field, as everything that is made for every call: objects that are spread together share no layout, and each
  // is then read the slow way. That method and request belong together a literal cannot say.
  const call = {
    callId: facts.callId,
    gateway,
    tenant,
    clientName: orchestration?.client?.clientName.slice(0, identifierCharsMax) ?? '',
    clientVersion: orchestration?.client?.clientVersion.slice(0, identifierCharsMax) ?? '',
    correlationId: orchestration?.correlationId.slice(0, identifierCharsMax) ?? '',
    traceparent: (orchestration?.traceparent || trace.traceparent).slice(0, identifierCharsMax),
    receiptId: newId('rcp', context.nowMs, context.random),
    walletService: facts.walletService,
    walletTerms: facts.walletTerms,
    order: facts.order,
    witnessMacs: facts.witnessMacs,
    keyScheme: facts.keyScheme,
    fault: contextFault(orchestration),
    method: client.method,
    request: client.request,
  } as ClientCall;
  const refuse = (given: Answer): CoordinatorEffect =>
    replyEffect(call, proofOf(call, given, undefined, config.resumeKey, context));
  return dispatch(call, refuse, context);
}

/** To the actor of the session. */
function dispatch(call: ClientCall, refuse: (given: Answer) => CoordinatorEffect, context: Context): CoordinatorEffect {
  const { tenant } = call;
  const handOver = (to: Address, fresh: boolean): CoordinatorEffect => ({
    kind: 'send',
    to,
    fresh,
    message: { kind: 'clientCall', call },
  });
  switch (call.method) {
    case Method.INITIATE_SIGNING:
    case Method.SIGN:
      if (call.fault) return refuse(call.fault);
      return beginSigning(call.order?.sessionId);
    case Method.INITIATE_DKG: {
      if (call.fault) return refuse(call.fault);
      const sessionId = call.request.sessionId || newId('dkg', context.nowMs, context.random);
      if (!sessionIdPattern.test(sessionId)) {
        return refuse(answer('INVALID_REQUEST', 'session_id must be 1 to 128 characters of A-Z a-z 0-9 . _ : -'));
      }
      const reserved = reservedSessionPrefixes.find((prefix) => sessionId.startsWith(prefix));
      if (reserved && !(call.walletService && isWalletKey(sessionId))) {
        return refuse(answer('INVALID_REQUEST', `session_id must not begin with ${reserved}, which is reserved`));
      }
      return handOver(dkgAddress(tenant, sessionId), true);
    }
    case Method.EXCHANGE_DKG_SHARES:
      return toSession('session_id', call.request.sessionId, (id) => dkgAddress(tenant, id));
    case Method.SUBMIT_SIGNATURE_SHARE:
      return toSession('signing_session_id', call.request.signingSessionId, (id) => signingAddress(tenant, id));
    case Method.RESUME_SESSION:
      return toSession('session_id', call.request.sessionId, (id) => sessionAddress(tenant, id));
  }

  /** The gateway names the session, so that its order can. Without an order no node signs; the call is answered all the same. */
  function beginSigning(named: string | undefined): CoordinatorEffect {
    const sessionId = named ?? newId('sig', context.nowMs, context.random);
    if (signingIdPattern.test(sessionId)) return handOver(signingAddress(tenant, sessionId), true);
    return errorEffect(call, CallErrorCode.MALFORMED, 'the order names no signing session');
  }

  function toSession(field: string, sessionId: string, address: (id: string) => Address): CoordinatorEffect {
    if (sessionId === '') return refuse(call.fault ?? answer('INVALID_REQUEST', `${field} is missing`));
    // Only the wallet service may take part in making a wallet's key.
    const hidden = isWalletKey(sessionId) && !call.walletService;
    if (hidden || !sessionIdPattern.test(sessionId)) return refuse(call.fault ?? answer('SESSION_NOT_FOUND'));
    return handOver(address(sessionId), false);
  }
}

/** Only gateways send it, for themselves: what is wrong with it is a bug there. */
function closeKey(facts: CallFacts, { request, deletionMacs }: Call): CoordinatorEffect {
  let keyId = '';
  let revokeOnly = false;
  try {
    ({ keyId, revokeOnly } = decodeRequest(CloseKeyRequestSchema, request));
  } catch {
    // As malformed as one without a key.
  }
  if (!facts.walletService || !isWalletKey(keyId) || !sessionIdPattern.test(keyId)) {
    return errorEffect(
      facts,
      CallErrorCode.MALFORMED,
      'the wallet service closes keys of wallets, and nothing else does',
    );
  }
  const message = { kind: 'closeCall', call: { ...facts, keyId, revokeOnly, deletionMacs } } as const;
  return { kind: 'send', to: finalizingAddress(facts.tenant, keyId, revokeOnly), message };
}

/** A sandbox's gateway asks about a session of the tenant, begun by any client. */
function lookInto(facts: CallFacts, { method, request }: Call): CoordinatorEffect {
  const { tenant } = facts;
  try {
    if (method === Method.INSPECT_SESSION) {
      const { sessionId } = decodeRequest(InspectSessionRequestSchema, request);
      const call = { ...facts, sessionId };
      if (!sessionIdPattern.test(sessionId)) return nothingToInspect(call);
      return { kind: 'send', to: sessionAddress(tenant, sessionId), message: { kind: 'inspectCall', call } };
    }
    const { sessionId, nodeId } = decodeRequest(PreviewPartialRequestSchema, request);
    const call = { ...facts, sessionId, nodeId };
    const isSigning = sessionIdPattern.test(sessionId) && sessionId.startsWith('sig_');
    if (!isSigning) return noPreviewReply(call, answer('SESSION_NOT_FOUND'));
    return { kind: 'send', to: signingAddress(tenant, sessionId), message: { kind: 'previewCall', call } };
  } catch {
    return errorEffect(facts, CallErrorCode.MALFORMED, 'the request does not decode');
  }
}

function decode({ method, request }: Call): ClientRequest {
  switch (method) {
    case Method.INITIATE_DKG:
      return { method, request: decodeRequest(InitiateDkgRequestSchema, request) };
    case Method.EXCHANGE_DKG_SHARES:
      return { method, request: decodeRequest(DkgShareExchangeRequestSchema, request) };
    case Method.INITIATE_SIGNING:
    case Method.SIGN:
      return { method, request: decodeRequest(InitiateSigningRequestSchema, request) };
    case Method.SUBMIT_SIGNATURE_SHARE:
      return { method, request: decodeRequest(SignatureShareRequestSchema, request) };
    case Method.RESUME_SESSION:
      return { method, request: decodeRequest(ResumeSessionRequestSchema, request) };
    default:
      throw new Error(`method ${method} is unknown`);
  }
}

/** What is wrong with the orchestration context, if anything: the version comes first; of the rest, only its size can be. */
function contextFault(orchestration: OrchestrationContext | undefined): Answer | undefined {
  if (!orchestration) return undefined;
  const version = orchestration.client?.contractVersion ?? '';
  if (!isSupportedContractVersion(version)) {
    const text = `context.client.contract_version ${quote(version)} is not served: this server speaks ${contractVersion}`;
    return answer('CONTRACT_VERSION_UNSUPPORTED', text);
  }
  const texts = [
    ['context.correlation_id', orchestration.correlationId],
    ['context.traceparent', orchestration.traceparent],
    ['context.client.client_name', orchestration.client?.clientName ?? ''],
    ['context.client.client_version', orchestration.client?.clientVersion ?? ''],
  ] as const;
  for (const [field, text] of texts) {
    if (text.length > identifierCharsMax) {
      return answer('INVALID_REQUEST', `${field} is longer than ${identifierCharsMax} characters`);
    }
  }
  if (orchestration.payload.length > opaqueBytesMax) {
    return answer('INVALID_REQUEST', `context.payload is longer than ${opaqueBytesMax} bytes`);
  }
  return undefined;
}
