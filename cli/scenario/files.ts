/** Finds and reads the scenario files of a command. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { CheckedScenario } from '../../scenarios/runner/format.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { YamlError } from '../../scenarios/runner/yaml-file.ts';
import { packageFile } from '../common/built.ts';
import { errorText, exitCodes, Failure } from '../common/failure.ts';

/** The scenarios that come with signmesh. */
function ownFolder(): string {
  const found = packageFile('scenarios');
  if (found === undefined) throw new Failure('The scenarios of the signmesh package are missing.');
  return found;
}

/** A scenario, and its path. */
export interface FoundScenario extends CheckedScenario {
  readonly file: string;
}

/** Throws a Failure with every problem of every file. */
export function readScenarios(names: readonly string[]): FoundScenario[] {
  const problems: string[] = [];
  const scenarios = names.flatMap(filesOf).flatMap((file) => {
    try {
      return [readScenario(file)];
    } catch (error) {
      if (!(error instanceof YamlError)) throw error;
      problems.push(error.message);
      return [];
    }
  });
  if (problems.length > 0) throw new Failure(problems.join('\n'), exitCodes.usage);
  return scenarios;
}

function readScenario(path: string): FoundScenario {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Failure(`Cannot read ${path}: ${errorText(error)}`, exitCodes.usage);
  }
  const file = shownPath(path);
  return { ...loadScenario(text, { file }), file };
}

/** One line a scenario: name, worlds, and description. */
export function listed(folder: string = ownFolder()): string {
  if (!isFolder(folder)) throw new Failure(`${folder} is no folder.`, exitCodes.usage);
  const scenarios = readScenarios([folder]);
  const width = Math.max(...scenarios.map(({ scenario }) => scenario.length));
  return scenarios
    .map(({ scenario, worlds, about }) => {
      const first = /^[\s\S]*?[.:](?=\s|$)/.exec(about)?.[0] ?? about;
      const where = worlds.length === 2 ? '' : `(${worlds[0]} only) `;
      return `${scenario.padEnd(width)}  ${where}${first.replace(/\s+/g, ' ')}\n`;
    })
    .join('');
}

function filesOf(name: string): string[] {
  if (isFolder(name)) {
    const files = readdirSync(name)
      .filter((file) => /\.ya?ml$/.test(file))
      .sort();
    if (files.length === 0) throw new Failure(`${name} contains no scenario.`, exitCodes.usage);
    return files.map((file) => join(name, file));
  }
  if (existsSync(name)) return [name];
  const bare = basename(name).replace(/\.ya?ml$/, '');
  const own = join(ownFolder(), `${bare}.yaml`);
  const isName = name === bare;
  if (isName && existsSync(own)) return [own];
  if (!isName) {
    const named = existsSync(own) ? ` The package has a scenario ${bare}: give its name alone, ${bare}.` : '';
    throw new Failure(`There is no file ${name}.${named}`, exitCodes.usage);
  }
  throw new Failure(
    `There is no file ${name}, and no scenario of that name: see "signmesh scenario list".`,
    exitCodes.usage,
  );
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Relative to the current directory, unless that is longer. */
function shownPath(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}
