/** Requests to the sandbox API for faults, process actions and clock advances, as steps of a scenario. */
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import type { Recorded, RecordedOrder } from './recorded.ts';

/** The limit of any scenario. */
const foreverMs = 86_400_000;
/** After a restart in the replay, a process has all its links within this time; in the service, at once. */
const linkedWithinMs = 200;

interface Away {
  readonly fault: Record<string, unknown>;
  readonly field: 'for_ms' | 'restart_after_ms';
  readonly sinceMs: number;
}

export class RecordedOrders {
  /** Removal times of faults, by id. */
  readonly #removedMs = new Map<string, number>();
  /** Processes that are down or paused until someone restarts or resumes them: the fault of ours that gets the duration. */
  readonly #away = new Map<string, Away>();
  readonly #sessionOf: (id: string) => string | undefined;

  /** `sessionOf`: the scenario's name of a session. */
  constructor(recorded: readonly Recorded[], sessionOf: (id: string) => string | undefined) {
    this.#sessionOf = sessionOf;
    for (const one of recorded) {
      if (one.kind !== 'order' || one.method !== 'faults.delete') continue;
      this.#removedMs.set((one as RecordedOrder<'faults.delete'>).takes.id, one.endedMs);
    }
  }

  /** 'nothing': another step expresses it; undefined: no step does. */
  step(one: RecordedOrder): object | 'nothing' | undefined {
    switch (one.method) {
      case 'faults.create':
        return this.#fault(one as RecordedOrder<'faults.create'>);
      case 'faults.delete':
        return 'nothing';
      case 'faults.reset':
        return { heal: true };
      case 'clock.advance':
        return { advance_ms: (one.takes as RecordedOrder<'clock.advance'>['takes']).byMs };
      case 'processes.act':
        return this.#act(one as RecordedOrder<'processes.act'>);
      default:
        return undefined;
    }
  }

  #fault({ takes: { fault }, fault: id = '', endedMs }: RecordedOrder<'faults.create'>): object | undefined {
    // The scenario has its own steps.
    if (fault.at?.step !== undefined) return undefined;
    const session = fault.at?.session;
    const name = session === undefined ? undefined : this.#sessionOf(session);
    if (session !== undefined && name === undefined) return undefined;
    const said = name === undefined ? fault : ({ ...fault, at: { ...fault.at, session: name } } as Fault);
    const removedMs = this.#removedMs.get(id);
    const endsByItself = 'for_ms' in fault && fault.for_ms !== undefined;
    if (removedMs === undefined || endsByItself) return { inject: said };
    return { inject: { ...said, for_ms: Math.max(1, Math.round(removedMs - endedMs)) } };
  }

  /** The duration of a stop or pause is known at its end: it is written into the fault then. */
  #act({ takes, endedMs }: RecordedOrder<'processes.act'>): object | 'nothing' {
    const { process: target, action, loseState, restartAfterMs } = takes;
    const away = this.#away.get(target);
    this.#away.delete(target);
    if (away !== undefined && (action === 'restart' || action === 'resume')) {
      const awayMs = Math.max(1, Math.round(endedMs - away.sinceMs));
      away.fault[away.field] = awayMs;
      // The steps between may take no time in the replay: it is back after this at the latest.
      return action === 'restart' ? { wait: { ms: awayMs + linkedWithinMs } } : 'nothing';
    }
    if (action === 'resume') return 'nothing';
    const fault: Record<string, unknown> =
      action === 'pause' ? { fault: 'pause', target, for_ms: foreverMs } : { fault: 'crash', target };
    if (loseState === true) fault.lose_state = true;
    if (action === 'restart') fault.restart_after_ms = 0;
    if (action === 'crash' && restartAfterMs !== undefined) fault.restart_after_ms = restartAfterMs;
    if (action === 'pause') this.#away.set(target, { fault, field: 'for_ms', sinceMs: endedMs });
    if (fault.restart_after_ms === null) this.#away.set(target, { fault, field: 'restart_after_ms', sinceMs: endedMs });
    return { inject: fault };
  }
}
