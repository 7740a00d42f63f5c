/** The outcome of one call in the terms of the scenario: an answer, or none. */
import {
  type DiagnosticReceipt,
  ReceiptState,
  type SessionCheckpoint,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { GrpcCode } from './terms.ts';
import type {
  CallFailure,
  CallName,
  CallTypes,
  NoAnswer,
  Questions,
  WalletCallName,
  WalletCallTypes,
} from './world.ts';

export interface StepAnswer {
  /** The receipt's, without the prefix RECEIPT_STATE_. */
  readonly state: string;
  readonly reasonCode: string;
  readonly message: string;
  readonly resumable: boolean;
  /** The checkpoint's state: the session's. */
  readonly sessionState: string;
  /** Of the session of the call; empty: none. */
  readonly sessionId: string;
  readonly resumeToken: string;
  readonly verified?: boolean;
  readonly isComplete?: boolean;
  /** 64 bytes, when complete. */
  readonly signature?: Uint8Array;
  /** Of close_key: nodes that have not confirmed the deletion of their share. */
  readonly pendingNodes?: readonly number[];
}

/** The end of a call step. `stuck`: its time is over, with what it waited for; `impossible`: this run cannot do it. */
export type CallEnd<O> =
  | { readonly kind: 'answered'; readonly outcome: O }
  | { readonly kind: 'stuck'; readonly waitsFor: string; readonly outcome: O }
  | { readonly kind: 'impossible'; readonly why: string };

export interface StepOutcome {
  readonly call: CallName | WalletCallName;
  readonly answer?: StepAnswer;
  readonly failure?: Omit<NoAnswer, 'failure'> & { readonly kind: CallFailure };
}

export function outcomeOf(
  call: CallName | WalletCallName,
  gets: Questions['call' | 'walletCall']['gets'],
): StepOutcome {
  if ('failure' in gets) return { call, failure: failureOf(gets) };
  return { call, answer: answerOf(gets.response) };
}

export function failureOf({ failure: kind, ...told }: NoAnswer): NonNullable<StepOutcome['failure']> {
  return { kind, ...told };
}

const kindOfCode: Partial<Readonly<Record<GrpcCode, CallFailure>>> = {
  INVALID_ARGUMENT: 'MALFORMED',
  DEADLINE_EXCEEDED: 'DEADLINE_EXCEEDED',
  RESOURCE_EXHAUSTED: 'OVERLOADED',
  UNAVAILABLE: 'UNAVAILABLE',
};

/** The meaning of a gRPC status for a caller; INTERNAL for statuses that the contract does not use. */
export function failureOfCode(code: GrpcCode): CallFailure {
  return kindOfCode[code] ?? 'INTERNAL';
}

const kindOfStatus: Readonly<Record<number, CallFailure>> = {
  400: 'MALFORMED',
  429: 'OVERLOADED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** The meaning of an HTTP status of the signing API for a caller; undefined: none. */
export function failureOfStatus(http: number): CallFailure | undefined {
  return kindOfStatus[http];
}

/** The same of any refusal: what the caller got wrong does not change by itself. */
export function failureOfRefusal(http: number): CallFailure {
  return failureOfStatus(http) ?? (http < 500 ? 'MALFORMED' : 'INTERNAL');
}

/** In one line, for a recording or a cause. */
export function outcomeText({ answer, failure }: StepOutcome): string {
  if (failure !== undefined) {
    const { kind, message, grpc } = failure;
    const ended = grpc === undefined ? kind : [grpc.code, grpc.reason].join(' ').trim();
    return `no answer (${ended}${message === '' ? '' : `: ${message}`})`;
  }
  return `${answer!.state} ${answer!.reasonCode}${answer!.message === '' ? '' : `: ${answer!.message}`}`;
}

function answerOf(response: CallTypes[CallName][1] | WalletCallTypes[WalletCallName][1]): StepAnswer {
  if ('pendingNodes' in response) return { ...withoutReceipt, pendingNodes: response.pendingNodes };
  if ('found' in response || 'noncePoint' in response || 'sessions' in response) return withoutReceipt;
  const receipt: DiagnosticReceipt | undefined = response.receipt;
  const checkpoint: SessionCheckpoint | undefined = response.checkpoint;
  const known =
    'signingSessionId' in response ? response.signingSessionId : 'sessionId' in response ? response.sessionId : '';
  return {
    state: stateName(receipt?.state),
    reasonCode: receipt?.reasonCode ?? '',
    message: receipt?.message ?? '',
    resumable: receipt?.resumable ?? false,
    sessionState: stateName(checkpoint?.state),
    sessionId: known === '' ? (receipt?.sessionId ?? '') : known,
    resumeToken: checkpoint?.resumeToken ?? '',
    ...('verified' in response ? { verified: response.verified } : {}),
    ...('isComplete' in response ? { isComplete: response.isComplete, signature: response.fullSignature } : {}),
    ...('signature' in response ? { isComplete: response.signature.length > 0, signature: response.signature } : {}),
  };
}

const withoutReceipt = {
  state: 'UNSPECIFIED',
  reasonCode: '',
  message: '',
  resumable: false,
  sessionState: 'UNSPECIFIED',
  sessionId: '',
  resumeToken: '',
};

function stateName(state: ReceiptState | undefined): string {
  return ReceiptState[state ?? 0] ?? 'UNSPECIFIED';
}
