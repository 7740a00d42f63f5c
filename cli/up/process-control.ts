/**
 * The processes of all clusters for the fault injectors and the snapshots: by their names in faults, each one or several
 * supervised children. Nodes may share a child: an action on it affects all of them, except that only the named node loses its
 * store.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isNode, splitName } from '../../scenarios/faults/cluster-names.ts';
import type { Crash, ProcessControl, ProcessStatus } from '../../scenarios/injection/ports.ts';
import { clusterFolder } from '../cluster-files/cluster-material.ts';
import { clockOffsetVariable, type ProcessOrder } from '../common/channel.ts';
import { processorMs } from '../common/process-records.ts';
import { Orders } from './process-commands.ts';
import type { SupervisedChild } from './supervisor.ts';

/** A child, and the fault names of its processes. */
export interface Member {
  readonly child: SupervisedChild;
  readonly processes: readonly string[];
}

export interface ProcessWatcher {
  changed(process: string, what: 'up' | 'down' | 'paused' | 'resumed', why: string): void;
  /** Messages of the gateway other than "ready" and answers. */
  message(child: SupervisedChild, message: unknown): void;
}

const orderWithinMs = 5000;
const restartGraceMs = 5000;

export class UpProcesses implements ProcessControl {
  readonly #dataDir: string;
  readonly #watcher: ProcessWatcher;
  readonly #orders = new Orders();
  readonly #children = new Map<string, readonly SupervisedChild[]>();
  /** The processes in the same child, including this one. */
  readonly #together = new Map<string, readonly string[]>();
  readonly #clocks: Map<string, number>;

  /** `clocks`: offsets by process, read by children at each start (`clockEnvironment`). */
  constructor(dataDir: string, members: readonly Member[], clocks: Map<string, number>, watcher: ProcessWatcher) {
    this.#dataDir = dataDir;
    this.#watcher = watcher;
    this.#clocks = clocks;
    for (const { child, processes } of members) {
      for (const process of processes) {
        this.#children.set(process, [...(this.#children.get(process) ?? []), child]);
        this.#together.set(process, processes);
      }
      this.#watch(processes, child);
    }
  }

  list(): readonly ProcessStatus[] {
    return [...this.#children].map(([process, children]) => {
      const child = children[0]!;
      return {
        process,
        state: stateOf(child),
        pid: child.isAlive ? (child.pid ?? null) : null,
        restarts: children.reduce((sum, { restarts }) => sum + restarts, 0),
        startedMs: child.startedMs ?? null,
        residentBytes: (child.isAlive && residentBytes(child.pid)) || null,
        cpuMs: (child.isAlive && child.pid !== undefined && processorMs(child.pid)) || null,
        together: this.#together.get(process) ?? [process],
      };
    });
  }

  of(process: string): readonly SupervisedChild[] {
    return this.#children.get(process) ?? [];
  }

  get names(): readonly string[] {
    return [...this.#children.keys()];
  }

  async crash(process: string, { loseState, restartAfterMs }: Crash): Promise<void> {
    const whileDown = () => {
      if (loseState) this.loseStore(process);
    };
    await Promise.all(this.of(process).map((child) => child.crash(restartAfterMs, whileDown)));
  }

  async restart(process: string): Promise<void> {
    await Promise.all(this.of(process).map((child) => child.restart(restartGraceMs)));
  }

  pause(process: string): boolean {
    return this.of(process).filter((child) => child.pause()).length > 0;
  }

  resume(process: string): void {
    for (const child of this.of(process)) child.resume();
  }

  async setClock(process: string, offsetMs: number): Promise<void> {
    for (const each of this.#together.get(process) ?? [process]) this.#clocks.set(each, offsetMs);
    await Promise.all(this.of(process).map((child) => this.#shift(child, offsetMs)));
  }

  /** Rejects when the child is down, does not answer, or failed. */
  order(child: SupervisedChild, order: ProcessOrder, withinMs = orderWithinMs): Promise<void> {
    return this.#orders.give(child, order, withinMs);
  }

  /** Only for a node that is down. */
  loseStore(process: string): void {
    if (isNode(process)) rmSync(storeFolder(this.#dataDir, process), { recursive: true, force: true });
  }

  async #shift(child: SupervisedChild, offsetMs: number): Promise<void> {
    if (!child.isAlive) return;
    const told = this.order(child, { kind: 'clock', offsetMs });
    // It gets the message when it resumes.
    if (child.isPaused) told.catch(() => undefined);
    // A child that dies meanwhile restarts with the right offset.
    else await told.catch(() => undefined);
  }

  #watch(processes: readonly string[], child: SupervisedChild): void {
    child.watch({
      message: (message) => {
        if (!this.#orders.take(message)) this.#watcher.message(child, message);
      },
      changed: (what, why) => {
        if (what === 'down') this.#orders.gone(child);
        for (const process of processes) this.#watcher.changed(process, what, why);
      },
    });
  }
}

/** Of a node: "node/3" has its store in node-3/store, "cluster/2/node/3" in cluster-2/node-3/store. */
export function storeFolder(dataDir: string, process: string): string {
  return join(dataDir, nodeFolder(process), 'store');
}

/** Relative to the data directory. */
export function nodeFolder(process: string): string {
  const { cluster, name } = splitName(process);
  return join(clusterFolder('.', cluster), name.replace('/', '-'));
}

/** The clock settings of a child at its start. Processes in one child share a clock. */
export function clockEnvironment(
  clocks: ReadonlyMap<string, number>,
  processes: readonly string[],
): Record<string, string> {
  const offsetMs = clocks.get(processes[0] ?? '') ?? 0;
  return offsetMs === 0 ? {} : { [clockOffsetVariable]: String(offsetMs) };
}

/** Resident memory; undefined: the process has ended, or the system does not report it. */
export function residentBytes(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined;
  }
}

function stateOf(child: SupervisedChild): ProcessStatus['state'] {
  if (!child.isAlive) return 'down';
  if (child.isPaused) return 'paused';
  return child.state === 'running' ? 'running' : 'starting';
}
