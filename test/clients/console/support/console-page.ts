/** The console in a browser, for its tests: one browser for a file, a page for each test, and what must not be seen in it. */
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { findChromium } from '../../../support/chromium.ts';
import { patienceMs } from '../../../support/until.ts';

const executablePath = findChromium();

/** Needs a Chromium (CHROMIUM_PATH says where); without one these tests are skipped. */
export function describeInBrowser(name: string, tests: (open: (url: string) => Promise<Page>) => void): void {
  describe.skipIf(executablePath === undefined)(name, () => {
    let browser: Browser;
    /** Errors, what the policy forbids, and requests to other hosts. */
    const wrong: string[] = [];

    beforeAll(async () => {
      browser = await chromium.launch({
        ...(executablePath === undefined ? {} : { executablePath }),
        args: ['--headless', '--no-sandbox', '--disable-gpu'],
      });
    });
    afterAll(() => browser?.close());
    afterEach(async () => {
      for (const context of browser.contexts()) await context.close();
      expect(wrong.splice(0)).toEqual([]);
    });

    tests(async (url) => {
      const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
      page.setDefaultTimeout(patienceMs());
      page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
      page.on('console', (message) => {
        // A browser writes each answer with an error status, and each connection that breaks.
        if (!/^Failed to load resource/.test(message.text())) wrong.push(`console: ${message.text()}`);
      });
      page.on('request', (request) => {
        if (!request.url().startsWith(new URL(url).origin)) wrong.push(`request: ${request.url()}`);
      });
      await page.goto(url);
      await page.waitForSelector('body[data-ready=yes]');
      return page;
    });
  });
}

/** A picture of the docs, when PICTURES names their folder. */
export async function picture(page: Page, name: string, height = 760): Promise<void> {
  if (process.env.PICTURES === undefined) return;
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1180, height });
  // The page's policy refuses a style sheet. A gradient would double the size of the file.
  const show = (display: string) =>
    page.evaluate(`{
      scrollTo(0, 0);
      document.querySelector('.foot').style.display = ${JSON.stringify(display)};
      document.querySelector('.picture')?.style.setProperty('background', 'none');
    }`);
  await show('none');
  await page.screenshot({ path: join(process.env.PICTURES, `${name}.png`) });
  await show('');
}

export const isLive = (page: Page) => page.waitForSelector('.connection.live');
export const chips = (page: Page, process: string) => page.locator(`[data-process="${process}"]`);
export const go = async (page: Page, panel: string) =>
  page.getByRole('navigation').getByRole('button', { name: panel }).click();
export const hash = (page: Page) => page.evaluate('location.hash') as Promise<string>;

/** An inbox gets a ping, whose signatures are valid. */
export async function pingAnInbox(page: Page): Promise<void> {
  await go(page, 'Webhooks');
  await page.getByRole('button', { name: 'Make an inbox' }).click();
  await page.getByRole('button', { name: 'Ping' }).focus();
  await page.locator('main pre', { hasText: "/ping'" }).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('[data-delivery]', { hasText: 'webhook.ping' }).locator('.chip.completed').waitFor();
  await page.locator('[data-received]', { hasText: 'webhook.ping' }).locator('.check .chip.completed').nth(2).waitFor();
}
