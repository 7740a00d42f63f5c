/**
 * The fault planes of several clusters as one: each has an engine, links and processes of its own, and its own names for them
 * (names.ts). A fault belongs to the cluster of its targets. What is no cluster's (gateways, workers, Redis, the receiver) is
 * in the plane of cluster 1; links of gateways are in each.
 */
import { type ArmedFault, ControlError } from '../faults/control.ts';
import type { ReceiverBehaviour } from '../faults/vocabulary/engine-contract.ts';
import type { Fault } from '../faults/vocabulary/fault.ts';
import type { FaultPlane } from './fault-plane.ts';
import { processIn, splitName } from './names.ts';
import type { ProcessControl } from './ports.ts';
import type { Recorder } from './recorder.ts';

/** What the control of a sandbox needs of one or several. */
export type Plane = Pick<
  FaultPlane,
  | 'arm'
  | 'clear'
  | 'clockOffsetMs'
  | 'clockOffsetOf'
  | 'cut'
  | 'disarm'
  | 'isLinked'
  | 'list'
  | 'receiver'
  | 'recorder'
  | 'rightClocks'
  | 'setClock'
  | 'step'
  | 'untilLinked'
>;

export class ManyPlanes implements Plane {
  /** By number, from 1. */
  readonly #planes: readonly FaultPlane[];
  /** The cluster of each fault, by its id. */
  readonly #clusters = new Map<string, number>();
  #named = 0;

  constructor(planes: readonly FaultPlane[]) {
    this.#planes = planes;
  }

  get recorder(): Recorder {
    return this.#of(1).recorder;
  }

  get receiver(): ReceiverBehaviour | null {
    return this.#of(1).receiver;
  }

  get clockOffsetMs(): number {
    return this.#of(1).clockOffsetMs;
  }

  clockOffsetOf(process: string): number {
    const { cluster, name } = splitName(process);
    return this.#of(cluster).clockOffsetOf(name);
  }

  isLinked(process: string): boolean {
    const { cluster, name } = splitName(process);
    return this.#of(cluster).isLinked(name);
  }

  async untilLinked(processes: readonly string[], withinMs: number): Promise<void> {
    await Promise.all(
      this.#planes.map((plane, index) => {
        const names = processes
          .map(splitName)
          .filter(({ cluster, name }) => cluster === index + 1 || name === 'gateway');
        return plane.untilLinked(
          names.map(({ name }) => name),
          withinMs,
        );
      }),
    );
  }

  cut(process: string): void {
    const { cluster, name } = splitName(process);
    if (name === 'gateway') for (const plane of this.#planes) plane.cut(name);
    else this.#of(cluster).cut(name);
  }

  arm(fault: Fault, expiresInMs: number): ArmedFault {
    const cluster = this.#clusterOf(fault);
    this.#named += 1;
    // Each engine names its own faults: those of further clusters get other names.
    const named = fault.id !== undefined || cluster === 1 ? fault : { ...fault, id: `flt_c${cluster}_${this.#named}` };
    const armed = this.#of(cluster).arm(
      withNames(named, (name) => splitName(name).name),
      expiresInMs,
    );
    this.#clusters.set(armed.id, cluster);
    return asSeen(armed, cluster);
  }

  list(): readonly ArmedFault[] {
    return this.#planes.flatMap((plane, index) => {
      const cluster = index + 1;
      const own = plane.list().filter(({ id }) => (this.#clusters.get(id) ?? 1) === cluster);
      return own.map((armed) => asSeen(armed, cluster));
    });
  }

  disarm(id: string): ArmedFault | undefined {
    const cluster = this.#clusters.get(id) ?? 1;
    const armed = this.#of(cluster).disarm(id);
    return armed && asSeen(armed, cluster);
  }

  clear(): number {
    return this.#planes.reduce((removed, plane) => removed + plane.clear(), 0);
  }

  step(name: string): void {
    for (const plane of this.#planes) plane.step(name);
  }

  async setClock(offsetMs: number): Promise<void> {
    await Promise.all(this.#planes.map((plane) => plane.setClock(offsetMs)));
  }

  async rightClocks(offsetMs = 0): Promise<void> {
    await Promise.all(this.#planes.map((plane) => plane.rightClocks(offsetMs)));
  }

  /** Throws ControlError where the targets are of several clusters, or of none that is here. */
  #clusterOf(fault: Fault): number {
    const found = new Set<number>();
    withNames(fault, (name) => {
      found.add(splitName(name).cluster);
      return name;
    });
    const [cluster = 1, ...others] = found;
    if (others.length > 0) {
      throw new ControlError({
        code: 'invalid',
        field: 'target',
        message: 'a fault has targets in one cluster: arm one fault for each cluster',
      });
    }
    if (cluster > this.#planes.length) {
      throw new ControlError({
        code: 'invalid',
        field: 'target',
        message: `there is no cluster ${cluster}: this sandbox has clusters 1 to ${this.#planes.length}`,
      });
    }
    return cluster;
  }

  #of(cluster: number): FaultPlane {
    return this.#planes[cluster - 1] ?? this.#planes[0]!;
  }
}

/** The processes of one cluster, by its own names; those of no cluster are with cluster 1. */
export function processesIn(cluster: number, all: ProcessControl): ProcessControl {
  const full = (name: string) => processIn(cluster, name);
  return {
    list: () =>
      all.list().flatMap((status) => {
        const { cluster: own, name } = splitName(status.process);
        return own === cluster ? [{ ...status, process: name }] : [];
      }),
    crash: (process, crash) => all.crash(full(process), crash),
    restart: (process) => all.restart(full(process)),
    pause: (process) => all.pause(full(process)),
    resume: (process) => all.resume(full(process)),
    setClock: (process, offsetMs) => all.setClock(full(process), offsetMs),
  };
}

function asSeen(armed: ArmedFault, cluster: number): ArmedFault {
  return cluster === 1 ? armed : { ...armed, fault: withNames(armed.fault, (name) => seenName(cluster, name)) };
}

/** As a person writes it: the link of a gateway to this cluster is `cluster/2/gateway`. */
function seenName(cluster: number, name: string): string {
  return `cluster/${cluster}/${name}`;
}

/** The fault with other names of its processes. */
function withNames(fault: Fault, named: (name: string) => string): Fault {
  const { target, about, at } = fault as { target?: string | string[]; about?: string; at?: Fault['at'] };
  return {
    ...fault,
    ...(target !== undefined && { target: typeof target === 'string' ? named(target) : target.map(named) }),
    ...(about !== undefined && { about: named(about) }),
    ...(at !== undefined && { at: { ...at, ...(at.of !== undefined && { of: named(at.of) }) } }),
  } as Fault;
}
