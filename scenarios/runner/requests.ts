/** Steps of a scenario as requests of the signing API. */
import { create } from '@bufbuild/protobuf';
import { groupOf } from '../../core/crypto/group.ts';
import { commitTo, shareFor } from '../../core/crypto/vss.ts';
import { CloseKeyRequestSchema, RefreshKeyRequestSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  InspectSessionRequestSchema,
  PreviewPartialRequestSchema,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import { ReadSessionsRequestSchema } from '../../proto/gen/signmesh/wire/v1/sessions_pb.ts';
import {
  ApprovalMode,
  DkgShareExchangeRequestSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  KeystoreType,
  MockDirective,
  OrchestrationContextSchema,
  ReceiptState,
  ResumeSessionRequestSchema,
  SignatureShareRequestSchema,
  ThresholdDerivationSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { sessionsPageMax } from '../../proto/limits.ts';
import { altered } from '../faults/byzantine/altered.ts';
import type { Alteration } from '../faults/vocabulary/fault-parts.ts';
import type { StepOf } from './format.ts';
import { type DkgScenarioStep, intentOf, type SessionBook, type SigningScenarioStep } from './sessions.ts';
import type { Questions, ScenarioWorld } from './world.ts';

type Call = Questions['call']['asks'];
type WalletCall = Questions['walletCall']['asks'];

/** A text that is no session's token. */
const noToken = 'not-a-token-of-this-session';
const witnessBytes = new TextEncoder().encode('a human said yes');

export function initiateDkg(step: DkgScenarioStep, book: SessionBook, world: ScenarioWorld): Call {
  const { curve, threshold, totalNodes } = book.terms(step.session);
  const request = create(InitiateDkgRequestSchema, {
    sessionId: world.idOf(step.session),
    threshold: step.threshold ?? (step.keystore_type ? 0 : threshold),
    totalNodes: step.total_nodes ?? (step.keystore_type ? 0 : totalNodes),
    derivation: { curve: step.curve ?? curve, derivationPath: step.path ?? '' },
  });
  return { name: 'initiateDkg', request, keystoreType: step.keystore_type };
}

/** A key of the wallet service, in one call. */
export function makeWalletKey(step: DkgScenarioStep, book: SessionBook, world: ScenarioWorld): WalletCall {
  const { request } = initiateDkg(step, book, world) as Extract<Call, { name: 'initiateDkg' }>;
  return { name: 'makeKey', request };
}

export function signForWallet(step: SigningScenarioStep, book: SessionBook, world: ScenarioWorld): WalletCall {
  const { request } = initiateSigning(step, book, world) as Extract<Call, { name: 'initiateSigning' }>;
  return { name: 'sign', request };
}

export function refreshKey({ session, version }: StepOf<'refresh_key'>, world: ScenarioWorld): Call {
  return { name: 'refreshKey', request: create(RefreshKeyRequestSchema, { keyId: world.idOf(session), version }) };
}

export function closeKey({ session, clients_only }: StepOf<'close_key'>, world: ScenarioWorld): WalletCall {
  const request = create(CloseKeyRequestSchema, { keyId: world.idOf(session), revokeOnly: clients_only === true });
  return { name: 'closeKey', request };
}

export function inspectSession(sessionId: string): WalletCall {
  return { name: 'inspectSession', request: create(InspectSessionRequestSchema, { sessionId }) };
}

export function previewPartial(sessionId: string, nodeId: number): WalletCall {
  return { name: 'previewPartial', request: create(PreviewPartialRequestSchema, { sessionId, nodeId }) };
}

/** `id`: of one session; empty: a page, after the place that another page named. */
export function readSessions(
  { kind, states = [], limit = sessionsPageMax }: StepOf<'read_sessions'>,
  id: string,
  after?: { readonly nextEpochMs: bigint; readonly nextId: string },
): WalletCall {
  const request = create(ReadSessionsRequestSchema, {
    sessionId: id,
    kind: kind ?? '',
    states: states.map((state) => ReceiptState[state]),
    limit,
    ...(after && { afterEpochMs: after.nextEpochMs, afterId: after.nextId }),
  });
  return { name: 'readSessions', request };
}

/** The same with one field altered; a request without the field stays as it is. */
export function alteredCall<C extends Call | WalletCall>(call: C, alteration: Alteration): C {
  const { request } = call;
  // Messages that the step left out still have fields to alter.
  const { field } = alteration;
  const whole = {
    ...(field.startsWith('context.') && { context: create(OrchestrationContextSchema, { client: {} }) }),
    ...(field.startsWith('derivation.') && { derivation: noDerivation }),
    ...request,
  };
  return { ...call, request: altered(whole, alteration) ?? request };
}

const noDerivation = create(ThresholdDerivationSchema);

export function exchangeDkgShares(
  step: Pick<StepOf<'exchange_dkg_shares'>, 'session' | 'sender' | 'recipient' | 'client_supplied'>,
  book: SessionBook,
  world: ScenarioWorld,
): Call {
  const { session, sender = 0, recipient = 0, client_supplied: supplied } = step;
  const request = create(DkgShareExchangeRequestSchema, {
    sessionId: world.idOf(session),
    senderNodeId: sender,
    recipientNodeId: recipient,
    ...(supplied === undefined ? {} : clientSuppliedShare(book, session, sender, recipient, supplied)),
  });
  return { name: 'exchangeDkgShares', request };
}

export function initiateSigning(step: SigningScenarioStep, book: SessionBook, world: ScenarioWorld): Call {
  const request = create(InitiateSigningRequestSchema, {
    transactionIntentId: world.idOf(intentOf(step)),
    walletId: world.idOf(step.key),
    messageHash: book.message(step),
    keystoreType: step.keystore === undefined ? KeystoreType.UNSPECIFIED : KeystoreType[step.keystore],
    approvalMode: step.approval === undefined ? ApprovalMode.APPROVAL_MODE_UNSPECIFIED : ApprovalMode[step.approval],
    mockDirective: step.directive === undefined ? MockDirective.UNSPECIFIED : MockDirective[step.directive],
    ...(step.path === undefined ? {} : { derivation: { derivationPath: step.path } }),
    ...(step.witness === true ? { humanApprovalWitness: witnessBytes } : {}),
    ...(step.contract_version === undefined ? {} : { context: { client: { contractVersion: step.contract_version } } }),
  });
  return { name: 'initiateSigning', request, walletTerms: step.wallet_terms };
}

/** `given`: the client-supplied partial. */
export function submitSignatureShare(sessionId: string, nodeId: number, given?: Uint8Array): Call {
  const request = create(SignatureShareRequestSchema, {
    signingSessionId: sessionId,
    nodeId,
    ...(given === undefined ? {} : { partialSignature: given }),
  });
  return { name: 'submitSignatureShare', request };
}

export function resumeSession(sessionId: string, resumeToken: string, witness: boolean): Call {
  const request = create(ResumeSessionRequestSchema, {
    sessionId,
    resumeToken,
    ...(witness ? { humanApprovalWitness: witnessBytes } : {}),
  });
  return { name: 'resumeSession', request };
}

/** The token that a step means. A session without tokens gets an invalid text. */
export function tokenOf(which: 'latest' | 'first' | 'wrong', tokens: readonly string[]): string {
  if (which === 'wrong') return noToken;
  return (which === 'first' ? tokens[0] : tokens.at(-1)) ?? noToken;
}

/** A valid partial with one bit of its lowest byte changed: still a scalar, but wrong. */
export function spoiledPartial(partial: Uint8Array, curve: 'secp256k1' | 'ed25519'): Uint8Array {
  const spoiled = Uint8Array.from(partial);
  const lowest = curve === 'ed25519' ? 0 : spoiled.length - 1;
  spoiled[lowest] = spoiled[lowest]! ^ 1;
  return spoiled;
}

function clientSuppliedShare(book: SessionBook, session: string, dealer: number, to: number, which: 'right' | 'wrong') {
  const { curve } = book.terms(session);
  const group = groupOf(curve);
  const polynomial = book.polynomial(session, dealer);
  const share = shareFor(curve, polynomial, to);
  return {
    encryptedShare: group.encodeScalar(which === 'right' ? share : (share % (group.order - 1n)) + 1n),
    commitments: commitTo(curve, polynomial),
  };
}
