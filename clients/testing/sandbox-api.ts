/**
 * A sandbox over HTTP, as its clients see it: the five calls of the signing API and everything under /v1/sandbox.
 *
 * A call of the signing API without a response message rejects with CallFailed; any other refusal rejects with ApiError.
 */
import { create, type DescMessage, type MessageInitShape, type MessageShape, toJson } from '@bufbuild/protobuf';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { readBase64 } from '../../proto/base64.ts';
import type { MakeKeyResponse, RefreshKeyRequest } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  type InitiateDkgRequestSchema,
  InitiateDkgResponseSchema,
  MpcWalletService,
  ReceiptState,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import { type RunEventJson, runEventOf } from '../../scenarios/faults/recording-json.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/generated-types.ts';
import { failureOfRefusal } from '../../scenarios/runner/outcome.ts';
import type { CallFailure, NoAnswer, Questions, SessionFacts } from '../../scenarios/runner/world.ts';
import { readAnswer, readRefresh, refreshPath } from '../../simulation/service/scenario/signing-answer.ts';
import { exchange } from '../client/exchange.ts';
import {
  type Event,
  operations,
  type SandboxFault,
  type SandboxKey,
  type SandboxNode,
  type SandboxSession,
} from '../client/generated-api.ts';
import { ClusterStopped } from './stopped.ts';

/** A call of the signing API without a response message. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly failure: CallFailure;
  /** Seconds after which the service asks for another call. */
  readonly retryAfterS: number | undefined;
  constructor(failure: CallFailure, message: string, retryAfterS?: number) {
    super(message);
    this.failure = failure;
    this.retryAfterS = retryAfterS;
  }
}

/** A refusal of the REST API. `status` 0: no answer. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  /** The header Retry-After. */
  readonly retryAfterS: number | undefined;
  constructor(status: number, code: string, message: string, retryAfterS?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterS = retryAfterS;
  }
}

export interface SandboxApiOptions {
  /** e.g. http://127.0.0.1:8080 */
  readonly baseUrl: string;
  /** A token with every scope, `sandbox:admin` too. Secret. */
  readonly token: string;
  /** The longest time of a call. Default 35,000. */
  readonly timeoutMs?: number;
  /** Instead of the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

export interface OnceOptions {
  /** By default the sandbox's own. */
  readonly token?: string;
  readonly body?: object;
  /** The Idempotency-Key. */
  readonly key?: string;
  /** e.g. http://127.0.0.1:8081 */
  readonly door?: string;
}

type Rpcs = typeof MpcWalletService.method;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterS: number | undefined;
}

export class SandboxApi {
  readonly #options: SandboxApiOptions;

  constructor(options: SandboxApiOptions) {
    this.#options = options;
  }

  initiateDkg = this.#rpc('initiateDkg');
  exchangeDkgShares = this.#rpc('exchangeDkgShares');
  initiateSigning = this.#rpc('initiateSigning');
  submitSignatureShare = this.#rpc('submitSignatureShare');
  resumeSession = this.#rpc('resumeSession');

  async health(): Promise<{ readonly status: string; readonly nodes_ready: number }> {
    // 503 carries the same body: it lists the missing parts.
    const { text } = await this.#fetch('GET', '/v1/health', undefined);
    return JSON.parse(text) as { status: string; nodes_ready: number };
  }

  /** `expiresInS`: ends a fault that was not removed. */
  createFault(fault: Fault, expiresInS?: number): Promise<SandboxFault> {
    const body = { ...fault, ...(expiresInS !== undefined && { expires_in_s: expiresInS }) };
    return this.request('POST', '/v1/sandbox/faults', body);
  }

  fault(id: string): Promise<SandboxFault> {
    return this.request('GET', `/v1/sandbox/faults/${encodeURIComponent(id)}`);
  }

  /** undefined: there is no fault with that id. */
  async faultIfThere(id: string): Promise<SandboxFault | undefined> {
    try {
      return await this.fault(id);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async faults(): Promise<readonly SandboxFault[]> {
    return (await this.request<{ faults: readonly SandboxFault[] }>('GET', '/v1/sandbox/faults')).faults;
  }

  async clearFaults(): Promise<void> {
    await this.request('POST', '/v1/sandbox/faults/reset', {});
  }

  /** Announces a step of a scenario: faults may wait for it. */
  async step(step: string): Promise<void> {
    await this.request('POST', '/v1/sandbox/steps', { step });
  }

  async processes(): Promise<readonly SandboxNode[]> {
    return (await this.request<{ nodes: readonly SandboxNode[] }>('GET', '/v1/sandbox/nodes')).nodes;
  }

  /** `process`: "node/2", "coordinator", "gateway", "worker", "redis". */
  act(process: string, action: 'crash' | 'restart' | 'pause' | 'resume', body: object = {}): Promise<SandboxNode> {
    const name = process.startsWith('node/') ? process.slice('node/'.length) : process.replaceAll('/', '-');
    return this.request('POST', `/v1/sandbox/nodes/${name}/${action}`, body);
  }

  /** undefined: there is no session with that id. */
  async session(id: string): Promise<SandboxSession | undefined> {
    try {
      return await this.request('GET', `/v1/sandbox/sessions/${encodeURIComponent(id)}`);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** The partial signature that a node would submit to a signing session now. */
  async previewPartial(sessionId: string, nodeId: number): Promise<Uint8Array> {
    const path = `/v1/sandbox/sessions/${encodeURIComponent(sessionId)}/nodes/${nodeId}/partial`;
    const { partial } = await this.request<{ partial: string }>('POST', path, {});
    return readBase64(partial)!;
  }

  /** As `initiateDkg`, for a key of a type that nodes do not share. Also rejects with CallFailed. */
  async beginKey(
    { sessionId, threshold, totalNodes, derivation }: MessageInitShape<typeof InitiateDkgRequestSchema>,
    keystoreType: string,
  ): Promise<MessageShape<typeof InitiateDkgResponseSchema>> {
    const body = {
      ...{ session_id: sessionId, keystore_type: keystoreType, curve: derivation?.curve || 'secp256k1' },
      ...(threshold && { threshold }),
      ...(totalNodes && { total_nodes: totalNodes }),
    };
    const path = '/v1/sandbox/keys';
    const told = await this.#orFailed(this.request<SandboxKey>('POST', path, body));
    const state = ReceiptState[told.state.replace('RECEIPT_STATE_', '') as keyof typeof ReceiptState];
    const { session_id: id, reason_code: reasonCode, message } = told;
    const receipt = { sessionId: id, state, reasonCode, message };
    const begun = { sessionId: id, state, epoch: BigInt(told.epoch), receipt, checkpoint: { sessionId: id, state } };
    return create(InitiateDkgResponseSchema, begun);
  }

  /** Also rejects with CallFailed. */
  async refreshKey({ keyId, version }: RefreshKeyRequest): Promise<MakeKeyResponse> {
    return readRefresh(await this.#orFailed(this.request<object>('POST', refreshPath(keyId), { version })));
  }

  async advance(byMs: number): Promise<void> {
    await this.request('POST', '/v1/sandbox/clock', { advance_ms: byMs });
  }

  async takeSnapshot(name: string): Promise<string> {
    return (await this.request<{ id: string }>('POST', '/v1/sandbox/snapshots', { name })).id;
  }

  async restoreSnapshot(id: string): Promise<void> {
    await this.request('POST', `/v1/sandbox/snapshots/${encodeURIComponent(id)}/restore`, {});
  }

  async reset(): Promise<void> {
    await this.request('POST', '/v1/sandbox/reset', {});
  }

  /** Events that the fault injector saw since a position; `next` is the next position, `began_at` its time 0. */
  async recording(after: number): Promise<{ events: readonly RunEvent[]; next: number; began_at: string }> {
    const path = `/v1/sandbox/recording?after=${after}&limit=10000`;
    const page = await this.request<{ events: readonly RunEventJson[]; next: number; began_at: string }>('GET', path);
    return { ...page, events: page.events.map(runEventOf) };
  }

  /** The present end of the recording. */
  async recordingEnd(): Promise<number> {
    // A position beyond the end returns the end.
    return (await this.recording(999_999_999_999_999)).next;
  }

  /** Every event of the tenant after a sequence, oldest first. */
  async events(afterSequence: number): Promise<readonly Event[]> {
    const events: Event[] = [];
    for (let after = afterSequence; ; ) {
      const path = `/v1/events?after_sequence=${after}&limit=100`;
      const page = await this.request<{ events: readonly Event[]; has_more: boolean }>('GET', path);
      events.push(...page.events);
      const last = page.events.at(-1);
      if (!page.has_more || last === undefined) return events;
      after = last.sequence;
    }
  }

  /** Any operation of the REST API. Rejects with ApiError. */
  async request<T>(method: string, path: string, body?: object, token?: string): Promise<T> {
    const { status, text, retryAfterS } = await this.#fetch(method, path, body, token === undefined ? {} : { token });
    const answer = text === '' ? {} : (JSON.parse(text) as object);
    if (status >= 200 && status < 300) return answer as T;
    const { error } = answer as { error?: { code: string; message: string; details?: readonly object[] } };
    const details = error?.details ? ` ${JSON.stringify(error.details)}` : '';
    const message = `${method} ${path}: ${status} ${error?.message ?? ''}${details}`;
    throw new ApiError(status, error?.code ?? '', message, retryAfterS);
  }

  /** One try of any operation, with another token, at another gateway (`door`); returns any answer. */
  async once(
    method: string,
    path: string,
    { token, body, key, door }: OnceOptions,
  ): Promise<Questions['request']['gets']> {
    try {
      const { status, text, retryAfterS } = await this.#fetch(method, path, body, {
        ...(token !== undefined && { token }),
        ...(key !== undefined && { key }),
        ...(door !== undefined && { door }),
      });
      const answered = text === '' ? undefined : (JSON.parse(text) as unknown);
      return { status, body: answered, ...(retryAfterS !== undefined && { retryAfterS }) };
    } catch (error) {
      if (error instanceof ApiError) return { failure: 'UNAVAILABLE', message: error.message };
      throw error;
    }
  }

  /** A dying gateway may cut its answer short: that counts as no answer. */
  async #fetch(
    method: string,
    path: string,
    body: object | undefined,
    { token = this.#options.token, key, door = this.#options.baseUrl }: Partial<OnceOptions> = {},
  ): Promise<Answer> {
    const { timeoutMs = 35_000, fetch = globalThis.fetch } = this.#options;
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const sent = { method, token, idempotencyKey: key, signal, body: body && JSON.stringify(body) };
      const { status, headers, text } = await exchange(fetch, `${door}${path}`, sent);
      const retryAfter = headers.get('retry-after');
      return { status, text, retryAfterS: retryAfter === null ? undefined : Number(retryAfter) };
    } catch (error) {
      if (error instanceof ClusterStopped) throw error;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      throw new ApiError(
        0,
        'no_answer',
        `${method} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
      );
    }
  }

  #rpc<N extends keyof Rpcs>(name: N) {
    const { input, output }: { input: DescMessage; output: DescMessage } = MpcWalletService.method[name];
    const { path } = operations.signing[name]!;
    return async (init: MessageInitShape<Rpcs[N]['input']>): Promise<MessageShape<Rpcs[N]['output']>> => {
      const body = toJson(input, create(input, init), { useProtoFieldName: true }) as object;
      const answer = readAnswer(output, await this.#orFailed(this.request<object>('POST', path, body)));
      return answer as MessageShape<Rpcs[N]['output']>;
    };
  }

  async #orFailed<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ApiError) {
        const failure = error.status === 0 ? 'UNAVAILABLE' : failureOfRefusal(error.status);
        throw new CallFailed(failure, error.message, error.retryAfterS);
      }
      throw error;
    }
  }
}

/** A call without an answer, as the runner of scenarios gets it. */
export function noAnswerOf({ failure, message, retryAfterS }: CallFailed): NoAnswer {
  return { failure, message, ...(retryAfterS !== undefined && { retryAfterS }) };
}

/** As scenarios and tests see a session. */
export function sessionFacts(found: SandboxSession): SessionFacts {
  return {
    sessionId: found.id,
    state: found.state.replace('RECEIPT_STATE_', ''),
    reasonCode: found.reason_code,
    epoch: found.epoch,
    attempt: found.attempt,
    culprits: found.culprits,
    publicKey: found.public_key ?? '',
    chainCode: found.chain_code ?? '',
  };
}

/** As scenarios and tests see an event. */
export function loggedEvent(view: Event): LoggedEvent {
  return {
    id: view.id,
    type: view.type,
    atMs: Date.parse(view.timestamp),
    resource: view.resource,
    correlationId: view.correlation_id,
    provider: null,
    connectionId: null,
    object: view.data.object,
  };
}
