/**
 * Keeps one child process running: starts it, says when it is ready, starts it again when it dies, stops it when asked.
 *
 * Children are independent: each has its own back-off, and none waits for another. A child leads its own process
 * group, so that Ctrl-C on the terminal reaches us alone and we stop everyone in order; it notices our own death by
 * the closing of its IPC channel (Redis, which has none, by the kernel's parent-death signal).
 *
 *   starting ──ready──▶ running ──exit──▶ waiting ──back-off──▶ starting
 *       └──────────────exit──────────────────▲
 *   any state ──stop()──▶ stopping ──exit──▶ stopped
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { exitCodes } from '../failure.ts';
import { ChildLog } from './child-log.ts';
import { identify, removeRecord, writeRecord } from './process-identity.ts';

export interface ChildSpec {
  /** As in messages, and in the names of the log and of the record: "node-3". */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Our own role processes get a channel, say "ready" through it and end when it closes. */
  readonly channel: boolean;
  /** Says when a child without a channel is ready; rejects when it will never be. Asked once a start. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  readonly logFile: string;
  /** Where the process id stands while it runs. */
  readonly recordFile: string;
}

export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Up for so long, a child starts again from `firstMs`. */
  readonly resetMs: number;
}

export const defaultBackOff: BackOff = { firstMs: 100, maxMs: 5000, resetMs: 30_000 };

/** The message a role process sends through its channel when it serves. */
export const readyMessage = 'ready';

export class SupervisedChild {
  readonly name: string;
  readonly log: ChildLog;
  readonly #spec: ChildSpec;
  readonly #say: (line: string) => void;
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

  constructor(spec: ChildSpec, say: (line: string) => void, backOff: BackOff = defaultBackOff) {
    this.name = spec.name;
    this.#spec = spec;
    this.#say = say;
    this.#backOff = backOff;
    // A child that is being stopped complains of the others' absence: that belongs in its log alone.
    this.log = new ChildLog(spec.logFile, (line) => {
      if (!this.#stopExpected) say(`${spec.name}: ${line}`);
    });
    this.whenReady = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    // Whoever starts children may stop before it looks at this one.
    this.whenReady.catch(() => undefined);
  }

  get state(): string {
    return this.#state;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get restarts(): number {
    return this.#restarts;
  }

  start(): void {
    this.#state = 'starting';
    const { command, args, environment, channel } = this.#spec;
    const startedMs = performance.now();
    const child = spawn(command, args, {
      env: { ...environment },
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
      child.once('exit', (code, signal) => ended(signal === null ? `exit code ${code}` : signal, code));
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
    });
    this.#spec.ready?.(gone.signal).then(
      () => this.#onReady(child),
      (error: unknown) => {
        if (!gone.signal.aborted) this.#rejectReady(error);
      },
    );
  }

  /** The cluster is going down: from now on nothing it says is for the terminal, and its death is no news. */
  expectStop(): void {
    this.#stopExpected = true;
  }

  /** SIGTERM, then SIGKILL after the grace. Resolves when the process is gone. Never rejects. */
  async stop(graceMs: number): Promise<void> {
    clearTimeout(this.#timer);
    const child = this.#process;
    const wasAlive = child !== undefined && this.#state !== 'waiting' && this.#state !== 'stopped';
    this.#state = 'stopping';
    this.#rejectReady(new Error(`${this.name} was stopped`));
    if (wasAlive) {
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

  /** At once, with nothing waited for: the process is about to exit itself. */
  kill(): void {
    clearTimeout(this.#timer);
    this.#state = 'stopping';
    this.#process?.kill('SIGKILL');
  }

  #onReady(child: ChildProcess): void {
    if (this.#process !== child || this.#state !== 'starting') return;
    this.#state = 'running';
    this.#wasReady = true;
    this.#resolveReady();
    if (this.#restarts > 0) this.#say(`${this.name} is back`);
  }

  #onExit(how: string, code: number | null, upMs: number): void {
    removeRecord(this.#spec.recordFile);
    if (this.#state === 'stopping' || this.#state === 'stopped') return;
    if (this.#stopExpected) {
      this.#state = 'stopped';
      return;
    }
    if (code === exitCodes.usage && !this.#wasReady) {
      // Its settings are wrong: the same start would end the same way.
      this.#state = 'stopped';
      this.#rejectReady(new Error(`${this.name} refused to start`));
      return;
    }
    if (upMs >= this.#backOff.resetMs) this.#failures = 0;
    // Jitter keeps children that died together from coming back together, again and again.
    const fullMs = Math.min(this.#backOff.maxMs, this.#backOff.firstMs * 2 ** this.#failures);
    const waitMs = Math.round(fullMs * (0.5 + Math.random() / 2));
    this.#failures += 1;
    this.#restarts += 1;
    this.#state = 'waiting';
    this.#say(`${this.name} died (${how}); restarting in ${waitMs} ms`);
    this.#timer = setTimeout(() => this.start(), waitMs);
  }
}
