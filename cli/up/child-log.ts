/**
 * Writes a child's output: all of it to a file that is rotated before it grows too large, and warnings, errors and lines that are
 * no log records to the terminal as readable lines. With `up --verbose` every record from level info on goes there, including the
 * line of every request.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { parseRecord, readable } from '../start/log-record.ts';

const logBytesMax = 32 * 1024 * 1024;
const lineCharsMax = 16_384;
const tailLinesMax = 20;
const levels = { info: 30, warn: 40, error: 50 } as const;
/** The begin of each pino record. Most are below the shown level, and need no parsing. */
const levelPattern = /^\{"level":(\d+)[,}]/;

/** The path of the rotated file. */
export function earlierLog(path: string): string {
  return `${path}.1`;
}

export class ChildLog {
  readonly path: string;
  readonly #show: (line: string, isNews: boolean) => void;
  /** As received. */
  readonly #tail: string[] = [];
  #file: number;
  #size: number;
  #shownFrom: number = levels.error;

  /** `isNews`: false for lines that only `--verbose` shows. */
  constructor(path: string, show: (line: string, isNews: boolean) => void) {
    this.path = path;
    this.#show = show;
    this.#file = openSync(path, 'a', 0o600);
    this.#size = fstatSync(this.#file).size;
  }

  /**
   * From now on shows records from this level on. Before, while a cluster starts, it shows only errors: processes that do not
   * find each other yet are no news.
   */
  showFrom(level: 'info' | 'warn'): void {
    this.#shownFrom = levels[level];
  }

  /** The last lines, for a child that dies before it was ready. */
  get tail(): readonly string[] {
    return this.#tail.map((line) => {
      const record = parseRecord(line);
      return record === undefined ? line : readable(record);
    });
  }

  /** `plain`: shows lines that are no log records (a role process); else they only go to the file (Redis). */
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
      renameSync(this.path, earlierLog(this.path));
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
