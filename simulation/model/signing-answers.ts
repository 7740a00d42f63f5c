import {
  ApprovalMode,
  type InitiateSigningRequest,
  KeystoreType,
  MockDirective,
  ReceiptState,
  type ResumeSessionRequest,
  type SignatureShareRequest,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { signatureIn } from '../cluster/invariants/answer-parts.ts';
import { hexOf, isSigning, type SigningSessionRecord, stateName } from '../cluster/invariants/sessions.ts';
import { type AnsweredCall, type AnswerFacts, isHidden, isOpen, isPaused, notFound } from './answer-facts.ts';
import { type History, holdersOf } from './history.ts';
import { messageOf, shortText } from './record-rules.ts';
import { isSharedScheme, isTooLong, type KeyFacts, keyedFaults, partialFault, signingFault } from './request-forms.ts';

const S = ReceiptState;
const none = new Uint8Array();
const holdsIntent = (state: ReceiptState) =>
  isOpen(state) || state === S.PENDING_HUMAN_APPROVAL || state === S.BACKEND_COMPLETED;

/** The answer to a call for a node's partial when the node refuses it. */
const refusalReasons =
  /^(ORDER_REFUSED|KEYSTORE_MISMATCH|INTENT_MESSAGE_CHANGED|KEYSTORE_UNAVAILABLE|HSM_.*|VENDOR_.*)$/;

export function initiated(
  { history }: AnswerFacts,
  { call, reason, record, beganMs }: AnsweredCall,
): string | undefined {
  const { tenant, request, walletService, walletTerms, method, atMs } = call;
  const asked = request as InitiateSigningRequest;
  const own = record && isSigning(record) && record.ceremony.facts.intentId === asked.transactionIntentId;
  if (record && !own) return 'it tells of a session of another intent';
  if (MockDirective[asked.mockDirective] === undefined)
    return reason === 'INVALID_REQUEST' ? undefined : `an unknown directive hears ${reason}`;
  if (asked.mockDirective !== MockDirective.UNSPECIFIED) {
    const forced = `MOCK_${MockDirective[asked.mockDirective]!.replace('FORCE_', 'FORCED_')}`;
    return reason === forced ? undefined : `the directive ${forced} hears ${reason}`;
  }
  const refused = signingFault(asked, walletTerms, walletService);
  if (refused) return reason === refused ? undefined : `it hears ${reason}, expected ${refused}`;
  const key = history.key(tenant, asked.walletId);
  const madeMs = history.keyMadeMs(tenant, asked.walletId);
  const expected = new Set<string>();
  if (!key || madeMs >= beganMs) expected.add('WALLET_KEY_NOT_FOUND');
  const faults = key ? keyedFaults(asked, key) : [];
  if (key && schemeMismatch(asked.keystoreType, key) && !faults.includes('UNSUPPORTED_CURVE'))
    expected.add('KEYSTORE_MISMATCH');
  for (const fault of faults) expected.add(fault);
  const isMismatch = expected.has('KEYSTORE_MISMATCH') || faults.length > 0;
  const isHumanMode = [asked.approvalMode, walletTerms?.approvalMode].includes(ApprovalMode.HUMAN_REQUIRED);
  if (key && !isMismatch) {
    const isHuman = isHumanMode && asked.humanApprovalWitness.length === 0;
    expected.add(isHuman ? 'HUMAN_APPROVAL_REQUIRED' : 'SESSION_ACCEPTED');
    if (history.isClosed(tenant, asked.walletId)) expected.add('WALLET_ARCHIVED');
    if (intentHeld(history, tenant, asked, walletService, beganMs, atMs)) {
      expected.add('DUPLICATE_INTENT');
      // The wallet service continues with the session that holds the intent: it must be for the same message.
      if (walletService) expected.add('INVALID_REQUEST');
    }
  }
  if (method === 'sign' && record && (record.epoch > 1 || isOpen(record.state))) return undefined;
  if (!expected.has(reason)) return `it hears ${reason}, expected ${[...expected].join(' or ')}`;
  if (reason === 'DUPLICATE_INTENT' && walletService && record && isSigning(record)) {
    const { facts } = record.ceremony;
    if (facts.keyId !== asked.walletId || messageOf(record.ceremony) !== shortText(asked.messageHash))
      return 'the session that holds its intent signs something else';
  }
  if (reason === 'DUPLICATE_INTENT') {
    return record && holdsIntent(record.state) ? undefined : 'the session that holds its intent does not';
  }
  if (reason !== 'SESSION_ACCEPTED' && reason !== 'HUMAN_APPROVAL_REQUIRED')
    return record ? 'a refused call has a session' : undefined;
  return begun(asked, record as SigningSessionRecord | undefined, walletService, isHumanMode);
}

function begun(
  asked: InitiateSigningRequest,
  record: SigningSessionRecord | undefined,
  walletService: boolean,
  isHuman: boolean,
): string | undefined {
  if (record?.epoch !== 1) return 'the session that it began is not at its first epoch';
  const { facts } = record.ceremony;
  const same =
    facts.keyId === asked.walletId &&
    facts.messageHash === hexOf(asked.messageHash) &&
    facts.derivationPath === (asked.derivation?.derivationPath ?? '') &&
    facts.walletService === walletService;
  if (!same) return 'its session is for something else than it asked';
  if ((record.approvalMode === ApprovalMode.HUMAN_REQUIRED) !== isHuman) return 'its session has another approval mode';
  const named = asked.keystoreType;
  if (named !== KeystoreType.UNSPECIFIED && record.keystoreType !== named) return 'its session has another keystore';
  return undefined;
}

/** Whether a session of the intent held its place at any time from then to now. */
function intentHeld(
  history: History,
  tenant: string,
  { transactionIntentId }: InitiateSigningRequest,
  walletService: boolean,
  beganMs: number,
  atMs: number,
): boolean {
  for (const versions of history.all()) {
    for (const { record, fromMs, untilMs } of versions) {
      if (!isSigning(record) || record.tenant !== tenant || fromMs > atMs || untilMs < beganMs) continue;
      const { facts } = record.ceremony;
      if (facts.intentId !== transactionIntentId || facts.walletService !== walletService) continue;
      if (holdsIntent(record.state)) return true;
    }
  }
  return false;
}

export function submitted(
  { history, nodesTotal, nodesWaitMs, steps, refusals, waiting }: AnswerFacts,
  { call, reason, record, beganMs }: AnsweredCall,
): string | undefined {
  const { tenant, request, response } = call;
  const { signingSessionId, nodeId, partialSignature, ephemeralPublicKey } = request as SignatureShareRequest;
  const [first] = history.versions(tenant, signingSessionId);
  if (!record) {
    const unknown = first === undefined || first.fromMs >= beganMs;
    return unknown && reason === (signingSessionId === '' ? 'INVALID_REQUEST' : 'SESSION_NOT_FOUND')
      ? undefined
      : `it hears ${reason} of a session that ${unknown ? 'does not exist' : 'exists'}`;
  }
  if (!isSigning(record) || record.sessionId !== signingSessionId) return 'it tells of another session';
  const { state, ceremony } = record;
  const isGiven = partialSignature.length > 0;
  const key = history.key(tenant, ceremony.facts.keyId);
  const holders = key ? holdersOf(key) : holdersOf({ totalNodes: nodesTotal });
  const expected = new Set<string>();
  if (isOpen(state) && !key) expected.add('WALLET_KEY_NOT_FOUND');
  else if (nodeId !== 0 && !holders.includes(nodeId)) expected.add('NODE_NOT_PARTICIPANT');
  else if (ceremony.excluded.includes(nodeId)) {
    expected.add('NODE_NOT_PARTICIPANT');
    // This call's own partial may have been the wrong one.
    expected.add('INVALID_PARTIAL_SIGNATURE');
    if (!isOpen(state)) expected.add(record.reasonCode);
  } else if (key && partialFault(request as SignatureShareRequest, key.scheme)) {
    expected.add('INVALID_REQUEST');
  } else {
    if (ephemeralPublicKey.length > 0 || (isGiven && !isSharedScheme(key?.scheme))) expected.add('INVALID_REQUEST');
    if (isGiven) expected.add('INVALID_PARTIAL_SIGNATURE');
    const repeats = (steps.get(`${tenant}/${signingSessionId} ${nodeId}`) ?? 0) > 1;
    // A call for the whole signature may have brought it in.
    const isGathered = steps.has(`${tenant}/${signingSessionId} 0`);
    if (nodeId !== 0 && (ceremony.submitted.includes(nodeId) || repeats || isGathered)) expected.add('DUPLICATE_SHARE');
    if (!isOpen(state)) expected.add(record.reasonCode);
    else {
      const waitedMs = waiting.waitedMs(tenant, signingSessionId, ceremony.facts.intentId, call.atMs);
      const isInVain = waitedMs === undefined || waitedMs >= nodesWaitMs;
      if (nodeId !== 0 && (isInVain || refusals.nodesFor(tenant, signingSessionId, '').has(nodeId)))
        expected.add('NODES_UNAVAILABLE');
      if (nodeId !== 0 && ceremony.submitted.includes(nodeId)) expected.add('SHARE_ACCEPTED');
      if (ceremony.vendorOrder) expected.add('VENDOR_ORDER_OPEN');
      if (refusalReasons.test(reason) && refusals.nodesFor(tenant, signingSessionId, reason).has(nodeId))
        expected.add(reason);
    }
  }
  if (!expected.has(reason))
    return `it hears ${reason} in state ${stateName(state)}, expected ${[...expected].join(' or ')}`;
  const isComplete =
    state === S.BACKEND_COMPLETED && (reason === 'SIGNATURE_COMPLETED' || reason === 'DUPLICATE_SHARE');
  const released = hexOf(signatureIn(response)?.signature ?? new Uint8Array());
  if (isComplete && released !== ceremony.signature) return 'it hears of a complete session, and not its signature';
  return undefined;
}

export function resumed(
  { history, tokens }: AnswerFacts,
  { call, reason, record, beganMs }: AnsweredCall,
): string | undefined {
  const { tenant, request, walletService } = call;
  const { sessionId, resumeToken, humanApprovalWitness } = request as ResumeSessionRequest;
  const [first] = history.versions(tenant, sessionId);
  if (!record) {
    const unknown = first === undefined || first.fromMs >= beganMs || isHidden(sessionId, walletService);
    return notFound(sessionId, unknown, reason);
  }
  if (isHidden(sessionId, walletService)) return 'it tells a client of the key of a wallet';
  if (record.sessionId !== sessionId) return 'it tells of another session';
  const issued = tokens.get(resumeToken);
  const token = issued?.session === sessionId ? issued : undefined;
  const { state, usedResumeEpochs, epoch, ceremony } = record;
  if (reason === 'SESSION_RESUMED') {
    const before = history.versions(tenant, sessionId).find((version) => version.record.epoch === epoch - 1)?.record;
    if (before && isSigning(before) && before.ceremony.witnessMissing && humanApprovalWitness.length === 0)
      return 'it resumes without the witness that its session needs';
    const isLast = token !== undefined && usedResumeEpochs.at(-1) === Number(token.epoch);
    return state === S.RESUMED && isLast && Number(token.epoch) === epoch - 1
      ? undefined
      : 'no token of its resumed it';
  }
  const expect = (...codes: readonly string[]) =>
    codes.includes(reason)
      ? undefined
      : `it hears ${reason} in state ${stateName(state)}, expected ${codes.join(' or ')}`;
  if (resumeToken === '' || isTooLong(humanApprovalWitness)) return expect('INVALID_REQUEST');
  if (token && usedResumeEpochs.includes(Number(token.epoch))) return expect('RESUME_TOKEN_REUSED');
  if (state === S.EXPIRED) return expect(record.reasonCode);
  if (!isPaused(state)) return expect('SESSION_NOT_RESUMABLE');
  if (token === undefined || Number(token.epoch) !== epoch) return expect('RESUME_TOKEN_INVALID');
  if (!isSigning(record)) return expect('SESSION_RESUMED');
  if (record.ceremony.witnessMissing && humanApprovalWitness.length === 0) return expect('WITNESS_MISSING');
  const { facts, guarded } = record.ceremony;
  // What a mock directive came before.
  const refused = signingFault(
    {
      ...{ policyApprovalToken: none, humanApprovalWitness: none, transactionIntentId: facts.intentId },
      ...{ approvalMode: facts.approvalMode, keystoreType: facts.keystoreType, walletId: facts.keyId },
      derivation: facts,
    },
    facts,
    facts.walletService,
  );
  if (refused) return expect(refused);
  const key = history.key(tenant, facts.keyId);
  if (!key || history.keyMadeMs(tenant, facts.keyId) >= beganMs) return expect('WALLET_KEY_NOT_FOUND');
  const { derivationPath, curve, messageHash } = facts;
  const faults = keyedFaults(
    { derivation: { derivationPath, curve }, messageHash: Buffer.from(messageHash, 'hex') },
    key,
  );
  if (schemeMismatch(facts.keystoreType, key)) return expect('KEYSTORE_MISMATCH', ...faults);
  if (faults.length > 0) return expect(...faults);
  if (!guarded) return expect('DUPLICATE_INTENT');
  return expect('SESSION_RESUMED', ...(ceremony.kind === 'signing' ? [] : ['']));
}

/** Whether the key signs with another scheme than the call's. An unbound key is shared, and accepts either shared scheme. */
function schemeMismatch(asked: KeystoreType, { curve, scheme }: KeyFacts): boolean {
  const types: Readonly<Record<string, readonly KeystoreType[]>> = {
    '': [KeystoreType.MOCK_THRESHOLD, KeystoreType.MPC_FROST],
    mock_ecdsa: [KeystoreType.MOCK_THRESHOLD],
    frost_bip340: [KeystoreType.MPC_FROST],
    frost_ed25519: [KeystoreType.MOCK_THRESHOLD, KeystoreType.MPC_FROST],
    owner_ecdsa: [KeystoreType.MULTISIG_EVM_WALLET],
  };
  const own = scheme.startsWith('hsm_') ? [KeystoreType.HSM_PKCS11] : [KeystoreType.MPC_VENDOR];
  const allowed = types[curve === 'ed25519' && scheme === '' ? 'frost_ed25519' : scheme] ?? own;
  return asked !== KeystoreType.UNSPECIFIED && !allowed.includes(asked);
}
