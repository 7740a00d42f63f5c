/** A simulated cluster whose frames an engine decides upon: enough of a world for lies, losses and lateness. */
import { peerOf } from '../../../../core/actors/address.ts';
import type { WireBody, WireEnvelope } from '../../../../proto/wire.ts';
import { type FaultEngineOptions, faultEngine } from '../../../../scenarios/faults/engine.ts';
import type { FaultEngine, FrameInTransit, Order } from '../../../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../../../scenarios/faults/vocabulary/fault.ts';
import { pointOf } from '../../../../scenarios/faults/vocabulary/trigger-points.ts';
import { SimCluster, type SimOptions } from '../../../../simulation/cluster/cluster.ts';
import { randomStream } from '../../../../simulation/cluster/random.ts';

export class FaultFixture {
  readonly cluster: SimCluster;
  readonly engine: FaultEngine;
  /** What the engine ordered, in order. Nothing of it is performed. */
  readonly orders: Order[] = [];
  /** Frames as they were sent, and their fates. */
  readonly frames: { readonly frame: FrameInTransit; readonly arrivals: readonly WireEnvelope[] }[] = [];

  constructor(seed: string, nodes = 3, config: SimOptions['config'] = {}) {
    let engine: FaultEngine | undefined;
    this.cluster = new SimCluster({
      seed,
      nodes,
      config,
      onFrame: (envelope) => {
        if (engine === undefined) return true;
        const frame = inTransit(envelope);
        const { arrivals, orders } = engine.frame(frame, this.cluster.time.nowMs());
        this.orders.push(...orders);
        this.frames.push({ frame, arrivals: arrivals.map((arrival) => arrival.envelope) });
        return arrivals.map((arrival) => ({ envelope: arrival.envelope, afterMs: 1 + arrival.afterMs }));
      },
    });
    engine = faultEngine(this.options(seed, nodes));
    this.engine = engine;
  }

  options(seed: string, nodesTotal: number): FaultEngineOptions {
    return {
      nodesTotal,
      random: randomStream(seed, 'faults'),
      roster: this.cluster.roster,
      identitySeed: (id) => this.cluster.identitySeed(id),
      world: 'simulated',
    };
  }

  arm(fault: Fault): string {
    const { id, orders } = this.engine.arm(fault, this.cluster.time.nowMs());
    this.orders.push(...orders);
    return id;
  }

  triggerCount(id: string): number {
    return this.engine.list(this.cluster.time.nowMs()).find((one) => one.id === id)!.triggerCount;
  }
}

export function inTransit(envelope: WireEnvelope): FrameInTransit {
  const out = !/^(node|gateway)\//.test(envelope.to);
  const peer = peerOf(out ? envelope.from : envelope.to);
  return {
    peer: peer.startsWith('gateway') ? 'gateway' : peer,
    direction: out ? 'out' : 'in',
    point: pointOf((envelope.message.body as WireBody).case),
    envelope,
  };
}
