/**
 * Recorded calls of the signing API as steps of a scenario, each with its answer. Ids become names, digests become texts: a
 * message that was signed twice is the same text again.
 */
import {
  ApprovalMode,
  type DkgShareExchangeResponse,
  type InitiateSigningResponse,
  KeystoreType,
  MockDirective,
  ReceiptState,
  type SignatureShareResponse,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { KeyScheme } from '../../proto/key-schemes.ts';
import type { CallRequest } from '../../proto/wire.ts';
import { keystores, receiptStates, type ScenarioStep, type StepExpectation } from '../../scenarios/runner/format.ts';
import type { RecordedCall } from './recorded.ts';

const namePattern = /^[A-Za-z0-9._-]{1,64}$/;
/** Failures of a call, by the kind of its error. */
const errors: Readonly<Record<string, string>> = {
  unavailable: 'UNAVAILABLE',
  rateLimited: 'OVERLOADED',
  deadlineExceeded: 'DEADLINE_EXCEEDED',
  internalError: 'INTERNAL',
};

type Expectation = Partial<import('typebox').Static<typeof StepExpectation>>;

export class RecordedCalls {
  /** Keys that existed at the start, by session. */
  readonly #readyMade: Readonly<Record<string, KeyScheme>>;
  readonly #name: (kind: string) => string;
  /** Names by real id. */
  readonly #sessions = new Map<string, string>();
  readonly #tokens = new Map<string, string[]>();
  readonly #readyUsed = new Map<string, KeyScheme>();
  readonly #intents = new Map<string, string>();

  /** `name`: makes the name of a step. */
  constructor(readyMade: Readonly<Record<string, KeyScheme>>, name: (kind: string) => string) {
    this.#readyMade = readyMade;
    this.#name = name;
  }

  /** The steps that make the used ready-made keys. */
  keys(): ScenarioStep[] {
    return [...this.#readyUsed].map(
      ([session, scheme]): ScenarioStep => ({
        ...{ step: `ready-${session}`, call: 'make_key', session },
        ...(scheme === 'frost_ed25519' && { curve: 'ed25519' }),
      }),
    );
  }

  /** The names of the ready-made keys that are used. */
  readyMade(): string[] {
    return [...this.#readyUsed.keys()];
  }

  /** The name of a session of any tenant; undefined: no step makes it. */
  sessionOf(id: string): string | undefined {
    for (const [place, name] of this.#sessions) if (place.endsWith(`/${id}`)) return name;
    return undefined;
  }

  /** undefined: no step can express it. */
  step(one: RecordedCall): object | undefined {
    const { tenant, request } = one.call;
    const expect = expectationOf(one);
    // The step would not have its fault.
    if (expect === undefined || expect.reason_code === 'INVALID_REQUEST') return undefined;
    const draft = this.#draft(tenant, request, one, expect);
    this.#learn(tenant, one);
    return draft && { ...draft, expect };
  }

  #draft(tenant: string, request: CallRequest, one: RecordedCall, expect: Expectation): object | undefined {
    switch (request.case) {
      case 'initiateDkg': {
        const { sessionId, threshold, totalNodes, derivation } = request.value;
        const session = this.#sessionName(tenant, sessionId, 'key');
        return {
          ...{ call: 'initiate_dkg', session },
          ...(threshold > 0 && { threshold }),
          ...(totalNodes > 0 && { total_nodes: totalNodes }),
          ...(derivation?.curve === 'ed25519' && { curve: 'ed25519' }),
        };
      }
      case 'exchangeDkgShares': {
        const { sessionId, senderNodeId, recipientNodeId, encryptedShare, commitments } = request.value;
        const session = this.#sessions.get(idOf(tenant, sessionId));
        if (session === undefined) return undefined;
        const supplied = encryptedShare.length > 0 || commitments.length > 0;
        return {
          ...{ call: 'exchange_dkg_shares', session },
          ...(senderNodeId > 0 && { sender: senderNodeId }),
          ...(recipientNodeId > 0 && { recipient: recipientNodeId }),
          ...(supplied && { client_supplied: expect.verified === true ? 'right' : 'wrong' }),
        };
      }
      case 'initiateSigning':
        return this.#signing(tenant, request.value, one);
      case 'submitSignatureShare': {
        const { signingSessionId, nodeId, partialSignature } = request.value;
        const session = this.#sessions.get(idOf(tenant, signingSessionId));
        if (session === undefined) return undefined;
        const isWrong = expect.reason_code === 'INVALID_PARTIAL_SIGNATURE';
        return {
          ...{ call: 'submit_signature_share', session },
          ...(nodeId > 0 && { node: nodeId }),
          ...(partialSignature.length > 0 && { client_supplied: isWrong ? 'wrong' : 'right' }),
        };
      }
      case 'resumeSession': {
        const { sessionId, resumeToken, humanApprovalWitness } = request.value;
        const session = this.#sessions.get(idOf(tenant, sessionId));
        if (session === undefined) return undefined;
        const tokens = this.#tokens.get(idOf(tenant, sessionId)) ?? [];
        const token = tokens.at(-1) === resumeToken ? 'latest' : tokens[0] === resumeToken ? 'first' : 'wrong';
        return {
          ...{ call: 'resume_session', session },
          ...(token !== 'latest' && { token }),
          ...(humanApprovalWitness.length > 0 && { witness: true }),
        };
      }
      default:
        return undefined;
    }
  }

  #signing(
    tenant: string,
    asked: Extract<CallRequest, { case: 'initiateSigning' }>['value'],
    { outcome }: RecordedCall,
  ): object | undefined {
    const { walletId, transactionIntentId, messageHash, approvalMode, mockDirective, derivation } = asked;
    const scheme = this.#readyMade[walletId];
    if (scheme !== undefined && !this.#sessions.has(idOf(tenant, walletId))) {
      this.#readyUsed.set(walletId, scheme);
      this.#sessions.set(idOf(tenant, walletId), walletId);
    }
    const key = this.#sessions.get(idOf(tenant, walletId));
    if (key === undefined) return undefined;
    const response = outcome?.response?.value as InitiateSigningResponse | undefined;
    const known = response && this.#sessions.get(idOf(tenant, response.signingSessionId));
    const session =
      known === undefined && response !== undefined && response.signingSessionId !== ''
        ? this.#sessionName(tenant, response.signingSessionId, 'signature')
        : this.#name('signature');
    const keystore = KeystoreType[asked.keystoreType] as (typeof keystores)[number];
    const isNamed = keystores.includes(keystore);
    const contract = asked.context?.client?.contractVersion ?? '';
    return {
      ...{ call: 'initiate_signing', key, session, intent: this.#intentName(tenant, transactionIntentId) },
      message: Buffer.from(messageHash).toString('hex').slice(0, 512),
      ...(derivation?.derivationPath && { path: derivation.derivationPath }),
      ...(isNamed && { keystore }),
      // The ready-made key signs with no other scheme.
      ...(!isNamed && scheme === 'frost_bip340' && { keystore: 'MPC_FROST' }),
      ...(approvalMode !== ApprovalMode.APPROVAL_MODE_UNSPECIFIED && { approval: ApprovalMode[approvalMode] }),
      ...(asked.humanApprovalWitness.length > 0 && { witness: true }),
      ...(mockDirective > 0 && { directive: MockDirective[mockDirective] }),
      ...(contract !== '' && { contract_version: contract }),
    };
  }

  /** Resume tokens, in order of arrival. */
  #learn(tenant: string, { outcome }: RecordedCall): void {
    const answer = outcome?.response?.value as
      | { readonly checkpoint?: { readonly sessionId: string; readonly resumeToken: string } }
      | undefined;
    const { sessionId, resumeToken } = answer?.checkpoint ?? { sessionId: '', resumeToken: '' };
    if (resumeToken === '') return;
    const id = idOf(tenant, sessionId);
    this.#tokens.set(id, [...(this.#tokens.get(id) ?? []), resumeToken]);
  }

  #sessionName(tenant: string, id: string, kind: 'key' | 'signature'): string {
    const known = this.#sessions.get(idOf(tenant, id));
    if (known !== undefined) return known;
    const isTaken = [...this.#sessions.values()].includes(id);
    const name = kind === 'key' && namePattern.test(id) && !isTaken ? id : this.#name(kind);
    this.#sessions.set(idOf(tenant, id), name);
    return name;
  }

  #intentName(tenant: string, id: string): string {
    const known = this.#intents.get(idOf(tenant, id));
    if (known !== undefined) return known;
    const isTaken = [...this.#intents.values()].includes(id);
    const name = namePattern.test(id) && !isTaken ? id : this.#name('intent');
    this.#intents.set(idOf(tenant, id), name);
    return name;
  }
}

function idOf(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}

/** undefined: it was refused before it reached the coordinator; no step can be. */
function expectationOf({ call: { request }, outcome }: RecordedCall): Expectation | undefined {
  // Its connection was cut.
  if (outcome === undefined) return { error: 'any' };
  if (outcome.failure !== undefined) {
    const error = errors[outcome.failure.kind];
    return error === undefined ? undefined : ({ error } as Expectation);
  }
  const { receipt } = outcome.response.value as SignatureShareResponse;
  if (receipt === undefined) return undefined;
  const state = ReceiptState[receipt.state] as (typeof receiptStates)[number];
  return {
    ...(receiptStates.includes(state) && { state }),
    reason_code: receipt.reasonCode,
    ...(request.case === 'submitSignatureShare' && {
      is_complete: (outcome.response.value as SignatureShareResponse).isComplete,
    }),
    ...(request.case === 'exchangeDkgShares' && {
      verified: (outcome.response.value as DkgShareExchangeResponse).verified,
    }),
  };
}
