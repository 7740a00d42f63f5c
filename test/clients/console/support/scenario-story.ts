/** What a page did, saved as a scenario: a test of a file that has a browser and a service which runs scenarios. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { loadScenario } from '../../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../../scenarios/runner/simulated-world.ts';
import { until } from '../../../support/until.ts';
import { go, isLive } from './console-page.ts';

export function scenarioStory(
  open: (url: string) => Promise<Page>,
  service: () => { readonly url: string; readonly token: string },
): void {
  test('what a page did is saved as a scenario, which replays and runs here', async () => {
    const { url, token } = service();
    const page = await open(`${url}/`);
    await page.evaluate(`sessionStorage.setItem('signmesh-token', ${JSON.stringify(token)})`);
    await page.reload();
    await isLive(page);
    await go(page, 'Faults');
    const save = page.getByRole('button', { name: 'Save as scenario' });
    await save.click();
    await page.locator('#scenario', { hasText: 'This page has done nothing yet that a step can say.' }).waitFor();
    await page.locator('#fault-kind').selectOption('bad_share');
    await page.getByRole('button', { name: 'Arm bad_share' }).click();
    await page.locator('[data-fault]', { hasText: 'bad_share' }).getByRole('button', { name: 'Remove' }).waitFor();
    await go(page, 'Ceremonies');
    await page.getByRole('button', { name: 'Make a key and sign' }).click();
    await page.locator('.last-call.bad', { hasText: 'Make the key' }).waitFor();
    await go(page, 'Faults');
    await page.getByRole('button', { name: 'Remove all' }).click();
    await page.getByText('None: the cluster runs as it should.', { exact: false }).waitFor();
    await go(page, 'Ceremonies');
    await page.getByRole('button', { name: 'Make a key and sign' }).click();
    await page.locator('.last-call.good', { hasText: 'Sign with' }).waitFor();
    await go(page, 'Faults');
    await save.press('Enter');
    await page.getByRole('button', { name: 'Copy' }).last().waitFor();
    const file = page.locator('#scenario-file');
    const text = await until(async () => (await file.inputValue()) || undefined, 'the file');
    const scenario = loadScenario(text, { file: 'saved.yaml' });
    expect(scenario.expect).toEqual([
      { session: 'key-1', culprits: [2] },
      { session: 'key-2', state: 'BACKEND_COMPLETED' },
      { session: 'signature-3', state: 'BACKEND_COMPLETED' },
    ]);
    expect(runSimulated(scenario).verdict).toEqual({ kind: 'passed' });
    expect(text).not.toContain(token);

    await page.getByRole('button', { name: 'Run it here' }).press('Enter');
    await page.locator('#scenario-progress .chip.completed', { hasText: 'passed' }).waitFor();
    await file.fill('scenario: none');
    await page.getByRole('button', { name: 'Run it here' }).press('Enter');
    await page.locator('#scenario .said.bad', { hasText: 'about' }).waitFor();
  });
}
