/**
 * InitiateSigning: opens a session, or refuses the call without any effect. A call that also wants the signature (Sign) gets no
 * answer here: it waits in the new session as a call for every node's share.
 *
 * Order: mock directive, then the request by itself, then the key, then human approval, then the intent's guard (in the
 * store, atomically with the new session).
 */
import { create } from '@bufbuild/protobuf';
import type { Context } from '../../core/actors/contract.ts';
import {
  ApprovalMode,
  MockDirective,
  ReceiptState,
  SignatureShareRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from '../../proto/ids.ts';
import { identifierCharsMax } from '../../proto/limits.ts';
import type { ReasonCode } from '../../proto/reason-codes.ts';
import { answer, type CallAnswer, sessionAnswer } from '../contract/call-answer.ts';
import type { SessionConfig } from '../contract/config.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorWrite,
  isLocal,
  keyRecordKey,
} from '../contract/messages.ts';
import {
  advance,
  type KeyRecord,
  openRecord,
  type SessionRecord,
  type SigningFacts,
  type SigningRecord,
} from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { signingTask } from '../keystores/public.ts';
import { changeEvent, observation } from '../session/events.ts';
import { quote } from '../session/message-text.ts';
import { proofOf } from '../session/receipts.ts';
import { replyEffect, unavailableEffect } from '../session/replies.ts';
import { retained, signsMessage } from '../session/retained.ts';
import { isOverdue, reply, startIdle } from '../session/turn.ts';
import { requestDraw } from './advance.ts';
import { boundBy, effectiveKeystore, keystoreOf } from './key-scheme.ts';
import { namedTwice, orderOf } from './order-relay.ts';
import { emptyQueue, type SubmitCall } from './queue.ts';
import {
  beginSigningTurn,
  type InitiateCall,
  newWork,
  type OpenState,
  type SigningSession,
  type SigningStep,
  stepOf,
} from './state.ts';
import { directiveFault, evidenceSha256, factsOf, opaqueFault, requestFault, withKey } from './validation.ts';

const forced: Readonly<Partial<Record<MockDirective, ReasonCode>>> = {
  [MockDirective.FORCE_DENIED]: 'MOCK_FORCED_DENIED',
  [MockDirective.FORCE_REVOKED]: 'MOCK_FORCED_REVOKED',
  [MockDirective.FORCE_EXPIRED]: 'MOCK_FORCED_EXPIRED',
  [MockDirective.FORCE_BACKEND_FAILED]: 'MOCK_FORCED_BACKEND_FAILED',
};

/** Messages above this size do not stay in memory: a step that needs one reads it from the store again. */
const residentMessageBytesMax = 1024;

type Opening = Extract<SigningStep['state'], { phase: 'opening' }>;

/** The first message of a new session. */
export function initiate(call: InitiateCall, context: Context, config: SessionConfig): SigningStep {
  const { request } = call;
  const facts = factsOf(call);
  const opening: Opening = { phase: 'opening', call, facts };
  const unknown = directiveFault(request.mockDirective);
  if (unknown) return refuse(opening, unknown, undefined, context, config);
  if (isForced(call)) {
    // The next input makes the write, so that a refused write finds the call in the state.
    return { state: opening, effects: [{ kind: 'send', to: context.self, message: { kind: 'continue' } }] };
  }
  const fault = opaqueFault(request) ?? requestFault(facts);
  if (fault) return refuse(opening, fault, undefined, context, config);
  return { state: opening, effects: [{ kind: 'load', key: keyRecordKey(call.tenant, facts.keyId) }] };
}

/** Every further input while the session is being opened. */
export function continueOpening(
  opening: Opening,
  input: CoordinatorInput,
  context: Context,
  config: SessionConfig,
): SigningStep {
  const { call } = opening;
  switch (input.kind) {
    case 'message':
      if (isLocal(input.message) && input.message.kind === 'clientCall') {
        const again = input.message.call;
        // A repeat of a keyed request, whose first answer is not decided yet.
        const isSame = again.requestDigest !== '' && again.requestDigest === call.requestDigest;
        return { state: opening, effects: [isSame ? unavailableEffect(again) : namedTwice(again)] };
      }
      if (!isForced(call)) return { state: opening, effects: [] };
      return openForced(opening, true, context, config);
    case 'loaded':
      if (input.record?.kind === 'tampered') {
        const text = `the stored key ${quote(opening.facts.keyId)} is not as it was written`;
        return refuse(opening, answer('STORE_TAMPERED', text), undefined, context, config);
      }
      return openWithKey(opening, input.record?.kind === 'key' ? input.record.key : undefined, context, config);
    case 'loadFailed':
      return { state: opening, effects: [unavailableEffect(call), { kind: 'stop' }] };
    case 'persistRefused': {
      const { refusal } = input;
      if (refusal.kind === 'conflict' && refusal.code === 'INTENT_TAKEN' && refusal.current?.kind === 'session') {
        // A directive forces its state, even if another session holds the intent; that session then never signs.
        if (isForced(call)) return openForced(opening, false, context, config);
        const { session } = refusal.current;
        if (opening.facts.walletService && !isSameOrder(opening.facts, session)) {
          const text = 'this transaction_intent_id of the wallet service stands for another message';
          return refuse(opening, answer('INVALID_REQUEST', text), undefined, context, config);
        }
        return refuse(opening, answer('DUPLICATE_INTENT'), session, context, config);
      }
      if (refusal.kind === 'conflict' && refusal.code === 'INTENT_HELD' && refusal.current?.kind === 'session') {
        const holding = { ...opening, holder: refusal.current.session as SigningSession };
        if (isForced(call)) return openForced(holding, true, context, config);
        return { state: holding, effects: [{ kind: 'load', key: keyRecordKey(call.tenant, opening.facts.keyId) }] };
      }
      if (refusal.kind === 'conflict' && refusal.code === 'INTENT_ELSEWHERE' && refusal.current?.kind === 'elsewhere') {
        if (isForced(call)) return openForced(opening, false, context, config);
        return refuse(opening, answer('DUPLICATE_INTENT'), undefined, context, config, refusal.current.sessionId);
      }
      if (refusal.kind === 'conflict' && refusal.current?.kind === 'tampered') {
        const text = 'what is stored of this key, or of the session that holds this intent, is not as it was written';
        return refuse(opening, answer('STORE_TAMPERED', text), undefined, context, config);
      }
      if (refusal.kind === 'conflict' && refusal.code === 'KEY_BOUND') {
        // Another session has bound the key meanwhile: handle the request again, with the stored key.
        const { current } = refusal;
        return openWithKey(opening, current?.kind === 'key' ? current.key : undefined, context, config);
      }
      if (refusal.kind === 'conflict' && (refusal.code === 'QUOTA' || refusal.code === 'OPEN_QUOTA')) {
        const given = answer('TENANT_QUOTA_EXCEEDED', refusal.code === 'OPEN_QUOTA' ? tooManyOpen : undefined);
        return refuse(opening, given, undefined, context, config);
      }
      if (refusal.kind === 'conflict' && refusal.code === 'KEY_CLOSED') {
        return refuse(opening, answer('WALLET_ARCHIVED'), undefined, context, config);
      }
      return { state: opening, effects: [unavailableEffect(call), { kind: 'stop' }] };
    }
    default:
      return { state: opening, effects: [] };
  }
}

const tooManyOpen = 'the wallet has 10,000 sessions that have not ended: complete them, or wait until they expire';

/** The wallet service continues with the session in the answer, so that session must sign the same message. */
function isSameOrder({ keyId, messageHash }: SigningFacts, { ceremony }: SessionRecord): boolean {
  if (ceremony.kind !== 'signing') return false;
  return ceremony.facts.keyId === keyId && signsMessage(ceremony, messageHash);
}

function isForced({ request }: InitiateCall): boolean {
  return forced[request.mockDirective] !== undefined;
}

function openForced(opening: Opening, takesPlace: boolean, context: Context, config: SessionConfig): SigningStep {
  const { call, facts } = opening;
  const given = answer(forced[call.request.mockDirective]!);
  // Only a session that could still sign needs the intent's guard.
  const resumable = given.state === ReceiptState.BACKEND_FAILED;
  const { intentId } = facts;
  const guarded = takesPlace && resumable && intentId !== '' && intentId.length <= identifierCharsMax;
  const keystoreType = effectiveKeystore(facts.keystoreType);
  const record = openSession(opening, given, { curve: '', guarded, keystoreType }, context, config);
  return opened(record, opening, context, config, undefined);
}

function openWithKey(
  opening: Opening,
  key: KeyRecord | undefined,
  context: Context,
  config: SessionConfig,
): SigningStep {
  const { call, facts } = opening;
  const checked = withKey(facts, key);
  if ('fault' in checked) return refuse(opening, checked.fault, undefined, context, config);
  const { scheme } = checked;
  const pending = needsWitness(facts) && call.request.humanApprovalWitness.length === 0;
  const given = answer(pending ? 'HUMAN_APPROVAL_REQUIRED' : 'SESSION_ACCEPTED');
  const keystoreType = keystoreOf(scheme, facts.keystoreType);
  const record = openSession(opening, given, { curve: key!.curve, guarded: true, keystoreType }, context, config);
  const binds = boundBy(key!, scheme, !pending);
  const step = opened(record, opening, context, config, binds);
  if (pending) return step;
  // A session with a large message does not wait in memory for its first step: thousands of them would exhaust memory.
  if (call.method === 'initiateSigning' && facts.messageHash.length > residentMessageBytesMax) {
    return { state: step.state, effects: [...step.effects, { kind: 'stop' }] };
  }

  // Requests nonces now, without waiting, so that the first step costs one round trip.
  const turn = beginSigningTurn(step.state as OpenState, context, config);
  turn.effects.push(...step.effects);
  turn.state.work.key = { kind: 'known', record: binds ?? key! };
  turn.state.work.task = signingTask(key!, scheme, checked.path, facts.messageHash);
  requestDraw(turn);
  return { state: turn.state, effects: turn.effects };
}

/** Whether a human must approve: the stricter of the request's and the wallet's mode. */
export function needsWitness(facts: Pick<SigningFacts, 'approvalMode'>): boolean {
  return facts.approvalMode === ApprovalMode.HUMAN_REQUIRED;
}

function openSession(
  { call, facts }: Opening,
  given: CallAnswer,
  { curve, guarded, keystoreType }: Pick<SigningRecord, 'curve' | 'guarded'> & Pick<SessionRecord, 'keystoreType'>,
  context: Context,
  config: SessionConfig,
): SigningSession {
  const { lifetimes } = config;
  const pending = given.state === ReceiptState.PENDING_HUMAN_APPROVAL;
  return openRecord(
    {
      tenant: call.tenant,
      sessionId: sessionIdOf(context),
      state: given.state as SessionRecord['state'],
      reasonCode: given.reasonCode,
      message: given.message,
      expiresMs: context.nowMs + (pending ? lifetimes.pendingMs : lifetimes.signingMs),
      correlationId: call.correlationId || newId('cor', context.nowMs, context.random),
      approvalMode: needsWitness(facts) ? ApprovalMode.HUMAN_REQUIRED : ApprovalMode.DIRECT_ALLOWED,
      keystoreType,
      ...(call.requestDigest !== '' && { answered: [call.requestDigest] }),
      ceremony: {
        kind: 'signing',
        facts: { ...facts, messageHash: Buffer.from(facts.messageHash).toString('hex') },
        curve,
        witnessMissing: needsWitness(facts) && call.request.humanApprovalWitness.length === 0,
        policyApprovalTokenSha256: evidenceSha256(call.request.policyApprovalToken),
        witnessSha256: evidenceSha256(call.request.humanApprovalWitness),
        order: orderOf(call),
        attempt: 0,
        submitted: [],
        given: [],
        guarded,
        excluded: [],
        signature: '',
        recoveryId: -1,
      },
    },
    context,
  );
}

function sessionIdOf(context: Context): string {
  return context.self.split('/')[2]!;
}

function opened(
  record: SigningSession,
  { call, holder }: Opening,
  context: Context,
  config: SessionConfig,
  binds: KeyRecord | undefined,
): SigningStep {
  const { guarded, facts } = record.ceremony;
  const ended = guarded && holder ? endOf(holder, record, context) : undefined;
  const write: CoordinatorWrite = {
    kind: 'create',
    session: retained(record),
    event: changeEvent(record, context, call),
    guardIntent: guarded ? facts.intentId : '',
    nowMs: context.nowMs,
    counted: !call.walletService,
    ...(ended && { ends: { session: retained(ended), event: changeEvent(ended, context, call) } }),
    ...(binds && { binds }),
  };
  const turn = beginSigningTurn({ phase: 'open', record, work: newWork(record) }, context, config);
  turn.effects.push({ kind: 'persist', write });
  if (call.method === 'sign' && isOpen(record.state)) {
    turn.state.work.queue = { ...emptyQueue, inbox: [gathering(call, record)] };
  } else {
    reply(turn, call, sessionAnswer(record));
  }
  if (ended) turn.effects.push(observation(ended, holder?.state));
  turn.effects.push(observation(record, undefined), startIdle(config));
  return stepOf(turn);
}

/** The remaining call of a Sign once its session exists. */
function gathering({ request: _, ...facts }: InitiateCall, { sessionId }: SigningSession): SubmitCall {
  const share = create(SignatureShareRequestSchema, { signingSessionId: sessionId });
  return { ...facts, method: 'submitSignatureShare', request: share };
}

/** The end of the session that another one replaces as holder of the intent. */
function endOf(holder: SigningSession, by: SigningSession, context: Context): SigningSession {
  if (isOverdue(holder, context.nowMs)) {
    return advance(holder, { ...answer('SESSION_EXPIRED'), state: ReceiptState.EXPIRED }, context);
  }
  const text = `The session was revoked: session ${by.sessionId} of the same intent took its place.`;
  return advance(holder, { ...answer('SESSION_REVOKED', text), state: ReceiptState.REVOKED }, context);
}

function refuse(
  state: Opening,
  given: CallAnswer,
  record: SessionRecord | undefined,
  context: Context,
  config: SessionConfig,
  /** The session of another cluster that the answer names. */
  sessionId = '',
): SigningStep {
  const { call, facts } = state;
  const asked = {
    sessionId,
    approvalMode: ApprovalMode[facts.approvalMode] ? facts.approvalMode : ApprovalMode.APPROVAL_MODE_UNSPECIFIED,
    keystoreType: effectiveKeystore(facts.keystoreType),
  };
  const proof = proofOf(call, given, record, config.resumeKey, context, asked);
  const effects: CoordinatorEffect[] = [replyEffect(call, proof), { kind: 'stop' }];
  return { state, effects };
}
