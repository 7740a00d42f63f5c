/**
 * A coordinator alone: its actors on the kernel, a store in memory whose answers a test decides, and real nodes
 * (test/nodes/harness.ts) whose frames a test holds, changes or drops. Two rules hold in every test: no actor throws, and no call is
 * answered twice.
 */
import { expect } from 'vitest';
import { coordinatorBehaviours } from '../../../coordinator/behaviours.ts';
import type { SessionConfig } from '../../../coordinator/contract/config.ts';
import {
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
  type LocalMessage,
} from '../../../coordinator/contract/messages.ts';
import { failureReply } from '../../../coordinator/failure-replies.ts';
import { type Address, type Envelope, noTrace, type UndeliveredReason } from '../../../core/actors/contract.ts';
import { orderIssuer } from '../../../gateway/signing/order-issuer.ts';
import { CallErrorCode, type CallReply } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { Scheme } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { DiagnosticReceipt, SessionCheckpoint } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import {
  type CallCase,
  type CallRequest,
  decodeFrames,
  encodeFrame,
  type WireBody,
  type WireBodyInit,
  type WireMessage,
} from '../../../proto/wire.ts';
import { Machine } from '../../../simulation/cluster/machine.ts';
import { randomStream } from '../../../simulation/cluster/random.ts';
import { VirtualTime } from '../../../simulation/cluster/virtual-time.ts';
import { type FrameNames, identitySeedOf, rosterOf, TestNode } from '../../nodes/harness.ts';
import { SteeredStore, tenant } from './steered-store.ts';

export const gateway = 'gateway/a';
const gatewayIdentity = 202;
/** Less than any timer. */
const atOnceMs = 0.01;

/** One message between a node and an actor of the coordinator. */
export interface Frame {
  readonly node: number;
  readonly from: Address;
  readonly to: Address;
  readonly names: FrameNames;
  readonly body: WireBody;
}

export interface Caller {
  readonly walletService?: boolean;
  readonly keyScheme?: Scheme;
}

interface Answer {
  readonly receipt?: DiagnosticReceipt;
  readonly checkpoint?: SessionCheckpoint;
  // biome-ignore lint/suspicious/noExplicitAny: the call names the type of its answer, which no lookup expresses
  readonly [field: string]: any;
}

export class CoordinatorAlone {
  readonly time = new VirtualTime();
  readonly nodes: readonly TestNode[];
  readonly config: SessionConfig;
  readonly store = new SteeredStore(this.time);
  /** Requests that no node has handled, oldest first. */
  asked: Frame[] = [];
  /** What nodes answered and the coordinator has not heard, oldest first. */
  answers: Frame[] = [];
  /** Local messages that left for other processes, and frames that were no request: where to, and which. */
  said: { readonly to: Address; readonly kind: string }[] = [];
  /** How far its clock is ahead of its timers. */
  aheadMs = 0;
  /** The session that the gateway's next orders name; empty: a new one each time. */
  sessionNamed = '';
  /** Nodes deal no nonces until `release`, when set. */
  holdsNonces = false;
  readonly #undealt: (() => void)[] = [];
  readonly #replies = new Map<bigint, CallReply['outcome']>();
  readonly #orders;
  #machine!: Machine<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>;
  #calls = 0n;
  #starts = 0;

  constructor(nodesTotal = 5, options: Partial<SessionConfig> = {}) {
    const roster = rosterOf(nodesTotal);
    const random = randomStream('alone', 'gateway');
    this.nodes = roster.nodes.map(({ id }) => new TestNode(id, roster));
    this.#orders = orderIssuer({ roster, identitySeed: identitySeedOf(gatewayIdentity), random });
    this.config = {
      resumeKey: new Uint8Array(32).fill(7),
      roster,
      lifetimes: { signingMs: 60_000, pendingMs: 90_000, dkgMs: 60_000 },
      nodesWaitMs: 4_000,
      partialTimeoutMs: 1_000,
      coordinatorBoot: 'boot',
      sandbox: true,
      nonceBatchFirst: 2,
      ...options,
    };
    this.restart();
  }

  /** Everything in memory is gone; every node is linked again. */
  restart(): void {
    this.#machine?.crash();
    this.#starts += 1;
    this.asked = [];
    this.answers = [];
    const config = { ...this.config, coordinatorBoot: `boot-${this.#starts}` };
    this.#machine = new Machine(
      {
        time: this.time,
        nowMs: () => this.nowMs,
        random: randomStream('alone', `coordinator ${this.#starts}`),
        send: (envelope) => this.#leaves(envelope),
        emit: () => undefined,
        stepped: undefined,
        bug: (_, error) => {
          throw error;
        },
        deadLetter: ({ cause }, envelope) => {
          const reply = envelope && failureReply(envelope, cause);
          if (reply) this.#leaves(reply);
        },
      },
      coordinatorBehaviours(config, 'model'),
      this.store,
    );
    this.tell('cluster', { kind: 'peerUp', address: gateway, role: 'gateway', nodeId: 0, boot: 'g' });
    for (const { nodeId } of this.nodes) this.linkUp(nodeId);
  }

  linkUp(nodeId: number): void {
    const { boot } = this.nodes[nodeId - 1]!;
    this.tell('cluster', { kind: 'peerUp', address: `node/${nodeId}`, role: 'node', nodeId, boot });
  }

  linkDown(nodeId: number): void {
    const { boot } = this.nodes[nodeId - 1]!;
    this.tell('cluster', { kind: 'peerDown', address: `node/${nodeId}`, role: 'node', nodeId, boot });
  }

  /** A message of another actor, or of the runtime. */
  tell(to: Address, message: LocalMessage, from: Address = 'runtime'): void {
    this.#deliver({ from, to, message, trace: noTrace });
    this.pass(atOnceMs);
  }

  #deliver(envelope: Envelope<CoordinatorMessage>): void {
    const refused = this.#machine.deliver(envelope);
    if (refused !== undefined) throw new Error(`${envelope.to} did not take a message: ${refused}`);
  }

  pass(ms: number): void {
    this.time.advance(ms);
  }

  /** The clock of the coordinator and its gateway. */
  get nowMs(): number {
    return Math.floor(this.time.nowMs()) + this.aheadMs;
  }

  /** Releases what the store and the nodes held back. */
  release(): void {
    this.store.release();
    this.holdsNonces = false;
    for (const deal of this.#undealt.splice(0)) deal();
    this.pass(atOnceMs);
  }

  /** `perform` changes nothing that is stored. */
  unchanged<T>(perform: () => T): T {
    const before = this.store.writes;
    const result = perform();
    expect(this.store.writes).toBe(before);
    return result;
  }

  // --- calls ---------------------------------------------------------------------------------------------------------

  /** A gateway's call, which every actor that can has handled. */
  call(asked: CallCase, value: object, caller: Caller = {}): bigint {
    this.#calls += 1n;
    const callId = this.#calls;
    const { walletService = false } = caller;
    const frame = (more: object) => {
      const body = { case: 'call', value: { callId, request: { case: asked, value }, ...caller, ...more } };
      const message = { tenant, session: '', attempt: 0, body: body as unknown as WireBodyInit };
      return decodeFrames(encodeFrame({ from: gateway, to: 'coordinator', message, trace: noTrace }))[0]!;
    };
    const { body } = frame({}).message;
    const { request } = body.value as { request: CallRequest };
    const sessionId = this.sessionNamed || undefined;
    const orders = this.#orders({ tenant, request, walletService, walletTerms: undefined, sessionId }, this.nowMs);
    this.#deliver(frame(orders) as Envelope<CoordinatorMessage>);
    this.pass(atOnceMs);
    return callId;
  }

  /** Its response. */
  answer(callId: bigint): Answer {
    const outcome = this.#replies.get(callId);
    return (outcome?.value ?? {}) as Answer;
  }

  /** The reason code of its receipt, or the name of its error; "waits" without an answer. */
  code(callId: bigint): string {
    const outcome = this.#replies.get(callId);
    if (outcome?.case === undefined) return 'waits';
    if (outcome.case === 'error') return CallErrorCode[outcome.value.code]!;
    const { receipt, reasonCode } = outcome.value as unknown as Answer;
    return receipt?.reasonCode ?? reasonCode ?? outcome.case;
  }

  // --- nodes ---------------------------------------------------------------------------------------------------------

  #leaves(sent: Envelope<CoordinatorMessage>): UndeliveredReason | undefined {
    if (isLocal(sent.message)) {
      this.said.push({ to: sent.to, kind: sent.message.kind });
      return undefined;
    }
    const [{ to, from, message }] = decodeFrames(encodeFrame(sent as Envelope<WireMessage>)) as [Envelope<WireMessage>];
    const { body, ...names } = message as WireMessage & { readonly body: WireBody };
    if (body.case === 'callReply') {
      const { callId, outcome } = body.value;
      if (this.#replies.has(callId)) throw new Error(`call ${callId} is answered twice`);
      this.#replies.set(callId, outcome);
      return undefined;
    }
    const node = Number(/^node\/(\d+)/.exec(to)?.[1]);
    const frame = { node, from, to, names, body };
    if (body.case === 'dealNonces') this.#soonDealt(frame);
    else if (requests.has(body.case!)) this.asked.push(frame);
    else this.said.push({ to, kind: body.case! });
    return undefined;
  }

  #soonDealt(frame: Frame): void {
    const deal = () => {
      for (const answer of this.#handledBy(frame)) this.hear(answer);
    };
    this.time.after(0, () => (this.holdsNonces ? void this.#undealt.push(deal) : deal()));
  }

  #handledBy({ node, from, to, names, body }: Frame): Frame[] {
    const sent = this.nodes[node - 1]!.send(to, names, body as WireBodyInit, from);
    return sent.map(({ to: receiver, message }) => {
      const { body: said, ...about } = message;
      return { node, from: to, to: receiver, names: about, body: said };
    });
  }

  /** The nodes handle what they were asked; nodes in `mute` do not get it. */
  deliver(mute: readonly number[] = []): void {
    for (const frame of this.asked.splice(0)) {
      if (!mute.includes(frame.node)) this.answers.push(...this.#handledBy(frame));
    }
  }

  /** A node's answer arrives, as it is or with another body. */
  hear({ from, to, names, body }: Frame, changed: object = body): void {
    const message = { ...names, body: changed as WireBodyInit };
    const [envelope] = decodeFrames(encodeFrame({ from, to, message, trace: noTrace }));
    this.#deliver(envelope as Envelope<CoordinatorMessage>);
    this.pass(atOnceMs);
  }

  /** Honest nodes answer until no request is left. `change` gives other bodies for an answer. */
  serve(
    change: (answer: Frame) => readonly object[] | undefined = () => undefined,
    mute: readonly number[] = [],
  ): void {
    for (let left = 40; left > 0; left -= 1) {
      this.deliver(mute);
      const answers = this.answers.splice(0);
      if (answers.length === 0) return;
      for (const answer of answers) for (const body of change(answer) ?? [answer.body]) this.hear(answer, body);
    }
  }
}

/** A node answers each of them. */
const requests: ReadonlySet<string> = new Set([
  ...['dkgOpen', 'dkgSeal', 'dkgVerify', 'dkgConfirm', 'dkgDiscard'],
  ...['partialRequest', 'deleteKey'],
]);
