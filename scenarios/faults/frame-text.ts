/**
 * Describes a frame in public text, for reports. The text never contains nonces, shares, boxes, partials, tokens, witnesses and
 * messages to sign, nor a process's own texts except codes.
 */
import { type Call, CallErrorCode, type CallReply } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import {
  PartialRefusalCode,
  type PartialReply,
  Scheme,
  type VendorSettled,
} from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { DiagnosticReceipt } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { reasonCodes } from '../../proto/reason-codes.ts';
import type { CallRequest, WireBody, WireEnvelope } from '../../proto/wire.ts';

const textMax = 160;

/** One line of at most 160 characters. Never throws, for any frame. */
export function frameText({ message }: WireEnvelope): string {
  const words = wordsOf(message.body as WireBody, message.attempt);
  // Ids are the callers' own: a control character would break the line.
  return words.replace(/[^\x20-\x7e]/g, '?').slice(0, textMax);
}

function wordsOf(body: WireBody, attempt: number): string {
  switch (body.case) {
    case 'call':
      return callWords(body.value);
    case 'callReply':
      return replyWords(body.value);
    case 'clusterStatus': {
      const { nodesReady, nodesTotal, storeReady } = body.value;
      return `${listed(nodesReady).length} of ${nodesTotal} nodes ready${storeReady ? '' : ', no store'}`;
    }
    case 'dealNonces':
      return `deal ${body.value.count} nonces, ${schemeName(body.value.scheme)}`;
    case 'noncesDealt':
      return `${listed(body.value.nonces).length} nonces, ${schemeName(body.value.scheme)}`;
    case 'partialRequest': {
      const { nonceNumber, scheme, keySession } = body.value;
      const nonce = nonceNumber ? `with nonce ${nonceNumber}` : 'without a nonce of its own';
      return `sign attempt ${attempt} ${nonce}, key ${keySession}, ${schemeName(scheme)}`;
    }
    case 'partialReply':
      return partialWords(body.value);
    case 'deleteKey':
      return `delete the share of key ${body.value.keySession}`;
    case 'keyDeleted':
      return `node ${body.value.nodeId} has no share of key ${body.value.keySession}`;
    case 'dkgOpen':
      return `open attempt ${attempt}: ${body.value.threshold} of ${body.value.totalNodes} on ${body.value.curve}`;
    case 'dkgOpened':
      return `opening of dealer ${body.value.opening?.dealer ?? '?'}`;
    case 'dkgSeal':
      return `seal shares for ${nodeWords(listed(body.value.recipients).map(({ dealer }) => dealer))}`;
    case 'dkgSealed':
      return `sealed shares for ${nodeWords(listed(body.value.shares).map(({ recipient }) => recipient))}`;
    case 'dkgVerify': {
      const dealers = listed(body.value.dealers).map(({ dealer }) => dealer);
      return dealers.length === 0 ? 'say your result' : `verify shares of ${nodeWords(dealers)}`;
    }
    case 'dkgVerified':
      return verifiedWords(body.value);
    case 'vendorSettled':
      return `the vendor has decided: ${partialWords(body.value)}`;
    case 'vendorNoted':
      return 'the session acknowledges it';
    case 'vendorCancel':
      return 'cancel the order at the vendor';
    case 'dkgConfirm':
      return `confirm ${listed(body.value.results).length} results`;
    case 'dkgConfirmed':
      return `node ${body.value.nodeId} confirms`;
    case 'dkgDiscard':
      return `discard attempt ${attempt}`;
    case 'dkgRefused': {
      const culprits = listed(body.value.culprits);
      return `refused ${code(body.value.code)}${culprits.length > 0 ? `, blames ${nodeWords(culprits)}` : ''}`;
    }
  }
}

function partialWords({ nodeId, outcome }: PartialReply | VendorSettled): string {
  if (outcome?.case === 'vendorOrder') return `the order of node ${nodeId} at the vendor is open`;
  if (outcome?.case === 'refusal') return `refused ${PartialRefusalCode[outcome.value.code ?? 0] ?? '?'}`;
  return `partial of node ${nodeId}`;
}

function verifiedWords({ recipient, verdicts, finished }: DkgVerified): string {
  const all = listed(verdicts);
  const good = all.filter(({ verified }) => verified).map(({ dealer }) => dealer);
  const bad = all.filter(({ verified }) => !verified).map((verdict) => `${verdict.dealer} ${code(verdict.code)}`);
  const said = [];
  if (good.length > 0) said.push(`verified ${nodeWords(good)}`);
  if (bad.length > 0) said.push(`complains about dealer ${bad.join(', ')}`);
  if (finished) said.push(`node ${recipient} has its result`);
  return said.join('; ') || 'nothing verified';
}

function callWords({ request }: Call): string {
  if (request?.case === undefined) return 'call of an unknown method';
  const about = requestWords(request);
  const name = `${request.case[0]!.toUpperCase()}${request.case.slice(1)}`;
  return `call ${name}${about === '' ? '' : ` ${about}`}`;
}

function requestWords(request: CallRequest): string {
  switch (request.case) {
    case 'exchangeDkgShares': {
      const { sessionId, senderNodeId, recipientNodeId, encryptedShare } = request.value;
      const pair = senderNodeId || recipientNodeId ? ` ${senderNodeId ?? 0}>${recipientNodeId ?? 0}` : '';
      return `${sessionId ?? ''}${pair}${isGiven(encryptedShare) ? ', a share given' : ''}`;
    }
    case 'initiateSigning':
    case 'sign':
      return `intent ${request.value.transactionIntentId ?? ''}, key ${request.value.walletId ?? ''}`;
    case 'submitSignatureShare': {
      const { signingSessionId, nodeId, partialSignature } = request.value;
      const given = isGiven(partialSignature) ? ', a partial given' : '';
      return `${signingSessionId ?? ''}${nodeId ? ` node ${nodeId}` : ''}${given}`;
    }
    case 'closeKey':
    case 'refreshKey':
      return request.value.keyId ?? '';
    case 'previewPartial':
      return `${request.value.sessionId ?? ''} node ${request.value.nodeId ?? 0}`;
    case 'readNoncePools':
      return '';
    default:
      return request.value.sessionId ?? '';
  }
}

function isGiven(bytes: Uint8Array | undefined): boolean {
  return bytes !== undefined && bytes.length > 0;
}

function replyWords({ outcome }: CallReply): string {
  if (outcome?.case === 'error') return `no answer: ${CallErrorCode[outcome.value.code ?? 0] ?? '?'}`;
  const { receipt } = (outcome?.value ?? {}) as { readonly receipt?: DiagnosticReceipt };
  const reason = receipt?.reasonCode;
  return reason !== undefined && Object.hasOwn(reasonCodes, reason) ? `answer ${reason}` : 'answer';
}

/** Codes are terms of the protocol; the text repeats nothing else. */
function code(text: string): string {
  return /^[A-Z_]{1,40}$/.test(text) ? text : 'of no known code';
}

function schemeName(scheme: Scheme): string {
  return (Scheme[scheme] ?? 'no scheme').toLowerCase().replaceAll('_', ' ');
}

function nodeWords(ids: readonly number[]): string {
  if (ids.length === 0) return 'no node';
  return `${ids.length === 1 ? 'node' : 'nodes'} ${ids.join(', ')}`;
}

/** Bodies that were not decoded may lack their empty lists. */
function listed<T>(list: readonly T[] | undefined): readonly T[] {
  return list ?? [];
}
