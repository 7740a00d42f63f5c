/**
 * The machines of the simulated cluster: the real actors of coordinator/ and nodes/, each over its store, assembled as the
 * processes of the live world do (coordinator/main.ts, nodes/main.ts).
 */

import { coordinatorBehaviours } from '../../coordinator/behaviours.ts';
import type { SessionConfig } from '../../coordinator/contract/config.ts';
import {
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
} from '../../coordinator/contract/messages.ts';
import { failureReply } from '../../coordinator/failure-replies.ts';
import { NodeFrames } from '../../coordinator/node-frames.ts';
import type { Envelope, UndeliveredReason, WriteOutcome } from '../../core/actors/contract.ts';
import { type NodeIdentity, nodeBehaviours } from '../../nodes/behaviours.ts';
import { routeToHsm } from '../../nodes/hsm/routing.ts';
import type { HsmPort } from '../../nodes/records/hsm-port.ts';
import { isLocal as isLocalToNode, type NodeMessage } from '../../nodes/records/messages.ts';
import type { NodeRecord, NodeWrite } from '../../nodes/records/records.ts';
import type { VendorPort } from '../../nodes/records/vendor-port.ts';
import { routeToVendor } from '../../nodes/vendor/routing.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { WriteVerdict } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { Machine } from './machine.ts';
import type { LaterStore, World } from './machine-ports.ts';
import { type CalledStore, type RedisReach, storeSide } from './store-side.ts';

const storeLatencyMs = 1;

/** The world's ports for every member. */
export interface MemberPorts<W, R> extends Omit<World<never>, 'send' | 'deadLetter'> {
  readonly store: CalledStore<W, R>;
  readonly send: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
  readonly verdict: () => WriteVerdict | undefined;
  readonly readsFail: () => boolean;
  readonly wrote: ((write: W, outcome: WriteOutcome<R>['kind']) => void) | undefined;
}

export type NodeMachine = Machine<NodeMessage, NodeWrite, NodeRecord>;
export type CoordinatorMachine = Machine<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> & {
  /** A frame came over a link. */
  readonly arrived: (envelope: Envelope<WireMessage>) => UndeliveredReason | undefined;
};

// Local messages never leave the process: an address that no actor here serves has no route.

export function nodeMachine(
  identity: NodeIdentity,
  token: HsmPort,
  vendor: VendorPort,
  ports: MemberPorts<NodeWrite, NodeRecord>,
): NodeMachine {
  const behaviours = Object.values(nodeBehaviours(identity));
  const world: World<NodeMessage> = {
    ...ports,
    send: (envelope) => {
      if (!isLocalToNode(envelope.message)) return ports.send(envelope as Envelope<WireMessage>);
      // A process that died meanwhile gets no answer.
      const deliver = (answer: Envelope<NodeMessage>) => machine.deliver(answer);
      const routed = routeToHsm(token, envelope, deliver) || routeToVendor(vendor, envelope, deliver);
      return routed ? undefined : 'noRoute';
    },
    deadLetter: () => undefined,
  };
  const machine: NodeMachine = new Machine(
    world,
    behaviours,
    storeOf(ports, undefined, () => machine.isAlive),
  );
  return machine;
}

export function coordinatorMachine(
  config: SessionConfig,
  redis: RedisReach,
  ports: MemberPorts<CoordinatorWrite, CoordinatorRecord>,
  cryptoBackend = 'simulated',
  mailboxMax?: number,
): CoordinatorMachine {
  const world: World<CoordinatorMessage> = {
    ...ports,
    send: (envelope) => {
      if (isLocal(envelope.message)) return 'noRoute';
      nodeFrames.sent(envelope);
      return ports.send(envelope as Envelope<WireMessage>);
    },
    deadLetter: ({ cause }, envelope) => {
      const reply = envelope && failureReply(envelope, cause);
      if (reply) ports.send(reply);
    },
  };
  const own = coordinatorBehaviours(config, cryptoBackend);
  const isLimited = ({ prefix }: (typeof own)[number]) => prefix === 'signing' || prefix === 'dkg';
  const behaviours = own.map((each) => (mailboxMax === undefined || !isLimited(each) ? each : { ...each, mailboxMax }));
  const machine: Machine<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord> = new Machine(
    world,
    behaviours,
    storeOf(ports, redis, () => machine.isAlive),
  );
  const nodeFrames = new NodeFrames({
    elapsedMs: () => ports.time.nowMs(),
    deliver: (envelope) => machine.deliver(envelope),
    isInMemory: (address) => machine.has(address),
  });
  return Object.assign(machine, { arrived: (envelope: Envelope<WireMessage>) => nodeFrames.deliver(envelope) });
}

function storeOf<W, R>(
  ports: MemberPorts<W, R>,
  redis: RedisReach | undefined,
  isAlive: () => boolean,
): LaterStore<W, R> {
  const { time, store, verdict, readsFail, wrote } = ports;
  return storeSide({ time, store, latencyMs: storeLatencyMs, isAlive, verdict, readsFail, redis, wrote });
}
