/**
 * The machines of the simulated cluster: the very actors of coordinator/ and nodes/, each over its store, as the processes
 * of the live world put them together (coordinator/main.ts, nodes/main.ts).
 */
import type {
  ActorEvent,
  Address,
  Envelope,
  RandomBytes,
  UndeliveredReason,
  WriteOutcome,
} from '../actors/contract.ts';
import { noTrace } from '../actors/contract.ts';
import { coordinatorBehaviours } from '../coordinator/behaviours.ts';
import type { SessionConfig } from '../coordinator/config.ts';
import {
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
  receivedBody,
  wire,
} from '../coordinator/messages.ts';
import type { WriteVerdict } from '../faults/engine-contract.ts';
import { type NodeIdentity, nodeBehaviours } from '../nodes/behaviours.ts';
import { isLocal as isLocalToNode, type NodeMessage } from '../nodes/messages.ts';
import type { NodeRecord, NodeWrite } from '../nodes/records.ts';
import { CallErrorCode } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { WireMessage } from '../proto/wire.ts';
import { Machine } from './machine.ts';
import type { DeadCause, LaterStore } from './machine-ports.ts';
import type { SyncStore } from './memory-stores.ts';
import { type Redis, storeSide } from './store-side.ts';
import type { VirtualTime } from './virtual-time.ts';

const storeLatencyMs = 1;

/** What every member asks of the world. */
export interface MemberPorts<W, R> {
  readonly time: VirtualTime;
  readonly nowMs: () => number;
  readonly random: RandomBytes;
  readonly store: SyncStore<W, R>;
  readonly send: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
  readonly observe: (address: Address, event: ActorEvent) => void;
  readonly stepped: ((address: Address, state: unknown) => void) | undefined;
  readonly bug: ((address: Address, error: unknown) => void) | undefined;
  readonly verdict: () => WriteVerdict | undefined;
  readonly readsFail: () => boolean;
  readonly wrote: ((write: W, outcome: WriteOutcome<R>['kind']) => void) | undefined;
}

export type NodeMachine = Machine<NodeMessage, NodeWrite, NodeRecord>;
export type CoordinatorMachine = Machine<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>;

export function nodeMachine(identity: NodeIdentity, ports: MemberPorts<NodeWrite, NodeRecord>): NodeMachine {
  const { signer, dkg } = nodeBehaviours(identity);
  const { time, nowMs, observe, stepped, bug, random } = ports;
  const { send } = ports;
  const world = {
    time,
    nowMs,
    observe,
    stepped,
    bug,
    carry: (envelope: Envelope<NodeMessage>) =>
      isLocalToNode(envelope.message) ? 'noRoute' : send(envelope as Envelope<WireMessage>),
    deadLetter: () => undefined,
  } as const;
  const machine: NodeMachine = new Machine(world, {
    behaviours: [signer, dkg],
    random,
    store: storeOf(ports, undefined, () => machine.isAlive),
  });
  return machine;
}

export function coordinatorMachine(
  config: SessionConfig,
  redis: Redis,
  ports: MemberPorts<CoordinatorWrite, CoordinatorRecord>,
): CoordinatorMachine {
  const { time, nowMs, observe, stepped, bug, random, send } = ports;
  const world = {
    time,
    nowMs,
    observe,
    stepped,
    bug,
    // Local messages never leave the process: an address that no actor here serves has no route.
    carry: (envelope: Envelope<CoordinatorMessage>) =>
      isLocal(envelope.message) ? 'noRoute' : send(envelope as Envelope<WireMessage>),
    deadLetter: (envelope: Envelope<CoordinatorMessage>, cause: DeadCause) => {
      if (cause === 'bug') answerError(send, envelope, CallErrorCode.INTERNAL, 'this call met a bug: please report it');
      else {
        const text = 'the session store cannot be reached: repeat the call';
        answerError(send, envelope, CallErrorCode.UNAVAILABLE, text);
      }
    },
  } as const;
  const machine: CoordinatorMachine = new Machine(world, {
    behaviours: coordinatorBehaviours(config, 'simulated'),
    random,
    store: storeOf(ports, redis, () => machine.isAlive),
  });
  return machine;
}

function storeOf<W, R>(ports: MemberPorts<W, R>, redis: Redis | undefined, isAlive: () => boolean): LaterStore<W, R> {
  const { time, store, verdict, readsFail, wrote } = ports;
  return storeSide({ time, store, latencyMs: storeLatencyMs, isAlive, verdict, readsFail, redis, wrote });
}

/** Tells a gateway that its call has no response; other messages have no caller. */
export function answerError(
  send: (envelope: Envelope<WireMessage>) => unknown,
  { from, message }: Envelope<CoordinatorMessage>,
  code: CallErrorCode,
  text: string,
): void {
  const call = callOf(from, message);
  if (call === undefined) return;
  const outcome = { case: 'error' as const, value: { code, message: text } };
  const reply = wire({}, { case: 'callReply', value: { callId: call.callId, outcome } });
  send({ from: 'coordinator', to: call.gateway, message: reply, trace: noTrace });
}

function callOf(
  from: Address,
  message: CoordinatorMessage,
): { readonly callId: bigint; readonly gateway: Address } | undefined {
  if (isLocal(message)) return 'call' in message ? message.call : undefined;
  const body = receivedBody(message);
  return body.case === 'call' ? { callId: body.value.callId, gateway: from } : undefined;
}
