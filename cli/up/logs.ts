/** `signmesh logs`: the logs of a data directory's processes, merged in one order, past and new. */
import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { processName } from '../../scenarios/faults/cluster-names.ts';
import { errorCode, errorText, exitCodes, Failure } from '../common/failure.ts';
import { parseRecord, printable, readable } from '../start/log-record.ts';

export interface LogsOptions {
  readonly dataDir: string;
  /** Names of processes, e.g. node-3; none: all of them. */
  readonly processes: readonly string[];
  /** The number of last lines, over all processes. */
  readonly lines: number;
  readonly follow: boolean;
  /** The lines as logged, without the name of the process. */
  readonly raw: boolean;
}

interface Line {
  readonly process: string;
  readonly text: string;
  /** The time of its record, or of the record before it. */
  readonly timeMs: number;
}

const lookEveryMs = 100;
/** It reads at most this much of each log for the past: a line of a role is shorter than a KiB. */
const pastBytesMin = 1024 * 1024;
const bytesPerLine = 1024;
/** `7193:M 22 Nov 2026 21:50:37.636 * …`, in local time. */
const redisTime = /^\d+:[A-Z] (\d+ \w{3} \d{4} [\d:.]+) /;
const extension = '.log';

/** Resolves with an exit code; with `follow` only at a signal, or when the reader has closed. Throws a Failure. */
export async function logs({ dataDir, processes: named, lines, follow, raw }: LogsOptions): Promise<number> {
  const folder = join(dataDir, 'logs');
  const there = logNames(folder);
  if (there.length === 0) throw new Failure(`There are no logs in ${dataDir}: no cluster has run there.`);
  const processes = named.map((name) => (there.includes(name) ? name : processName(name).replaceAll('/', '-')));
  const unknown = processes.filter((name) => !there.includes(name));
  if (unknown.length > 0) {
    throw new Failure(`No log of ${unknown.join(', ')}. Logs exist of ${there.join(', ')}.`, exitCodes.usage);
  }
  const mayShow = (name: string) => processes.length === 0 || processes.includes(name);
  const show = (line: Line) => process.stdout.write(`${raw ? line.text : words(line)}\n`);
  const followed = new Map(
    there.filter(mayShow).map((name) => [name, new FollowedLog(name, join(folder, name + extension))]),
  );
  const bytes = Math.max(pastBytesMin, lines * bytesPerLine);
  const past = [...followed.values()].flatMap((log) => log.readFromEnd(bytes));
  // A stable sort: lines of one process stay in their order.
  for (const line of past.sort((a, b) => a.timeMs - b.timeMs).slice(-lines)) show(line);
  if (!follow) return exitCodes.ok;
  let ended = false;
  const end = () => {
    ended = true;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
  process.stdout.once('error', end);
  while (!ended) {
    await pause(lookEveryMs);
    for (const name of logNames(folder).filter(mayShow)) {
      if (!followed.has(name)) followed.set(name, new FollowedLog(name, join(folder, name + extension)));
    }
    const news = [...followed.values()].flatMap((log) => log.read());
    for (const line of news.sort((a, b) => a.timeMs - b.timeMs)) show(line);
  }
  return exitCodes.ok;
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw new Failure(`Cannot read ${folder}: ${errorText(error)}`);
  }
}

function logNames(folder: string): readonly string[] {
  return filesIn(folder)
    .filter((file) => file.endsWith(extension))
    .map((file) => file.slice(0, -extension.length))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

function words({ process, text, timeMs }: Line): string {
  const record = parseRecord(text);
  const time = record === undefined || timeMs === 0 ? '' : `${new Date(timeMs).toISOString()}  `;
  return `${time}${process}  ${record === undefined ? printable(text) : readable(record)}`;
}

/** Gives each line of a log once, also when the file is rotated in between. */
export class FollowedLog {
  readonly #process: string;
  readonly #path: string;
  #file: number | undefined;
  #offset = 0;
  #rest = '';
  #decoder = new StringDecoder('utf8');
  #timeMs = 0;

  constructor(process: string, path: string) {
    this.#process = process;
    this.#path = path;
  }

  /** At most the last `bytes`, from the begin of a line. */
  readFromEnd(bytes: number): readonly Line[] {
    this.#file = this.#open();
    const size = this.#file === undefined ? 0 : fstatSync(this.#file).size;
    this.#offset = Math.max(0, size - bytes);
    const isCut = this.#offset > 0;
    const lines = this.read();
    return isCut ? lines.slice(1) : lines;
  }

  /** The new lines. */
  read(): readonly Line[] {
    this.#file ??= this.#open();
    if (this.#file === undefined) return [];
    const found = this.#readOpen(this.#file);
    if (!this.#isTurnedOver(this.#file)) return found;
    // Lines written between the read and the rotation.
    const last = this.#readOpen(this.#file);
    closeSync(this.#file);
    this.#offset = 0;
    this.#file = this.#open();
    return [...found, ...last, ...(this.#file === undefined ? [] : this.#readOpen(this.#file))];
  }

  #open(): number | undefined {
    try {
      return openSync(this.#path, 'r');
    } catch {
      return undefined;
    }
  }

  #isTurnedOver(file: number): boolean {
    try {
      return statSync(this.#path).ino !== fstatSync(file).ino;
    } catch {
      return false;
    }
  }

  #readOpen(file: number): readonly Line[] {
    const piece = Buffer.alloc(65_536);
    let text = this.#rest;
    for (;;) {
      const length = readSync(file, piece, 0, piece.length, this.#offset);
      if (length === 0) break;
      this.#offset += length;
      text += this.#decoder.write(piece.subarray(0, length));
    }
    const lines = text.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.filter((line) => line.trim() !== '').map((line) => this.#line(line));
  }

  #line(text: string): Line {
    const time = parseRecord(text)?.time ?? Date.parse(redisTime.exec(text)?.[1] ?? '');
    if (typeof time === 'number' && Number.isFinite(time)) this.#timeMs = time;
    return { process: this.#process, text, timeMs: this.#timeMs };
  }
}
