/**
 * The page of a load run in a real browser: it draws its plots, shades faults, and makes no request. Needs a Chromium
 * (CHROMIUM_PATH says where); without one these tests are skipped.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadPage } from '../../../clients/load/html/page.ts';
import type { LoadReport } from '../../../clients/load/report/results.ts';
import { temporaryFolder } from '../../cli/support/temporary.ts';
import { findChromium } from '../../support/chromium.ts';
import { sampleReport } from './support/report.ts';

const executablePath = findChromium();

describe.skipIf(executablePath === undefined)('the page of a load run', () => {
  let browser: Browser;
  const said: string[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({
      ...(executablePath === undefined ? {} : { executablePath }),
      args: ['--headless', '--no-sandbox', '--disable-gpu'],
    });
  });
  afterAll(() => browser?.close());

  async function open(report: LoadReport): Promise<Page> {
    const file = join(temporaryFolder(), 'load.html');
    writeFileSync(file, loadPage(report));
    const page = await browser.newPage({ viewport: { width: 1000, height: 1200 } });
    said.length = 0;
    page.on('pageerror', (error) => said.push(error.message));
    page.on('console', (message) => said.push(message.text()));
    page.on('request', (request) => {
      if (request.url() !== pathToFileURL(file).href) said.push(`request ${request.url()}`);
    });
    await page.goto(pathToFileURL(file).href);
    await page.locator('canvas').nth(3).waitFor();
    return page;
  }

  /** Of each plot: how many pixels have the colour of a curve, and how many that of the shade of a fault. */
  function pixels(page: Page): Promise<readonly { curve: number; shade: number }[]> {
    return page.evaluate(`[...document.querySelectorAll('canvas')].map((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let curve = 0;
      let shade = 0;
      for (let at = 0; at < data.length; at += 4) {
        const [red, green, blue, alpha] = data.slice(at, at + 4);
        if (alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) curve += 1;
        if (alpha > 20 && alpha < 60 && red > green + 100) shade += 1;
      }
      return { curve, shade };
    })`);
  }

  test('draws four plots, shades the faults where they held, and says nothing else', async () => {
    const fault = { id: 'slow', fault: 'slow', target: 'node/2', triggerCount: 9 };
    const page = await open(sampleReport([{ ...fault, beganMs: 5000, endedMs: 10_000 }]));
    const shaded = await pixels(page);
    expect(shaded).toHaveLength(4);
    for (const { curve, shade } of shaded) {
      expect(curve).toBeGreaterThan(200);
      expect(shade).toBeGreaterThan(5000);
    }
    expect(said).toEqual([]);
    expect(await page.locator('#verdict').textContent()).toContain('1 of 1 thresholds missed');
    expect(await page.locator('section.stage').count()).toBe(2);
    await page.close();
    const calm = await open(sampleReport([]));
    // The edge of a red curve may have a pixel of that colour.
    for (const { shade } of await pixels(calm)) expect(shade).toBeLessThan(50);
    await calm.close();
  });

  test('shows hostile words as text', async () => {
    const word = '</script><img src=x onerror=alert(1)><b>bold</b>';
    const page = await open(sampleReport([], word));
    expect(await page.locator('img, b').count()).toBe(0);
    expect(await page.locator('h1').textContent()).toBe(word);
    expect(said).toEqual([]);
    await page.close();
  });
});
