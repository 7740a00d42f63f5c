/**
 * A node alone in the simulated world: its actors on the kernel (simulation/cluster/machine.ts), and a store that a test can make slow or
 * failing. Messages pass the wire's codec both ways, as they do between processes.
 */
import {
  type ActorEvent,
  type Address,
  type Behaviour,
  type Envelope,
  noTrace,
  type RandomBytes,
} from '../../core/actors/contract.ts';
import type { Found, Written } from '../../core/actors/kernel/host.ts';
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { nodeBehaviours } from '../../nodes/behaviours.ts';
import type { SandboxKeys } from '../../nodes/dkg/party.ts';
import { routeToHsm } from '../../nodes/hsm/routing.ts';
import { type HsmOutcome, type HsmPort, unconfigured } from '../../nodes/records/hsm-port.ts';
import { isLocal, type NodeMessage } from '../../nodes/records/messages.ts';
import type { NodeRecord, NodeWrite } from '../../nodes/records/records.ts';
import { noVendor } from '../../nodes/vendor/http-vendor.ts';
import { routeToVendor } from '../../nodes/vendor/routing.ts';
import type { Roster } from '../../proto/roster.ts';
import {
  decodeFrames,
  encodeFrame,
  type ReceivedWireMessage,
  type WireBody,
  type WireBodyInit,
  type WireCase,
  type WireMessage,
} from '../../proto/wire.ts';
import { Machine } from '../../simulation/cluster/machine.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { VirtualTime } from '../../simulation/cluster/virtual-time.ts';
import { type OrderWish, orderFor } from '../support/orders.ts';

const gatewayIdentity = 202;
export const identitySeedOf = (nodeId: number): Uint8Array => new Uint8Array(32).fill(nodeId);

export function rosterOf(nodes: number): Roster {
  const identity = (id: number) => identityFromSeed(identitySeedOf(id)).publicKey;
  return {
    clusterId: 'cl_test',
    nodes: Array.from({ length: nodes }, (_, index) => ({ id: index + 1, publicKey: identity(index + 1) })),
    coordinator: identity(201),
    gateway: identity(gatewayIdentity),
  };
}

/** What a message came back as. */
export interface Sent {
  readonly to: Address;
  readonly message: ReceivedWireMessage;
}

type BodyOf<C extends WireCase> = Extract<WireBody, { case: C }>['value'];

/** The body of the one answer, which must be of this case. */
export function only<C extends WireCase>(sent: readonly Sent[], bodyCase: C): BodyOf<C> {
  if (sent.length !== 1) throw new Error(`expected one answer, got ${sent.length}`);
  const { body } = sent[0]!.message;
  if (body.case !== bodyCase) throw new Error(`expected ${bodyCase}, got ${JSON.stringify(body.case)}`);
  return body.value as BodyOf<C>;
}

// biome-ignore lint/suspicious/noExplicitAny: behaviours of any state.
type AnyBehaviour = Behaviour<any, NodeMessage, NodeWrite, NodeRecord>;

export interface FrameNames {
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
}

export class TestNode {
  readonly nodeId: number;
  /** What is durable. It survives `crash`. */
  readonly records = new Map<string, NodeRecord>();
  readonly events: { readonly address: Address; readonly event: ActorEvent }[] = [];
  /** The next writes fail: their outcome is unknown to the actor. `applied`: they took hold all the same. */
  writesFail: 'no' | 'lost' | 'applied' = 'no';
  /** What actors read while they run waits here until `releaseLoads`, when set. */
  holdLoads = false;
  /** Its clock. */
  nowMs = 0;
  loadsFail = false;
  /** What an actor says to itself waits here until `releaseOwn`, when set: as behind other messages in its mailbox. */
  holdOwn = false;
  /** Writes that took hold. */
  writes = 0;
  readonly #own: Envelope<NodeMessage>[] = [];
  readonly #heldLoads: { readonly key: string; readonly answer: (found: Found<NodeRecord>) => void }[] = [];
  readonly #roster: Roster;
  readonly #sandbox: SandboxKeys | undefined;
  readonly #allowClientDealers: boolean;
  readonly #random: RandomBytes;
  readonly #time = new VirtualTime();
  readonly #running = new Set<Address>();
  readonly #token: HsmPort;
  /** The next input makes this actor throw. */
  #failing: Address | undefined;
  #sent: Sent[] = [];
  #boots = 0;
  #machine!: Machine<NodeMessage, NodeWrite, NodeRecord>;

  constructor(
    nodeId: number,
    roster: Roster,
    options: { sandbox?: SandboxKeys; label?: string; allowClientDealers?: boolean; tokenSays?: HsmOutcome } = {},
  ) {
    this.nodeId = nodeId;
    this.#roster = roster;
    this.#sandbox = options.sandbox;
    this.#allowClientDealers = options.allowClientDealers ?? true;
    this.#token = { ask: (_, answer) => this.#later(() => answer(options.tokenSays ?? unconfigured)) };
    this.#random = randomStream(options.label ?? `node ${nodeId}`, 'node');
    this.crash();
  }

  get boot(): string {
    return `boot-${this.nodeId}-${this.#boots}`;
  }

  /** Everything in memory is gone; the node starts again with a new boot id. */
  crash(): void {
    this.#boots += 1;
    this.#machine?.crash();
    this.#running.clear();
    this.#heldLoads.length = 0;
    this.#own.length = 0;
    const { nodeId, boot } = this;
    const { signer, dkg } = nodeBehaviours({
      nodeId,
      boot,
      roster: this.#roster,
      identitySeed: identitySeedOf(nodeId),
      allowClientDealers: this.#allowClientDealers,
      sandbox: this.#sandbox,
    });
    this.#machine = new Machine(
      {
        time: this.#time,
        nowMs: () => this.nowMs,
        random: this.#random,
        send: (envelope) => this.#leaves(envelope),
        emit: (address, event) => void this.events.push({ address, event }),
        stepped: undefined,
        bug: (_address, error) => {
          if (error !== plannedBug) throw error;
        },
        deadLetter: () => undefined,
      },
      [this.#watched(dkg), this.#watched(signer)],
      { load: (key, answer) => this.#load(key, answer), write: (write, answer) => this.#write(write, answer) },
    );
  }

  /** Makes the actor throw over an input, so that its supervisor restarts it. The process keeps running. */
  restartActor(address: Address): void {
    this.#failing = address;
    this.#machine.deliver({ from: address, to: address, message: {} as NodeMessage, trace: noTrace });
    this.elapse(longestRestartPauseMs);
  }

  isRunning(address: Address): boolean {
    return this.#running.has(address);
  }

  dkg(names: FrameNames, body: WireBodyInit, to?: Address): Sent[] {
    const address = to ?? `node/${this.nodeId}/dkg/${names.tenant}/${names.session}`;
    return this.send(address, names, body);
  }

  signer(names: FrameNames, body: WireBodyInit): Sent[] {
    return this.send(`node/${this.nodeId}`, names, body);
  }

  /** Delivers a message and returns everything that was sent because of it. */
  send(to: Address, names: FrameNames, body: WireBodyInit, from: Address = 'coordinator'): Sent[] {
    const trace = { correlationId: 'c', traceparent: '' };
    const [envelope] = decodeFrames(encodeFrame({ from, to, message: { ...names, body }, trace }));
    return this.#deliver([envelope!]);
  }

  /** A gateway's order for this node. */
  order(names: FrameNames, request: Parameters<typeof orderFor>[3], wish?: OrderWish): ReturnType<typeof orderFor> {
    const gateway = { roster: this.#roster, gatewaySeed: identitySeedOf(gatewayIdentity) };
    return orderFor(gateway, this.nodeId, names, request, wish);
  }

  /** Timers fire that are due by then. Its clock stands still. */
  elapse(ms: number): Sent[] {
    this.#time.advance(ms);
    return this.#sent.splice(0);
  }

  /** `read`: what a load had read before now, by key. */
  releaseLoads(read: readonly (readonly [string, NodeRecord])[] = []): Sent[] {
    this.holdLoads = false;
    const known = new Map(read);
    const held = this.#heldLoads.splice(0);
    return held.flatMap(({ key, answer }) => {
      answer({ record: known.get(key) ?? this.records.get(key) });
      return this.elapse(atOnceMs);
    });
  }

  releaseOwn(): Sent[] {
    this.holdOwn = false;
    return this.#deliver(this.#own.splice(0));
  }

  #deliver(envelopes: readonly Envelope<NodeMessage>[]): Sent[] {
    return envelopes.flatMap((envelope) => {
      const refused = this.#machine.deliver(envelope);
      if (refused !== undefined) throw new Error(`${envelope.to} did not take a message: ${refused}`);
      return this.elapse(atOnceMs);
    });
  }

  /** Notes whether the actor runs, throws on request, and holds back what the actor sends to itself. */
  #watched(behaviour: AnyBehaviour): AnyBehaviour {
    return {
      ...behaviour,
      start: (record, context) => {
        this.#running.add(context.self);
        return behaviour.start(record, context);
      },
      receive: (state, input, context) => {
        const { self } = context;
        if (this.#failing === self) {
          this.#failing = undefined;
          throw plannedBug;
        }
        const step = behaviour.receive(state, input, context);
        if (step.effects.some(({ kind }) => kind === 'stop')) this.#running.delete(self);
        if (!this.holdOwn) return step;
        const [own, others] = partition(step.effects, (effect) => effect.kind === 'send' && isLocal(effect.message));
        for (const effect of own) {
          if (effect.kind === 'send') {
            this.#own.push({ from: self, to: effect.to, message: effect.message, trace: noTrace });
          }
        }
        return { ...step, effects: others };
      },
    };
  }

  #leaves(sent: Envelope<NodeMessage>): undefined {
    const { from, to, message, trace } = sent;
    const deliver = (answer: Envelope<NodeMessage>) => void this.#machine.deliver(answer);
    if (routeToHsm(this.#token, sent, deliver) || routeToVendor(noVendor, sent, deliver)) return;
    const [envelope] = decodeFrames(encodeFrame({ from, to, message: message as WireMessage, trace }));
    this.#sent.push({ to, message: envelope!.message });
  }

  #load(key: string, answer: (found: Found<NodeRecord>) => void): void {
    if (this.holdLoads) this.#heldLoads.push({ key, answer });
    else if (this.loadsFail) this.#later(() => answer(noStore));
    else this.#later(() => answer({ record: this.records.get(key) }));
  }

  #write(write: NodeWrite, answer: (written: Written<NodeRecord>) => void): void {
    if (this.writesFail !== 'lost') {
      this.writes += 1;
      for (const { key, record } of write.puts) this.records.set(key, record);
      for (const key of write.deletes) this.records.delete(key);
    }
    const isKnown = this.writesFail === 'no';
    this.#later(() => answer(isKnown ? { kind: 'written' } : noStore));
  }

  #later(run: () => void): void {
    this.#time.after(0, run);
  }
}

/** Less than any timer. */
const atOnceMs = 0.01;
/** More than a supervisor waits before any restart, less than any timer of these actors. */
const longestRestartPauseMs = 6_000;
const plannedBug = new Error('planned');
const noStore = { kind: 'unavailable', message: 'no store' } as const;

function partition<T>(items: readonly T[], belongs: (item: T) => boolean): [T[], T[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))];
}
