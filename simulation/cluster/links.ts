/**
 * The links of a cluster's processes: its frames between coordinator, nodes and external processes, and the coordinator's news of
 * links that came up or broke.
 */
import type { LocalMessage } from '../../coordinator/contract/messages.ts';
import { failureReply } from '../../coordinator/failure-replies.ts';
import { peerOf } from '../../core/actors/address.ts';
import type { Envelope, RandomBytes, UndeliveredReason } from '../../core/actors/contract.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { ExternalEnds } from './external-processes.ts';
import type { FaultService } from './fault-service.ts';
import type { ReceivedEnvelope } from './frame-codec.ts';
import { frameFilter } from './frame-filter.ts';
import type { CoordinatorMachine, NodeMachine } from './members.ts';
import { type Direction, SimulatedNetwork } from './network.ts';
import type { SimOptions } from './options.ts';
import { type Life, nodeIdOf, type Processes } from './processes.ts';
import type { Recorder } from './recorder.ts';
import type { VirtualTime } from './virtual-time.ts';

export const linkTimeoutDefaultMs = 6_000;
const backOff = { minMs: 50, maxMs: 100 } as const;

/** The machines at the ends of the links. */
interface LinkedMachines {
  readonly coordinator: CoordinatorMachine | undefined;
  readonly replaced: CoordinatorMachine | undefined;
  node(id: number): NodeMachine | undefined;
  tell(message: LocalMessage): void;
}

interface LinkedParts {
  readonly time: VirtualTime;
  readonly recorder: Recorder;
  readonly processes: Processes;
  readonly faultService: FaultService;
  readonly ends: ExternalEnds;
  readonly machines: () => LinkedMachines;
  readonly random: (label: string) => RandomBytes;
  /** A frame leaves the coordinator or another process, as it would arrive. */
  readonly left: (received: ReceivedEnvelope) => void;
}

export class SimulatedLinks {
  readonly network: SimulatedNetwork;
  readonly #parts: LinkedParts;
  readonly #linkNewsMs: number;
  /** The process at the other end of each link. */
  readonly #linked = new Map<ProcessName, { readonly address: string; readonly boot: string }>();
  /** By peer and boot: news of a node's lost link that the coordinator has not heard yet. */
  readonly #lateNews = new Map<string, () => void>();

  constructor(parts: LinkedParts, nodes: readonly ProcessName[], options: SimOptions) {
    const { codec = 'bytes', latency = { minMs: 1, maxMs: 1 }, linkTimeoutMs = linkTimeoutDefaultMs } = options;
    const { time, random, recorder, processes, faultService, ends } = parts;
    this.#parts = parts;
    this.#linkNewsMs = options.linkNewsMs ?? 0;
    this.network = new SimulatedNetwork(
      {
        ...{ time, codec, latency, linkTimeoutMs, backOff, random },
        filter: frameFilter(faultService, options.onFrame),
        left: recorder.seesFrames
          ? (received, ...rest) => {
              recorder.frame(received, ...rest);
              parts.left(received);
            }
          : undefined,
        arrive: (peer, direction, envelope) => this.#arrive(peer, direction, envelope),
        stateOf: (process) => processes.stateOf(process),
        onUp: (peer, bySecond) => this.#up(peer, bySecond),
        onDown: (peer, why) => this.#down(peer, why),
      },
      [...new Set([...nodes, ...ends.names])],
    );
  }

  /** A process and its links. */
  lifeOf(process: ProcessName, life: Life): Life {
    const { network } = this;
    return {
      start: (boot, atOnce) => {
        life.start(boot, atOnce);
        network.started(process, atOnce);
      },
      crash: (loseState) => {
        life.crash(loseState);
        network.crashed(process);
      },
      pause: () => {
        life.pause();
        network.paused(process);
      },
      resume: () => {
        life.resume();
        network.resumed(process);
      },
    };
  }

  fromCoordinator(envelope: Envelope<WireMessage>): UndeliveredReason | undefined {
    const { to } = envelope;
    const peer = to.startsWith('node/') ? peerOf(to) : this.#parts.ends.nameAt(to);
    return peer === undefined || this.network.isHeld(peer) ? 'noRoute' : this.network.send(peer, 'in', envelope);
  }

  #arrive(peer: ProcessName, direction: Direction, envelope: ReceivedEnvelope): void {
    const { ends, machines } = this.#parts;
    const { coordinator, replaced } = machines();
    if (direction === 'in') {
      if (nodeIdOf(peer) === 0) ends.arrived(peer, envelope);
      else machines().node(nodeIdOf(peer))?.deliver(envelope);
    } else if (this.network.isHeld(peer)) {
      replaced?.arrived(envelope);
    } else if (coordinator?.arrived(envelope) !== undefined) {
      const reply = failureReply(envelope, 'overloaded');
      if (reply) this.fromCoordinator(reply);
    }
  }

  #up(peer: ProcessName, bySecond: boolean): void {
    const { ends, processes, recorder } = this.#parts;
    const external = ends.of(peer);
    const boot = bySecond ? `${peer}#second` : processes.bootOf(peer);
    this.#linked.set(peer, { address: external[0]?.address() ?? peer, boot });
    recorder.link(peer, 'linkUp', boot);
    // The link server ends the older link of one process before it admits the next.
    this.#lateNews.get(`${peer} ${boot}`)?.();
    this.#tell('peerUp', peer);
    for (const end of external) end.linked(true);
  }

  #down(peer: ProcessName, why: string): void {
    const { ends, faultService, recorder } = this.#parts;
    recorder.link(peer, 'linkDown', why);
    faultService.linkDown(peer);
    if (!this.network.isHeld(peer)) this.#tellDown(peer);
    for (const end of ends.of(peer)) end.linked(false);
  }

  #tell(kind: 'peerUp' | 'peerDown', peer: ProcessName, linked = this.#linked.get(peer)!): void {
    const nodeId = nodeIdOf(peer);
    const role = nodeId === 0 ? 'gateway' : 'node';
    this.#parts.machines().tell({ kind, ...linked, role, nodeId });
  }

  /** At once, or later: then the peer's next process may have its link already. */
  #tellDown(peer: ProcessName): void {
    if (this.#linkNewsMs === 0 || nodeIdOf(peer) === 0) {
      this.#tell('peerDown', peer);
      return;
    }
    const { machines, time } = this.#parts;
    const { coordinator } = machines();
    const linked = this.#linked.get(peer)!;
    const name = `${peer} ${linked.boot}`;
    const tell = () => {
      cancel();
      if (this.#lateNews.get(name) === tell) this.#lateNews.delete(name);
      if (machines().coordinator === coordinator) this.#tell('peerDown', peer, linked);
    };
    const cancel = time.after(this.#linkNewsMs, tell);
    this.#lateNews.set(name, tell);
  }
}
