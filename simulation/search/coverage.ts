/**
 * The product code that runs have executed, by V8's block coverage: which runs were the first to execute a function or a block of
 * one. It sees one thread, and changes no run.
 */
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import type { SourceMap } from 'node:module';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SeedRun } from './guide.ts';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface CoveredFunction {
  readonly functionName: string;
  readonly ranges: readonly Range[];
}

interface CoveredScript {
  readonly url: string;
  readonly functions: readonly CoveredFunction[];
}

/** What a take has reached first: a function, and a part of it that had not run before; empty: the function itself. */
export interface NewCode {
  readonly name: string;
  readonly parts: readonly Range[];
}

/** Without source maps a bundle is of the product as a whole. */
const product = /^(?:proto|core|nodes|coordinator|gateway|wallets|dist)\//;
/** The share of a search's runs that may be replays. */
const replayShare = 0.15;

export interface CoverageOptions {
  /** The folder of the product: files are named from here. */
  readonly root: string;
  /** The source map of a bundle; undefined: it has none. */
  readonly mapOf: (path: string) => SourceMap | undefined;
}

export class CodeCoverage {
  readonly #session = new Session();
  /** The parts of each function that no run has executed. */
  readonly #idle = new Map<string, readonly Range[]>();
  /** Of each script: the file of the product at an offset, if it is one. */
  readonly #files = new Map<string, (offset: number) => string | undefined>();
  readonly #options: CoverageOptions;
  #runs = 0;
  #replays = 0;

  constructor(options: CoverageOptions) {
    this.#options = options;
    this.#session.connect();
    this.#session.post('Profiler.enable');
    // With counts: without them V8 reports a function once, so that a replay would not show it again.
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  stop(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  /**
   * Of these runs, which have just ended, one that executed new code; none, if all of it was known, or when no run was before
   * them. `replay` runs some again, to tell which it was: as long as replays are few.
   */
  async first(
    runs: readonly SeedRun[],
    replay: (runs: readonly SeedRun[]) => Promise<void>,
  ): Promise<readonly SeedRun[]> {
    const isFirst = this.#idle.size === 0;
    this.#runs += runs.length;
    const code = this.take();
    if (isFirst || code.length === 0 || (runs.length > 1 && this.#replays + runs.length > this.#runs * replayShare))
      return [];
    let suspects = runs;
    while (suspects.length > 1) {
      const half = suspects.slice(0, suspects.length / 2);
      this.#replays += half.length;
      await replay(half);
      suspects = this.repeats(code) ? half : suspects.slice(half.length);
    }
    return suspects;
  }

  /** What ran since the last take for the first time. */
  take(): readonly NewCode[] {
    const reached: NewCode[] = [];
    for (const { name, idle } of this.#executed()) {
      const before = this.#idle.get(name);
      const left = before === undefined ? idle : before.flatMap((one) => idle.flatMap((other) => shared(one, other)));
      this.#idle.set(name, left);
      const parts = before?.filter((one) => sizeOf(left.filter((other) => isIn(other, one))) < sizeOf([one])) ?? [];
      if (before === undefined || parts.length > 0) reached.push({ name, parts });
    }
    return reached;
  }

  /** Whether the runs since the last take executed some of this code too. */
  repeats(code: readonly NewCode[]): boolean {
    const executed = new Map([...this.#executed()].map(({ name, idle }) => [name, idle]));
    return code.some(({ name, parts }) => {
      const idle = executed.get(name);
      if (idle === undefined) return false;
      return (
        parts.length === 0 || parts.some((part) => sizeOf(idle.flatMap((one) => shared(one, part))) < sizeOf([part]))
      );
    });
  }

  /** Functions of the product that ran since the last take, with their parts that did not. */
  *#executed(): Generator<{ readonly name: string; readonly idle: readonly Range[] }> {
    let scripts: readonly CoveredScript[] = [];
    // A session of the same thread answers at once.
    this.#session.post('Profiler.takePreciseCoverage', (_, { result }) => {
      scripts = result;
    });
    for (const { url, functions } of scripts) {
      const path = url.startsWith('file:') ? fileURLToPath(url) : url;
      if (!isAbsolute(path) || path.includes('/node_modules/')) continue;
      const fileAt = this.#fileAt(path);
      for (const { functionName, ranges } of functions) {
        const [whole] = ranges;
        if (whole === undefined || whole.count === 0 || functionName === '') continue;
        const file = fileAt(whole.startOffset);
        if (file === undefined) continue;
        const idle = ranges.filter(({ count }) => count === 0);
        yield { name: `${file} ${functionName} ${whole.startOffset}`, idle };
      }
    }
  }

  #fileAt(path: string): (offset: number) => string | undefined {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const map = this.#options.mapOf(path);
    const lines = map === undefined ? [] : lineStarts(readFileSync(path, 'utf8'));
    const files = new Map<number, string | undefined>();
    const named = (file: string) => {
      const name = relative(this.#options.root, file);
      return product.test(name) ? name : undefined;
    };
    const fileAt = (offset: number): string | undefined => {
      if (map === undefined) return named(path);
      if (files.has(offset)) return files.get(offset);
      const line = lines.findLastIndex((start) => start <= offset);
      const entry = map.findEntry(line, offset - lines[line]!);
      const file = 'originalSource' in entry ? named(join(dirname(path), entry.originalSource)) : undefined;
      files.set(offset, file);
      return file;
    };
    this.#files.set(path, fileAt);
    return fileAt;
  }
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function shared(one: Range, other: Range): Range[] {
  const startOffset = Math.max(one.startOffset, other.startOffset);
  const endOffset = Math.min(one.endOffset, other.endOffset);
  return startOffset < endOffset ? [{ startOffset, endOffset, count: 0 }] : [];
}

function isIn(one: Range, other: Range): boolean {
  return one.startOffset >= other.startOffset && one.endOffset <= other.endOffset;
}

function sizeOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { startOffset, endOffset }) => sum + endOffset - startOffset, 0);
}
