/**
 * Clients' signing calls under an idempotency key. REST and gRPC share a call's keys: the scope is the tenant and the REST path,
 * and the compared body is the decoded request.
 *
 * The effect is the coordinator's and the answer is stored here, so a process may die between them. Therefore the claim's seed,
 * which all attempts share, gives the call a digest that its session stores with the change, and the ids of the sessions that
 * it begins. A repeat reaches the same session, which recognizes it and answers with its state.
 *
 * An answer is kept if the call changed its session; a failure that a resume can undo is not, so that the same call can be made
 * after the resume. A keyed call continues when its client has gone: the repeat gets its answer.
 */
import { createHash } from 'node:crypto';
import type { Clock, Timers } from '../../core/actors/contract.ts';
import { pause } from '../../core/actors/waiting.ts';
import { type InitiateDkgRequest, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type IdPrefix, newId } from '../../proto/ids.ts';
import { requestFieldsMax } from '../../proto/limits.ts';
import { decodeMessage } from '../../proto/message-decoding.ts';
import { encodeMessage } from '../../proto/message-encoding.ts';
import type { CallRequest, CallResponse } from '../../proto/wire.ts';
import type { TenantStore } from '../../wallets/store/contract.ts';
import type { RequestAttempt } from '../api/context.ts';
import type { Executed } from '../api/execute.ts';
import { callerOf, hashRequest, Idempotency } from '../api/idempotency.ts';
import type { Principal } from '../api/principal.ts';
import { callRequest, type SigningMethod } from '../api/signing-methods.ts';
import type { SealPort } from '../api/stored-answers.ts';
import type { Admission } from '../auth/admission.ts';
import type { CallOutcome, SigningCall } from './signing-calls.ts';
import { type ClientCallDeps, startClientCall } from './wallet-terms.ts';

/** What a server of clients' calls needs. */
export interface CallServerDeps extends ClientCallDeps {
  /** Calls with an idempotency key. */
  readonly keyed: Pick<KeyedCalls, 'answer'>;
}

export interface KeyedCallsDeps {
  readonly store: TenantStore;
  readonly seal: SealPort;
  /** Secret: see `RestDeps`. */
  readonly hashKey: Uint8Array;
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface KeyedCall {
  readonly method: SigningMethod;
  readonly principal: Principal;
  readonly key: string;
  /** The decoded request. */
  readonly message: object;
  readonly about: Omit<SigningCall, 'request' | 'keyed'>;
}

export interface KeyedAnswer {
  readonly response: CallResponse;
  readonly replayed: boolean;
}

export interface CallServer extends ClientCallDeps {
  readonly admission: Pick<Admission, 'enter'>;
}

export class KeyedCalls {
  readonly #idempotency: Idempotency;
  readonly #hashKey: Uint8Array;

  constructor({ store, seal, hashKey, clock, timers }: KeyedCallsDeps) {
    this.#hashKey = hashKey;
    this.#idempotency = new Idempotency({
      ...{ store, seal },
      nowMs: () => clock.nowMs(),
      machineMs: () => timers.epochMs(),
      pause: (ms) => pause(timers, ms),
    });
  }

  /** Rejects with ServiceError, StoreUnavailable. */
  async answer(door: CallServer, { method, principal, key, message, about }: KeyedCall): Promise<KeyedAnswer> {
    const { tenant } = principal;
    const body = { message: base64(encodeMessage(method.request, message)) };
    const scope = { method: 'POST', path: method.httpPath, params: {}, query: {}, keyField: undefined };
    const hashes = hashRequest({ ...scope, tenant, caller: callerOf(principal), key, body }, this.#hashKey);
    const { outcome, replayed } = await this.#idempotency.once(tenant, hashes, async (attempt) => {
      const keyed = { digest: derived(attempt, 'request'), signingSessionId: idOf(attempt, 'sig') };
      const request = requestOf(method, message, attempt);
      return executedOf(method, await uncancelled(door, method, { ...about, request, keyed }));
    });
    if (outcome.kind === 'error') throw outcome.error;
    const { message: stored } = outcome.answer.body as typeof body;
    const value = decodeMessage(method.response, Buffer.from(stored, 'base64'), requestFieldsMax);
    return { response: { case: method.method, value } as CallResponse, replayed };
  }
}

function uncancelled(door: CallServer, { requirement }: SigningMethod, call: SigningCall): Promise<CallOutcome> {
  return new Promise((resolve) => {
    door.admission.enter(
      requirement,
      call.tenant,
      (place) => {
        startClientCall(door, call, (outcome) => {
          place.leave();
          resolve(outcome);
        });
      },
      (failure) => resolve({ failure }),
    );
  });
}

function executedOf(method: SigningMethod, outcome: CallOutcome): Executed {
  if (outcome.failure !== undefined) {
    return { kind: 'done', outcome: { kind: 'error', error: outcome.failure }, settled: false, isStored: false };
  }
  const body = { message: base64(encodeMessage(method.response, outcome.response.value)) };
  const answer = { status: 200, body };
  const isStored = outcome.changedSession && !isUndoable(outcome.response);
  return { kind: 'done', outcome: { kind: 'answer', answer }, settled: false, isStored };
}

/** A step that failed a session which a resume continues. */
function isUndoable({ case: asked, value }: CallResponse): boolean {
  if (asked !== 'submitSignatureShare' && asked !== 'exchangeDkgShares') return false;
  return value.receipt?.state === ReceiptState.BACKEND_FAILED && value.receipt.resumable;
}

/** The request of every attempt: a key generation that its caller has not named gets its name here. */
function requestOf(method: SigningMethod, message: object, attempt: RequestAttempt): CallRequest {
  const isUnnamed = method.method === 'initiateDkg' && (message as InitiateDkgRequest).sessionId === '';
  return callRequest(method, isUnnamed ? { ...message, sessionId: idOf(attempt, 'dkg') } : message);
}

function idOf(attempt: RequestAttempt, prefix: IdPrefix): string {
  return newId(prefix, attempt.startedMs, (length) => derived(attempt, prefix).subarray(0, length));
}

/** 16 bytes, the same in every attempt of a request, and none that a client could guess. */
function derived({ seed }: RequestAttempt, purpose: string): Uint8Array {
  return createHash('sha256').update(seed()).update(`/${purpose}`).digest().subarray(0, 16);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
