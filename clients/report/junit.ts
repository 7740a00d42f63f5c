/**
 * Runs as one JUnit XML document, for continuous integration: a testsuite for each world, a testcase for each scenario. A verdict
 * other than `passed` is a failure of that type; a run that its world does not support is skipped. Seed and replay are
 * properties. Characters that XML 1.0 cannot hold (control characters, lone surrogates) become escapes.
 */
import { escaped } from '../../core/pages/markup.ts';
import type { Run } from '../../scenarios/runner/world.ts';
import { plain } from './plain.ts';
import { eventLine, verdictText } from './text.ts';
import { verdictInWords } from './verdict.ts';

/** The number of last events shown of a failed run. */
const tailLines = 20;

/** The whole document. Suites come in the order simulated, live; an empty list gives an empty document. */
export function junit(runs: readonly Run[]): string {
  const suites = (['simulated', 'live'] as const)
    .map((world) => ({ world, runs: runs.filter((run) => run.world === world) }))
    .filter((suite) => suite.runs.length > 0);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: 'signmesh', ...tallies(runs) })}>`,
    ...suites.flatMap((suite) => [
      `  <testsuite${attributes({ name: suite.world, ...tallies(suite.runs) })}>`,
      ...suite.runs.flatMap(testcase),
      '  </testsuite>',
    ]),
    '</testsuites>',
    '',
  ].join('\n');
}

function testcase(run: Run): string[] {
  const { verdict } = run;
  const { sentence, cause, also } = verdictInWords(verdict);
  const properties = { world: run.world, seed: run.seed, nodes: String(run.nodes), replay: run.replay };
  return [
    `    <testcase${attributes({ name: run.scenario, classname: `signmesh.${run.world}`, time: seconds(run.tookMs) })}>`,
    '      <properties>',
    ...Object.entries(properties).map(([name, value]) => `        <property${attributes({ name, value })}/>`),
    '      </properties>',
    ...(verdict.kind === 'passed'
      ? []
      : verdict.kind === 'unsupported'
        ? [`      <skipped${attributes({ message: cause })}/>`]
        : [
            `      <failure${attributes({ message: sentence, type: verdict.kind })}>${[cause, ...also].map((line) => escaped(plain(line))).join('\n')}</failure>`,
          ]),
    `      <system-out>${systemOut(run)}</system-out>`,
    '    </testcase>',
  ];
}

function systemOut(run: Run): string {
  const tail = run.verdict.kind === 'passed' ? [] : run.events.slice(-tailLines).map((event) => eventLine(event));
  const omitted = run.events.length - tail.length;
  return escaped(
    [
      ...(tail.length > 0 && omitted > 0 ? [`… ${omitted} events before`] : []),
      ...tail,
      verdictText(run).trimEnd(),
    ].join('\n'),
  );
}

function tallies(runs: readonly Run[]): Readonly<Record<string, string>> {
  const skipped = runs.filter(({ verdict }) => verdict.kind === 'unsupported').length;
  const passed = runs.filter(({ verdict }) => verdict.kind === 'passed').length;
  return {
    tests: String(runs.length),
    failures: String(runs.length - skipped - passed),
    errors: '0',
    skipped: String(skipped),
    time: seconds(runs.reduce((sum, run) => sum + run.tookMs, 0)),
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(plain(value))}"`)
    .join('');
}
