/** Every run in which a fault of ours was found, made as small as it gets: each passes from then on. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runChecked } from '../../../simulation/search/signing/workload.ts';

const folder = new URL('./regressions/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

describe('runs that failed once', () => {
  test.each(files)('%s passes', (name) => {
    const scenario = loadScenario(readFileSync(new URL(name, folder), 'utf8'), { file: name });
    expect(`${scenario.scenario}.yaml`).toBe(name);
    for (const crypto of ['model', 'real'] as const) {
      expect(runChecked(scenario, { crypto, record: false }).verdict).toEqual({ kind: 'passed' });
    }
  });
});
