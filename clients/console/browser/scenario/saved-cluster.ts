/**
 * What was done to the cluster as steps of a saved scenario: faults, processes and the clock. A scenario ends all faults at once
 * (`heal`); those that were to stay are armed again. Pure.
 */
import { processName } from '../../../../scenarios/faults/cluster-names.ts';
import type { ConsoleRequest } from '../shared/console-requests.ts';
import type { FoundOperation, SavedDraft, SavedFile } from './saved-operations.ts';

interface Timed {
  readonly endsMs: number;
  readonly lastsMs: number;
}

/** The limit of any scenario. */
const foreverMs = 86_400_000;
/** A process that was started has its links after this. */
const linkedWithinMs = 200;
/** They act on no cluster. */
const silent = new Set(['sandbox.issueToken', 'sandbox.tokenOwner']);

export class SavedCluster {
  readonly #file: SavedFile;
  readonly #nodes: number;
  readonly #sessionOf: (id: string) => string | undefined;
  /** What is armed, by the id of the fault or the name of the process. */
  readonly #active = new Map<string, SavedDraft>();
  #timed: Timed[] = [];

  /** `nodes`: of all clusters. */
  constructor(file: SavedFile, nodes: number, sessionOf: (id: string) => string | undefined) {
    this.#file = file;
    this.#nodes = nodes;
    this.#sessionOf = sessionOf;
  }

  /** What was to end by itself before `nowMs` has ended in the file too, however long its steps take. */
  passTime(nowMs: number): void {
    const over = this.#timed.filter(({ endsMs }) => endsMs <= nowMs);
    this.#timed = this.#timed.filter(({ endsMs }) => endsMs > nowMs);
    const ms = Math.max(0, ...over.map(({ lastsMs }) => lastsMs));
    if (over.length > 0) this.#file.put('pause', { wait: { ms: ms + linkedWithinMs } });
  }

  /** Empty: it is written; otherwise why it is not. */
  write({ name, params }: FoundOperation, request: ConsoleRequest): string {
    if (silent.has(name)) return '';
    const { status, beganMs } = request;
    if (status === undefined) return 'it had no answer';
    if (status >= 300) return `it was refused with ${status}`;
    const target = processName(params.node ?? '');
    switch (name) {
      case 'sandbox.createFault':
        return this.#arm(request);
      case 'sandbox.deleteFault':
        return this.#end(params.id ?? '') ? '' : 'this page has not armed it, or it is over';
      case 'sandbox.resetFaults':
        this.#active.clear();
        this.#heal();
        return '';
      case 'sandbox.advanceClock':
        this.#file.put('advance', { advance_ms: 1_000 * (request.body as { readonly advance_s: number }).advance_s });
        return '';
      case 'sandbox.pauseNode':
        this.#inject(target, { fault: 'pause', target, for_ms: foreverMs });
        return '';
      case 'sandbox.crashNode':
        this.#active.delete(target);
        this.#crash(target, (request.body ?? {}) as SavedDraft, beganMs);
        return '';
      case 'sandbox.resumeNode':
      case 'sandbox.restartNode':
        if (this.#end(target)) return '';
        if (name === 'sandbox.resumeNode') return 'this page has not paused it';
        this.#crash(target, { restart_after_ms: 0 }, beganMs);
        return '';
      default:
        return 'a scenario has no such step';
    }
  }

  #arm({ body, answer, beganMs }: ConsoleRequest): string {
    const { id: _, ...fault } = body as SavedDraft & { readonly at?: SavedDraft };
    const { step, session } = fault.at ?? {};
    if (step !== undefined) return 'it waits for a step of another scenario';
    const name = session === undefined ? undefined : this.#sessionOf(String(session));
    if (session !== undefined && name === undefined) return `the session ${String(session)} was not made by this page`;
    const id = String((answer as { readonly id?: string } | undefined)?.id);
    this.#inject(id, name === undefined ? fault : { ...fault, at: { ...fault.at, session: name } }, beganMs);
    return '';
  }

  #crash(target: string, { restart_after_ms: afterMs, lose_state: loses }: SavedDraft, beganMs: number): void {
    const fault = {
      ...{ fault: 'crash', target },
      ...(loses === true && { lose_state: true }),
      ...(afterMs !== undefined && { restart_after_ms: afterMs }),
    };
    this.#inject(target, fault, beganMs);
  }

  #inject(id: string, fault: SavedDraft, beganMs = 0): void {
    this.#file.put('inject', { inject: fault });
    const lastsMs = fault.fault === 'pause' ? undefined : (fault.for_ms ?? fault.restart_after_ms);
    if (typeof lastsMs === 'number') this.#timed.push({ endsMs: beganMs + lastsMs, lastsMs });
    // Such a one is over by itself.
    if (fault.fault !== 'crash' || fault.restart_after_ms === null) this.#active.set(id, fault);
  }

  #end(id: string): boolean {
    if (!this.#active.delete(id)) return false;
    this.#heal();
    for (const fault of this.#active.values()) {
      if (fault.count === undefined && (fault.for_ms === undefined || fault.fault === 'pause')) {
        this.#file.say('It stayed when the other fault ended.');
        this.#file.put('inject', { inject: fault });
      } else this.#file.say(`Not a step: the rest of ${String(fault.fault)}, which ends by itself.`);
    }
    return true;
  }

  #heal(): void {
    this.#timed = [];
    this.#file.put('heal', { heal: true });
    this.#file.put('ready', { wait: { nodes_ready: this.#nodes } });
  }
}
