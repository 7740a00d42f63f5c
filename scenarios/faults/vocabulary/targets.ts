/** The targets of a fault: the names in its file, and the processes and links that they mean. */
import type { FrameInTransit, ProcessName } from './engine-contract.ts';
import type { Fault } from './fault.ts';

/** Each name once, as in the fault: "node/2", "node/*", "coordinator". A kind without a target has one process. */
export function targetsOf(fault: Fault): readonly ProcessName[] {
  if ('target' in fault)
    return typeof fault.target === 'string' ? [firstOf(fault.target)] : [...new Set(fault.target.map(firstOf))];
  switch (fault.fault) {
    case 'redis_gone':
      return ['redis'];
    case 'worker_stalled':
    case 'double_delivery':
    case 'poison_job':
      return ['worker'];
    case 'receiver_status':
    case 'receiver_slow':
    case 'receiver_reset':
      return ['receiver'];
    case 'vendor_fails':
      return ['vendor'];
    case 'provider_fails':
      return ['provider'];
    case 'force_receipt':
    case 'answer_lost':
    case 'answer_slow':
    case 'answer_status':
    case 'answer_cut':
      return ['gateway'];
  }
}

/** The first gateway and the first worker have no number in their names. */
export function firstOf(name: ProcessName): ProcessName {
  return name === 'gateway/1' || name === 'worker/1' ? name.slice(0, -2) : name;
}

export function isGateway(name: ProcessName): boolean {
  return /^gateway(\/[1-9])?$/.test(name);
}

export function isWorker(name: ProcessName): boolean {
  return /^worker(\/[1-9])?$/.test(name);
}

export function nodeName(id: number): ProcessName {
  return `node/${id}`;
}

/** The node's id; 0 for other processes, and for node/*. */
export function nodeIdOf(name: ProcessName): number {
  return name.startsWith('node/') ? Number(name.slice(5)) || 0 : 0;
}

/** The processes that the names mean. node/* is the frame's node when the frame has one, and all
 * nodes otherwise.
 */
export function processesOf(
  targets: readonly ProcessName[],
  nodesTotal: number,
  frame?: FrameInTransit,
): readonly ProcessName[] {
  const found = new Set<ProcessName>();
  for (const target of targets) {
    if (target !== 'node/*') found.add(target);
    else if (frame !== undefined && nodeIdOf(frame.peer) > 0) found.add(frame.peer);
    else for (let id = 1; id <= nodesTotal; id += 1) found.add(nodeName(id));
  }
  return [...found];
}

/** The peers whose links connect these processes. Every link connects a peer with the coordinator. */
export function peersOf(
  processes: readonly ProcessName[],
  { nodesTotal, gateways = 1 }: { readonly nodesTotal: number; readonly gateways?: number },
): readonly ProcessName[] {
  const peers = new Set<ProcessName>();
  for (const one of processes) {
    if (one !== 'coordinator') peers.add(one);
    else {
      for (const peer of processesOf(['node/*'], nodesTotal)) peers.add(peer);
      for (let number = 1; number <= gateways; number += 1) peers.add(firstOf(`gateway/${number}`));
    }
  }
  return [...peers];
}

/** Whether a frame passes to or from this process; `direction` from its side. */
export function passesBy(
  name: ProcessName,
  peer: ProcessName,
  direction: 'in' | 'out',
  wanted: 'in' | 'out' | 'both' = 'both',
): boolean {
  // `out` for a peer is `in` for the coordinator.
  if (name === 'coordinator') return wanted === 'both' || wanted !== direction;
  if (name !== peer && !(name === 'node/*' && peer.startsWith('node/'))) return false;
  return wanted === 'both' || wanted === direction;
}

/** The sender of a frame. */
export function senderOf({ peer, direction }: Pick<FrameInTransit, 'peer' | 'direction'>): ProcessName {
  return direction === 'out' ? peer : 'coordinator';
}
