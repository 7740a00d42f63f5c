/**
 * A cluster for a test: the five calls, keys and signatures in one line each, faults, the clock, snapshots.
 * The API is the same for a simulated cluster, whose virtual minute passes at once, and for a live one.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { createHash } from 'node:crypto';
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import {
  ApprovalMode,
  DkgShareExchangeRequestSchema,
  InitiateDkgRequestSchema,
  InitiateSigningRequestSchema,
  KeystoreType,
  ReceiptState,
  ResumeSessionRequestSchema,
  SignatureShareRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { nodeNumberOf, withProcessNames } from '../../scenarios/faults/cluster-names.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { Fault, FaultOf } from '../../scenarios/faults/vocabulary/generated-types.ts';
import { faultFaults } from '../../scenarios/runner/shape.ts';
import type {
  CallName,
  CallTypes,
  QuestionName,
  Questions,
  ScenarioWorld,
  SessionFacts,
} from '../../scenarios/runner/world.ts';
import type { Violation } from '../../simulation/cluster/violation.ts';
import type { ClientPorts } from '../client/contract.ts';
import type { Intent } from '../client/generated-api.ts';
import {
  CeremonyFailed,
  checkSigning,
  type Key,
  type MakeKeyOptions,
  makeKeyNames,
  type Signature,
  type SignOptions,
} from './ceremonies.ts';
import {
  type ClusterEvents,
  type ClusterPorts,
  type ClusterWebhooks,
  type TokenOptions,
  tokenNames,
} from './cluster-ports.ts';
import type { EventMatch } from './event-reader.ts';
import { checkNames } from './option-names.ts';
import { CallFailed } from './sandbox-api.ts';
import {
  type ApproveOptions,
  type IntentRef,
  type NextOptions,
  type RejectOptions,
  type WaitForOptions,
  WalletSide,
} from './wallet-side.ts';
import { Webhook } from './webhooks.ts';

/** A fault that was injected. */
export interface InjectedFault {
  readonly id: string;
  /** How often it has triggered. */
  triggerCount(): Promise<number>;
  /** @deprecated The old name of `triggerCount`, until 0.2. */
  strikes(): Promise<number>;
}

function checkMs(name: string, ms: number): void {
  if (!Number.isSafeInteger(ms) || ms < 0)
    throw new RangeError(`${name} must be a whole number of milliseconds, 0 or more`);
}

export class TestCluster {
  readonly #world: ScenarioWorld;
  readonly #ports: ClusterPorts;
  readonly #wallets: WalletSide;
  #names = 0;

  /** The event log: a call returns all of it; `next` and `skip` await events. */
  readonly events: ClusterEvents;
  readonly webhooks: ClusterWebhooks;

  constructor(world: ScenarioWorld, ports: ClusterPorts) {
    this.#world = world;
    this.#ports = ports;
    const { url, token } = ports.address;
    const wallets = new WalletSide({ ...ports, url, token, approverToken: () => this.approverToken });
    this.#wallets = wallets;
    this.events = Object.assign(() => this.#ask('events', {}), {
      next: (match: EventMatch = '*', options: NextOptions = {}) => wallets.next(match, options),
      skip: () => wallets.skip(),
    }) as ClusterEvents;
    this.webhooks = { open: (options = {}) => Webhook.open(wallets, ports.openReceiver, options) };
  }

  get world(): 'simulated' | 'live' {
    return this.#world.kind;
  }

  get clusters(): number {
    return this.#ports.clusters;
  }

  /** Of each cluster. */
  get nodes(): number {
    return this.#ports.nodes;
  }

  /** The base URL of its REST API, e.g. http://127.0.0.1:8080; only the `fetch` of a simulated cluster reaches its URL. */
  get url(): string {
    return this.#ports.address.url;
  }

  /** host:port of its gRPC API. Throws an Error where there is none. */
  get grpc(): string {
    return this.#address('grpc');
  }

  /** A bearer token with every scope. */
  get token(): string {
    return this.#ports.address.token;
  }

  /** A token of another principal of the same tenant: its approvals count for intents of the first. Throws likewise. */
  get approverToken(): string {
    return this.#address('approverToken');
  }

  /**
   * `fetch` (https://fetch.spec.whatwg.org/) of this cluster, for an HTTP client of your own. A relative URL begins at `url`. In
   * a simulated cluster, virtual time passes until the answer arrives.
   */
  get fetch(): typeof globalThis.fetch {
    return this.#ports.userPorts.fetch;
  }

  /** `ports` of `createClient` (signmesh/client): its pauses and deadlines are in the cluster's time. */
  get clientPorts(): Partial<ClientPorts> {
    return this.#ports.userPorts;
  }

  /** A vote of the second principal for an intent that awaits approval. Rejects with ApiError. */
  approve(intent: IntentRef, options: ApproveOptions = {}): Promise<Intent> {
    return this.#wallets.approve(intent, options);
  }

  /** A rejecting vote of the second principal; one ends the intent. Rejects likewise. */
  reject(intent: IntentRef, options: RejectOptions = {}): Promise<Intent> {
    return this.#wallets.reject(intent, options);
  }

  /**
   * The intent when it is completed, or in a status of `until`; time passes until then. Rejects with a ClientError of code
   * `intent_ended` when it ended otherwise, with StillPending when it has not ended in time, and with ApiError.
   */
  waitFor(intent: IntentRef, options: WaitForOptions = {}): Promise<Intent> {
    return this.#wallets.waitFor(intent, options);
  }

  /** A token of another principal. Rejects with an Error where only a command issues tokens. */
  async issueToken(options: TokenOptions = {}): Promise<string> {
    checkNames('issueToken', options, tokenNames);
    const { issueToken } = this.#ports;
    if (issueToken !== undefined) return issueToken(options);
    throw new Error('a live cluster issues tokens by command alone: `signmesh tokens`; or take a simulated one');
  }

  /** Milliseconds since the cluster began: virtual, or real. */
  nowMs(): number {
    return this.#world.nowMs();
  }

  /** The five calls. Each rejects with CallFailed when there is no response message. */
  initiateDkg = this.#call('initiateDkg', InitiateDkgRequestSchema);
  exchangeDkgShares = this.#call('exchangeDkgShares', DkgShareExchangeRequestSchema);
  initiateSigning = this.#call('initiateSigning', InitiateSigningRequestSchema);
  submitSignatureShare = this.#call('submitSignatureShare', SignatureShareRequestSchema);
  resumeSession = this.#call('resumeSession', ResumeSessionRequestSchema);

  /** A whole key generation. Rejects with CeremonyFailed when it pauses or is refused. */
  async makeKey(options: MakeKeyOptions = {}): Promise<Key> {
    checkNames('makeKey', options, makeKeyNames);
    const { curve = 'secp256k1', threshold = 0, totalNodes = 0 } = options;
    const sessionId = options.session ?? this.#name('key');
    const begun = await this.initiateDkg({ sessionId, threshold, totalNodes, derivation: { curve } });
    if (begun.receipt?.state !== ReceiptState.ACCEPTED) throw new CeremonyFailed(begun.receipt!);
    const made = await this.exchangeDkgShares({ sessionId });
    if (made.receipt?.state !== ReceiptState.BACKEND_COMPLETED) throw new CeremonyFailed(made.receipt!);
    const facts = await this.session(sessionId);
    return { id: sessionId, curve, publicKey: Buffer.from(facts!.publicKey, 'hex') };
  }

  /** A whole signature. Rejects with CeremonyFailed when it pauses or is refused, and with a TypeError for wrong arguments. */
  async sign(key: Key, message: string | Uint8Array, options: SignOptions = {}): Promise<Signature> {
    checkSigning(key, message, options);
    const bytes = typeof message === 'string' ? Buffer.from(message) : message;
    const signed = key.curve === 'secp256k1' ? createHash('sha256').update(bytes).digest() : bytes;
    const begun = await this.initiateSigning({
      transactionIntentId: options.intent ?? this.#name('intent'),
      walletId: key.id,
      messageHash: signed,
      approvalMode: ApprovalMode.DIRECT_ALLOWED,
      keystoreType: options.keystore === undefined ? KeystoreType.UNSPECIFIED : KeystoreType[options.keystore],
      derivation: { curve: key.curve, derivationPath: options.path ?? '' },
    });
    if (begun.receipt?.state !== ReceiptState.ACCEPTED) throw new CeremonyFailed(begun.receipt!);
    const { signingSessionId: sessionId } = begun;
    const made = await this.submitSignatureShare({ signingSessionId: sessionId });
    if (!made.isComplete) throw new CeremonyFailed(made.receipt!);
    return { signature: made.fullSignature, recoveryId: made.recoveryId, signed, sessionId };
  }

  /** The facts of a session; undefined: there is none. */
  session(sessionId: string): Promise<SessionFacts | undefined> {
    return this.#ask('session', { sessionId });
  }

  /** The partial signature that a node would submit to a signing session now; submits nothing. 32 bytes. `node`: 2 or `node/2`. */
  async previewPartial(sessionId: string, node: number | string): Promise<Uint8Array> {
    const nodeId = nodeNumberOf(String(node));
    if (nodeId === undefined) throw new TypeError(`there is no node ${String(node)}: give its number, or node/2`);
    const found = await this.#ask('previewPartial', { sessionId, nodeId });
    if ('failure' in found) throw new Error(found.failure);
    return found.partial;
  }

  /**
   * Injects a fault of the vocabulary (docs/faults.md). `heal` ends it, or its own fields do. Rejects with a TypeError that names
   * the field.
   */
  async inject(fault: Fault): Promise<InjectedFault> {
    // Tests in JavaScript have no compiler that finds a wrong field, and a live sandbox words the error differently.
    const wrong = faultFaults(fault, []).map(({ path, message, remedy }) =>
      [...(path.length > 0 ? [`${path.join('.')}: `] : []), message, ...(remedy === '' ? [] : [`; ${remedy}`])].join(
        '',
      ),
    );
    if (wrong.length > 0) throw new TypeError(wrong.join('\n'));
    const injected = await this.#ask('inject', { fault: withProcessNames(fault) });
    if ('failure' in injected) throw new Error(injected.failure);
    const { id } = injected;
    const triggerCount = () => this.#ask('triggerCount', { id });
    return { id, triggerCount, strikes: triggerCount };
  }

  /** Kills a process as SIGKILL does; it restarts after 100 ms by default. */
  crash(target: string, options: Omit<FaultOf<'crash'>, 'fault' | 'target'> = {}): Promise<InjectedFault> {
    return this.inject({ fault: 'crash', target, ...options });
  }

  /** Every fault ends; every process is up and linked. */
  async heal(): Promise<void> {
    await this.#ask('heal', {});
  }

  /** Sets every clock forward, at once. Milliseconds, a whole number; rejects with a RangeError for any other. */
  async advance(byMs: number): Promise<void> {
    checkMs('byMs', byMs);
    await this.#ask('advance', { byMs });
  }

  /** Lets time pass: virtual time passes at once. */
  async wait(ms: number): Promise<void> {
    checkMs('ms', ms);
    await this.#ask('wait', { ms });
  }

  /** Resolves with the first value of `condition` that is not false or undefined; rejects after `withinMs`. */
  async until<T>(
    condition: () => Promise<T>,
    withinMs = 20_000,
    everyMs = 20,
  ): Promise<NonNullable<Exclude<T, false>>> {
    const deadlineMs = this.nowMs() + withinMs;
    for (;;) {
      const value = await condition();
      if (value !== false && value !== undefined && value !== null) return value as NonNullable<Exclude<T, false>>;
      if (this.nowMs() >= deadlineMs) throw new Error(`the condition does not hold within ${withinMs} ms`);
      await this.wait(everyMs);
    }
  }

  /** In all clusters. */
  nodesReady(): Promise<number> {
    return this.#ask('nodesReady', {});
  }

  /** Types of the events that the webhook receiver has acknowledged; empty without one. */
  delivered(): Promise<readonly string[]> {
    return this.#ask('delivered', {});
  }

  /** The present durable state. */
  takeSnapshot(): Promise<unknown> {
    return this.#ports.takeSnapshot();
  }

  /** Restores the durable state of the snapshot; every nonce is void. */
  async restoreSnapshot(snapshot: unknown): Promise<void> {
    await this.#ports.restoreSnapshot(snapshot);
    this.#wallets.restored();
  }

  /** Makes the cluster as fresh. */
  async reset(): Promise<void> {
    await this.#ports.reset();
    this.#wallets.restored();
  }

  /** The recorded events of the run so far, for reports. */
  recording(): Promise<readonly RunEvent[]> {
    return this.#ports.recording();
  }

  /**
   * Contradictions of invariants so far; there should be none. A simulated cluster checks all invariants, until a snapshot is
   * restored; a live one checks those that answers and events show.
   */
  violations(): readonly Violation[] {
    return this.#world.violations();
  }

  /** Ends everything that was started for this cluster. Repeatable. */
  stop(): Promise<void> {
    this.#wallets.stop();
    return this.#ports.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #address(what: 'grpc' | 'approverToken'): string {
    const found = this.#ports.address[what];
    if (found !== undefined) return found;
    if (this.world === 'simulated') {
      throw new Error(`a simulated cluster has no ${what}: take one with ports, cluster({ listen: true })`);
    }
    throw new Error(`the ${what} of a sandbox that runs already is known to its banner alone (signmesh up)`);
  }

  #name(kind: string): string {
    this.#names += 1;
    return this.#world.idOf(`${kind}-${this.#names}`);
  }

  #ask<Q extends QuestionName>(question: Q, asks: Questions[Q]['asks']): Promise<Questions[Q]['gets']> {
    return new Promise((resolve, reject) => {
      this.#world.ask(question, asks, resolve, reject);
    });
  }

  #call<N extends CallName, Q extends DescMessage>(name: N, schema: Q) {
    return async (init: MessageInitShape<Q>): Promise<CallTypes[N][1]> => {
      const request = create(schema, init) as unknown as CallTypes[N][0];
      const answer = await this.#ask('call', { name, request } as Questions['call']['asks']);
      if ('failure' in answer) throw new CallFailed(answer.failure, answer.message);
      return answer.response as CallTypes[N][1];
    };
  }
}
