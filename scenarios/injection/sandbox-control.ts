/**
 * Answers what a sandbox's gateway asks (scenarios/faults/control.ts), over the injector and the process supervisor. Changes of the whole cluster run one after the other.
 */

import { isNode } from '../faults/cluster-names.ts';
import {
  type ControlAnswer,
  ControlError,
  type ControlFault,
  type ControlGives,
  type ControlMethod,
  type ControlRequest,
  type ControlTakes,
  type NodeStatus,
  type SandboxControl,
} from '../faults/control.ts';
import type { SandboxWorld } from '../faults/stream.ts';
import type { Injector } from './many-clusters.ts';
import type { ProcessControl, ScenarioHost, SnapshotControl } from './ports.ts';
import { nowMs } from './real-time.ts';
import { StreamSource } from './stream-source.ts';

/** The injector of real processes, or what stands in its place. */
export type ControlledInjector = Injector<Pick<Injector['recorder'], 'beganMs' | 'recording'>>;

export interface SandboxControllerOptions {
  readonly injector: ControlledInjector;
  readonly processes: ProcessControl;
  /** undefined: the Redis is not ours. */
  readonly snapshots: SnapshotControl | undefined;
  readonly about: SandboxWorld;
  /** undefined: no scenario file runs here. */
  readonly scenarios?: ScenarioHost | undefined;
}

/** A process that crashes without a given restart time. */
const restartAfterMs = 100;
/** A node that cannot reach the coordinator (a fault may cause that) still counts as up. */
const linkedWithinMs = 1000;
/** What happens to the gateway that asks, happens when it has its answer. */
const afterAnswerMs = 50;
const clockMaxMs = 100 * 365 * 86_400_000;

type Handlers = {
  readonly [M in ControlMethod]: (takes: ControlTakes<M>) => ControlGives<M> | Promise<ControlGives<M>>;
};

export class SandboxController implements SandboxControl {
  readonly #injector: ControlledInjector;
  readonly #processes: ProcessControl;
  readonly #snapshots: SnapshotControl | undefined;
  readonly #handlers: Handlers;
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ injector, processes, snapshots, about, scenarios }: SandboxControllerOptions) {
    this.#injector = injector;
    this.#processes = processes;
    this.#snapshots = snapshots;
    const { recording, beganMs } = injector.recorder;
    const stream = new StreamSource({
      ...{ recording, beganMs, about },
      processes: () => this.#list(),
      faults: () => injector.list(),
      scenario: () => scenarios?.status ?? null,
    });
    const host = () => scenarios ?? noScenarios();
    this.#handlers = {
      'faults.create': ({ fault, expiresInMs }) => {
        const { id } = fault;
        if (id !== undefined && injector.list().some((armed) => armed.id === id && armed.state !== 'over')) {
          throw new ControlError({
            code: 'conflict',
            field: 'id',
            message: `a fault ${id} exists already: choose another id, or remove that fault`,
          });
        }
        return { fault: this.#armed(() => injector.arm(fault, expiresInMs)) };
      },
      'faults.list': () => ({ faults: injector.list() }),
      'faults.delete': ({ id }) => ({ fault: injector.disarm(id) ?? missing('fault', id) }),
      'faults.reset': () => ({ removed: injector.clear() }),
      'faults.step': ({ step }) => {
        injector.step(step);
        return {};
      },
      'processes.list': () => ({ processes: this.#list() }),
      'processes.act': (takes) => this.#inTurn(() => this.#act(takes)),
      'transcript.get': ({ tenant, session, limit }) => recording.transcript(tenant, session, limit),
      'recording.read': ({ after, limit }) => ({ ...recording.read(after, limit), beganMs }),
      'recording.session': ({ tenant, session }) => ({ ...recording.ofSession(tenant, session), beganMs }),
      'stream.read': (takes) => stream.read(takes),
      'receiver.get': () => ({ behaviour: injector.receiver }),
      'clock.get': () => this.#clock(),
      'clock.advance': ({ byMs }) => this.#inTurn(() => this.#advance(byMs)),
      'snapshots.take': ({ name }) =>
        this.#inTurn(async () => ({ snapshot: await this.#states().take(name, injector.clockOffsetMs) })),
      'snapshots.list': () => ({ snapshots: this.#states().list() }),
      'snapshots.restore': ({ id }) => this.#inTurn(() => this.#restore(id)),
      // Not while it is restored: a start after a crash completes the restore from the same files.
      'snapshots.delete': ({ id }) => this.#inTurn(async () => ({ snapshot: this.#states().delete(id) })),
      'scenarios.start': async ({ file, reset }) => ({ scenario: await host().start(file, reset) }),
      'scenarios.get': () => ({ scenario: scenarios?.status ?? null }),
      'scenarios.end': async () => ({ scenario: await host().end() }),
      reset: () => this.#inTurn(() => this.#reset()),
    };
  }

  async ask<M extends ControlMethod>(method: M, takes: ControlTakes<M>): Promise<ControlGives<M>> {
    const handler = this.#handlers[method] as Handlers[M] | undefined;
    if (handler === undefined) throw new ControlError({ code: 'unsupported', message: `there is no ${method}` });
    return handler(takes);
  }

  /** For a channel. Never rejects. */
  async answer({ id, method, takes }: ControlRequest): Promise<ControlAnswer> {
    try {
      const gives = await this.ask(method, takes as ControlTakes<ControlMethod>);
      return { kind: 'controlled', id, gives };
    } catch (error) {
      return { kind: 'controlled', id, fault: faultOf(error) };
    }
  }

  /** The engine says what makes no sense in its own error, with the field. */
  #armed<T>(arm: () => T): T {
    try {
      return arm();
    } catch (error) {
      if (error instanceof ControlError) throw error;
      const { field, path, message } = error as { field?: unknown; path?: unknown; message?: unknown };
      const where = typeof field === 'string' ? field : typeof path === 'string' ? path : undefined;
      throw new ControlError({
        code: 'invalid',
        message: typeof message === 'string' ? message : 'this cluster cannot have this fault',
        ...(where !== undefined && { field: where }),
      });
    }
  }

  #list(): readonly NodeStatus[] {
    return this.#processes.list().map((status) => ({
      ...status,
      linked: isNode(status.process) ? this.#injector.isLinked(status.process) : null,
      clockOffsetMs: status.process === 'redis' ? 0 : this.#injector.clockOffsetOf(status.process),
    }));
  }

  #status(process: string): NodeStatus {
    return this.#list().find((each) => each.process === process) ?? missing('process', process);
  }

  async #act(takes: ControlTakes<'processes.act'>): Promise<ControlGives<'processes.act'>> {
    const { process } = takes;
    const status = this.#status(process);
    if (process === 'gateway') return this.#actOnAsker(takes, status);
    await this.#do(takes, status);
    return { process: this.#status(process) };
  }

  #actOnAsker(takes: ControlTakes<'processes.act'>, status: NodeStatus): ControlGives<'processes.act'> {
    if (takes.action === 'pause') {
      throw new ControlError({
        code: 'conflict',
        field: 'action',
        message:
          'the gateway answers this API: when it is paused, it cannot be resumed. Use a pause fault, which ends after its time',
      });
    }
    if (takes.action === 'crash' && takes.restartAfterMs === null) {
      throw new ControlError({
        code: 'conflict',
        field: 'restart_after_ms',
        message: 'the gateway answers this API: when it stays down, it cannot be restarted. Give a restart time',
      });
    }
    setTimeout(() => this.#do(takes, status).catch(() => undefined), afterAnswerMs);
    return { process: status };
  }

  async #do(takes: ControlTakes<'processes.act'>, status: NodeStatus): Promise<void> {
    const { process, action, loseState = false } = takes;
    if (loseState && !isNode(process)) {
      throw new ControlError({
        code: 'invalid',
        field: 'lose_state',
        message: 'only nodes have a store of their own; the others keep theirs in Redis',
      });
    }
    switch (action) {
      case 'crash': {
        for (const each of status.together) this.#injector.cut(each);
        const after = takes.restartAfterMs === undefined ? restartAfterMs : takes.restartAfterMs;
        await this.#processes.crash(process, { loseState, restartAfterMs: after });
        return;
      }
      case 'restart':
        await this.#processes.restart(process);
        if (isNode(process)) await this.#injector.untilLinked(this.#status(process).together, linkedWithinMs);
        return;
      case 'pause':
        if (status.state === 'down' || !this.#processes.pause(process)) {
          throw new ControlError({ code: 'conflict', message: `${process} is down: restart it first` });
        }
        return;
      case 'resume':
        this.#processes.resume(process);
        return;
    }
  }

  #clock(): { offsetMs: number; nowMs: number } {
    const offsetMs = this.#injector.clockOffsetMs;
    return { offsetMs, nowMs: Math.round(nowMs() + offsetMs) };
  }

  async #advance(byMs: number): Promise<{ offsetMs: number; nowMs: number }> {
    const offsetMs = this.#injector.clockOffsetMs + byMs;
    if (!(byMs >= 0) || offsetMs > clockMaxMs) {
      throw new ControlError({
        code: 'invalid',
        field: 'advance_ms',
        message: 'the clock only goes forward, and by 100 years in all',
      });
    }
    await this.#injector.setClock(offsetMs);
    return this.#clock();
  }

  #states(): SnapshotControl {
    if (this.#snapshots !== undefined) return this.#snapshots;
    throw new ControlError({
      code: 'unsupported',
      message:
        'this cluster runs on a Redis that REDIS_URL names: snapshots and reset need one that `signmesh up` started',
    });
  }

  async #restore(id: string): Promise<ControlGives<'snapshots.restore'>> {
    const states = this.#states();
    if (!states.list().some((snapshot) => snapshot.id === id)) missing('snapshot', id);
    const beganMs = performance.now();
    this.#injector.clear();
    // The later of both times, and before the restored state has a process: events never run backwards.
    await this.#injector.rightClocks(Math.max(this.#injector.clockOffsetMs, states.clockOffsetMs(id)));
    const snapshot = await states.restore(id);
    return { snapshot, tookMs: Math.round(performance.now() - beganMs) };
  }

  async #reset(): Promise<{ tookMs: number }> {
    const states = this.#states();
    const beganMs = performance.now();
    this.#injector.clear();
    await this.#injector.rightClocks();
    await states.reset();
    return { tookMs: Math.round(performance.now() - beganMs) };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work, work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}

function noScenarios(): never {
  const message = 'this sandbox runs no scenario files: use `signmesh up`, with or without --embedded';
  throw new ControlError({ code: 'unsupported', message });
}

function missing(what: string, id: string): never {
  throw new ControlError({ code: 'not_found', message: `there is no ${what} ${id}` });
}

function faultOf(error: unknown): ControlFault {
  if (error instanceof ControlError) return error.fault;
  return { code: 'unavailable', message: error instanceof Error ? error.message : 'it did not work' };
}

/** What a channel gives to `answer`. */
export function isControlRequest(message: unknown): message is ControlRequest {
  const { kind, id, method } = (message ?? {}) as Partial<Record<keyof ControlRequest, unknown>>;
  return kind === 'control' && typeof id === 'number' && typeof method === 'string';
}
