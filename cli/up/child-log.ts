/**
 * Where a child's output goes: all of it to a file that is turned over before it grows without bound, and what a
 * person should know (warnings, errors, and words that are no log record at all) to the terminal as readable lines. With
 * `up --verbose` everything from level info on goes there, the line of every request among it.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';

const logBytesMax = 32 * 1024 * 1024;
const lineCharsMax = 16_384;
const tailLinesMax = 20;
const levels = { info: 30, warn: 40, error: 50 } as const;
/** As pino begins each record. Most are below what is shown, and need not be parsed. */
const levelPattern = /^\{"level":(\d+)[,}]/;
const levelNames: Readonly<Record<number, string>> = { 40: 'warn', 50: 'error', 60: 'fatal' };
/** Of every log record; not worth repeating on the terminal. */
const housekeeping = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'v']);

export class ChildLog {
  readonly path: string;
  readonly #show: (line: string, isNews: boolean) => void;
  /** As they came. */
  readonly #tail: string[] = [];
  #file: number;
  #size: number;
  #shownFrom: number = levels.error;

  /** `isNews`: false for what only `--verbose` shows. */
  constructor(path: string, show: (line: string, isNews: boolean) => void) {
    this.path = path;
    this.#show = show;
    this.#file = openSync(path, 'a', 0o600);
    this.#size = fstatSync(this.#file).size;
  }

  /**
   * From now on records from this level on are shown. Before, while a cluster starts, errors alone: processes that do not
   * find each other yet are no news.
   */
  showFrom(level: 'info' | 'warn'): void {
    this.#shownFrom = levels[level];
  }

  /** The last lines, for when the child dies before it was ready. */
  get tail(): readonly string[] {
    return this.#tail.map((line) => {
      const record = parseRecord(line);
      return record === undefined ? line : readable(record);
    });
  }

  /** `plain`: lines that are no log records are shown (a role process); else they only go to the file (Redis). */
  follow(stream: Readable, plain: 'show' | 'keep'): void {
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      this.#write(chunk);
      const lines = (rest + chunk).split('\n');
      rest = (lines.pop() ?? '').slice(-lineCharsMax);
      for (const line of lines) this.#line(line, plain);
    });
    stream.on('end', () => {
      if (rest !== '') this.#line(rest, plain);
    });
  }

  close(): void {
    if (this.#file >= 0) closeSync(this.#file);
    this.#file = -1;
  }

  #write(chunk: string): void {
    if (this.#file < 0) return;
    if (this.#size > logBytesMax) {
      closeSync(this.#file);
      renameSync(this.path, `${this.path}.1`);
      this.#file = openSync(this.path, 'a', 0o600);
      this.#size = 0;
    }
    this.#size += writeSync(this.#file, chunk);
  }

  #line(line: string, plain: 'show' | 'keep'): void {
    if (line.trim() === '') return;
    this.#remember(line);
    const [, level] = levelPattern.exec(line) ?? [];
    if (level !== undefined && Number(level) < this.#shownFrom) return;
    const record = parseRecord(line);
    if (record === undefined) {
      if (plain === 'show') this.#show(line, true);
    } else if (record.level >= this.#shownFrom) this.#show(readable(record), record.level >= levels.warn);
  }

  #remember(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > tailLinesMax) this.#tail.shift();
  }
}

interface LogRecord {
  readonly level: number;
  readonly msg?: unknown;
  readonly [field: string]: unknown;
}

function parseRecord(line: string): LogRecord | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const record = JSON.parse(line) as LogRecord;
    return typeof record.level === 'number' ? record : undefined;
  } catch {
    return undefined;
  }
}

/** `warn  link lost  node=3 reason="closed"`, and of a request `POST /v1/wallets  201  12.5 ms  tenant=…`. */
function readable(record: LogRecord): string {
  const { told, rest } = record.msg === 'request' ? requestWords(record) : { told: [record.msg], rest: record };
  const fields = Object.entries(rest)
    .filter(([name]) => !housekeeping.has(name))
    .map(([name, value]) => {
      const { message } = (value ?? {}) as { message?: unknown };
      return `${name}=${typeof message === 'string' ? message : typeof value === 'string' ? value : JSON.stringify(value)}`;
    });
  const words = [levelNames[record.level] ?? '', ...told.map((word) => String(word ?? '')), fields.join(' ')];
  return printable(words.filter((word) => word !== '').join('  '));
}

/** The fields that say what a request was and how it ended, in the order in which people read them, and the others. */
function requestWords(record: LogRecord): { told: readonly unknown[]; rest: object } {
  const { role: _, door, method, route, path, status, grpc_status, reason_code, duration_ms, ...rest } = record;
  const what = [door === 'grpc' ? 'gRPC' : method, route ?? path ?? 'no request line'].filter(Boolean).join(' ');
  const ending = [grpc_status ?? status ?? 'aborted', reason_code].filter(Boolean).join(' ');
  return { told: [what, ending, `${String(duration_ms)} ms`], rest };
}

/** Callers name some of it: nothing in it may steer a terminal. */
function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`);
}
