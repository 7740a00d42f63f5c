/**
 * Reads a scenario from YAML. Whatever is wrong with it is found at once, and every problem says where it is (line, column
 * and field) and what to write instead. Only plain YAML is taken: no aliases, tags or repeated keys, so that a file says
 * what it says and stays small.
 */

import { type ErrorCode, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import type { Path } from './explain.ts';
import type { CheckedScenario, Expectation, Step } from './format.ts';
import { meaningFaults } from './meaning.ts';
import { type ScenarioFile, shapeFaults } from './shape.ts';

/** A file is at most this large. */
export const scenarioBytesMax = 1024 * 1024;
/** More problems than this in one file are not listed. */
const problemsMax = 50;
/** The client of a scenario that has `steps`. */
export const oneClient = 'client';

/** What YAML’s own words leave unclear. */
const syntaxFaults: Readonly<Partial<Record<ErrorCode, readonly [message: string, remedy: string]>>> = {
  DUPLICATE_KEY: ['this field is there already', 'each field stands once'],
  MULTIPLE_DOCS: ['a file holds one scenario', 'put the other into a file of its own'],
  TAB_AS_INDENT: ['a tab does not indent', 'use spaces'],
};

export interface ScenarioProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** e.g. steps[2].expect.state; empty: the file itself. */
  readonly field: string;
  readonly message: string;
  readonly remedy: string;
}

/** A scenario file that cannot be used. Its message has one line a problem. */
export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
  readonly problems: readonly ScenarioProblem[];

  constructor(problems: readonly ScenarioProblem[]) {
    super(problems.map(problemLine).join('\n'));
    this.problems = problems;
  }
}

/** "scenarios/x.yaml:12:5 steps[2].expect.state: …; one of …" */
function problemLine({ file, line, column, field, message, remedy }: ScenarioProblem): string {
  const said = remedy === '' ? message : `${message}; ${remedy}`;
  return `${file}:${line}:${column} ${field === '' ? '' : `${field}: `}${said}`;
}

/**
 * Reads and checks a scenario; `file` is its name in errors. Throws ScenarioError with every problem that it has.
 */
export function loadScenario(text: string, { file }: { readonly file: string }): CheckedScenario {
  const whole = (message: string, remedy: string) =>
    new ScenarioError([{ file, line: 1, column: 1, field: '', message, remedy }]);
  if (Buffer.byteLength(text) > scenarioBytesMax) {
    throw whole('the file is too large', `a scenario has at most ${scenarioBytesMax} bytes`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, stringKeys: true, logLevel: 'error' });
  const problems: ScenarioProblem[] = [];
  const add = (offset: number, field: string, message: string, remedy = '') => {
    const { line, col } = lines.linePos(offset);
    problems.push({ file, line: Math.max(1, line), column: Math.max(1, col), field, message, remedy });
  };
  for (const { pos, code, message } of [...document.errors, ...document.warnings]) {
    // What follows in the same line follows from it.
    const line = Math.max(1, lines.linePos(pos[0]).line);
    if (problems.some((problem) => problem.line === line)) continue;
    const own = syntaxFaults[code];
    if (own) add(pos[0], '', ...own);
    else add(pos[0], '', message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, ''));
  }
  visit(document, {
    Node: (_, node) => {
      const anchored = 'anchor' in node && node.anchor !== undefined;
      if (isAlias(node) || anchored) {
        add(node.range?.[0] ?? 0, '', 'anchors and aliases are not taken', 'write the value out');
      }
    },
  });
  const throwProblems = () => {
    if (problems.length > 0) throw new ScenarioError(problems.slice(0, problemsMax));
  };
  throwProblems();
  if (document.contents === null) throw whole('the file is empty', 'see docs/scenarios.md');

  const value: unknown = document.toJS({ maxAliasCount: 0 });
  const report = (faults: ReturnType<typeof shapeFaults>) => {
    for (const { path, message, remedy, atKey } of faults) {
      add(offsetOf(document.contents!, path, atKey === true), fieldText(path), message, remedy);
    }
    problems.sort((a, b) => a.line - b.line || a.column - b.column);
    throwProblems();
  };
  report(shapeFaults(value));
  const scenario = withDefaults(value as ScenarioFile);
  report(meaningFaults(value as ScenarioFile, scenario));
  return scenario;
}

function withDefaults(file: ScenarioFile): CheckedScenario {
  const { scenario, about, worlds, cluster = {}, faults = [], steps, clients, expect = [] } = file;
  return {
    scenario,
    about: about.trim(),
    worlds: worlds ?? ['simulated', 'live'],
    cluster: {
      nodes: cluster.nodes ?? 5,
      seed: cluster.seed ?? scenario,
      partial_timeout_ms: cluster.partial_timeout_ms ?? 300,
      nodes_wait_ms: cluster.nodes_wait_ms ?? 2000,
      client_dealers: cluster.client_dealers ?? true,
    },
    faults,
    clients: Object.fromEntries(
      Object.entries(clients ?? { [oneClient]: steps ?? [] }).map(([name, list]) => [
        name,
        (list as readonly Step[]).map(withPresentName),
      ]),
    ),
    expect: expect.map(withPresentNames),
  };
}

/** A step whose old field name (`play`) is replaced by the present one. */
function withPresentName(step: Step): Step {
  if (!('play' in step)) return step;
  const { play, ...rest } = step;
  return play === undefined ? rest : { client_supplied: play, ...rest };
}

/** An expectation whose old field name (`strikes`) is replaced by the present one. */
function withPresentNames({ strikes, ...expectation }: Expectation): Expectation {
  return strikes === undefined ? expectation : { trigger_count: strikes, ...expectation };
}

/** Where the node of a path begins; of its nearest parent that is there. */
function offsetOf(root: Node, path: Path, atKey: boolean): number {
  let node: Node = root;
  let offset = root.range?.[0] ?? 0;
  for (const [index, segment] of path.entries()) {
    if (isSeq(node)) {
      const item = node.items[segment as number] as Node | undefined;
      if (item === undefined) return offset;
      node = item;
    } else if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === segment);
      if (pair === undefined) return offset;
      const key = pair.key as Node;
      if (atKey && index === path.length - 1) return key.range?.[0] ?? offset;
      if (pair.value === null) return key.range?.[0] ?? offset;
      node = pair.value as Node;
      // An empty value has its place behind the colon: the key is what a reader looks for.
      if (isScalar(node) && node.source === '' && key.range) return key.range[0];
    } else {
      return offset;
    }
    offset = node.range?.[0] ?? offset;
  }
  return offset;
}

function fieldText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    const name = part.length > 64 ? `${part.slice(0, 64)}…` : part;
    return text === '' ? name : `${text}.${name}`;
  }, '');
}
