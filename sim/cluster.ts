/**
 * A whole simulated cluster in one process: the very actors of nodes/ and coordinator/, a virtual clock, and a network
 * that carries encoded frames. Deterministic: the same seed and the same calls give the same trace, byte for byte.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { ActorEvent, Address, Envelope } from '../actors/contract.ts';
import { coordinatorBehaviours } from '../coordinator/behaviours.ts';
import type { SessionConfig } from '../coordinator/config.ts';
import {
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  clusterAddress,
  expiryAddress,
  isLocal,
  type LocalMessage,
  sessionKey,
  wire,
} from '../coordinator/messages.ts';
import type { SessionRecord } from '../coordinator/session/record.ts';
import { identityFromSeed } from '../crypto/identity.ts';
import { nodeBehaviours } from '../nodes/behaviours.ts';
import type { NodeRecord, NodeWrite } from '../nodes/records.ts';
import type { LoggedEvent } from '../proto/event-log.ts';
import {
  type CallError,
  type CallSchema,
  CloseKeyRequestSchema,
  CloseKeyResponseSchema,
  InspectSessionRequestSchema,
  InspectSessionResponseSchema,
  Method,
  PreviewPartialRequestSchema,
  PreviewPartialResponseSchema,
} from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  DkgShareExchangeRequestSchema,
  DkgShareExchangeResponseSchema,
  InitiateDkgRequestSchema,
  InitiateDkgResponseSchema,
  InitiateSigningRequestSchema,
  InitiateSigningResponseSchema,
  ResumeSessionRequestSchema,
  ResumeSessionResponseSchema,
  SignatureShareRequestSchema,
  SignatureShareResponseSchema,
} from '../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { dkgLifetimeMs, nodesWaitMs, pendingLifetimeMs, signingLifetimeMs } from '../proto/limits.ts';
import type { Roster } from '../proto/roster.ts';
import { decodeFrames, encodeFrame, type WireMessage } from '../proto/wire.ts';
import { Machine } from './machine.ts';
import {
  memoryCoordinatorStore,
  memoryNodeStore,
  type SyncStore,
  unreliableStore,
  type WriteFate,
} from './memory-stores.ts';
import { randomStream } from './random.ts';
import { VirtualTime } from './virtual-time.ts';

export interface SimOptions {
  readonly seed: string;
  readonly nodes?: number;
  readonly config?: Partial<Omit<SessionConfig, 'roster' | 'coordinatorBoot'>>;
  /** Sees every frame on its way, and decides what becomes of it. */
  readonly onFrame?: (envelope: Envelope<WireMessage>) => FrameFate;
  /** What becomes of the coordinator's writes, and of a node's. */
  readonly onCoordinatorWrite?: (write: CoordinatorWrite) => WriteFate;
  readonly onNodeWrite?: (nodeId: number, write: NodeWrite) => WriteFate;
}

/** true: it arrives. false: it is lost. Otherwise what arrives in its place, each after a delay of its own. */
export type FrameFate =
  | boolean
  | Envelope<WireMessage>
  | readonly { readonly envelope: Envelope<WireMessage>; readonly afterMs: number }[];

/** In whose name the gateway asks: a client's unless told otherwise. */
export type SimCaller = Pick<MessageInitShape<typeof CallSchema>, 'walletService' | 'walletTerms'>;

type NodeMachine = Machine<WireMessage, NodeWrite, NodeRecord>;

/** One simulated gateway asks in a tenant's name. */
export class SimCluster {
  readonly time = new VirtualTime();
  readonly roster: Roster;
  /** Every frame and event, one line each: the trace. */
  readonly trace: string[] = [];
  readonly events: { readonly address: Address; readonly event: ActorEvent }[] = [];
  readonly #options: SimOptions;
  readonly #identities: Uint8Array[];
  readonly #nodeStores: SyncStore<NodeWrite, NodeRecord>[];
  readonly #coordinatorStore = memoryCoordinatorStore();
  readonly #nodes = new Map<number, NodeMachine>();
  readonly #boots = new Map<string, number>();
  readonly #replies = new Map<bigint, (outcome: Uint8Array | CallError) => void>();
  #coordinator: Machine<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> | undefined;
  #coordinatorStarts = 0;
  #calls = 0n;

  constructor(options: SimOptions) {
    this.#options = options;
    const total = options.nodes ?? 5;
    const seedOf = (label: string) => randomStream(options.seed, `identity/${label}`)(32);
    this.#identities = Array.from({ length: total }, (_, index) => seedOf(`node/${index + 1}`));
    this.roster = {
      clusterId: `sim-${options.seed}`,
      coordinator: identityFromSeed(seedOf('coordinator')).publicKey,
      gateway: identityFromSeed(seedOf('gateway')).publicKey,
      nodes: this.#identities.map((seed, index) => ({ id: index + 1, publicKey: identityFromSeed(seed).publicKey })),
    };
    this.#nodeStores = this.#identities.map(() => memoryNodeStore());
    this.startCoordinator();
    for (let id = 1; id <= total; id += 1) this.startNode(id);
  }

  startCoordinator(): void {
    this.#coordinatorStarts += 1;
    const coordinatorBoot = this.#boot('coordinator');
    const config: SessionConfig = {
      resumeKey: randomStream(this.#options.seed, 'resume-key')(32),
      lifetimes: { signingMs: signingLifetimeMs, pendingMs: pendingLifetimeMs, dkgMs: dkgLifetimeMs },
      nodesWaitMs,
      partialTimeoutMs: 2000,
      sandbox: true,
      ...this.#options.config,
      roster: this.roster,
      coordinatorBoot,
    };
    this.#coordinator = new Machine<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>(
      {
        ...this.#world(),
        carry: (envelope) =>
          isLocal(envelope.message) ? 'noRoute' : this.#fromCoordinator(envelope as Envelope<WireMessage>),
      },
      {
        behaviours: coordinatorBehaviours(config, 'simulated'),
        store: unreliableStore(
          this.#coordinatorStore.as(this.#coordinatorStarts),
          this.#options.onCoordinatorWrite ?? (() => 'answered'),
        ),
        random: randomStream(this.#options.seed, coordinatorBoot),
        storeLatencyMs: 1,
      },
    );
    for (const id of this.#nodes.keys()) this.#peer('peerUp', id);
  }

  crashCoordinator(): void {
    this.#coordinator?.crash();
    this.#coordinator = undefined;
    for (const [callId, resolve] of this.#replies) {
      this.#replies.delete(callId);
      resolve({ $typeName: 'signmesh.wire.v1.CallError', code: 2, message: 'the coordinator is gone' });
    }
  }

  startNode(id: number): void {
    const boot = this.#boot(`node/${id}`);
    const identitySeed = this.#identities[id - 1]!;
    const { signer, dkg } = nodeBehaviours({ nodeId: id, boot, roster: this.roster, identitySeed, sandbox: undefined });
    const machine: NodeMachine = new Machine<WireMessage, NodeWrite, NodeRecord>(
      { ...this.#world(), carry: (envelope) => this.#toCoordinator(envelope) },
      {
        behaviours: [signer, dkg],
        store: unreliableStore(
          this.#nodeStores[id - 1]!,
          (write) => this.#options.onNodeWrite?.(id, write) ?? 'answered',
        ),
        random: randomStream(this.#options.seed, boot),
        storeLatencyMs: 1,
      },
    );
    this.#nodes.set(id, machine);
    this.#peer('peerUp', id);
  }

  crashNode(id: number): void {
    this.#nodes.get(id)?.crash();
    this.#nodes.delete(id);
    this.#peer('peerDown', id);
  }

  /** Whether a node's process is up. */
  isNodeUp(id: number): boolean {
    return this.#nodes.has(id);
  }

  get isCoordinatorUp(): boolean {
    return this.#coordinator !== undefined;
  }

  /** A node's Ed25519 seed, for tests in which it lies with its own signature. */
  identitySeed(id: number): Uint8Array {
    return this.#identities[id - 1]!;
  }

  /** What is durable of a session. */
  storedSession(tenant: string, sessionId: string): SessionRecord | undefined {
    const record = this.#coordinatorStore.as(this.#coordinatorStarts).loadNow(sessionKey(tenant, sessionId));
    return record?.kind === 'session' ? record.session : undefined;
  }

  /** The tenant's event log, oldest first: an event's sequence is its place, counted from 1. */
  eventLog(tenant: string): readonly LoggedEvent[] {
    return this.#coordinatorStore.events(tenant);
  }

  /** The coordinator looks for sessions past their lifetime. A live one does so by itself; here that would never end. */
  sweep(): void {
    this.#coordinator?.deliver({ from: 'runtime', to: expiryAddress, message: { kind: 'sweep' }, trace: quiet });
  }

  /** What a node has stored, for tests that play the thief. */
  nodeStore(id: number): SyncStore<NodeWrite, NodeRecord> {
    return this.#nodeStores[id - 1]!;
  }

  /** The five calls. Each resolves in virtual time: `run` until it does. */
  initiateDkg = this.#method(Method.INITIATE_DKG, InitiateDkgRequestSchema, InitiateDkgResponseSchema);
  exchangeDkgShares = this.#method(
    Method.EXCHANGE_DKG_SHARES,
    DkgShareExchangeRequestSchema,
    DkgShareExchangeResponseSchema,
  );
  initiateSigning = this.#method(Method.INITIATE_SIGNING, InitiateSigningRequestSchema, InitiateSigningResponseSchema);
  submitSignatureShare = this.#method(
    Method.SUBMIT_SIGNATURE_SHARE,
    SignatureShareRequestSchema,
    SignatureShareResponseSchema,
  );
  resumeSession = this.#method(Method.RESUME_SESSION, ResumeSessionRequestSchema, ResumeSessionResponseSchema);
  /** What the wallet control plane alone asks for; give them `{ walletService: true }`. */
  sign = this.#method(Method.SIGN, InitiateSigningRequestSchema, SignatureShareResponseSchema);
  closeKey = this.#method(Method.CLOSE_KEY, CloseKeyRequestSchema, CloseKeyResponseSchema);
  /** What a sandbox's gateway alone asks for. */
  inspectSession = this.#method(Method.INSPECT_SESSION, InspectSessionRequestSchema, InspectSessionResponseSchema);
  previewPartial = this.#method(Method.PREVIEW_PARTIAL, PreviewPartialRequestSchema, PreviewPartialResponseSchema);

  #method<Q extends DescMessage, A extends DescMessage>(method: Method, request: Q, response: A) {
    return (init: MessageInitShape<Q>, tenant = 'tn_sim', caller: SimCaller = {}): SimCall<MessageShape<A>> => {
      const call = new SimCall<MessageShape<A>>(this.time);
      this.#calls += 1n;
      const callId = this.#calls;
      this.#replies.set(callId, (outcome) => {
        if (outcome instanceof Uint8Array) call.answered(fromBinary(response, outcome));
        else call.failed(outcome);
      });
      const value = { callId, method, request: toBinary(request, create(request, init)), ...caller };
      const envelope = {
        from: 'gateway/sim',
        to: 'coordinator',
        message: wire({ tenant }, { case: 'call', value }),
        trace: quiet,
      };
      this.time.after(1, () => this.#coordinator?.deliver(envelope));
      return call;
    };
  }

  #world() {
    return {
      nowMs: () => this.time.nowMs(),
      after: (delayMs: number, task: () => void) => this.time.after(delayMs, task),
      observe: (address: Address, event: ActorEvent) => {
        this.events.push({ address, event });
        this.trace.push(`${this.time.nowMs()} ${address} ${event.type} ${JSON.stringify(event.fields)}`);
      },
    };
  }

  #fromCoordinator(envelope: Envelope<WireMessage>) {
    const [role, id] = envelope.to.split('/');
    if (role === 'node') {
      if (!this.#nodes.has(Number(id))) return 'noRoute' as const;
      this.#transmit(envelope, (arrived) => this.#nodes.get(Number(id))?.deliver(arrived));
      return undefined;
    }
    const { body } = envelope.message;
    if (role !== 'gateway' || body.case !== 'callReply') return role === 'gateway' ? undefined : ('noRoute' as const);
    this.#transmit(envelope, ({ message }) => {
      const reply = message.body;
      if (reply.case !== 'callReply') return;
      const { callId, outcome } = reply.value;
      const resolve = this.#replies.get(callId!);
      this.#replies.delete(callId!);
      resolve?.(outcome!.value as Uint8Array | CallError);
    });
    return undefined;
  }

  #toCoordinator(envelope: Envelope<WireMessage>) {
    const machine = this.#coordinator;
    if (!machine) return 'noRoute' as const;
    this.#transmit(envelope, (arrived) => {
      // A frame of a link that is gone does not arrive at the next coordinator.
      if (this.#coordinator === machine) machine.deliver(arrived);
    });
    return undefined;
  }

  /** Through the codec, as over a socket: what arrives shares nothing with what was sent. */
  #transmit(envelope: Envelope<WireMessage>, arrive: (envelope: Envelope<WireMessage>) => void): void {
    const fate = this.#options.onFrame?.(envelope) ?? true;
    if (fate === false) return;
    const parts = Array.isArray(fate) ? fate : [{ envelope: fate === true ? envelope : fate, afterMs: 1 }];
    for (const { envelope: sent, afterMs } of parts as readonly {
      envelope: Envelope<WireMessage>;
      afterMs: number;
    }[]) {
      const bytes = encodeFrame(sent);
      this.trace.push(
        `${this.time.nowMs()} ${sent.from} > ${sent.to} ${sent.message.body.case} ${Buffer.from(bytes).toString('base64')}`,
      );
      this.time.after(afterMs, () => {
        for (const arrived of decodeFrames(bytes)) arrive(arrived);
      });
    }
  }

  #peer(kind: 'peerUp' | 'peerDown', nodeId: number): void {
    const boot = `node/${nodeId}#${this.#boots.get(`node/${nodeId}`)}`;
    const message: LocalMessage = { kind, address: `node/${nodeId}`, role: 'node', nodeId, boot };
    this.#coordinator?.deliver({ from: 'runtime', to: clusterAddress, message, trace: quiet });
  }

  #boot(who: string): string {
    const count = (this.#boots.get(who) ?? 0) + 1;
    this.#boots.set(who, count);
    return `${who}#${count}`;
  }
}

/** A call on its way. */
export class SimCall<T> {
  readonly #time: VirtualTime;
  #answer: T | undefined;
  #error: CallError | undefined;
  #listener: ((answer: T) => void) | undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Called with the answer when it comes. */
  onAnswer(listener: (answer: T) => void): void {
    this.#listener = listener;
  }

  answered(answer: T): void {
    this.#answer = answer;
    this.#listener?.(answer);
  }

  failed(error: CallError): void {
    this.#error = error;
  }

  get isDone(): boolean {
    return this.#answer !== undefined || this.#error !== undefined;
  }

  /** Runs the world until the answer is there. Throws when the world runs dry first, or the call has no response. */
  result(): T {
    this.#time.runUntil(() => this.isDone);
    if (this.#error) throw new Error(`call failed: ${this.#error.code} ${this.#error.message}`);
    if (!this.#answer) throw new Error('nothing is left to happen, and the call has no answer');
    return this.#answer;
  }
}

const quiet = { correlationId: '', traceparent: '', deadlineMs: 0 };
