/**
 * The live HsmPort: the PKCS#11 module in a separate process, since a module is third-party code that may hang, crash or
 * corrupt memory. One request at a time.
 *
 * Invariants
 * - Every request is answered once: by the process, when it ends (HSM_SESSION_LOST), or when its time is over (HSM_TIMEOUT).
 * - After a fault the process is replaced at the next request, so that module, session and login start anew.
 * - After a refused PIN all requests fail for `pinPauseMs` without another try: tokens lock after a few wrong PINs.
 * - The output of the process is untrusted: anything but an answer ends it (HSM_FAILED). It gets no setting of this service.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Cancel, Ports } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { type HsmFault, type HsmOutcome, type HsmPort, type HsmRequest, unconfigured } from '../records/hsm-port.ts';
import {
  answerCharsMax,
  answersFd,
  type FromChild,
  type HsmConfig,
  readAnswer,
  type ToChild,
  writeLine,
} from './protocol.ts';

/** Requests that wait, at most. */
const waitingMax = 256;
const pinPauseMs = 30_000;

interface Waiting {
  readonly request: HsmRequest;
  readonly answer: (outcome: HsmOutcome) => void;
}

/** A node's token, which ends with the node. */
interface StoppableHsm extends HsmPort {
  /** Ends the process. Requests under way are answered. */
  stop(): void;
}

export const noHsm: StoppableHsm = {
  ask: (_, answer) => queueMicrotask(() => answer(unconfigured)),
  stop() {},
};

export class HsmProcess implements StoppableHsm {
  readonly #config: HsmConfig;
  readonly #ports: Pick<Ports, 'timers'>;
  readonly #log: Log;
  readonly #waiting: Waiting[] = [];
  #child: ChildProcess | undefined;
  #current: (Waiting & { readonly id: number; readonly cancel: Cancel }) | undefined;
  #lastId = 0;
  #pinRefusedAtMs: number | undefined;
  #stopped = false;

  constructor(config: HsmConfig, ports: Pick<Ports, 'timers'>, log: Log) {
    this.#config = config;
    this.#ports = ports;
    this.#log = log;
  }

  ask(request: HsmRequest, answer: (outcome: HsmOutcome) => void): void {
    const refuse = (fault: HsmFault, message: string) =>
      queueMicrotask(() => answer({ kind: 'failed', fault, message }));
    if (this.#stopped) refuse('HSM_SESSION_LOST', 'the node is stopping');
    else if (this.#waiting.length >= waitingMax) refuse('HSM_FAILED', 'too many requests wait for the PKCS#11 module');
    else {
      this.#waiting.push({ request, answer });
      queueMicrotask(() => this.#next());
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#end();
    this.#fail('HSM_SESSION_LOST', 'the node is stopping');
    for (const { answer } of this.#waiting.splice(0)) {
      answer({ kind: 'failed', fault: 'HSM_SESSION_LOST', message: 'the node is stopping' });
    }
  }

  #isPinRefused(): boolean {
    const since = this.#pinRefusedAtMs;
    return since !== undefined && this.#ports.timers.elapsedMs() < since + pinPauseMs;
  }

  #next(): void {
    if (this.#current !== undefined || this.#stopped) return;
    if (this.#isPinRefused()) {
      const message = 'the token refused the PIN a moment ago';
      for (const { answer } of this.#waiting.splice(0)) answer({ kind: 'failed', fault: 'HSM_PIN_REFUSED', message });
      return;
    }
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#lastId += 1;
    const id = this.#lastId;
    const { timeoutMs } = this.#config;
    const cancel = this.#ports.timers.start(timeoutMs, () => {
      this.#end();
      this.#fail('HSM_TIMEOUT', `the PKCS#11 module did not answer within ${timeoutMs} ms`);
    });
    this.#current = { ...next, id, cancel };
    this.#child ??= this.#start();
    this.#say(this.#child, { kind: 'request', id, request: next.request });
  }

  #start(): ChildProcess {
    const { program, module, token, pin } = this.#config;
    // The PIN crosses stdin, not the command line or the environment.
    const child = spawn(process.execPath, [program], {
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      env: foreignEnvironment(),
    });
    // A closed or missing pipe reports by `exit` or `error`.
    child.stdin?.on('error', () => {});
    readLines(child.stdio[answersFd] as Readable | undefined, (line) => this.#said(child, readAnswer(line)));
    child.on('error', (error) => this.#gone(child, error.message));
    child.on('exit', (code, signal) => this.#gone(child, `its process ended (${signal ?? code})`));
    this.#say(child, { kind: 'open', module, token, pin });
    this.#log.info({ pid: child.pid, module }, 'hsm process started');
    return child;
  }

  #say(child: ChildProcess, message: ToChild): void {
    child.stdin?.write(writeLine(message));
  }

  #said(child: ChildProcess, said: FromChild | undefined): void {
    if (child !== this.#child) return;
    if (said?.id !== this.#current?.id || said === undefined) {
      this.#end();
      this.#fail('HSM_FAILED', 'the process of the PKCS#11 module said what is no answer');
      return;
    }
    const { outcome } = said;
    if (outcome.kind !== 'failed') {
      this.#answer(outcome);
      return;
    }
    const { fault, message } = outcome;
    if (fault === 'HSM_PIN_REFUSED') this.#pinRefusedAtMs = this.#ports.timers.elapsedMs();
    this.#end();
    this.#fail(fault, message);
  }

  #gone(child: ChildProcess, why: string): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    this.#log.warn({ pid: child.pid, reason: why }, 'hsm process ended');
    this.#fail('HSM_SESSION_LOST', `the PKCS#11 module is gone: ${why}`);
  }

  #end(): void {
    const child = this.#child;
    this.#child = undefined;
    child?.kill('SIGKILL');
  }

  #fail(fault: HsmFault, message: string): void {
    if (this.#current === undefined) return;
    this.#log.warn({ fault, reason: message }, 'the token did not answer');
    this.#answer({ kind: 'failed', fault, message });
  }

  #answer(outcome: HsmOutcome): void {
    const current = this.#current;
    this.#current = undefined;
    current?.cancel();
    current?.answer(outcome);
    this.#next();
  }
}

/** The environment of a module: without the settings of this service, which may be secret. */
function foreignEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SIGNMESH_|REDIS_URL$)/.test(name)));
}

/** Calls `said` with each line. An overlong line is the last call. */
function readLines(stream: Readable | undefined, said: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('latin1');
  stream?.on('error', () => {});
  stream?.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) said(line);
    if (rest.length <= answerCharsMax) return;
    stream?.destroy();
    said(rest);
  });
}
