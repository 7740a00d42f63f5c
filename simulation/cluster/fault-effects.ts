/** Performs the orders of the fault engine on the parts of the simulated world. */
import type { Deliveries } from './deliveries.ts';
import type { WorldOrder } from './fault-service.ts';
import type { SimulatedNetwork } from './network.ts';
import type { Processes } from './processes.ts';
import type { Recorder } from './recorder.ts';
import type { StoreCopies } from './store-copies.ts';
import type { SimVendor } from './vendor.ts';

/** The parts that orders apply to. A world without a receiver has no deliveries. */
export interface OrderedParts {
  readonly processes: Processes;
  readonly network: SimulatedNetwork;
  readonly recorder: Recorder;
  readonly deliveries: Deliveries | undefined;
  readonly vendor: SimVendor;
  readonly copies: StoreCopies;
  secondCoordinator(on: boolean): void;
}

export function performOrder(order: WorldOrder, parts: OrderedParts): void {
  const { processes, network, recorder, deliveries, vendor, copies } = parts;
  switch (order.kind) {
    case 'crash':
      if (processes.has(order.process)) processes.crash(order.process, order.loseState, order.restartAfterMs);
      return;
    case 'copyStore':
      copies.keep(order.process, order.copy);
      return;
    case 'dropCopy':
      copies.drop(order.process, order.copy);
      return;
    case 'rollBack':
      if (!processes.has(order.process)) return;
      processes.crash(order.process, false, order.restartAfterMs);
      copies.restore(order.process, order.copy);
      return;
    case 'pause':
    case 'resume':
      if (processes.has(order.process)) processes[order.kind](order.process);
      return;
    case 'silence':
      network.silence(order.process, order.on);
      return;
    case 'secondProcess':
      if (order.process === 'coordinator') parts.secondCoordinator(order.on);
      else network.second(order.process, order.on);
      return;
    case 'deliver':
      for (const [index, arrivesMs] of network.deliver(order.peer, order.direction, order.envelopes).entries()) {
        recorder.released(order.envelopes[index]!, arrivesMs);
      }
      return;
    case 'clock':
      processes.setClock(order.process, order.offsetMs);
      recorder.clock(order.process, processes.clockOffsetMs(order.process));
      return;
    case 'redis':
      if (order.up) processes.start('redis', true);
      else processes.crash('redis', false, null);
      return;
    case 'worker':
      deliveries?.stall(order.stalled);
      return;
    case 'queue':
      if (order.what === 'double_delivery') deliveries?.double();
      else deliveries?.poison();
      return;
    case 'receiver':
      deliveries?.behave(order.behaviour);
      return;
    case 'vendor':
      vendor.behave(order.conduct);
  }
}
