/**
 * Every mermaid diagram of the pages is one that mermaid draws. The package itself takes 128 MB and a DOM; renderers without one
 * (beautiful-mermaid 1.1.3) pass over what they do not know, and take six of the eight wrong diagrams below. So this grammar knows
 * the three kinds and the statements that our pages use, one a line, and refuses every other line.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../cli/support/up-process.ts';

const id = String.raw`[A-Za-z]\w*`;
/** `;` ends a statement and `#` begins an entity, in the middle of a text too. */
const text = '[^;#]*[^;# ]';
const label = `"[^"]+"`;
const node = String.raw`${id}(\[\([\w …/.-]+\)\]|\[${label}\]|\[[\w …/.-]+\])?`;
const nodes = `${node}( & ${node})*`;
const state = String.raw`(\[\*\]|${id})`;

const statements: Readonly<Record<string, readonly string[]>> = {
  'flowchart (LR|RL|TB|TD|BT)': [
    `${nodes}( (-->|-- ${label} -->) ${nodes})*`,
    String.raw`subgraph ${id}\[${label}\]`,
    'end',
  ],
  sequenceDiagram: [
    `(participant|actor) ${id}( as ${text})?`,
    `${id}(->>|-->>|-\\)|--\\))${id}: ${text}`,
    `Note (over ${id}(,${id})?|(left|right) of ${id}): ${text}`,
    `(loop|alt|else|opt|par|and) ${text}`,
    'end',
  ],
  'stateDiagram-v2': [`${state} --> ${state}(: ${text})?`, 'direction (LR|RL|TB|BT)'],
};

/** The lines that are no statement of the diagram's kind; the first line, where there is no such kind. */
function refusedLines(diagram: string): string[] {
  const [head = '', ...lines] = diagram.split('\n').map((line) => line.trim());
  const known = Object.entries(statements).find(([kind]) => new RegExp(`^${kind}$`).test(head))?.[1];
  if (known === undefined) return [head];
  return lines.filter((line) => line !== '' && !known.some((one) => new RegExp(`^${one}$`).test(line)));
}

function diagramsOf(page: string): string[] {
  return [...page.matchAll(/^```mermaid\n(.*?)^```$/gms)].map(([, diagram]) => diagram!);
}

test('the diagrams of all pages can be drawn', () => {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const found = pages.flatMap((page) => diagramsOf(readFileSync(join(root, page), 'utf8')).map((one) => [page, one]));
  expect(found.length).toBeGreaterThan(8);
  expect(found.flatMap(([page, diagram]) => refusedLines(diagram!).map((line) => `${page}: ${line}`))).toEqual([]);
});

describe('a diagram that cannot be drawn is found', () => {
  test.each([
    ['statements in one line', 'sequenceDiagram participant C as client\n    C->>G: call'],
    ['two messages in one line', 'sequenceDiagram\nC->>G: call; G->>R: commit'],
    ['a message without a text', 'sequenceDiagram\nC->>G'],
    ['a broken line', 'sequenceDiagram\nC->>G: the call\nthat went on'],
    ['another kind', 'graphic LR\na --> b'],
    ['an arrow without an end', 'flowchart LR\na -->'],
    ['a label with parentheses that is not quoted', 'flowchart LR\na[b (c)] --> d'],
    ['a state with a space', 'stateDiagram-v2\nnot ready --> ready'],
  ])('%s', (_, diagram) => {
    expect(refusedLines(diagram)).toHaveLength(1);
  });
});
