/**
 * Keys and signatures in one call each, over the calls of the signing API: opens a session, steps it, and waits while too few
 * nodes are reachable. After a lost answer it finds its session again by the correlation id, so that it neither makes a second
 * one nor takes another caller's session for its own.
 */
import { fromBase64, toBase64 } from './base64.ts';
import type { CallOptions } from './contract.ts';
import { ClientError, InvalidOptionError } from './errors.ts';
import type {
  DiagnosticReceipt,
  EventsApi,
  InitiateSigningRequest,
  OrchestrationContext,
  ReasonCode,
  SessionCheckpoint,
  SigningApi,
} from './generated-api.ts';
import { callOptionNames, type Names, needKnown } from './known-options.ts';
import { pauseMs } from './retry.ts';
import { SigningError } from './signing-error.ts';
import { pause, type Transport } from './transport.ts';

export interface CreateKeyOptions extends CallOptions {
  /** Names the key: `[A-Za-z0-9._:-]{1,128}`. By default the client makes a name. */
  readonly keyId?: string;
  /** The number of nodes that sign; 3 by default. */
  readonly threshold?: number;
  /** The number of nodes that hold a share; 5 by default. */
  readonly totalNodes?: number;
  /** `secp256k1` by default. */
  readonly curve?: 'secp256k1' | 'ed25519';
  /** A key of this name may exist: use it, whatever its curve and threshold, instead of failing. */
  readonly acceptExisting?: boolean;
  readonly correlationId?: string;
}

export interface CreatedKey {
  readonly keyId: string;
  /** Compressed, hex. */
  readonly publicKey: string;
  readonly curve: string;
  readonly threshold: number;
  readonly totalNodes: number;
}

export interface SignOptions extends CallOptions {
  /** A key, or a wallet with a key on the cluster. */
  readonly keyId: string;
  /** secp256k1: a digest of 32 bytes. ed25519: the message. Bytes, or base64. */
  readonly message: Uint8Array | string;
  /** One intent is signed once. By default the client makes an id; choose your own to be safe over a crash of your process. */
  readonly intentId?: string;
  readonly derivationPath?: string;
  readonly keystoreType?: InitiateSigningRequest['keystore_type'];
  readonly approvalMode?: InitiateSigningRequest['approval_mode'];
  /** Of a human, where the service requires one. Bytes, or base64. */
  readonly humanApprovalWitness?: Uint8Array | string;
  /** A session of this intent may exist: use its signature, whatever it signs, instead of failing with DUPLICATE_INTENT. */
  readonly acceptExisting?: boolean;
  readonly correlationId?: string;
}

export interface Signature {
  readonly sessionId: string;
  readonly intentId: string;
  /** 64 bytes; of a MULTISIG_EVM_WALLET key 65 for each owner. */
  readonly signature: Uint8Array;
  /** Of ECDSA: 0 to 3. */
  readonly recoveryId: number | undefined;
  readonly receipt: DiagnosticReceipt;
}

interface Answer {
  readonly receipt: DiagnosticReceipt | null;
  readonly checkpoint: SessionCheckpoint | null;
}

interface Parts {
  readonly transport: Transport;
  readonly signing: SigningApi;
  readonly events: Pick<EventsApi, 'list'>;
  /** Of every request's context. */
  readonly client: OrchestrationContext['client'];
}

/** Reasons that end by themselves, when the nodes reconnect. */
const passing: ReadonlySet<string> = new Set<ReasonCode>(['QUORUM_UNAVAILABLE', 'NODES_UNAVAILABLE']);
const deadlineMsDefault = 60_000;

const createNames: Names<CreateKeyOptions> = {
  ...callOptionNames,
  keyId: true,
  threshold: true,
  totalNodes: true,
  curve: true,
  acceptExisting: true,
  correlationId: true,
};

const signNames: Names<SignOptions> = {
  ...callOptionNames,
  keyId: true,
  message: true,
  intentId: true,
  derivationPath: true,
  keystoreType: true,
  approvalMode: true,
  humanApprovalWitness: true,
  acceptExisting: true,
  correlationId: true,
};

export class Keys {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Needs the scopes `signing:dkg`, `signing:resume` and `events:read`. Rejects with SigningError, CallError. */
  async create(options: CreateKeyOptions = {}): Promise<CreatedKey> {
    needKnown('keys.create', options, createNames);
    const { transport, signing, events } = this.#parts;
    const { keyId = `key-${transport.ports.uuid()}`, threshold = 0, totalNodes = 0, curve = 'secp256k1' } = options;
    const call = this.#call(options);
    const open = (context: OrchestrationContext) =>
      signing.initiateDkg(
        { session_id: keyId, threshold, total_nodes: totalNodes, derivation: { curve }, context },
        call.options(),
      );
    await this.#open('initiateDkg', open, 'DUPLICATE_SESSION', call, options.acceptExisting === true);
    await this.#step('exchangeDkgShares', call, keyId, () =>
      signing.exchangeDkgShares({ session_id: keyId, context: call.context }, call.options()),
    );
    const query = { type: 'dkg.session.completed', resource_id: keyId };
    const [event] = await events.list(query, call.options()).toArray(1);
    if (event?.type !== 'dkg.session.completed') {
      throw new ClientError('malformed_answer', `${keyId} is made, but the event log does not hold its event`);
    }
    const { public_key: publicKey, curve: made, threshold: t, total_nodes: n } = event.data.object;
    return { keyId, publicKey: publicKey ?? '', curve: made, threshold: t, totalNodes: n };
  }

  /**
   * Needs the scopes `signing:initiate`, `signing:share` and `signing:resume`. Rejects with SigningError (e.g.
   * `HUMAN_APPROVAL_REQUIRED`: its checkpoint holds the token to resume with) and CallError.
   */
  async sign(options: SignOptions): Promise<Signature> {
    needKnown('keys.sign', options, signNames);
    const { transport, signing } = this.#parts;
    const { keyId, message, intentId = `intent-${transport.ports.uuid()}`, derivationPath } = options;
    const { keystoreType, approvalMode, humanApprovalWitness: witness } = options;
    if (typeof keyId !== 'string' || keyId === '')
      throw new InvalidOptionError('keyId', 'takes the id of a key or wallet');
    const call = this.#call(options);
    const request: InitiateSigningRequest = {
      transaction_intent_id: intentId,
      wallet_id: keyId,
      message_hash: encoded(message, 'message'),
      ...(derivationPath !== undefined && { derivation: { derivation_path: derivationPath } }),
      ...(keystoreType !== undefined && { keystore_type: keystoreType }),
      ...(approvalMode !== undefined && { approval_mode: approvalMode }),
      ...(witness !== undefined && { human_approval_witness: encoded(witness, 'humanApprovalWitness') }),
    };
    const open = (context: OrchestrationContext) => signing.initiateSigning({ ...request, context }, call.options());
    const opened = await this.#open('initiateSigning', open, 'DUPLICATE_INTENT', call, options.acceptExisting === true);
    const sessionId = opened.signing_session_id;
    const signed = await this.#step('submitSignatureShare', call, sessionId, () =>
      signing.submitSignatureShare({ signing_session_id: sessionId, context: call.context }, call.options()),
    );
    const recovery = fromBase64(signed.recovery_id, 'recovery_id');
    return {
      sessionId,
      intentId,
      signature: fromBase64(signed.full_signature, 'full_signature'),
      recoveryId: recovery[0],
      receipt: signed.receipt!,
    };
  }

  /** One deadline and one correlation id for all calls of a helper. */
  #call({
    deadlineMs = deadlineMsDefault,
    correlationId,
    signal,
    attemptsMax,
    requestId,
    traceparent,
  }: CallOptions & { correlationId?: string }) {
    const { ports } = this.#parts.transport;
    const endMs = ports.nowMs() + deadlineMs;
    const { client } = this.#parts;
    const own = { ...(client !== undefined && { client }) };
    const shared: CallOptions = {
      ...(signal !== undefined && { signal }),
      ...(attemptsMax !== undefined && { attemptsMax }),
      ...(requestId !== undefined && { requestId }),
      ...(traceparent !== undefined && { traceparent }),
    };
    return {
      endMs,
      signal,
      context: { ...own, correlation_id: correlationId ?? `cor-${ports.uuid()}` },
      anonymous: own,
      options: (): CallOptions => ({ ...shared, deadlineMs: Math.max(1, endMs - ports.nowMs()) }),
    };
  }

  async #open<A extends Answer>(
    step: string,
    open: (context: OrchestrationContext) => Promise<A>,
    duplicate: ReasonCode,
    call: Call,
    acceptExisting: boolean,
  ): Promise<A> {
    const answer = await open(call.context);
    const receipt = receiptOf(answer);
    if (receipt.state === 'RECEIPT_STATE_ACCEPTED') return answer;
    if (receipt.reason_code !== duplicate) throw new SigningError(step, receipt, answer.checkpoint);
    // A receipt names the correlation id of its call; without one, that of its session.
    const again = await open(call.anonymous);
    // The first session has ended in between, and this one is its successor.
    if (again.receipt?.state === 'RECEIPT_STATE_ACCEPTED') return again;
    const isOurs = again.receipt?.correlation_id === call.context.correlation_id;
    if (acceptExisting || isOurs) return answer;
    throw new SigningError(step, receipt, answer.checkpoint);
  }

  /** Repeats until the session is complete. While too few nodes are reachable it resumes the session, until the deadline. */
  async #step<A extends Answer>(step: string, call: Call, sessionId: string, send: () => Promise<A>): Promise<A> {
    const { ports } = this.#parts.transport;
    for (let attempts = 1; ; attempts += 1) {
      const answer = await send();
      const receipt = receiptOf(answer);
      if (receipt.state === 'RECEIPT_STATE_BACKEND_COMPLETED') return answer;
      const refusal = new SigningError(step, receipt, answer.checkpoint);
      const wait = pauseMs(attempts, undefined, ports.random());
      const token = answer.checkpoint?.resume_token ?? '';
      if (!passing.has(receipt.reason_code) || ports.nowMs() + wait >= call.endMs) throw refusal;
      await pause(ports, wait, call.signal);
      if (token === '') continue;
      // After a lost answer the repeat gets RESUME_TOKEN_REUSED: the next step shows the session's state.
      const request = { session_id: sessionId, resume_token: token, context: call.context };
      await this.#parts.signing.resumeSession(request, call.options());
    }
  }
}

interface Call {
  readonly endMs: number;
  readonly signal: AbortSignal | undefined;
  readonly context: OrchestrationContext & { readonly correlation_id: string };
  readonly anonymous: OrchestrationContext;
  options(): CallOptions;
}

function receiptOf({ receipt }: Answer): DiagnosticReceipt {
  if (receipt === null) throw new ClientError('malformed_answer', 'the answer of a signing call has no receipt');
  return receipt;
}

function encoded(bytes: Uint8Array | string, option: string): string {
  return toBase64(typeof bytes === 'string' ? fromBase64(bytes, option) : bytes);
}
