/**
 * Makes a scenario of what was recorded of an embedded service: its signing calls, with what each was answered, and its
 * faults. It runs in virtual time with the same verdicts, as long as these depend on the order of events and not on how
 * fast this machine was.
 *
 * What overlaps in time is done by several clients; all others are steps of one. Ids become names, digests become texts:
 * what was signed twice is again the same.
 */
import type { Fault } from '../faults/vocabulary/fault.ts';
import {
  ApprovalMode,
  type DkgShareExchangeResponse,
  type InitiateSigningResponse,
  KeystoreType,
  MockDirective,
  ReceiptState,
  type SignatureShareResponse,
} from '../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { KeyScheme } from '../proto/key-schemes.ts';
import type { CallRequest } from '../proto/wire.ts';
import {
  type CheckedScenario,
  keystores,
  receiptStates,
  type Step,
  type StepExpectation,
} from '../runner/scenario/format.ts';
import type { Recorded, RecordedCall, RecordedOrder } from './service-recorder.ts';

export interface RecordedService {
  readonly recorded: readonly Recorded[];
  /** Calls and orders that were too many. */
  readonly left: number;
  readonly name: string;
  readonly nodes: number;
  readonly partialTimeoutMs: number;
  readonly nodesWaitMs: number;
  /** Keys that existed from the start, by session. */
  readonly readyMade: Readonly<Record<string, KeyScheme>>;
}

/** Shorter pauses between two steps are not written. */
const pauseLeastMs = 20;
/** As long as any scenario. */
const foreverMs = 86_400_000;
const namePattern = /^[A-Za-z0-9._-]{1,64}$/;
const firstClient = 'client';
/** Failures of a call, by the kind of its error. */
const errors: Readonly<Record<string, string>> = {
  unavailable: 'UNAVAILABLE',
  rateLimited: 'OVERLOADED',
  deadlineExceeded: 'DEADLINE_EXCEEDED',
  internalError: 'INTERNAL',
};

type Expectation = Partial<import('typebox').Static<typeof StepExpectation>>;
type Draft = Omit<Step, 'step'>;

export function recordedScenario(service: RecordedService): CheckedScenario {
  return new Writer(service).scenario();
}

/** A client that does one thing after another. */
interface Lane {
  readonly steps: Step[];
  /** When it was done with its last step. */
  freeMs: number;
}

interface Away {
  readonly fault: Record<string, unknown>;
  readonly field: 'for_ms' | 'restart_after_ms';
  readonly sinceMs: number;
}

class Writer {
  readonly #service: RecordedService;
  readonly #lanes: Lane[] = [];
  /** Names by real id. */
  readonly #sessions = new Map<string, string>();
  readonly #tokens = new Map<string, string[]>();
  readonly #readyUsed = new Map<string, KeyScheme>();
  readonly #intents = new Map<string, string>();
  /** Faults that were removed, by id: when. */
  readonly #removedMs = new Map<string, number>();
  /** Processes that are down or paused until they are brought back: which fault of ours is to say for how long. */
  readonly #away = new Map<string, Away>();
  #steps = 0;
  #omitted = 0;

  constructor(service: RecordedService) {
    this.#service = service;
  }

  scenario(): CheckedScenario {
    const { recorded, left, name, nodes, partialTimeoutMs, nodesWaitMs } = this.#service;
    const inOrder = [...recorded].sort((a, b) => a.beganMs - b.beganMs);
    for (const one of inOrder) {
      if (one.kind === 'order' && one.method === 'faults.delete') {
        this.#removedMs.set((one as RecordedOrder<'faults.delete'>).takes.id, one.endedMs);
      }
    }
    const beganMs = inOrder[0]?.beganMs ?? 0;
    for (const one of inOrder) {
      const draft = one.kind === 'call' ? this.#call(one) : this.#order(one);
      if (draft === undefined) this.#omitted += 1;
      else if (draft !== 'nothing') this.#put(draft, one, beganMs);
    }
    const keys = [...this.#readyUsed.keys()].map(
      (session): Step => ({
        ...{ step: `ready-${session}`, call: 'make_key', session },
        ...(this.#readyUsed.get(session) === 'frost_ed25519' && { curve: 'ed25519' }),
      }),
    );
    const [first, ...others] = this.#lanes;
    const lists = [[...keys, ...(first?.steps ?? [])], ...others.map(({ steps }) => this.#afterKeys(keys, steps))];
    const omitted = this.#omitted + left;
    return {
      scenario: name,
      about: [
        'Recorded from an embedded service: what its clients did by the signing API, and what went wrong.',
        ...(omitted === 0 ? [] : [`Not in it: ${omitted} calls and orders that no step says.`]),
      ].join(' '),
      worlds: ['simulated', 'live'],
      cluster: {
        ...{ nodes, seed: name, partial_timeout_ms: partialTimeoutMs, nodes_wait_ms: nodesWaitMs },
        client_dealers: true,
      },
      faults: [],
      clients: Object.fromEntries(
        lists
          .map((steps, index) => [index === 0 ? firstClient : `${firstClient}-${index + 1}`, steps] as const)
          .filter(([, steps]) => steps.length > 0),
      ),
      expect: [],
    };
  }

  // --- order in time -----------------------------------------------------------------------------------------------

  #put(draft: Draft, { beganMs, endedMs }: Recorded, startMs: number): void {
    let lane = this.#lanes.find(({ freeMs }) => freeMs <= beganMs);
    if (lane === undefined) {
      lane = { steps: [], freeMs: startMs };
      this.#lanes.push(lane);
    }
    const pauseMs = Math.round(beganMs - lane.freeMs);
    if (pauseMs >= pauseLeastMs) lane.steps.push({ step: this.#name('pause'), wait: { ms: pauseMs } });
    const kind = 'call' in draft ? String(draft.call).replaceAll('_', '-') : Object.keys(draft)[0]!.replace('_ms', '');
    lane.steps.push({ step: this.#name(kind), ...draft } as Step);
    lane.freeMs = endedMs;
  }

  /** Another client waits for the ready-made keys, which the first one makes. */
  #afterKeys(keys: readonly Step[], steps: readonly Step[]): Step[] {
    const waits = keys.map((key): Step => {
      const { session } = key as { readonly session: string };
      return { step: this.#name('await'), wait: { session, state: 'BACKEND_COMPLETED' } };
    });
    return [...waits, ...steps];
  }

  #name(kind: string): string {
    this.#steps += 1;
    return `${kind}-${this.#steps}`;
  }

  // --- calls -------------------------------------------------------------------------------------------------------

  /** undefined: no step says it. */
  #call(one: RecordedCall): Draft | undefined {
    const { tenant, request } = one.call;
    const expect = expectationOf(one);
    // What was wrong with it the step would not have.
    if (expect === undefined || expect.reason_code === 'INVALID_REQUEST') return undefined;
    const draft = this.#step(tenant, request, one, expect);
    this.#learn(tenant, one);
    return draft && ({ ...draft, expect } as Draft);
  }

  #step(tenant: string, request: CallRequest, one: RecordedCall, expect: Expectation): Draft | undefined {
    switch (request.case) {
      case 'initiateDkg': {
        const { sessionId, threshold, totalNodes, derivation } = request.value;
        const session = this.#sessionName(tenant, sessionId, 'key');
        return {
          ...{ call: 'initiate_dkg', session },
          ...(threshold > 0 && { threshold }),
          ...(totalNodes > 0 && { total_nodes: totalNodes }),
          ...(derivation?.curve === 'ed25519' && { curve: 'ed25519' }),
        } as Draft;
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
        } as Draft;
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
        } as Draft;
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
        } as Draft;
      }
      default:
        return undefined;
    }
  }

  #signing(
    tenant: string,
    asked: Extract<CallRequest, { case: 'initiateSigning' }>['value'],
    { outcome }: RecordedCall,
  ): Draft | undefined {
    const { walletId, transactionIntentId, messageHash, approvalMode, mockDirective, derivation } = asked;
    const scheme = this.#service.readyMade[walletId];
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
      // The ready-made one signs with no other.
      ...(!isNamed && scheme === 'frost_bip340' && { keystore: 'MPC_FROST' }),
      ...(approvalMode !== ApprovalMode.APPROVAL_MODE_UNSPECIFIED && { approval: ApprovalMode[approvalMode] }),
      ...(asked.humanApprovalWitness.length > 0 && { witness: true }),
      ...(mockDirective > 0 && { directive: MockDirective[mockDirective] }),
      ...(contract !== '' && { contract_version: contract }),
    } as Draft;
  }

  /** Resume tokens, in the order in which they came. */
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

  // --- what went wrong ---------------------------------------------------------------------------------------------

  /** 'nothing': another step says it. */
  #order(one: RecordedOrder): Draft | 'nothing' | undefined {
    switch (one.method) {
      case 'faults.create': {
        const { fault } = one.takes as RecordedOrder<'faults.create'>['takes'];
        const removedMs = fault.id === undefined ? undefined : this.#removedMs.get(fault.id);
        const endsByItself = 'for_ms' in fault && fault.for_ms !== undefined;
        if (removedMs === undefined || endsByItself) return { inject: fault } as Draft;
        return { inject: { ...fault, for_ms: Math.max(1, Math.round(removedMs - one.endedMs)) } as Fault } as Draft;
      }
      case 'faults.delete':
        return 'nothing';
      case 'faults.reset':
        return { heal: true } as Draft;
      case 'clock.advance':
        return { advance_ms: (one.takes as RecordedOrder<'clock.advance'>['takes']).byMs } as Draft;
      case 'processes.act':
        return this.#act(one as RecordedOrder<'processes.act'>);
      default:
        return undefined;
    }
  }

  /** How long a process is down or paused is known when it is brought back: it is written into the fault then. */
  #act({ takes, endedMs }: RecordedOrder<'processes.act'>): Draft | 'nothing' {
    const { process: target, action, loseState, restartAfterMs } = takes;
    const away = this.#away.get(target);
    this.#away.delete(target);
    if (away !== undefined && (action === 'restart' || action === 'resume')) {
      away.fault[away.field] = Math.max(1, Math.round(endedMs - away.sinceMs));
      return 'nothing';
    }
    if (action === 'resume') return 'nothing';
    const fault: Record<string, unknown> =
      action === 'pause' ? { fault: 'pause', target, for_ms: foreverMs } : { fault: 'crash', target };
    if (loseState === true) fault.lose_state = true;
    if (action === 'restart') fault.restart_after_ms = 0;
    if (action === 'crash' && restartAfterMs !== undefined) fault.restart_after_ms = restartAfterMs;
    if (action === 'pause') this.#away.set(target, { fault, field: 'for_ms', sinceMs: endedMs });
    if (fault.restart_after_ms === null) this.#away.set(target, { fault, field: 'restart_after_ms', sinceMs: endedMs });
    return { inject: fault } as unknown as Draft;
  }
}

function idOf(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}

/** undefined: it was refused before it reached the coordinator, as no step is. */
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
