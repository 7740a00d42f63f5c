/** Observations by hand: what a run could look like, true or contradicting, for tests of the checkers. */

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { KeyRecord, SessionRecord, SigningRecord } from '../../../../coordinator/contract/record.ts';
import { changeEvent } from '../../../../coordinator/session/events.ts';
import type { ActorEvent } from '../../../../core/actors/contract.ts';
import { MakeKeyResponseSchema } from '../../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  ApprovalMode,
  DiagnosticReceiptSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  KeystoreType,
  ReceiptState,
  ResumeSessionRequestSchema,
  ResumeSessionResponseSchema,
  SessionCheckpointSchema,
  SignatureShareRequestSchema,
  SignatureShareResponseSchema,
} from '../../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CallCase, WireBodyInit } from '../../../../proto/wire.ts';
import type { Checker, Observation } from '../../../../simulation/cluster/observation.ts';

export const tenant = 'tn_test';
export const digest = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
const expiresMs = 900_000;

let drawn = 0;
const moment = (nowMs: number) => ({
  nowMs,
  random: (length: number) => {
    drawn += 1;
    return new Uint8Array(length).fill(drawn);
  },
});

/** What a checker says of a sequence: its first complaint, or that of its end. */
export function verdictOf(checker: Checker, observations: readonly Observation[]): string | undefined {
  for (const observation of observations) {
    const wrong = checker.observe(observation);
    if (wrong) return wrong;
  }
  return checker.finish?.();
}

export type SigningRecordInit = Partial<Omit<SessionRecord, 'ceremony'>> & {
  readonly ceremony?: Partial<Omit<SigningRecord, 'facts'>> & { readonly facts?: Partial<SigningRecord['facts']> };
};

/** A signing session "sig_a" of intent "pay", key "k", at epoch 1. */
export function signing({ ceremony = {}, ...more }: SigningRecordInit = {}): SessionRecord {
  const { facts = {}, ...rest } = ceremony;
  const epoch = more.epoch ?? 1;
  return {
    tenant,
    sessionId: 'sig_a',
    state: ReceiptState.ACCEPTED,
    reasonCode: 'SESSION_ACCEPTED',
    message: 'The session is open.',
    epoch,
    checkpointId: `ckp_${more.sessionId ?? 'sig_a'}_${epoch}`,
    checkpointMs: epoch,
    createdMs: 1,
    expiresMs,
    correlationId: 'cor_1',
    approvalMode: ApprovalMode.DIRECT_ALLOWED,
    keystoreType: KeystoreType.MOCK_THRESHOLD,
    usedResumeEpochs: [],
    ...more,
    ceremony: {
      kind: 'signing',
      curve: 'secp256k1',
      witnessMissing: false,
      policyApprovalTokenSha256: '',
      witnessSha256: '',
      attempt: 1,
      submitted: [],
      given: [],
      guarded: true,
      excluded: [],
      signature: '',
      recoveryId: -1,
      ...rest,
      facts: {
        intentId: 'pay',
        keyId: 'k',
        curve: '',
        derivationPath: '',
        networkId: '',
        messageHash: Buffer.from(digest).toString('hex'),
        keystoreType: KeystoreType.MOCK_THRESHOLD,
        approvalMode: ApprovalMode.DIRECT_ALLOWED,
        intentsOnly: false,
        walletService: false,
        ...facts,
      },
    },
  };
}

export function keyRecord(publicKey: Uint8Array, more: Partial<KeyRecord> = {}): KeyRecord {
  return {
    tenant,
    keyId: 'k',
    curve: 'secp256k1',
    threshold: 2,
    totalNodes: 3,
    account: [],
    publicKey: Buffer.from(publicKey).toString('hex'),
    chainCode: '00'.repeat(32),
    verificationShares: [],
    clientSuppliedDealers: [],
    scheme: '',
    exposed: false,
    createdMs: 1,
    ...more,
  };
}

/** The DKG session of a key, complete, as its last write. */
export function keyMade(key: KeyRecord): Observation {
  const { curve, threshold, totalNodes, keyId, publicKey } = key;
  const session: SessionRecord = {
    ...signing({ sessionId: keyId, state: ReceiptState.BACKEND_COMPLETED, epoch: 2 }),
    ceremony: {
      kind: 'dkg',
      curve,
      threshold,
      totalNodes,
      account: [],
      networkId: '',
      attempt: 1,
      fresh: false,
      played: {},
      verified: [],
      publicKey,
    },
  };
  return {
    kind: 'written',
    atMs: 0,
    process: 'coordinator',
    boot: 'coordinator#1',
    outcome: 'written',
    write: { kind: 'update', session, event: changeEvent(session, moment(0)), key },
  };
}

export function begun(session: SessionRecord, ends?: SessionRecord, atMs = session.epoch): Observation {
  const event = changeEvent(session, moment(atMs));
  const write = { kind: 'create', session, event, guardIntent: 'pay', nowMs: atMs } as const;
  const ending = ends && { session: ends, event: changeEvent(ends, moment(atMs)) };
  return {
    kind: 'written',
    atMs,
    process: 'coordinator',
    boot: 'coordinator#1',
    outcome: 'written',
    write: { ...write, ...(ending && { ends: ending }) },
  };
}

/** `step`: within a state, and so without an event. */
export function changed(session: SessionRecord, step = false, atMs = session.epoch): Observation {
  const write = { kind: 'update', session, ...(!step && { event: changeEvent(session, moment(atMs)) }) } as const;
  return { kind: 'written', atMs, process: 'coordinator', boot: 'coordinator#1', outcome: 'written', write };
}

/** The events of a write, as the log then shows them. */
export function loggedOf(observation: Observation, firstSequence: number): Observation[] {
  if (observation.kind !== 'written' || observation.process !== 'coordinator') return [];
  const { write } = observation;
  if (write.kind === 'closeKey') return [];
  const events = [...(write.kind === 'create' && write.ends ? [write.ends.event] : []), write.event];
  return events.flatMap((event, index) =>
    event
      ? [
          {
            kind: 'logged',
            atMs: observation.atMs,
            tenant,
            event,
            sequence: firstSequence + index,
          } satisfies Observation,
        ]
      : [],
  );
}

interface AnswerInit {
  readonly reasonCode?: string;
  readonly message?: string;
  readonly resumeToken?: string;
}

function proof(session: SessionRecord, { reasonCode, message, resumeToken = '' }: AnswerInit) {
  const { sessionId, epoch, checkpointId, state } = session;
  return {
    receipt: create(DiagnosticReceiptSchema, {
      sessionId,
      checkpointId,
      epoch: BigInt(epoch),
      state,
      reasonCode: reasonCode ?? session.reasonCode,
      message: message ?? session.message,
    }),
    checkpoint: create(SessionCheckpointSchema, { checkpointId, epoch: BigInt(epoch), state, resumeToken }),
  };
}

let calls = 0n;
const promisedCall = (method: CallCase, request: unknown, response: unknown, atMs: number): Observation => {
  calls += 1n;
  return { kind: 'promised', atMs, tenant, callId: calls, walletService: false, method, request, response };
};

/** An answer to SubmitSignatureShare, with a signature if it has one. */
export function shareAnswered(
  session: SessionRecord,
  fullSignature = new Uint8Array(),
  more: AnswerInit = {},
): Observation {
  const { sessionId } = session;
  const request = create(SignatureShareRequestSchema, { signingSessionId: sessionId });
  const response = create(SignatureShareResponseSchema, {
    signingSessionId: sessionId,
    isComplete: fullSignature.length > 0,
    fullSignature,
    ...proof(session, more),
  });
  return promisedCall('submitSignatureShare', request, response, session.epoch);
}

export function makeKeyAnswered(
  session: SessionRecord,
  fields: { readonly publicKey?: Uint8Array; readonly culprits?: readonly number[] },
): Observation {
  const request = create(InitiateDkgRequestSchema, { sessionId: session.sessionId });
  const response = create(MakeKeyResponseSchema, {
    ...proof(session, {}),
    ...(fields.publicKey && { publicKey: fields.publicKey }),
    culprits: [...(fields.culprits ?? [])],
  });
  return promisedCall('makeKey', request, response, session.epoch);
}

export function resumeAnswered(session: SessionRecord, token: string, more: AnswerInit): Observation {
  const { sessionId } = session;
  const request = create(ResumeSessionRequestSchema, { sessionId, resumeToken: token });
  const response = create(ResumeSessionResponseSchema, { sessionId, ...proof(session, more) });
  return promisedCall('resumeSession', request, response, session.epoch);
}

/** A client asks for a signature. */
export function asked(more: MessageInitShape<typeof InitiateSigningRequestSchema> = {}): Observation {
  const init = { transactionIntentId: 'pay', walletId: 'k', messageHash: digest, ...more };
  const request = create(InitiateSigningRequestSchema, init);
  return { kind: 'called', atMs: 0, tenant, callId: 1n, walletService: false, method: 'initiateSigning', request };
}

/** A client gives a node's partial, or asks for one. */
export function given(nodeId: number, bytes = 32): Observation {
  const partialSignature = new Uint8Array(bytes).fill(5);
  const request = create(SignatureShareRequestSchema, { signingSessionId: 'sig_a', nodeId, partialSignature });
  return { kind: 'called', atMs: 0, tenant, callId: 1n, walletService: false, method: 'submitSignatureShare', request };
}

export function frame(from: string, to: string, body: WireBodyInit, session = 'sig_a', touched = false): Observation {
  const message = { tenant, session, attempt: 1, body };
  const trace = { correlationId: '', traceparent: '' };
  return { kind: 'frame', atMs: 0, envelope: { from, to, message, trace }, touched };
}

export function partialReply(nodeId: number, attemptTag = 1n, session = 'sig_a'): Observation {
  const outcome = { case: 'partial' as const, value: new Uint8Array(32).fill(nodeId) };
  const body = { case: 'partialReply', value: { nodeId, attemptTag, outcome } } as const;
  return frame(`node/${nodeId}`, `signing/${tenant}/${session}`, body, session);
}

export function emitted(type: string, fields: ActorEvent['fields'], address = 'node/1'): Observation {
  return { kind: 'emitted', atMs: 0, process: 'node/1', address, event: { type, level: 'debug', fields } };
}

/** A node stores a record: JSON as nodes/ writes it. */
export function stored(nodeId: number, key: string, json: object): Observation {
  const record = new TextEncoder().encode(JSON.stringify({ v: 1, ...json }));
  const write = { puts: [{ key, record }], deletes: [] };
  return { kind: 'written', atMs: 0, process: `node/${nodeId}`, outcome: 'written', write };
}
