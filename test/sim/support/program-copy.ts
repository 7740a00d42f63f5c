/**
 * Copies of the compiled simulation with something wrong in them: what tests plant, and the simulation must find. The build
 * in dist/ is bundled; here the compiler writes one file a module, so that an edit names its place.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** One replacement in a compiled file, or in a Redis script: `from` stands there exactly once. */
export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A known flaw, which random search must find. */
export interface PlantedFlaw {
  readonly name: string;
  /** What is wrong with the program then. */
  readonly flaw: string;
  /** A guard behind the one that is left out goes, too: otherwise the flaw would do no harm. */
  readonly edits: readonly Edit[];
  /** One of these is violated. */
  readonly invariants: readonly string[];
  readonly profile: 'calm' | 'stormy' | 'hostile' | 'malformed';
  /** Steps of the wallet search that are drawn more often, as in a search that has not reached their landmarks yet. */
  readonly favoured?: readonly string[];
  /** It is found within so many seeds, counted from 1. */
  readonly seeds: number;
  /** A seed that found it when this was written. `npm test` runs it before it counts from 1; a thorough run does not. */
  readonly foundBy?: number;
  /** Searched for with `npm test -- --thorough` alone; `npm test` runs a scenario that finds it (planted-checks.test.ts). */
  readonly isSlow?: true;
}

/** A folder for the copies of one test file, below the root, so that packages are found from there. */
export function copiesFolder(name: string): string {
  return join(root, '.setup', `${name}-${process.pid}`);
}

/** Compiles the simulation, once for all copies in `folder`. */
export function buildProgram(folder: string): void {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [compiler, '-p', 'tsconfig.build.json', '--sourceMap', 'false', '--outDir', join(folder, 'program')];
  // As the checks run it (tools/check/tool.ts): less CPU for more memory.
  const env = { GOGC: '400', ...process.env };
  execFileSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** The program in `folder/name`, by links to its files, with the edits. Returns the copy's folder. */
export function plantedCopy(folder: string, name: string, edits: readonly Edit[]): string {
  const [program, copy] = [join(folder, 'program'), join(folder, name)];
  mkdirSync(copy);
  for (const entry of readdirSync(program, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const copied = join(copy, relative(program, path));
    if (entry.isDirectory()) mkdirSync(copied, { recursive: true });
    else {
      mkdirSync(dirname(copied), { recursive: true });
      linkSync(path, copied);
    }
  }
  for (const { file, from, to } of edits) {
    const path = join(copy, file);
    // The compiler leaves Redis scripts alone: the copy finds its own first, and otherwise that of the sources.
    const isScript = file.endsWith('.lua') && !existsSync(path);
    const pieces = readFileSync(isScript ? join(root, file) : path, 'utf8').split(from);
    expect(pieces.length, `${file} has ${JSON.stringify(from)} once`).toBe(2);
    // Not into the program's own file.
    rmSync(path, { force: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, pieces.join(to));
  }
  return copy;
}

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** Runs JavaScript in a process of its own, which ends with it. */
export function runScript(cwd: string, script: string): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = { out: '', errors: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said.out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said.errors += text;
    });
    child.once('close', (code) => resolve({ code, ...said }));
  });
}
