/**
 * The fault injectors of several clusters as one: each has an engine, links and processes of its own, and its own names for them
 * (scenarios/faults/cluster-names.ts). A fault belongs to the cluster of its targets. What is no cluster's (gateways, workers, Redis, the receiver) is
 * in the injector of cluster 1; links of gateways are in each.
 */
import { ClusterFaults, processIn, splitName } from '../faults/cluster-names.ts';
import type { ArmedStatus } from '../faults/control.ts';
import type { ReceiverBehaviour } from '../faults/vocabulary/engine-contract.ts';
import type { Fault } from '../faults/vocabulary/fault.ts';
import type { FaultInjector } from './fault-injector.ts';
import type { ProcessControl } from './ports.ts';
import type { FrameRecorder } from './recorder.ts';

/** What the control of a sandbox needs of one or several; `R`: of its recorder. */
export type Injector<R = FrameRecorder> = { readonly recorder: R } & Pick<
  FaultInjector,
  | 'arm'
  | 'clear'
  | 'clockOffsetMs'
  | 'clockOffsetOf'
  | 'cut'
  | 'disarm'
  | 'isLinked'
  | 'list'
  | 'receiver'
  | 'rightClocks'
  | 'setClock'
  | 'step'
  | 'untilLinked'
>;

export class ManyInjectors<R = FrameRecorder> implements Injector<R> {
  /** By number, from 1. */
  readonly #injectors: readonly Injector<R>[];
  readonly #faults: ClusterFaults;

  constructor(injectors: readonly Injector<R>[]) {
    this.#injectors = injectors;
    this.#faults = new ClusterFaults(injectors.length);
  }

  get recorder(): R {
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
      this.#injectors.map((injector, index) => {
        const names = processes
          .map(splitName)
          .filter(({ cluster, name }) => cluster === index + 1 || name === 'gateway');
        return injector.untilLinked(
          names.map(({ name }) => name),
          withinMs,
        );
      }),
    );
  }

  cut(process: string): void {
    const { cluster, name } = splitName(process);
    if (name === 'gateway') for (const injector of this.#injectors) injector.cut(name);
    else this.#of(cluster).cut(name);
  }

  arm(fault: Fault, expiresInMs: number): ArmedStatus {
    return this.#faults.seen(this.#faults.arm(fault, (cluster, own) => this.#of(cluster).arm(own, expiresInMs)));
  }

  list(): readonly ArmedStatus[] {
    return this.#faults.list((cluster) => this.#of(cluster).list());
  }

  disarm(id: string): ArmedStatus | undefined {
    const armed = this.#of(this.#faults.clusterOf(id)).disarm(id);
    return armed && this.#faults.seen(armed);
  }

  clear(): number {
    return this.#injectors.reduce((removed, injector) => removed + injector.clear(), 0);
  }

  step(name: string): void {
    for (const injector of this.#injectors) injector.step(name);
  }

  async setClock(offsetMs: number): Promise<void> {
    await Promise.all(this.#injectors.map((injector) => injector.setClock(offsetMs)));
  }

  async rightClocks(offsetMs = 0): Promise<void> {
    await Promise.all(this.#injectors.map((injector) => injector.rightClocks(offsetMs)));
  }

  #of(cluster: number): Injector<R> {
    return this.#injectors[cluster - 1] ?? this.#injectors[0]!;
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
