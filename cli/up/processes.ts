/**
 * The cluster's processes as the fault plane and the snapshots see them: by the names that faults have for them, each
 * one or several supervised children.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Crash, ProcessControl, ProcessStatus } from '../../plane/ports.ts';
import { clockOffsetVariable, type Order } from '../common/channel.ts';
import { Orders } from './orders.ts';
import type { SupervisedChild } from './supervisor.ts';

export interface ProcessWatcher {
  changed(process: string, what: 'up' | 'down' | 'paused' | 'resumed', why: string): void;
  /** Of the gateway: what is neither "ready" nor an answer. */
  message(child: SupervisedChild, message: unknown): void;
}

const orderWithinMs = 5000;
const restartGraceMs = 5000;

export class Processes implements ProcessControl {
  readonly #dataDir: string;
  readonly #watcher: ProcessWatcher;
  readonly #orders = new Orders();
  readonly #children = new Map<string, readonly SupervisedChild[]>();
  readonly #clocks: Map<string, number>;

  /** `clocks`: offsets by process, read by children at each start (`clockEnvironment`). */
  constructor(
    dataDir: string,
    children: readonly SupervisedChild[],
    clocks: Map<string, number>,
    watcher: ProcessWatcher,
  ) {
    this.#dataDir = dataDir;
    this.#watcher = watcher;
    this.#clocks = clocks;
    for (const child of children) {
      const process = processName(child.name);
      this.#children.set(process, [...(this.#children.get(process) ?? []), child]);
      this.#watch(process, child);
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
    this.#clocks.set(process, offsetMs);
    await Promise.all(this.of(process).map((child) => this.#shift(child, offsetMs)));
  }

  /** Rejects when the child is down, does not answer, or could not do it. */
  order(child: SupervisedChild, order: Order, withinMs = orderWithinMs): Promise<void> {
    return this.#orders.give(child, order, withinMs);
  }

  /** Of a node that is down. */
  loseStore(process: string): void {
    const id = /^node\/(\d+)$/.exec(process)?.[1];
    if (id !== undefined) rmSync(storeFolder(this.#dataDir, Number(id)), { recursive: true, force: true });
  }

  async #shift(child: SupervisedChild, offsetMs: number): Promise<void> {
    if (!child.isAlive) return;
    const told = this.order(child, { kind: 'clock', offsetMs });
    // It gets the message when it resumes.
    if (child.isPaused) told.catch(() => undefined);
    // One that dies meanwhile comes back with the right one.
    else await told.catch(() => undefined);
  }

  #watch(process: string, child: SupervisedChild): void {
    child.watch({
      message: (message) => {
        if (!this.#orders.take(message)) this.#watcher.message(child, message);
      },
      changed: (what, why) => {
        if (what === 'down') this.#orders.gone(child);
        this.#watcher.changed(process, what, why);
      },
    });
  }
}

export function storeFolder(dataDir: string, nodeId: number): string {
  return join(dataDir, `node-${nodeId}`, 'store');
}

/** "node-3" is "node/3" to faults; all workers are one. */
export function processName(childName: string): string {
  return childName.replace(/^node-/, 'node/').replace(/^worker-\d+$/, 'worker');
}

/** The clock settings that a child gets at its start. */
export function clockEnvironment(clocks: ReadonlyMap<string, number>, childName: string): Record<string, string> {
  const offsetMs = clocks.get(processName(childName)) ?? 0;
  return offsetMs === 0 ? {} : { [clockOffsetVariable]: String(offsetMs) };
}

function stateOf(child: SupervisedChild): ProcessStatus['state'] {
  if (!child.isAlive) return 'down';
  if (child.isPaused) return 'paused';
  return child.state === 'running' ? 'running' : 'starting';
}
