/**
 * Where a child's output goes: all of it to a file that is turned over before it grows without bound, and what a
 * person should know (warnings, errors, and words that are no log record at all) to the terminal as readable lines.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';

const logBytesMax = 32 * 1024 * 1024;
const lineCharsMax = 16_384;
const tailLinesMax = 20;
const warnLevel = 40;
const errorLevel = 50;
const levelNames: Readonly<Record<number, string>> = { 40: 'warn', 50: 'error', 60: 'fatal' };
/** Of every log record; not worth repeating on the terminal. */
const housekeeping = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'v']);

export class ChildLog {
  readonly path: string;
  readonly #show: (line: string) => void;
  readonly #tail: string[] = [];
  #file: number;
  #size: number;
  #shownFrom = errorLevel;

  constructor(path: string, show: (line: string) => void) {
    this.path = path;
    this.#show = show;
    this.#file = openSync(path, 'a', 0o600);
    this.#size = fstatSync(this.#file).size;
  }

  /**
   * From now on warnings are shown too. Before, while a cluster starts, processes that do not find each other yet are
   * no news.
   */
  showWarnings(): void {
    this.#shownFrom = warnLevel;
  }

  /** The last lines, for when the child dies before it was ready. */
  get tail(): readonly string[] {
    return this.#tail;
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
    const record = parseRecord(line);
    if (record === undefined) {
      this.#remember(line);
      if (plain === 'show') this.#show(line);
      return;
    }
    this.#remember(readable(record));
    if (record.level >= this.#shownFrom) this.#show(readable(record));
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

/** `warn  link lost  node=3 reason="closed"` */
function readable(record: LogRecord): string {
  const fields = Object.entries(record)
    .filter(([name]) => !housekeeping.has(name))
    .map(([name, value]) => {
      const { message } = (value ?? {}) as { message?: unknown };
      return `${name}=${typeof message === 'string' ? message : typeof value === 'string' ? value : JSON.stringify(value)}`;
    });
  const words = [levelNames[record.level] ?? '', String(record.msg ?? ''), fields.join(' ')];
  return words.filter((word) => word !== '').join('  ');
}
