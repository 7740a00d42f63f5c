/** `up --chaos`: what it arms, what a service does not have, the saved scenario, and the refusals of its options. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { armChaos, chaosRequest } from '../../cli/start/chaos.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { chaosPlan } from '../../simulation/chaos/plan.ts';
import { chaosProfileNames, chaosProfiles } from '../../simulation/chaos/profiles.ts';

const size = { nodes: 5, threshold: 3 };
const provider = chaosPlan('slow-custodian', '2', size).filter(({ fault }) => fault === 'provider_fails').length;

/** A service that refuses one kind, as a live cluster does. */
async function armed(status = 422) {
  const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-chaos-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const asked: { readonly id: string; readonly fault: string; readonly expires_in_s: number }[] = [];
  const chaos = await armChaos(chaosRequest('slow-custodian', '2'), {
    ...size,
    dataDir,
    ask: async (path, { method, body }) => {
      expect([path, method]).toEqual(['/v1/sandbox/faults', 'POST']);
      const fault = JSON.parse(body!);
      asked.push(fault);
      const refusal = { status, text: '{"error":{"message":"provider_fails is simulated only"}}' };
      return fault.fault === 'provider_fails' ? refusal : { status: 201, text: '{}' };
    },
  });
  return { chaos, asked };
}

test('arms its whole plan, says what the service does not have, and saves all of it as a scenario', async () => {
  const { chaos, asked } = await armed();
  const plan = chaosPlan('slow-custodian', '2', size);
  expect(asked).toEqual(plan.map((fault) => ({ ...fault, expires_in_s: 86_400 })));
  expect(chaos.faults.map(({ id }) => id)).toEqual(plan.map(({ id }) => id));
  expect(provider).toBeGreaterThan(0);
  expect(chaos.faults.filter(({ missing }) => missing === 'provider_fails is simulated only')).toHaveLength(provider);
  expect(chaos.file).toMatch(/chaos-slow-custodian-2\.yaml$/);
  expect(loadScenario(readFileSync(chaos.file, 'utf8'), { file: chaos.file }).faults).toEqual(plan);
});

test('ends the start when a fault cannot be armed', async () => {
  await expect(armed(500)).rejects.toThrow(/^chaos cannot arm \{"id":"chaos-\d+","fault":"provider_fails"/);
});

test('its options are refused by name; without a seed it draws one', () => {
  expect(() => chaosRequest('mild')).toThrow(/^--chaos has no profile "mild"\. Give one of:\n {2}calm {12}some frames/);
  expect(() => chaosRequest('calm', '../x')).toThrow(
    '--chaos-seed takes 1 to 40 lower-case letters, digits and dashes',
  );
  expect(chaosRequest('calm').seed).toMatch(/^\d{1,6}$/);
});

test('docs/testing.md says what each profile does', () => {
  const page = readFileSync('docs/testing.md', 'utf8');
  for (const name of chaosProfileNames) expect(page).toContain(`| \`${name}\` | ${chaosProfiles[name].about} |`);
});
