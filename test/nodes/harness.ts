/**
 * A node without a process: its actors, a store in memory, and the effects performed at once, by the contract
 * (actors/contract.ts). Messages pass the wire's codec both ways, as they do between processes.
 */
import { createHash } from 'node:crypto';
import {
  type ActorEvent,
  type Address,
  type Behaviour,
  type Context,
  type Input,
  noTrace,
  type RandomBytes,
  type Step,
} from '../../actors/contract.ts';
import { refusedInput } from '../../actors/kernel/step.ts';
import { identityFromSeed } from '../../crypto/identity.ts';
import { nodeBehaviours } from '../../nodes/behaviours.ts';
import type { SandboxKeys } from '../../nodes/dkg/party.ts';
import { isLocal, type LocalNodeMessage, type NodeMessage } from '../../nodes/records/messages.ts';
import type { NodeRecord, NodeWrite } from '../../nodes/records/records.ts';
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
import { type OrderWish, orderFor } from '../support/orders.ts';

/** Deterministic bytes: SHA-256 in counter mode over a label. */
export function seededRandom(label: string): RandomBytes {
  let counter = 0;
  return (length) => {
    const bytes = new Uint8Array(length);
    for (let offset = 0; offset < length; offset += 32) {
      const block = createHash('sha256').update(`${label}/${counter}`).digest();
      counter += 1;
      bytes.set(block.subarray(0, Math.min(32, length - offset)), offset);
    }
    return bytes;
  };
}

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

// biome-ignore lint/suspicious/noExplicitAny: a harness for behaviours of any state.
type AnyBehaviour = Behaviour<any, NodeMessage, NodeWrite, NodeRecord>;
type NodeInput = Input<NodeMessage, NodeWrite, NodeRecord>;

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
  readonly timers: string[] = [];
  /** The next writes fail: their outcome is unknown to the actor. `applied`: they took hold all the same. */
  writesFail: 'no' | 'lost' | 'applied' = 'no';
  /** Loads wait here until `releaseLoads`, when set. */
  holdLoads = false;
  /** Its clock. */
  nowMs = 0;
  loadsFail = false;
  /** What an actor says to itself waits here until `releaseOwn`, when set: as behind other messages in its mailbox. */
  holdOwn = false;
  /** Writes that took hold. */
  writes = 0;
  readonly #own: { readonly to: Address; readonly message: LocalNodeMessage }[] = [];
  readonly #heldLoads: { readonly address: Address; readonly key: string }[] = [];
  readonly #roster: Roster;
  readonly #sandbox: SandboxKeys | undefined;
  readonly #allowClientDealers: boolean;
  readonly #random: RandomBytes;
  #boots = 0;
  #behaviours: readonly AnyBehaviour[] = [];
  #actors = new Map<Address, { readonly behaviour: AnyBehaviour; state: unknown }>();

  constructor(
    nodeId: number,
    roster: Roster,
    options: { sandbox?: SandboxKeys; label?: string; allowClientDealers?: boolean } = {},
  ) {
    this.nodeId = nodeId;
    this.#roster = roster;
    this.#sandbox = options.sandbox;
    this.#allowClientDealers = options.allowClientDealers ?? true;
    this.#random = seededRandom(options.label ?? `node ${nodeId}`);
    this.crash();
  }

  get boot(): string {
    return `boot-${this.nodeId}-${this.#boots}`;
  }

  /** Everything in memory is gone; the node starts again with a new boot id. */
  crash(): void {
    this.#boots += 1;
    this.#actors = new Map();
    this.#heldLoads.length = 0;
    this.#own.length = 0;
    const { nodeId, boot } = this;
    const identitySeed = identitySeedOf(nodeId);
    const { signer, dkg } = nodeBehaviours({
      nodeId,
      boot,
      roster: this.#roster,
      identitySeed,
      allowClientDealers: this.#allowClientDealers,
      sandbox: this.#sandbox,
    });
    this.#behaviours = [dkg, signer];
  }

  /** What a supervisor does after a bug: the actor starts anew, the process continues. */
  restartActor(address: Address): void {
    this.#actors.delete(address);
  }

  isRunning(address: Address): boolean {
    return this.#actors.has(address);
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
    const trace = { correlationId: 'c', traceparent: '', deadlineMs: 0 };
    const [envelope] = decodeFrames(encodeFrame({ from, to, message: { ...names, body }, trace }));
    return this.#feed(to, { kind: 'message', from, message: envelope!.message, trace });
  }

  /** A gateway's order for this node. */
  order(names: FrameNames, request: Parameters<typeof orderFor>[3], wish?: OrderWish): ReturnType<typeof orderFor> {
    const gateway = { roster: this.#roster, gatewaySeed: identitySeedOf(gatewayIdentity) };
    return orderFor(gateway, this.nodeId, names, request, wish);
  }

  fireTimer(address: Address, name: string): void {
    this.#feed(address, { kind: 'timer', name });
  }

  /** `read`: what a load had read before now, by key. */
  releaseLoads(read: readonly (readonly [string, NodeRecord])[] = []): Sent[] {
    this.holdLoads = false;
    const known = new Map(read);
    return this.#heldLoads
      .splice(0)
      .flatMap(({ address, key }) => this.#loaded(address, key, known.get(key) ?? this.records.get(key)));
  }

  releaseOwn(): Sent[] {
    this.holdOwn = false;
    return this.#own.splice(0).flatMap(({ to, message }) => this.#feedOwn(to, message));
  }

  #feedOwn(to: Address, message: LocalNodeMessage): Sent[] {
    return this.#feed(to, { kind: 'message', from: to, message, trace: noTrace });
  }

  #feed(address: Address, input: NodeInput): Sent[] {
    const running = this.#actors.get(address);
    if (running !== undefined) return this.#step(address, running.behaviour.receive, input);
    const behaviour = this.#behaviours.find(({ prefix }) => address.startsWith(prefix));
    if (behaviour === undefined) throw new Error(`no behaviour serves ${address}`);
    const key = behaviour.durableKey(address);
    const start = behaviour.start(key === undefined ? undefined : this.records.get(key), this.#context(address));
    this.#actors.set(address, { behaviour, state: start.state });
    const sent = this.#perform(address, start, input);
    return [...sent, ...this.#step(address, behaviour.receive, input)];
  }

  #step(address: Address, receive: AnyBehaviour['receive'], input: NodeInput): Sent[] {
    const actor = this.#actors.get(address)!;
    const step = receive(actor.state, input, this.#context(address));
    const persists = step.effects.flatMap((effect) => (effect.kind === 'persist' ? [effect.write] : []));
    if (persists.length > 1) throw new Error('a step persists at most once');
    for (const write of persists) {
      if (this.writesFail !== 'lost') this.#apply(write);
      if (this.writesFail !== 'no') {
        const refusal = { kind: 'unavailable', message: 'no store' } as const;
        return this.#step(address, receive, refusedInput(input, write, refusal));
      }
    }
    actor.state = step.state;
    return this.#perform(address, step, input);
  }

  #apply(write: NodeWrite): void {
    this.writes += 1;
    for (const { key, record } of write.puts) this.records.set(key, record);
    for (const key of write.deletes) this.records.delete(key);
  }

  #perform(address: Address, step: Step<unknown, NodeMessage, NodeWrite>, input: NodeInput): Sent[] {
    const sent: Sent[] = [];
    const wire = (to: Address, message: WireMessage) => {
      const trace = { correlationId: '', traceparent: '', deadlineMs: 0 };
      const [envelope] = decodeFrames(encodeFrame({ from: address, to, message, trace }));
      sent.push({ to, message: envelope!.message });
    };
    for (const effect of step.effects) {
      switch (effect.kind) {
        case 'reply':
          if (input.kind !== 'message') throw new Error('there is no caller to reply to');
          wire(input.from, effect.message as WireMessage);
          break;
        case 'send':
          if (!isLocal(effect.message)) wire(effect.to, effect.message);
          else if (this.holdOwn) this.#own.push({ to: effect.to, message: effect.message });
          else sent.push(...this.#feedOwn(effect.to, effect.message));
          break;
        case 'load':
          if (this.holdLoads) this.#heldLoads.push({ address, key: effect.key });
          else sent.push(...this.#loaded(address, effect.key, this.records.get(effect.key)));
          break;
        case 'startTimer':
          this.timers.push(`${address} ${effect.name} ${effect.afterMs}`);
          break;
        case 'emit':
          this.events.push({ address, event: effect.event });
          break;
        case 'stop':
          this.#actors.delete(address);
          break;
        case 'persist':
        case 'cancelTimer':
          break;
      }
    }
    return sent;
  }

  #loaded(address: Address, key: string, record: NodeRecord | undefined): Sent[] {
    if (this.loadsFail) return this.#feed(address, { kind: 'loadFailed', key, message: 'no store' });
    return this.#feed(address, { kind: 'loaded', key, record });
  }

  #context(self: Address): Context {
    return { self, nowMs: this.nowMs, random: this.#random };
  }
}
