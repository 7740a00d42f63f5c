/**
 * `signmesh up --detach`: starts `up` in its own session, shows its progress, and ends when everything is ready. Until then `up`
 * ends with this process; from then on it runs until `signmesh stop`. Its output goes to logs/up.log.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { exitCodes } from '../common/failure.ts';
import { makeDataDirectory } from '../common/files.ts';
import { commandName } from '../common/invocation.ts';
import { bannerLines, type ReadyLineFacts } from '../start/banner.ts';
import { Screen } from '../start/screen.ts';
import { earlierLog } from './child-log.ts';

export interface DetachOptions {
  readonly dataDir: string;
  /** The person's arguments after `signmesh`. */
  readonly args: readonly string[];
  readonly json: boolean;
  readonly colour: boolean;
}

/** Set for an `up` that this command starts. */
const outliveOption = '--outlive';

const showEveryMs = 50;
const logBytesMax = 1024 * 1024;

/** Resolves with an exit code: the code of `up` when it ends before it is ready. */
export async function detach({ dataDir, args, json, colour }: DetachOptions): Promise<number> {
  const path = join(dataDir, 'logs', 'up.log');
  makeDataDirectory(dataDir, ['logs']);
  if (existsSync(path) && statSync(path).size > logBytesMax) renameSync(path, earlierLog(path));
  const log = openSync(path, 'a+', 0o600);
  const own = new Set(['--detach', '--json']);
  const words = [process.argv[1]!, ...args.filter((arg) => !own.has(arg)), '--json', outliveOption];
  const from = statSync(path).size;
  const up = spawn(process.execPath, words, { detached: true, stdio: ['ignore', 'pipe', log] });
  const said = new Said(log, from);
  const interrupt = () => up.kill('SIGTERM');
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  try {
    const outcome = await readyOrEnd(up, () => said.show());
    if (typeof outcome === 'number') return outcome;
    const ready = JSON.parse(outcome) as ReadyLineFacts;
    const screen = new Screen({ stream: process.stdout, terminal: false, colour });
    if (json) process.stdout.write(`${outcome}\n`);
    else for (const line of bannerLines(ready, `"${commandName()} stop"`, screen)) screen.line(line);
    return exitCodes.ok;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
    closeSync(log);
    up.stdout?.destroy();
    up.unref();
  }
}

/** The line for tools, or an exit code. */
async function readyOrEnd(up: ChildProcess, show: () => void): Promise<string | number> {
  let text = '';
  let ended: number | undefined;
  up.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const end = new Promise<void>((resolve) => {
    up.once('close', (code) => {
      ended = code ?? exitCodes.interrupted;
      resolve();
    });
  });
  for (;;) {
    await Promise.race([pause(showEveryMs), end]);
    show();
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'));
    if (ended !== undefined) return ended === exitCodes.ok ? exitCodes.interrupted : ended;
  }
}

/** Copies the log of `up` to standard error. */
class Said {
  readonly #file: number;
  #shown: number;

  constructor(file: number, from: number) {
    this.#file = file;
    this.#shown = from;
  }

  show(): void {
    const piece = Buffer.alloc(65_536);
    for (;;) {
      const length = readSync(this.#file, piece, 0, piece.length, this.#shown);
      if (length === 0) return;
      this.#shown += length;
      process.stderr.write(piece.subarray(0, length));
    }
  }
}
