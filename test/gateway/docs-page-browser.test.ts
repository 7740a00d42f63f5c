/**
 * The page of the API in a real browser, under its own policy: it fills in the caller's own ids, sends, and shows the answer.
 * A thorough run presses "Send" on every operation. Needs a Chromium (CHROMIUM_PATH says where).
 */
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenEntry } from '../../core/pages/token-entry.ts';
import { type DescribedApi, operationsOf } from '../../gateway/docs-page/document.ts';
import { type Running, startService } from '../simulation/embedded/support/service.ts';
import { findChromium } from '../support/chromium.ts';
import { isThorough } from '../support/thorough.ts';
import { patienceMs } from '../support/until.ts';

const executablePath = findChromium();

describe.skipIf(executablePath === undefined)('the page of the API in a browser', () => {
  let browser: Browser;
  let running: Running;
  let page: Page;
  /** Errors of the page: a breach of its policy is one. */
  const wrong: string[] = [];

  beforeAll(async () => {
    running = await startService();
    browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox', '--disable-gpu'] });
    page = await browser.newPage();
    page.setDefaultTimeout(patienceMs());
    page.on('pageerror', ({ message }) => wrong.push(message));
    page.on('console', (message) => {
      // The browser says so of each answer of 4xx that the page asked for and shows.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        wrong.push(message.text());
    });
  });
  afterAll(async () => {
    await browser?.close();
    await running?.service.stop();
  });

  const open = (path = '') => page.goto(`http://${running.service.httpAddress}/v1/docs${path}`);

  /** Resolves with the text, once it is that. Locators ask the page without `eval`, which its policy forbids. */
  async function shown(selector: string, text: RegExp): Promise<string> {
    const found = page.locator(selector).filter({ hasText: text });
    await found.waitFor();
    return (await found.textContent())!;
  }

  /** Presses the button; resolves with the status line. */
  async function send(): Promise<string> {
    await page.click('.send');
    return shown('#status', /^(\d|stopped|no answer)/);
  }

  test('a reader finds an operation, sends it, and the next page knows what was made', async () => {
    await open();
    await page.keyboard.press('/');
    await page.keyboard.type('connect a custody');
    await page.click('nav a:visible');
    expect(await send()).toMatch(/^201 /);
    await open('/createWallet');
    await expect.poll(() => page.inputValue('#sent')).not.toContain('01938f2a');
    expect(await send()).toMatch(/^201 /);
    const made = JSON.parse((await page.textContent('#body'))!);
    await open('/getWallet');
    await expect.poll(() => page.inputValue('#path-id')).toBe(made.id);
    expect(await page.textContent('#curl')).toContain(
      `/v1/wallets/${made.id}' -H "authorization: Bearer $SIGNMESH_TOKEN"`,
    );
    await page.fill('#path-id', 'wal_none');
    expect(await send()).toMatch(/^404 /);
    expect(await page.textContent('#body')).toContain('"not_found"');
    expect(wrong).toEqual([]);
  });

  test('a token that was entered serves every page of the tab, the console too', async () => {
    const { token } = running;
    await page.evaluate(`sessionStorage.setItem(${JSON.stringify(tokenEntry)}, 'svc_sk_test_wrong')`);
    await open('/listWallets');
    expect(await send()).toMatch(/^401 /);
    await page.fill('#token', token);
    expect(await send()).toMatch(/^200 /);
    expect(await page.evaluate(`sessionStorage.getItem(${JSON.stringify(tokenEntry)})`)).toBe(token);
    expect(wrong).toEqual([]);
  });

  test('a stream is shown as it arrives, and stops', async () => {
    await open('/streamEvents');
    await page.fill('#query-after_sequence', '0');
    await page.click('.send');
    await shown('#body', /event: wallet.created/);
    await page.click('#stop');
    await shown('#status', /^stopped$/);
    expect(wrong).toEqual([]);
  });

  test('what a caller has written is text', async () => {
    const name = '<img src=x onerror=alert(1)>';
    await running.must(201, 'POST', '/v1/provider-connections', { provider: 'self_hosted', name, credentials: {} });
    await open('/listProviderConnections');
    expect(await send()).toMatch(/^200 /);
    expect(await page.textContent('#body')).toContain(name);
    expect(await page.locator('img').count()).toBe(0);
    expect(wrong).toEqual([]);
  });

  test.runIf(isThorough)('every operation answers as documented', async () => {
    const api = (await running.must(200, 'GET', '/v1/openapi.json')) as unknown as DescribedApi;
    for (const { operationId, responses } of operationsOf(api)) {
      if (operationId.startsWith('stream')) continue;
      await open(`/${operationId}`);
      for (const field of await page.locator('[required]').all()) {
        if ((await field.inputValue()) === '') await field.fill('2');
      }
      expect(Object.keys(responses), operationId).toContain((await send()).slice(0, 3));
    }
    expect(wrong).toEqual([]);
  });
});
