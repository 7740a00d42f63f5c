/**
 * InitiateDkg: opens a session, or refuses the call without any effect. It answers a MakeKey only to refuse it; otherwise the
 * call waits in the session for the whole round.
 */
import type { Context } from '../../core/actors/contract.ts';
import type { Curve } from '../../core/crypto/group.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from '../../proto/ids.ts';
import { bindingAtMaking, fixedSharing, isSharedKey, schemeFacts, sharingAtMaking } from '../../proto/key-schemes.ts';
import { defaultTotalNodes, identifierCharsMax, thresholdMin } from '../../proto/limits.ts';
import { defaultSharing } from '../../proto/roster.ts';
import { answer, type CallAnswer, sessionAnswer } from '../contract/call-answer.ts';
import type { SessionConfig } from '../contract/config.ts';
import type { CoordinatorEffect, CoordinatorInput } from '../contract/messages.ts';
import { isRepeat, openRecord } from '../contract/record.ts';
import { changeEvent, observation } from '../session/events.ts';
import { quote } from '../session/message-text.ts';
import { proofOf } from '../session/receipts.ts';
import { replyEffect, unavailableEffect } from '../session/replies.ts';
import { startIdle, tampered } from '../session/turn.ts';
import { readPath } from '../signing/public.ts';
import {
  type DkgCeremonyState,
  type DkgSession,
  type DkgStep,
  type DkgWork,
  type InitiateDkgCall,
  noDkgWork,
  type RefreshCall,
} from './state.ts';

type Opening = Extract<DkgCeremonyState, { phase: 'opening' }>;

export function initiateDkg(call: InitiateDkgCall, context: Context, config: SessionConfig): DkgStep {
  const checked = checkTerms(call, config);
  if ('fault' in checked) {
    const proof = proofOf(call, checked.fault, undefined, config.resumeKey, context);
    return { state: { phase: 'notCreated', tampered: false }, effects: [replyEffect(call, proof), { kind: 'stop' }] };
  }
  const { totalNodes } = checked.terms;
  const spare = totalNodes < config.roster.nodes.length;
  const others = spare ? '; others may take the place of unreachable ones until the first verified exchange' : '';
  const accepted = answer('SESSION_ACCEPTED', `The session is open: nodes 1 to ${totalNodes} take part${others}.`);
  return openSession(call, context, {
    message: accepted.message,
    expiresMs: context.nowMs + config.lifetimes.dkgMs,
    keystoreType: keystoreAtMaking(checked.terms),
    ceremony: { ...checked.terms, networkId: call.request.derivation?.networkId ?? '' },
  });
}

/** The session that a call opens. */
export function openSession(
  call: InitiateDkgCall | RefreshCall,
  context: Context,
  {
    message,
    expiresMs,
    keystoreType,
    ceremony,
  }: Pick<DkgSession, 'message' | 'expiresMs' | 'keystoreType'> & {
    readonly ceremony: DkgInitiationTerms & Pick<DkgSession['ceremony'], 'networkId' | 'participants' | 'refreshes'>;
  },
): DkgStep {
  const { reasonCode } = answer('SESSION_ACCEPTED');
  const record: DkgSession = openRecord(
    {
      tenant: call.tenant,
      sessionId: context.self.split('/')[2]!,
      state: ReceiptState.ACCEPTED,
      reasonCode,
      message,
      expiresMs,
      correlationId: call.correlationId || newId('cor', context.nowMs, context.random),
      approvalMode: ApprovalMode.DIRECT_ALLOWED,
      keystoreType,
      ...(call.requestDigest !== '' && { answered: [call.requestDigest] }),
      ceremony: {
        kind: 'dkg',
        ...ceremony,
        attempt: 1,
        fresh: false,
        played: {},
        verified: [],
        publicKey: '',
      },
    },
    context,
  );
  // The next input makes the write, so that a refused write finds the call in the state.
  return {
    state: { phase: 'opening', call, record },
    effects: [{ kind: 'send', to: context.self, message: { kind: 'continue' } }],
  };
}

/** A shared key may serve several types: its session names the first of the enum. */
export function keystoreAtMaking({ scheme = '' }: Pick<DkgInitiationTerms, 'scheme'>): KeystoreType {
  return scheme === '' || isSharedKey(scheme) ? KeystoreType.MOCK_THRESHOLD : schemeFacts(scheme).keystoreTypes[0];
}

export function continueOpeningDkg(
  opening: Opening,
  input: CoordinatorInput,
  context: Context,
  config: SessionConfig,
): DkgStep {
  const { call, record } = opening;
  if (input.kind === 'persistRefused') {
    const { refusal } = input;
    if (refusal.kind === 'conflict' && refusal.current?.kind === 'tampered') {
      return { state: opening, effects: [tampered(call, context, config), { kind: 'stop' }] };
    }
    if (refusal.kind === 'conflict' && refusal.code === 'QUOTA') {
      const given = answer('TENANT_QUOTA_EXCEEDED');
      const proof = proofOf(call, given, undefined, config.resumeKey, context);
      return { state: opening, effects: [replyEffect(call, proof), { kind: 'stop' }] };
    }
    const existing =
      refusal.kind === 'conflict' && refusal.current?.kind === 'session' ? refusal.current.session : undefined;
    if (existing?.ceremony.kind !== 'dkg')
      return { state: opening, effects: [unavailableEffect(call), { kind: 'stop' }] };
    const known = existing as DkgSession;
    const work = noDkgWork(known, false);
    return {
      state: { phase: 'open', record: known, work },
      effects: [
        ...(call.method === 'initiateDkg' ? [duplicate(call, known, context, config)] : waits(call, work, context)),
        startIdle(config),
      ],
    };
  }
  if (input.kind !== 'message') return { state: opening, effects: [] };
  if (!('kind' in input.message) || input.message.kind !== 'continue') {
    // Another message arrived before our own: handle it after the write.
    return { state: opening, effects: [{ kind: 'send', to: context.self, message: input.message }] };
  }
  const work = noDkgWork(record, true);
  const accepted = () => {
    const proof = proofOf(call, sessionAnswer(record), record, config.resumeKey, context);
    return [replyEffect(call, proof, {}, true)];
  };
  return {
    state: { phase: 'open', record, work },
    effects: [
      {
        kind: 'persist',
        write: {
          kind: 'create',
          session: record,
          event: changeEvent(record, context, call),
          guardIntent: '',
          nowMs: context.nowMs,
          counted: !call.walletService,
        },
      },
      ...(call.method === 'initiateDkg' ? accepted() : waits(call, work, context)),
      observation(record, undefined),
      startIdle(config),
    ],
  };
}

/** A MakeKey, and a RefreshKey, continues in the session that is stored now. */
function waits(call: InitiateDkgCall | RefreshCall, work: DkgWork, { self }: Context): CoordinatorEffect[] {
  work.inbox.push(call);
  return [{ kind: 'send', to: self, message: { kind: 'continue' } }];
}

/** A second InitiateDkg with a known id changes nothing; an invalid request gets its own error first, a keyed repeat the state. */
export function duplicate(
  call: InitiateDkgCall,
  record: DkgSession,
  context: Context,
  config: SessionConfig,
): CoordinatorEffect {
  const checked = checkTerms(call, config);
  if ('fault' in checked) {
    return replyEffect(call, proofOf(call, checked.fault, undefined, config.resumeKey, context));
  }
  const isSame = isRepeat(record, call);
  const given = isSame
    ? sessionAnswer(record)
    : answer('DUPLICATE_SESSION', `session_id ${quote(record.sessionId)} names a session already`);
  return replyEffect(call, proofOf(call, given, record, config.resumeKey, context), {}, isSame);
}

export type DkgInitiationTerms = Pick<
  DkgSession['ceremony'],
  'curve' | 'threshold' | 'totalNodes' | 'account' | 'scheme'
>;

/** The terms of an InitiateDkg, or its fault. */
export function checkTerms(
  call: InitiateDkgCall,
  config: SessionConfig,
): { readonly terms: DkgInitiationTerms } | { readonly fault: CallAnswer } {
  const { request } = call;
  const cluster = config.roster.nodes.length;
  // In a cluster without default sharing, a wallet uses the available nodes; a caller that relies on 3 of 5 gets an error if
  // that is impossible.
  const usual = config.roster.sharing ?? defaultSharing(call.walletService ? cluster : defaultTotalNodes);
  const fixed = fixedSharing(call.keyScheme);
  const { threshold, totalNodes } = sharingAtMaking(request, call.keyScheme, usual);
  if (fixed && (threshold !== fixed.threshold || totalNodes !== fixed.totalNodes)) {
    return {
      fault: answer('INVALID_THRESHOLD', 'the key of a token has one node: threshold and total_nodes must be 1, or 0'),
    };
  }
  if (threshold < (fixed?.threshold ?? thresholdMin) || threshold > totalNodes || totalNodes > cluster) {
    const text = `threshold ${threshold} and total_nodes ${totalNodes} must satisfy ${thresholdMin} ≤ threshold ≤ total_nodes ≤ ${cluster}, the nodes of this cluster`;
    return { fault: answer('INVALID_THRESHOLD', text) };
  }
  const networkId = request.derivation?.networkId ?? '';
  if (networkId.length > identifierCharsMax) {
    return {
      fault: answer('INVALID_REQUEST', `derivation.network_id is longer than ${identifierCharsMax} characters`),
    };
  }
  const curve = request.derivation?.curve || 'secp256k1';
  if (!isCurve(curve)) {
    return {
      fault: answer('UNSUPPORTED_CURVE', `derivation.curve ${quote(curve)} is not served: use secp256k1 or ed25519`),
    };
  }
  const path = readPath(request.derivation?.derivationPath ?? '');
  if ('fault' in path) return path;
  if (path.normal.length > 0) {
    const text = 'derivation.derivation_path names the account of this key: hardened components only';
    return { fault: answer('INVALID_DERIVATION_PATH', text) };
  }
  const scheme = bindingAtMaking(curve, call.keyScheme);
  if (scheme === undefined) {
    return { fault: answer('UNSUPPORTED_CURVE', `derivation.curve ${curve} is not the curve of ${call.keyScheme}`) };
  }
  return { terms: { curve, threshold, totalNodes, account: path.hardened, scheme } };
}

function isCurve(text: string): text is Curve {
  return text === 'secp256k1' || text === 'ed25519';
}
