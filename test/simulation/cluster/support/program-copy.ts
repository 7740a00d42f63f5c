/**
 * Copies of the compiled simulation with something wrong in them: what tests plant, and the simulation must find. The build
 * in dist/ is bundled; here the compiler writes one file a module, so that an edit names its place.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { digest, sourcesOf } from '../../../support/native-modules.ts';

export const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** What the compiler's output depends on, beside the sources. */
const settings = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

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

/**
 * Makes `folder/program`, the compiled simulation, for the copies in `folder`. `edits`: all that a thorough run plants; their places are
 * checked in every run, so that none is lost when the product changes.
 */
export function buildProgram(folder: string, edits: readonly Edit[]): void {
  const program = join(folder, 'program');
  linkAll(compiled(), program);
  for (const edit of edits) piecesOf(program, edit);
}

/** The folder of the compiled simulation: compiled once for these sources, whichever test file is the first to need it. */
function compiled(): string {
  const setup = join(root, '.setup');
  const inputs = [...sourcesOf(root).filter((path) => !path.startsWith('test/')), ...settings];
  const texts = inputs.map((path) => `${path}\0${readFileSync(join(root, path), 'utf8')}\0`);
  const name = `program-${digest(texts.join(''))}`;
  const made = join(setup, name);
  if (existsSync(made)) return made;
  const own = join(setup, `making-${name}-${process.pid}`);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [compiler, '-p', 'tsconfig.build.json', '--sourceMap', 'false', '--outDir', own];
  // As the checks run it (tools/check/tool.ts): less CPU for more memory.
  const env = { GOGC: '400', ...process.env };
  try {
    execFileSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
    for (const old of readdirSync(setup).filter((entry) => entry.startsWith('program-') && entry !== name)) {
      rmSync(join(setup, old), { recursive: true, force: true });
    }
    renameSync(own, made);
  } catch (error) {
    // Another worker was quicker.
    if (!existsSync(made)) throw error;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
  return made;
}

/** A folder with links to all files of another. */
function linkAll(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const linked = join(to, relative(from, path));
    if (entry.isDirectory()) mkdirSync(linked, { recursive: true });
    else {
      mkdirSync(dirname(linked), { recursive: true });
      linkSync(path, linked);
    }
  }
}

/** The program in `folder/name`, by links to its files, with the edits. Returns the copy's folder. */
export function plantedCopy(folder: string, name: string, edits: readonly Edit[]): string {
  const copy = join(folder, name);
  linkAll(join(folder, 'program'), copy);
  for (const edit of edits) {
    const path = join(copy, edit.file);
    const pieces = piecesOf(copy, edit);
    // Not into the program's own file.
    rmSync(path, { force: true });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, pieces.join(edit.to));
  }
  return copy;
}

/** What is before and behind the place of an edit. */
function piecesOf(program: string, { file, from }: Edit): readonly string[] {
  const path = join(program, file);
  // The compiler leaves Redis scripts alone: a copy finds its own first, and otherwise that of the sources.
  const isScript = file.endsWith('.lua') && !existsSync(path);
  const pieces = readFileSync(isScript ? join(root, file) : path, 'utf8').split(from);
  expect(pieces.length, `${file} has ${JSON.stringify(from)} once`).toBe(2);
  return pieces;
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

export interface PlantedProgram {
  readonly edits: readonly Edit[];
  /** Files of scenarios/, without their ending. */
  readonly scenarios: readonly string[];
}

/** The verdicts of scenarios under copies of the program, one after the other in a process of their own. `runner`: what runs one. */
export async function verdictsOf(
  folder: string,
  programs: readonly PlantedProgram[],
  runner: { readonly file: string; readonly name: string },
): Promise<readonly (readonly { readonly kind: string }[])[]> {
  const tasks = programs.map(({ edits, scenarios }, index) => {
    const copy = plantedCopy(folder, String(index), edits);
    const module = (path: string) => pathToFileURL(join(copy, path)).href;
    const sources = scenarios.map((scenario) => {
      const file = `${scenario}.yaml`;
      return { file, text: readFileSync(join(root, 'scenarios', file), 'utf8') };
    });
    return { load: module('scenarios/runner/load.js'), runner: module(runner.file), sources };
  });
  const script = `
    const verdicts = [];
    for (const { load, runner, sources } of ${JSON.stringify(tasks)}) {
      const { loadScenario } = await import(load);
      const { ${runner.name}: run } = await import(runner);
      const ofProgram = [];
      for (const { file, text } of sources) {
        ofProgram.push((await run(loadScenario(text, { file }), { crypto: 'model' })).verdict);
      }
      verdicts.push(ofProgram);
    }
    process.stdout.write(JSON.stringify(verdicts));`;
  const { code, out, errors } = await runScript(folder, script);
  expect(code, errors).toBe(0);
  return JSON.parse(out);
}
