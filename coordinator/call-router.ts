/**
 * The actor "coordinator": it receives the calls of gateways. It checks the parts that all calls share (contract version,
 * orchestration context, the form of session ids) and passes the call to the session's actor. That actor answers the gateway,
 * also when this check found a fault, since the answer then carries the session's checkpoint. This actor has no state.
 */
import type { Address, Behaviour, Context, Step, Trace } from '../core/actors/contract.ts';
import { contractVersion, isSupportedContractVersion } from '../proto/contract-version.ts';
import {
  type Call,
  CallErrorCode,
  type CloseKeyRequest,
  type RefreshKeyRequest,
} from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { OrchestrationContext } from '../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId, refreshSessionId } from '../proto/ids.ts';
import { keyBinding } from '../proto/key-schemes.ts';
import {
  identifierCharsMax,
  isRefreshSession,
  isWalletKey,
  opaqueBytesMax,
  reservedSessionPrefixes,
  sessionIdPattern,
  signingIdPattern,
} from '../proto/limits.ts';
import { answer, type CallAnswer } from './contract/call-answer.ts';
import {
  type CallFacts,
  type ClientCall,
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  dkgAddress,
  frontAddress,
  isGateway,
  isLocal,
  keyClosingAddress,
  receivedBody,
  sessionAddress,
  signingAddress,
} from './contract/messages.ts';
import { routeRead } from './reading.ts';
import { routeSandboxCall } from './sandbox-calls.ts';
import { quote } from './session/message-text.ts';
import { proofOf } from './session/receipts.ts';
import { errorEffect, replyEffect } from './session/replies.ts';

type FrontState = null;
type FrontStep = Step<FrontState, CoordinatorMessage, CoordinatorWrite>;

export interface FrontConfig {
  readonly resumeKey: Uint8Array;
  readonly sandbox: boolean;
}

export function callRouterBehaviour(
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
  // Only gateways may make calls: a node's call would bypass tokens, and could act as the wallet service.
  if (body.case !== 'call' || !isGateway(input.from)) return [];
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
  const { request } = frame;
  const facts: CallFacts = {
    callId: frame.callId,
    asked: request.case ?? 'initiateDkg',
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
    requestDigest: Buffer.from(frame.requestDigest).toString('base64'),
    fault: undefined,
  };
  switch (request.case) {
    case undefined:
      return errorEffect(
        facts,
        CallErrorCode.MALFORMED,
        'the request does not decode, or is none that this version serves',
      );
    case 'closeKey':
      return closeKey(facts, request.value, frame.deletionMacs);
    case 'readSessions':
      return routeRead(facts, request.value);
    case 'inspectSession':
    case 'previewPartial':
    case 'readNoncePools':
      return routeSandboxCall(facts, request, config.sandbox);
    case 'refreshKey':
      if (isRefreshable(request.value) && frame.order) break;
      return errorEffect(facts, CallErrorCode.MALFORMED, 'a gateway orders version 2 or higher of a client’s own key');
    case 'makeKey':
    case 'sign':
      if (frame.walletService) break;
      return errorEffect(facts, CallErrorCode.MALFORMED, 'only the wallet service makes keys and signs in one call');
    default:
      break;
  }
  const orchestration = request.value.context;
  // Field by field, as for every object made for each call: objects built by spreading have different hidden classes, which are
  // slower to read. A literal cannot express that method and request match, hence the cast.
  const call = {
    callId: facts.callId,
    asked: request.case,
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
    requestDigest: facts.requestDigest,
    fault: contextFault(orchestration),
    method: request.case,
    request: request.value,
  } as ClientCall;
  const refuse = (given: CallAnswer): CoordinatorEffect =>
    replyEffect(call, proofOf(call, given, undefined, config.resumeKey, context));
  return dispatch(call, refuse, context);
}

/** To the actor of the session. */
function dispatch(
  call: ClientCall,
  refuse: (given: CallAnswer) => CoordinatorEffect,
  context: Context,
): CoordinatorEffect {
  const { tenant } = call;
  const handOver = (to: Address, fresh: boolean): CoordinatorEffect => ({
    kind: 'send',
    to,
    fresh,
    message: { kind: 'clientCall', call },
  });
  switch (call.method) {
    case 'initiateSigning':
    case 'sign':
      if (call.fault) return refuse(call.fault);
      return beginSigning(call.order?.sessionId);
    case 'initiateDkg':
    case 'makeKey': {
      if (call.fault) return refuse(call.fault);
      const sessionId = call.request.sessionId || newId('dkg', context.nowMs, context.random);
      if (!sessionIdPattern.test(sessionId)) {
        return refuse(answer('INVALID_REQUEST', 'session_id must be 1 to 128 characters of A-Z a-z 0-9 . _ : -'));
      }
      const reserved = reservedSessionPrefixes.find((prefix) => sessionId.startsWith(prefix));
      if (reserved && !(call.walletService && isWalletKey(sessionId))) {
        return refuse(answer('INVALID_REQUEST', `session_id must not begin with ${reserved}, which is reserved`));
      }
      if (call.method === 'makeKey' && !isWalletKey(sessionId)) {
        return refuse(answer('INVALID_REQUEST', 'session_id must be the id of the wallet, or of the vault’s key'));
      }
      return handOver(dkgAddress(tenant, sessionId), true);
    }
    case 'refreshKey': {
      if (call.fault) return refuse(call.fault);
      const { keyId, version } = call.request;
      return handOver(dkgAddress(tenant, refreshSessionId(keyId, version)), false);
    }
    case 'exchangeDkgShares':
      return toSession('session_id', call.request.sessionId, (id) => dkgAddress(tenant, id));
    case 'submitSignatureShare':
      return toSession('signing_session_id', call.request.signingSessionId, (id) => signingAddress(tenant, id));
    case 'resumeSession':
      return toSession('session_id', call.request.sessionId, (id) => sessionAddress(tenant, id));
  }

  /**
   * The gateway chooses the session id, since its order contains it. Without an order no node signs, but the call still gets an
   * answer.
   */
  function beginSigning(named: string | undefined): CoordinatorEffect {
    const sessionId = named ?? newId('sig', context.nowMs, context.random);
    // A repeat of a keyed request names the session that its first attempt may have begun.
    if (signingIdPattern.test(sessionId)) return handOver(signingAddress(tenant, sessionId), call.requestDigest === '');
    return errorEffect(call, CallErrorCode.MALFORMED, 'the order names no signing session');
  }

  function toSession(field: string, sessionId: string, address: (id: string) => Address): CoordinatorEffect {
    if (sessionId === '') return refuse(call.fault ?? answer('INVALID_REQUEST', `${field} is missing`));
    // Only the wallet service may take part in making a wallet's key, and a gateway's own call in a refresh.
    const hidden = isRefreshSession(sessionId) || (isWalletKey(sessionId) && !call.walletService);
    if (hidden || !sessionIdPattern.test(sessionId)) return refuse(call.fault ?? answer('SESSION_NOT_FOUND'));
    return handOver(address(sessionId), false);
  }
}

/** A wallet's or vault's key may be deleted meanwhile, and a node would store its share again. */
function isRefreshable({ keyId, version }: RefreshKeyRequest): boolean {
  return sessionIdPattern.test(keyId) && !isWalletKey(keyId) && version > 1;
}

/** Only gateways send it, on their own behalf: an invalid one is a bug of the gateway. */
function closeKey(
  facts: CallFacts,
  { keyId, revokeOnly }: CloseKeyRequest,
  deletionMacs: Uint8Array,
): CoordinatorEffect {
  if (!facts.walletService || !isWalletKey(keyId) || !sessionIdPattern.test(keyId)) {
    const text = 'the wallet service closes keys of wallets, and nothing else does';
    return errorEffect(facts, CallErrorCode.MALFORMED, text);
  }
  const message = { kind: 'closeCall', call: { ...facts, keyId, revokeOnly, deletionMacs } } as const;
  return { kind: 'send', to: keyClosingAddress(facts.tenant, keyId, revokeOnly), message };
}

/** The fault of the orchestration context, if any: first the version; of the other fields only the size is checked. */
function contextFault(orchestration: OrchestrationContext | undefined): CallAnswer | undefined {
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
