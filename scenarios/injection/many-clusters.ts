/**
 * The fault injectors of several clusters as one: each has an engine, links and processes of its own, and its own names for them
 * (scenarios/faults/cluster-names.ts). A fault belongs to the cluster of its targets. What is no cluster's (gateways, workers, Redis, the receiver) is
 * in the injector of cluster 1; links of gateways are in each.
 */
import { asSeen, ofOneCluster, processIn, splitName } from '../faults/cluster-names.ts';
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

/** Faults whose cluster is remembered before those that no engine lists are dropped. */
const rememberedMax = 1_000;

export class ManyInjectors<R = FrameRecorder> implements Injector<R> {
  /** By number, from 1. */
  readonly #injectors: readonly Injector<R>[];
  /** The cluster of each fault, by its id. */
  readonly #clusters = new Map<string, number>();
  #named = 0;

  constructor(injectors: readonly Injector<R>[]) {
    this.#injectors = injectors;
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
    const { cluster, fault: own } = ofOneCluster(fault, this.#injectors.length);
    this.#named += 1;
    // Each engine names its own faults: those of further clusters get other names.
    const named = own.id !== undefined || cluster === 1 ? own : { ...own, id: `flt_c${cluster}_${this.#named}` };
    const armed = this.#of(cluster).arm(named, expiresInMs);
    this.#clusters.set(armed.id, cluster);
    this.#prune();
    return seen(armed, cluster);
  }

  list(): readonly ArmedStatus[] {
    return this.#injectors.flatMap((injector, index) => {
      const cluster = index + 1;
      const own = injector.list().filter(({ id }) => (this.#clusters.get(id) ?? 1) === cluster);
      return own.map((armed) => seen(armed, cluster));
    });
  }

  disarm(id: string): ArmedStatus | undefined {
    const cluster = this.#clusters.get(id) ?? 1;
    const armed = this.#of(cluster).disarm(id);
    return armed && seen(armed, cluster);
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

  #prune(): void {
    if (this.#clusters.size < rememberedMax) return;
    const listed = new Set(this.list().map(({ id }) => id));
    for (const id of [...this.#clusters.keys()]) if (!listed.has(id)) this.#clusters.delete(id);
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

function seen(armed: ArmedStatus, cluster: number): ArmedStatus {
  return { ...armed, fault: asSeen(cluster, armed.fault) };
}
