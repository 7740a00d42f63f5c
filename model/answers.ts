/**
 * The reference model of answers: which reason codes a call may hear, by what is durable. Written from docs/signing-api.md and
 * docs/reason-codes.md; it shares no rule with coordinator/.
 *
 * The checkpoint of an answer says by which version of its session the coordinator answered. What another session or key may
 * change between a call and its answer, the model allows either way.
 */
import type { DkgRecord, SessionOf, SessionRecord } from '../coordinator/contract/record.ts';
import { decodeShare } from '../crypto/dkg-transcripts.ts';
import { verifyShare } from '../crypto/vss.ts';
import { isSupportedContractVersion } from '../proto/contract-version.ts';
import type { Call, CloseKeyRequest, CloseKeyResponse } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  ApprovalMode,
  type DkgShareExchangeRequest,
  type InitiateDkgRequest,
  type InitiateSigningRequest,
  KeystoreType,
  MockDirective,
  type OrchestrationContext,
  ReceiptState,
  type ResumeSessionRequest,
  type SignatureShareRequest,
} from '../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { proofIn, signatureIn } from '../sim/invariants/answers.ts';
import { keyRecordsIn } from '../sim/invariants/node-records.ts';
import { hexOf, isSigning, type SigningSessionRecord, stateName } from '../sim/invariants/sessions.ts';
import type { Checker, Observation } from '../sim/observation.ts';
import { type History, holdersOf } from './history.ts';
import { messageOf, shortText } from './record-rules.ts';
import {
  contextFault,
  dkgFault,
  givenShareFault,
  isSharedScheme,
  isTooLong,
  type KeyFacts,
  keyedFaults,
  partialFault,
  signingFault,
} from './request-forms.ts';

const S = ReceiptState;
type Promised = Extract<Observation, { kind: 'promised' }>;

const none = new Uint8Array();
const isOpen = (state: ReceiptState) => state === S.ACCEPTED || state === S.RESUMED;
const isPaused = (state: ReceiptState) => state === S.PENDING_HUMAN_APPROVAL || state === S.BACKEND_FAILED;
const holdsIntent = (state: ReceiptState) =>
  isOpen(state) || state === S.PENDING_HUMAN_APPROVAL || state === S.BACKEND_COMPLETED;

/** What a call that is right hears while its session is open and it waits in vain. */
const waitedInVain = ['NODES_UNAVAILABLE', 'ORDER_REFUSED', 'KEYSTORE_MISMATCH', 'INTENT_MESSAGE_CHANGED'];
const keystoreFaults = /^(KEYSTORE_UNAVAILABLE|HSM_|VENDOR_)/;

export function answersAsModelled(history: History, nodesTotal: number): Checker {
  const calledMs = new Map<bigint, number>();
  /** Resume tokens that were issued, to session and epoch. Secret. */
  const tokens = new Map<string, { readonly session: string; readonly epoch: bigint }>();
  /** "tenant/session node" of calls for one node's partial. */
  const steps = new Map<string, number>();
  /** Faults of the store that were armed: then it may be told that it was tampered with, or that it is full. */
  const strange = new Set<string>();
  /** Calls that a fault changed on their way. */
  const changed = new Set<bigint>();
  /** "node/2 tenant/key" */
  const held = new Set<string>();

  function promised(call: Promised): string | undefined {
    const { receipt, checkpoint } = proofIn(call.response) ?? {};
    if (call.method === 'closeKey') return closed(call);
    if (call.method === 'inspectSession' || call.method === 'previewPartial') return undefined;
    if (!receipt || !checkpoint) return undefined;
    const record = history.at(checkpoint.checkpointId);
    const { reasonCode } = receipt;
    if (receipt.epoch !== checkpoint.epoch) return 'its receipt and its checkpoint name two epochs';
    if (record) {
      if (receipt.sessionId !== record.sessionId) return 'its receipt names another session';
      if (receipt.resumable !== isPaused(record.state)) return 'it is wrong about whether its session is resumable';
      if ((checkpoint.resumeToken !== '') !== receipt.resumable) return 'it has a token, or none, in the wrong state';
      if (receipt.approvalMode !== record.approvalMode) return 'it names another approval mode';
      if (receipt.keystoreType !== record.keystoreType) return 'it names another keystore type';
      const route = routeOf(record);
      if (receipt.backendRoute !== route) return `it names the route ${receipt.backendRoute} in place of ${route}`;
      if (checkpoint.createdAtEpochMs !== BigInt(record.checkpointMs)) return 'it names another time of its checkpoint';
    } else if (checkpoint.epoch !== 0n || checkpoint.resumeToken !== '')
      return 'it tells of a session that is not durable';
    if (checkpoint.resumeToken !== '' && record) {
      tokens.set(checkpoint.resumeToken, { session: record.sessionId, epoch: checkpoint.epoch });
    }
    const signed = signatureIn(call.response);
    if (signed && (record?.state !== S.BACKEND_COMPLETED || !isSigning(record)))
      return 'it has a signature of a session that is not complete';
    const { context } = call.request as { readonly context?: OrchestrationContext };
    const version = context?.client?.contractVersion ?? '';
    const isServed = context === undefined || isSupportedContractVersion(version);
    if (isServed === (reasonCode === 'CONTRACT_VERSION_UNSUPPORTED')) return `version ${version} hears ${reasonCode}`;
    if (!isServed) return undefined;
    if (reasonCode === 'STORE_TAMPERED' || reasonCode === 'TENANT_QUOTA_EXCEEDED') {
      const isSo = strange.has(reasonCode === 'STORE_TAMPERED' ? 'store_tampered' : 'store_full');
      return isSo ? undefined : `it hears ${reasonCode}, which it is not`;
    }
    const isWrong = contextFault(context);
    if (isWrong) return reasonCode === isWrong ? undefined : `its context is too long, and it hears ${reasonCode}`;
    const began = calledMs.get(call.callId) ?? call.atMs;
    switch (call.method) {
      case 'initiateSigning':
      case 'sign':
        return initiated(call, reasonCode, record, began);
      case 'submitSignatureShare':
        return submitted(call, reasonCode, record, began);
      case 'resumeSession':
        return resumed(call, reasonCode, record, began);
      case 'initiateDkg':
      case 'makeKey':
        return dkgInitiated(call, reasonCode, record, began);
      case 'exchangeDkgShares':
        return exchanged(call, reasonCode, record, began);
      default:
        return undefined;
    }
  }

  // --- signing -----------------------------------------------------------------------------------------------------

  function initiated(
    { tenant, request, walletService, walletTerms, method, atMs }: Promised,
    reason: string,
    record: SessionRecord | undefined,
    beganMs: number,
  ): string | undefined {
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
      if (intentHeld(tenant, asked, walletService, beganMs, atMs)) {
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
    if ((record.approvalMode === ApprovalMode.HUMAN_REQUIRED) !== isHuman)
      return 'its session has another approval mode';
    const named = asked.keystoreType;
    if (named !== KeystoreType.UNSPECIFIED && record.keystoreType !== named) return 'its session has another keystore';
    return undefined;
  }

  /** Whether a session of the intent held its place at any time from then to now. */
  function intentHeld(
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

  function submitted(
    { tenant, request, response }: Promised,
    reason: string,
    record: SessionRecord | undefined,
    beganMs: number,
  ): string | undefined {
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
      // It may be this call's own partial that was wrong.
      expected.add('INVALID_PARTIAL_SIGNATURE');
      if (!isOpen(state)) expected.add(record.reasonCode);
    } else if (key && partialFault(request as SignatureShareRequest, key.scheme)) {
      expected.add('INVALID_REQUEST');
    } else {
      if (ephemeralPublicKey.length > 0 || (isGiven && !isSharedScheme(key?.scheme))) expected.add('INVALID_REQUEST');
      if (isGiven) expected.add('INVALID_PARTIAL_SIGNATURE');
      const repeats = (steps.get(`${tenant}/${signingSessionId} ${nodeId}`) ?? 0) > 1;
      if (nodeId !== 0 && (ceremony.submitted.includes(nodeId) || repeats)) expected.add('DUPLICATE_SHARE');
      if (!isOpen(state)) expected.add(record.reasonCode);
      else {
        for (const code of waitedInVain) if (code !== 'ORDER_REFUSED' || nodeId !== 0) expected.add(code);
        if (nodeId !== 0 && ceremony.submitted.includes(nodeId)) expected.add('SHARE_ACCEPTED');
        if (ceremony.vendorOrder) expected.add('VENDOR_ORDER_OPEN');
        if (nodeId === 0) expected.delete('KEYSTORE_MISMATCH');
      }
    }
    if (!expected.has(reason) && !(isOpen(state) && keystoreFaults.test(reason)))
      return `it hears ${reason} in state ${stateName(state)}, expected ${[...expected].join(' or ')}`;
    const isComplete =
      state === S.BACKEND_COMPLETED && (reason === 'SIGNATURE_COMPLETED' || reason === 'DUPLICATE_SHARE');
    const released = hexOf(signatureIn(response)?.signature ?? new Uint8Array());
    if (isComplete && released !== ceremony.signature) return 'it hears of a complete session, and not its signature';
    return undefined;
  }

  // --- both ceremonies ---------------------------------------------------------------------------------------------

  function resumed(
    { tenant, request, walletService }: Promised,
    reason: string,
    record: SessionRecord | undefined,
    beganMs: number,
  ): string | undefined {
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

  // --- keys --------------------------------------------------------------------------------------------------------

  function dkgInitiated(
    { tenant, request, walletService, keyScheme, method }: Promised,
    reason: string,
    record: SessionRecord | undefined,
    beganMs: number,
  ): string | undefined {
    const { sessionId, threshold, totalNodes } = request as InitiateDkgRequest;
    const about = { walletService, keyScheme: keyScheme !== undefined, isMaking: method === 'makeKey' };
    const fault = dkgFault(request as InitiateDkgRequest, about, nodesTotal);
    const isChecked = fault !== 'unchecked';
    const isRight = fault === undefined;
    if (isChecked && !isRight) return reason === fault ? undefined : `it hears ${reason}, expected ${fault}`;
    if (method === 'makeKey') return undefined;
    const [first] = history.versions(tenant, sessionId);
    if (reason === 'DUPLICATE_SESSION' && first === undefined)
      return 'it hears that its session exists, which it does not';
    if (reason === 'SESSION_ACCEPTED') {
      if (first === undefined || record?.epoch !== 1) return 'its session is not at its first epoch';
      if (first.fromMs < beganMs) return 'it begins a session that exists';
      const { ceremony } = record as { readonly ceremony: DkgRecord };
      if (isChecked && (ceremony.threshold !== threshold || ceremony.totalNodes !== totalNodes))
        return 'its session has another threshold or number of nodes';
    } else if (isChecked && isRight && reason !== 'DUPLICATE_SESSION') return `it hears ${reason}`;
    return undefined;
  }

  function exchanged(
    { tenant, request, response, walletService }: Promised,
    reason: string,
    record: SessionRecord | undefined,
    beganMs: number,
  ): string | undefined {
    const asked = request as DkgShareExchangeRequest;
    const [first] = history.versions(tenant, asked.sessionId);
    if (!record) {
      const unknown = first === undefined || first.fromMs >= beganMs || isHidden(asked.sessionId, walletService);
      return notFound(asked.sessionId, unknown, reason);
    }
    if (isHidden(asked.sessionId, walletService)) return 'it tells a client of the key of a wallet';
    if (record.ceremony.kind !== 'dkg' || record.sessionId !== asked.sessionId) return 'it tells of another session';
    const { state, ceremony, reasonCode } = record;
    const { verified } = response as { readonly verified: boolean };
    const isGiven = asked.encryptedShare.length > 0 || asked.commitments.length > 0;
    const holders = holdersOf(ceremony);
    const [sender, recipient] = [asked.senderNodeId, asked.recipientNodeId];
    const isStranger = [sender, recipient].some((id) => id !== 0 && !holders.includes(id));
    // The nodes of a session may change while its call waits.
    if (isStranger && reason === 'SHARE_VERIFIED') return 'a node that takes no part has verified a share';
    if (!isStranger && reason === 'NODE_NOT_PARTICIPANT') return 'it hears that its nodes take no part';
    if (isGiven && !isStranger) {
      const wrong = given(asked, record as SessionOf<DkgRecord>, reason);
      if (wrong) return wrong;
    }
    if (verified !== (reason === 'SHARE_VERIFIED' || reason === 'DKG_COMPLETED'))
      return `it hears ${reason}: ${verified}`;
    if (reason === 'SHARE_VERIFIED') {
      if (!isOpen(state)) return `a share verifies in state ${stateName(state)}`;
      const missing = (sender === 0 ? holders : [sender])
        .filter((dealer) => isGiven || ceremony.played[dealer] === undefined)
        .flatMap((dealer) => (recipient === 0 ? holders : [recipient]).map((to) => `${dealer}>${to}`))
        .find((pair) => !ceremony.verified.includes(pair));
      return missing && `it hears that its shares verified, and ${missing} is not durable`;
    }
    if (isGiven || reason === 'NODE_NOT_PARTICIPANT') return undefined;
    if (!isOpen(state)) return reason === reasonCode ? undefined : `it hears ${reason}, expected ${reasonCode}`;
    const isSupplied = sender !== 0 && recipient !== 0 && ceremony.played[sender] !== undefined;
    const expected = ['NODES_UNAVAILABLE', isSupplied ? 'INVALID_REQUEST' : ''];
    return expected.includes(reason) ? undefined : `it hears ${reason} in state ${stateName(state)}`;
  }

  /** A share that the caller supplies. */
  function given(asked: DkgShareExchangeRequest, record: SessionOf<DkgRecord>, reason: string): string | undefined {
    const { ceremony, sessionId } = record;
    const { curve, scheme = '' } = ceremony;
    const expect = (code: string) => (reason === code ? undefined : `it hears ${reason}, expected ${code}`);
    if (givenShareFault(asked, ceremony)) return expect('INVALID_REQUEST');
    const isShared = scheme === '' || scheme === 'mock_ecdsa' || scheme.startsWith('frost_');
    if (/^(wal|vky)_/.test(sessionId) || !isShared)
      return reason === 'INVALID_REQUEST' ? undefined : expect('CLIENT_DEALERS_NOT_ALLOWED');
    if (reason !== 'SHARE_VERIFIED' && reason !== 'DKG_COMPLETED') return undefined;
    const known = ceremony.played[asked.senderNodeId];
    if (known === undefined) return `it hears ${reason}, and its dealer is not client-supplied`;
    if (asked.commitments.some((point, index) => hexOf(point) !== known[index]))
      return `it hears ${reason} with other commitments than before`;
    const share = decodeShare(curve, asked.encryptedShare);
    const isRight = share !== undefined && verifyShare(curve, share, asked.recipientNodeId, asked.commitments);
    return isRight ? undefined : `it hears ${reason}, and its share does not fit its commitments`;
  }

  function closed({ tenant, request, response, callId }: Promised): string | undefined {
    const { keyId, revokeOnly } = request as CloseKeyRequest;
    const { pendingNodes } = response as CloseKeyResponse;
    for (const versions of history.all()) {
      const { record, fromMs } = versions.at(-1)!;
      if (!isSigning(record) || record.tenant !== tenant || record.ceremony.facts.keyId !== keyId) continue;
      if (!isOpen(record.state) && !isPaused(record.state)) continue;
      if (revokeOnly && (record.ceremony.facts.walletService || versions[0]!.fromMs >= (calledMs.get(callId) ?? 0)))
        continue;
      // Without the intent's place it never signs, and is not listed.
      if (!record.ceremony.guarded || record.ceremony.curve === '' || fromMs < 0) continue;
      return `the key ${keyId} is closed, and session ${record.sessionId} is ${stateName(record.state)}`;
    }
    // Of a key that was still being made, nodes may hold a share that no one asks for.
    if (revokeOnly || history.keyMadeMs(tenant, keyId) >= (calledMs.get(callId) ?? 0)) return undefined;
    const holder = [...held].find((one) => {
      const [node, name] = one.split(' ');
      return name === `${tenant}/${keyId}` && !pendingNodes.includes(Number(node!.split('/')[1]));
    });
    return holder && `the key ${keyId} is closed, and ${holder.split(' ')[0]} holds its share`;
  }

  return {
    invariant: 'answer-as-modelled',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called':
          calledMs.set(observation.callId, observation.atMs);
          if (observation.method === 'submitSignatureShare') {
            const { signingSessionId, nodeId } = observation.request as SignatureShareRequest;
            const name = `${observation.tenant}/${signingSessionId} ${nodeId}`;
            steps.set(name, (steps.get(name) ?? 0) + 1);
          }
          return undefined;
        case 'frame': {
          const { body } = observation.envelope.message;
          if (body.case === 'call' && observation.touched) changed.add((body.value as Call).callId);
          return undefined;
        }
        case 'promised': {
          const wrong = promised(observation);
          if (changed.has(observation.callId)) return undefined;
          return wrong && `the answer to ${observation.method}: ${wrong}`;
        }
        case 'fault':
          if (observation.fault.startsWith('store_')) strange.add(observation.fault);
          return undefined;
        case 'process':
          if (observation.storeLost)
            for (const one of [...held]) if (one.startsWith(`${observation.process} `)) held.delete(one);
          return undefined;
        case 'written':
          if (observation.process === 'coordinator' || observation.outcome !== 'written') return undefined;
          for (const { name } of keyRecordsIn(observation.write)) held.add(`${observation.process} ${name}`);
          for (const key of observation.write.deletes)
            held.delete(`${observation.process} ${key.replace(/^key\//, '')}`);
          return undefined;
        default:
          return undefined;
      }
    },
  };
}

/** Which backend a session runs on: mode, ceremony, curve. docs/keystores.md lists them. */
function routeOf({ ceremony, keystoreType }: SessionRecord): string {
  const { curve } = ceremony;
  const names: Readonly<Partial<Record<KeystoreType, readonly [key: string, signing: string]>>> = {
    [KeystoreType.HSM_PKCS11]: [`hsm-keys/${curve}`, `hsm-pkcs11/${curve}`],
    [KeystoreType.MPC_VENDOR]: [`vendor-keys/${curve}`, `mpc-vendor/${curve}`],
    [KeystoreType.MULTISIG_EVM_WALLET]: ['owner-keys', 'multisig-evm'],
  };
  const own = names[keystoreType];
  if (ceremony.kind === 'dkg') return `m0/${own?.[0] ?? `dkg/${curve}`}`;
  if (curve === '') return 'm0/mock-directive';
  if (own) return `m0/${own[1]}`;
  if (curve === 'ed25519') return 'm0/frost-ed25519';
  return keystoreType === KeystoreType.MPC_FROST ? 'm0/frost-bip340' : 'm0/mock-ecdsa-secp256k1';
}

/** What a call hears of a session that it does not find. */
function notFound(sessionId: string, isUnknown: boolean, reason: string): string | undefined {
  if (sessionId === '') return reason === 'INVALID_REQUEST' ? undefined : `it names no session, and hears ${reason}`;
  if (!isUnknown) return `it hears ${reason} of a session that exists`;
  return reason === 'SESSION_NOT_FOUND' ? undefined : `it hears ${reason} of a session that does not exist`;
}

/** The keys of wallets and vaults are made by the wallet service alone. */
function isHidden(sessionId: string, walletService: boolean): boolean {
  return /^(wal|vky)_/.test(sessionId) && !walletService;
}

/** Whether the key signs with another scheme than a call names. An unbound key is shared, and takes either shared scheme. */
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
