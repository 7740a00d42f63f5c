/**
 * Supervises one child process: starts it, reports when it is ready, restarts it when it dies, stops it on request.
 *
 * Children are independent: each has its own back-off, and none waits for another. A child leads its own process
 * group, so that Ctrl-C on the terminal reaches us alone and we stop everyone in order; it notices our own death by
 * the closing of its IPC channel (Redis, which has none, by the kernel's parent-death signal).
 *
 *   starting ──ready──▶ running ──exit──▶ waiting ──back-off──▶ starting
 *       └──────────────exit──────────────────▲
 *   any state ──stop()──▶ stopping ──exit──▶ stopped
 *
 * On request it kills a child and holds it down for a time or for good, pauses it, or starts it again; a stop resumes a
 * paused child.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  isListensMessage,
  isPortTakenMessage,
  isWaitingMessage,
  type PortTakenMessage,
  readyMessage,
} from '../common/channel.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { identify, isStopped, removeRecord, writeRecord } from '../common/process-records.ts';
import { ChildLog } from './child-log.ts';
import { dismiss, watchman } from './paused-process-guard.ts';

export interface ChildSpec {
  /** As in messages, and in the names of the log and of the record: "node-3". */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Additions to it at each start. */
  readonly environmentNow?: () => Readonly<Record<string, string | undefined>>;
  /** Our own role processes get a channel, say "ready" through it and end when it closes. */
  readonly channel: boolean;
  /** Reports when a child without a channel is ready; rejects when it never will be. Called once a start. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  /** The ports of its listeners, by variable, whenever it reports them. */
  readonly onListens?: (ports: Readonly<Record<string, number>>) => void;
  /** It ended because a port is taken: resolves with the time until it starts again; undefined: it stays down. */
  readonly onPortTaken?: (taken: PortTakenMessage, wasReady: boolean) => Promise<number | undefined>;
  /** Of a child without a channel: whether its last words say that a port is taken. */
  readonly portTakenIn?: (lastWords: readonly string[]) => PortTakenMessage | undefined;
  readonly logFile: string;
  /** The file of the process id while it runs. */
  readonly recordFile: string;
}

export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** After this uptime, a child's back-off starts again from `firstMs`. */
  readonly resetMs: number;
}

export const defaultBackOff: BackOff = { firstMs: 100, maxMs: 5000, resetMs: 30_000 };

/** The parts of a child that the fault injector uses. */
export interface ChildWatcher {
  /** Its messages through its channel, except "ready". */
  message(message: unknown): void;
  changed(what: 'up' | 'down' | 'paused' | 'resumed', why: string): void;
}

/** Longer than a start takes on a busy machine; a caller at the gateway waits 30 s. */
const backWithinMs = 15_000;

export class SupervisedChild {
  readonly name: string;
  readonly log: ChildLog;
  readonly #spec: ChildSpec;
  readonly #say: (line: string, isNews?: boolean) => void;
  readonly #backOff: BackOff;
  /** Resolves when the child was ready for the first time; rejects when it never will be (its settings are wrong). */
  readonly whenReady: Promise<void>;
  #resolveReady!: () => void;
  #rejectReady!: (error: unknown) => void;
  #state: 'starting' | 'running' | 'waiting' | 'stopping' | 'stopped' = 'stopped';
  #process: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #restarts = 0;
  #stopExpected = false;
  #wasReady = false;
  #paused = false;
  #frozen = false;
  /** Resumes it if we die while it is paused. */
  #watchman: ChildProcess | undefined;
  #startedMs: number | undefined;
  #waitingFor: string | undefined;
  /** The process that runs now ends for this reason. */
  #portTaken: PortTakenMessage | undefined;
  #wasPortTaken = false;
  /** The planned restart after an intentional kill; undefined: a death is news. */
  #crash: { readonly restartAfterMs: number | null; readonly whileDown: () => void } | undefined;
  #watcher: ChildWatcher | undefined;
  /** Callers that wait for the next "ready". */
  readonly #waiting = new Set<() => void>();

  constructor(spec: ChildSpec, say: (line: string, isNews?: boolean) => void, backOff: BackOff = defaultBackOff) {
    this.name = spec.name;
    this.#spec = spec;
    this.#say = say;
    this.#backOff = backOff;
    // A child that stops complains about absent peers: that belongs only in its log.
    this.log = new ChildLog(spec.logFile, (line, isNews) => {
      if (!this.#stopExpected) say(`${spec.name}: ${line}`, isNews);
    });
    this.whenReady = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    // A stop may come before this child is started.
    this.whenReady.catch(() => undefined);
  }

  get state(): string {
    return this.#state;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get isPaused(): boolean {
    return this.#paused;
  }

  /** Whether a process exists, ready or not. */
  get isAlive(): boolean {
    return this.#state === 'starting' || this.#state === 'running';
  }

  /** When the process that runs now was started, milliseconds since the Unix epoch. */
  get startedMs(): number | undefined {
    return this.#startedMs;
  }

  /** The thing that it waits for before it is ready. */
  get waitingFor(): string | undefined {
    return this.#waitingFor;
  }

  watch(watcher: ChildWatcher): void {
    this.#watcher = watcher;
  }

  get restarts(): number {
    return this.#restarts;
  }

  start(): void {
    this.#state = 'starting';
    const { command, args, environment, environmentNow, channel } = this.#spec;
    const startedMs = performance.now();
    this.#startedMs = Date.now();
    const child = spawn(command, args, {
      env: { ...environment, ...environmentNow?.() },
      stdio: ['ignore', 'pipe', 'pipe', ...(channel ? (['ipc'] as const) : [])],
      detached: true,
    });
    this.#process = child;
    const gone = new AbortController();
    this.#exited = new Promise((resolve) => {
      // A command that cannot be started at all reports an error and no exit.
      child.once('error', (error) => {
        if (child.pid === undefined) ended(error.message);
      });
      child.once('exit', (code, signal) => {
        const end = () => ended(signal === null ? `exit code ${code}` : signal, code);
        // Its last words may still be on their way.
        if (code && this.#spec.portTakenIn !== undefined) child.once('close', end);
        else end();
      });
      const ended = (how: string, code: number | null = null) => {
        gone.abort();
        resolve();
        this.#onExit(how, code, performance.now() - startedMs);
      };
    });
    if (child.pid !== undefined) writeRecord(this.#spec.recordFile, identify(child.pid));
    if (child.stdout) this.log.follow(child.stdout, channel ? 'show' : 'keep');
    if (child.stderr) this.log.follow(child.stderr, 'show');
    child.on('message', (message) => {
      if (message === readyMessage) this.#onReady(child);
      else if (isWaitingMessage(message)) this.#waitingFor = message.what;
      else if (isListensMessage(message)) this.#spec.onListens?.(message.ports);
      else if (isPortTakenMessage(message)) {
        this.#portTaken = message;
        child.kill('SIGKILL');
      } else this.#watcher?.message(message);
    });
    this.#spec.ready?.(gone.signal).then(
      () => this.#onReady(child),
      (error: unknown) => {
        if (!gone.signal.aborted) this.#rejectReady(error);
      },
    );
  }

  /** Through its channel. False: the channel is closed. */
  send(message: object): boolean {
    const child = this.#process;
    if (child?.connected !== true || (this.#state !== 'running' && this.#state !== 'starting')) return false;
    return child.send(message, ignore);
  }

  /** Resolves at its next "ready", at once if it is ready. Rejects after too long: it dies, or hangs. */
  whenBack(withinMs = backWithinMs): Promise<void> {
    if (this.#state === 'running') return Promise.resolve();
    return new Promise((resolve, reject) => {
      const back = () => {
        clearTimeout(timer);
        this.#waiting.delete(back);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(back);
        reject(new Failure(`${this.name} is not ready within ${withinMs / 1000} s: see ${this.log.path}`));
      }, withinMs);
      this.#waiting.add(back);
    });
  }

  /**
   * SIGKILL. `whileDown` runs after its end; after `restartAfterMs` it starts again, with null only by `restart`. Resolves at its
   * end. A child that is down stays down for the newly given time.
   */
  async crash(restartAfterMs: number | null, whileDown: () => void): Promise<void> {
    if (this.#state === 'stopping' || this.#stopExpected) return;
    this.#crash = { restartAfterMs, whileDown };
    if (!this.isAlive) {
      clearTimeout(this.#timer);
      this.#afterCrash();
      return;
    }
    this.#process?.kill('SIGKILL');
    await this.#exited;
  }

  /** Ends the present process, in order, and starts it again. Resolves when it is ready; rejects like `whenBack`. */
  async restart(graceMs: number): Promise<void> {
    if (this.#state === 'stopping' || this.#stopExpected) return;
    clearTimeout(this.#timer);
    if (this.isAlive) {
      this.#crash = { restartAfterMs: 0, whileDown: ignore };
      this.resume();
      this.#process?.kill('SIGTERM');
      const timer = setTimeout(() => this.#process?.kill('SIGKILL'), graceMs);
      await this.#exited;
      clearTimeout(timer);
    } else this.#startAgain();
    await this.whenBack();
  }

  /** SIGSTOP. False: there is no process. */
  pause(): boolean {
    if (!this.isAlive || this.#process?.kill('SIGSTOP') !== true) return false;
    if (this.#paused) return true;
    this.#changed('paused', 'SIGSTOP');
    this.#paused = true;
    this.#watchman = watchman(this.#process.pid!);
    return true;
  }

  /** SIGCONT, if it was paused. */
  resume(): void {
    if (!this.#paused) return;
    this.#unpaused();
    if (!this.#frozen) this.#process?.kill('SIGCONT');
    this.#changed('resumed', 'SIGCONT');
  }

  /** For a moment, without news: its state is fixed until `thaw`. False: there is no process. */
  freeze(): boolean {
    if (!this.isAlive || this.#process?.kill('SIGSTOP') !== true) return false;
    this.#frozen = true;
    return true;
  }

  thaw(): void {
    this.#frozen = false;
    if (!this.#paused) this.#process?.kill('SIGCONT');
  }

  /** Whether the system has stopped it, or it has ended. */
  get isStopped(): boolean {
    return this.pid === undefined || !this.isAlive || isStopped(this.pid);
  }

  /** The cluster stops: from now on none of its output is for the terminal, and its death is no news. */
  expectStop(): void {
    this.#stopExpected = true;
  }

  /** SIGTERM, then SIGKILL after the grace period. Resolves when the process has ended. Never rejects. */
  async stop(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    const child = this.#process;
    const wasAlive = child !== undefined && this.#state !== 'waiting' && this.#state !== 'stopped';
    this.#state = 'stopping';
    this.#rejectReady(new Error(`${this.name} was stopped`));
    for (const resolve of [...this.#waiting]) resolve();
    if (wasAlive) {
      // A paused process handles no signals.
      this.thaw();
      this.resume();
      child.kill('SIGTERM');
      const timer = setTimeout(() => {
        this.#say(`${this.name} does not stop; killing it`);
        child.kill('SIGKILL');
      }, graceMs);
      await this.#exited;
      clearTimeout(timer);
    }
    this.#state = 'stopped';
    this.log.close();
  }

  /** At once, without any wait: the process is about to exit itself. */
  kill(): void {
    clearTimeout(this.#timer);
    this.#state = 'stopping';
    this.#process?.kill('SIGKILL');
  }

  #onReady(child: ChildProcess): void {
    if (this.#process !== child || this.#state !== 'starting') return;
    this.#state = 'running';
    this.#wasReady = true;
    this.#wasPortTaken = false;
    this.#resolveReady();
    for (const resolve of [...this.#waiting]) resolve();
    this.#changed('up', `process ${child.pid}`);
    if (this.#restarts > 0) this.#say(`${this.name} is back`);
  }

  #onExit(how: string, code: number | null, upMs: number): void {
    removeRecord(this.#spec.recordFile);
    this.#unpaused();
    this.#frozen = false;
    this.#startedMs = undefined;
    this.#waitingFor = undefined;
    const taken = this.#portTaken ?? (code ? this.#spec.portTakenIn?.(this.log.tail) : undefined);
    this.#portTaken = undefined;
    this.#changed('down', how);
    if (this.#state === 'stopping' || this.#state === 'stopped') return;
    if (this.#stopExpected) {
      this.#state = 'stopped';
      return;
    }
    if (this.#crash !== undefined) {
      this.#afterCrash();
      return;
    }
    if (taken !== undefined && this.#spec.onPortTaken !== undefined) {
      this.#state = 'waiting';
      void this.#spec.onPortTaken(taken, this.#wasReady).then((waitMs) => this.#afterPortTaken(taken, waitMs));
      return;
    }
    if (code === exitCodes.usage && !this.#wasReady) {
      // Its settings are wrong: the same start would end the same way.
      this.#state = 'stopped';
      this.#rejectReady(new Error(`${this.name} refused to start`));
      return;
    }
    if (upMs >= this.#backOff.resetMs) this.#failures = 0;
    // Jitter keeps children that died together from restarting together repeatedly.
    const fullMs = Math.min(this.#backOff.maxMs, this.#backOff.firstMs * 2 ** this.#failures);
    const waitMs = Math.round(fullMs * (0.5 + Math.random() / 2));
    this.#failures += 1;
    this.#restarts += 1;
    this.#state = 'waiting';
    this.#say(`${this.name} died (${how}); restarting in ${waitMs} ms`);
    this.#timer = setTimeout(() => this.start(), waitMs);
  }

  /** Intentionally down: that does not count as its own failure. */
  #afterCrash(): void {
    const { restartAfterMs, whileDown } = this.#crash!;
    this.#crash = undefined;
    this.#state = 'waiting';
    whileDown();
    if (restartAfterMs === null) this.#say(`${this.name} is down until it is restarted`);
    else this.#timer = setTimeout(() => this.#startAgain(), restartAfterMs);
  }

  #afterPortTaken({ line }: PortTakenMessage, waitMs: number | undefined): void {
    if (this.#state !== 'waiting' || this.#stopExpected) return;
    if (waitMs === undefined) {
      this.#state = 'stopped';
      this.#rejectReady(new Failure(line));
      return;
    }
    if (!this.#wasPortTaken && this.#wasReady) this.#say(`${this.name} cannot listen: ${line}`);
    this.#wasPortTaken = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#startAgain(), waitMs);
  }

  #startAgain(): void {
    this.#restarts += 1;
    this.start();
  }

  #unpaused(): void {
    this.#paused = false;
    dismiss(this.#watchman);
    this.#watchman = undefined;
  }

  #changed(what: 'up' | 'down' | 'paused' | 'resumed', why: string): void {
    this.#watcher?.changed(what, why);
  }
}

const ignore = (): void => undefined;
