/**
 * Reads a YAML file that people write. It reports every problem at once, with its place (line, column and field) and a remedy. It
 * accepts only plain YAML (no aliases, tags or repeated keys), so that a file means what it shows and stays small.
 */
import {
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  parseDocument,
  visit,
} from 'yaml';
import { nodeNumberOf } from '../faults/cluster-names.ts';
import type { Path, SchemaFault } from './explain.ts';

/** The size limit of a file. */
export const yamlBytesMax = 1024 * 1024;
/** The limit of lists and mappings inside each other. */
export const yamlDepthMax = 64;
/** The limit of listed problems in one file. */
const problemsMax = 50;

/** Clearer texts for unclear messages of the YAML parser. */
const syntaxFaults: Readonly<Partial<Record<ErrorCode, readonly [message: string, remedy: string]>>> = {
  MULTIPLE_DOCS: ['a file holds one document', 'put the other into a file of its own'],
  TAB_AS_INDENT: ['a tab does not indent', 'use spaces'],
};

export interface YamlProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** e.g. steps[2].expect.state; empty: the file itself. */
  readonly field: string;
  readonly message: string;
  readonly remedy: string;
}

/** A file that cannot be used. Its message has one line a problem. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly problems: readonly YamlProblem[];

  constructor(problems: readonly YamlProblem[]) {
    super(problems.map(problemLine).join('\n'));
    this.problems = problems;
  }
}

/** "scenarios/x.yaml:12:5 steps[2].expect.state: …; one of …" */
function problemLine({ file, line, column, field, message, remedy }: YamlProblem): string {
  const said = remedy === '' ? message : `${message}; ${remedy}`;
  return `${file}:${line}:${column} ${field === '' ? '' : `${field}: `}${said}`;
}

export interface YamlFile {
  /** Its name in problems. */
  readonly file: string;
  /** The kind of file, e.g. "scenario", and the page that explains it. */
  readonly kind: string;
  readonly page: string;
  /** Fields of names: a number there (`target: 2`) is read as its text. */
  readonly names?: readonly string[];
  /** Fields of nodes' numbers: a node's name there (`node: node/2`) is read as its number. */
  readonly nodes?: readonly string[];
}

/**
 * The value of a file. Each of `checks` runs when those before found nothing. Throws YamlError with every problem of the first
 * failing check.
 */
export function readYaml(
  text: string,
  { file, kind, page, names = [], nodes = [] }: YamlFile,
  checks: readonly ((value: unknown) => readonly SchemaFault[])[],
): unknown {
  const whole = (message: string, remedy: string) =>
    new YamlError([{ file, line: 1, column: 1, field: '', message, remedy }]);
  if (Buffer.byteLength(text) > yamlBytesMax) {
    throw whole('the file is too large', `a ${kind} has at most ${yamlBytesMax} bytes`);
  }
  const lines = new LineCounter();
  const deepAt = offsetOfDepth(text, yamlDepthMax);
  if (deepAt !== undefined) {
    const line = text.slice(0, deepAt).split('\n').length;
    const column = deepAt - text.lastIndexOf('\n', deepAt - 1);
    const message = `lists and mappings are nested more than ${yamlDepthMax} levels deep`;
    throw new YamlError([{ file, line, column, field: '', message, remedy: `a ${kind} needs fewer` }]);
  }
  // Of many errors in one line, each would quote it; of many keys in one mapping, each would be compared with all others.
  const linear = { prettyErrors: false, uniqueKeys: false } as const;
  const document = parseDocument(text, { ...linear, lineCounter: lines, stringKeys: true, logLevel: 'error' });
  const problems: YamlProblem[] = [];
  const add = (offset: number, field: string, message: string, remedy = '') => {
    const { line, col } = lines.linePos(offset);
    problems.push({ file, line: Math.max(1, line), column: Math.max(1, col), field, message, remedy });
  };
  for (const { pos, code, message } of [...document.errors, ...document.warnings]) {
    if (problems.length >= problemsMax) break;
    // Later problems in the same line are its consequences.
    const line = Math.max(1, lines.linePos(pos[0]).line);
    if (problems.some((problem) => problem.line === line)) continue;
    const own = syntaxFaults[code];
    if (own) add(pos[0], '', ...own);
    else add(pos[0], '', message);
  }
  visit(document, {
    Map: (_, { items }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (known.has(key.value)) add(key.range?.[0] ?? 0, '', 'this field is there already', 'each field stands once');
        known.add(key.value);
      }
    },
    Pair: (_, { key, value }) => {
      if (!isScalar(key)) return;
      const [isName, isNode] = [names, nodes].map((fields) => fields.includes(String(key.value)));
      if (!isName && !isNode) return;
      for (const item of isSeq(value) ? value.items : [value]) {
        if (!isScalar(item)) continue;
        if (isName && typeof item.value === 'number') item.value = item.source ?? String(item.value);
        if (isNode && typeof item.value === 'string') item.value = nodeNumberOf(item.value) ?? item.value;
      }
    },
    Node: (_, node) => {
      const anchored = 'anchor' in node && node.anchor !== undefined;
      if (isAlias(node) || anchored) {
        add(node.range?.[0] ?? 0, '', 'anchors and aliases are not taken', 'write the value out');
      }
    },
  });
  const throwProblems = () => {
    if (problems.length > 0) throw new YamlError(problems.slice(0, problemsMax));
  };
  throwProblems();
  if (document.contents === null) throw whole('the file is empty', `see ${page}`);

  const value: unknown = document.toJS({ maxAliasCount: 0 });
  const report = (faults: readonly SchemaFault[]) => {
    for (const { path, message, remedy, atKey } of faults.slice(0, problemsMax)) {
      add(offsetOf(document.contents!, path, atKey === true), fieldText(path), message, remedy);
    }
    problems.sort((a, b) => a.line - b.line || a.column - b.column);
    throwProblems();
  };
  for (const check of checks) report(check(value));
  return value;
}

/** Where the nesting first exceeds `depthMax`. The parser of documents is recursive, and overflows the stack; its tokenizer is not. */
function offsetOfDepth(text: string, depthMax: number): number | undefined {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    const offset = parser.offset;
    // The tokens themselves are parsed again, into a document.
    for (const _ of parser.next(lexeme));
    // The document is a level of its own, and the last level may be a scalar.
    if (parser.stack.length > depthMax + 2) return offset;
  }
  return undefined;
}

/** The offset of the node of a path; of its nearest existing parent. */
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
      // The place of an empty value is behind the colon: a reader looks for the key.
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
