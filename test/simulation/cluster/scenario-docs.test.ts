/** The guide and the JSON Schema of scenarios agree with the loader. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Compile } from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { scenarioJsonSchema } from '../../../scenarios/runner/json-schema.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { usesWalletApi } from '../../../scenarios/runner/wallet-api-use.ts';
import { runInCustodyWorld } from '../../../simulation/service/scenario/run.ts';
import { root } from '../../cli/support/up-process.ts';

test('every example of the guide is a scenario that passes', async () => {
  const page = readFileSync(join(root, 'docs/scenarios.md'), 'utf8');
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);
  expect(examples.length).toBeGreaterThan(0);
  for (const text of examples) {
    const scenario = loadScenario(text, { file: 'docs/scenarios.md' });
    const run = usesWalletApi(scenario) ? runInCustodyWorld : runSimulated;
    expect((await run(scenario)).verdict).toEqual({ kind: 'passed' });
  }
});

describe('the JSON Schema', () => {
  const schema = Compile(scenarioJsonSchema());
  const folder = join(root, 'scenarios');
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));

  test.each(files)('takes %s', (file) => {
    expect(schema.Check(parse(readFileSync(join(folder, file), 'utf8')))).toBe(true);
  });

  test.each([
    ['a step of no kind', { steps: [{ step: 'a' }] }],
    ['a field that a call does not have', { steps: [{ step: 'a', call: 'sign', session: 't', key: 'k', node: 1 }] }],
    ['a fault of no kind', { steps: [{ step: 'a', heal: true }], faults: [{ fault: 'crsh', target: 'node/1' }] }],
    ['a fault in a step that is none', { steps: [{ step: 'a', inject: { fault: 'crash' } }] }],
    ['steps and clients', { steps: [{ step: 'a', heal: true }], clients: { b: [{ step: 'c', heal: true }] } }],
    ['neither', {}],
    ['an operation that is none', { steps: [{ step: 'a', api: 'wallets.creat' }] }],
    ['a field that a body does not have', { steps: [{ step: 'a', api: 'wallets.archive', body: { why: 1 } }] }],
  ])('refuses %s', (_, rest) => {
    expect(schema.Check({ scenario: 'x', about: 'a', ...rest })).toBe(false);
  });
});
