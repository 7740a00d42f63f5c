/** The reports of a command's runs: on standard output, and in the files of its options. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { indexPage, type RunPage } from '../../clients/report/html/index-page.ts';
import { htmlPage } from '../../clients/report/html/page.ts';
import { jsonLines } from '../../clients/report/json-lines.ts';
import { junit } from '../../clients/report/junit.ts';
import { textReport, verdictText } from '../../clients/report/text.ts';
import type { Run } from '../../scenarios/runner/world.ts';
import { errorText, exitCodes, Failure } from '../common/failure.ts';

const formats = ['text', 'jsonl', 'junit', 'html'] as const;
type Format = (typeof formats)[number];

export interface Report {
  readonly format: Format;
  /** undefined: standard output; of html a file named after the scenario. */
  readonly file: string | undefined;
}

/** "html=page.html". Throws a Failure. */
export function parseReport(text: string): Report {
  const [name, ...rest] = text.split('=');
  const format = formats.find((one) => one === name);
  const file = rest.length === 0 ? undefined : rest.join('=');
  if (format === undefined) throw new Failure(`--report takes ${formats.join(', ')}, not "${name}".`, exitCodes.usage);
  if (file === '') throw new Failure(`--report ${format}= needs a file name.`, exitCodes.usage);
  return { format, file };
}

export class RunReporter {
  readonly runs: Run[] = [];
  readonly #reports: readonly Report[];
  readonly #expected: number;
  /** A report on standard output excludes all other output there. */
  readonly #isQuiet: boolean;

  constructor(reports: readonly Report[], expected: number) {
    this.#reports = reports;
    this.#expected = expected;
    this.#isQuiet = reports.some(({ format, file }) => file === undefined && format !== 'html');
    if (reports.filter(({ format, file }) => file === undefined && format !== 'html').length > 1) {
      throw new Failure('At most one report can go to standard output: give the others a file.', exitCodes.usage);
    }
  }

  /** `tookMs`: of real time. */
  add(run: Run, tookMs: number): void {
    this.runs.push(run);
    if (this.#isQuiet) return;
    if (this.#expected === 1) process.stdout.write(verdictText(run, { colour: process.stdout.isTTY === true }));
    else process.stdout.write(summary(run, tookMs));
  }

  finish(): void {
    for (const report of this.#reports) this.#write(report);
    if (this.#isQuiet || this.#expected === 1) return;
    const passed = this.runs.filter(({ verdict }) => verdict.kind === 'passed').length;
    process.stdout.write(`${passed} of ${this.runs.length} passed\n`);
  }

  #write({ format, file }: Report): void {
    if (format === 'html') {
      const isOne = this.runs.length === 1;
      const taken = new Map<string, number>();
      const pages: RunPage[] = [];
      for (const run of this.runs) {
        // Two runs of one name get a page each.
        const times = (taken.get(run.scenario) ?? 0) + 1;
        taken.set(run.scenario, times);
        const name = times === 1 ? `${run.scenario}.html` : `${run.scenario}-${times}.html`;
        const path = isOne ? (file ?? name) : join(file ?? '.', name);
        save(path, htmlPage(run));
        pages.push({ run, file: name });
        if (file === undefined && !this.#isQuiet) process.stdout.write(`page      ${path}\n`);
      }
      if (!isOne) save(join(file ?? '.', 'index.html'), indexPage(pages));
      return;
    }
    const text = textOf(format, this.runs);
    if (file === undefined) process.stdout.write(text);
    else save(file, text);
  }
}

function textOf(format: Exclude<Format, 'html'>, runs: readonly Run[]): string {
  if (format === 'junit') return junit(runs);
  if (format === 'text') return runs.map((run) => textReport(run)).join('\n');
  return runs.map((run) => [...jsonLines(run)].map((line) => `${line}\n`).join('')).join('');
}

/** "silent-node-replaced  simulated  passed       328 ms  (0.1 s)", and below a failure its text. */
function summary(run: Run, tookMs: number): string {
  const { scenario, world, verdict } = run;
  const time = `${Math.round(run.tookMs)} ms`.padStart(10);
  const line = `${scenario.padEnd(34)}  ${world.padEnd(9)}  ${verdict.kind.padEnd(11)} ${time}  (${(tookMs / 1000).toFixed(1)} s)\n`;
  if (verdict.kind === 'passed') return line;
  const what = 'what' in verdict ? verdict.what : 'invariant' in verdict ? verdict.invariant : '';
  const also = verdict.kind === 'failed' ? (verdict.also ?? []) : [];
  return `${line}${[what, verdict.cause, ...also, run.replay]
    .filter((text) => text !== '')
    .map((text) => `    ${text}\n`)
    .join('')}`;
}

function save(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } catch (error) {
    throw new Failure(`Cannot write ${path}: ${errorText(error)}`);
  }
}
