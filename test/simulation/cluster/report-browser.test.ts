/**
 * The page of a run in a real browser: it draws, explains, finds and filters, and makes no request. Needs a Chromium
 * (CHROMIUM_PATH says where); without one these tests are skipped.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeRun } from '../../../clients/report/html/browser/encode.ts';
import { makeLayout } from '../../../clients/report/html/browser/layout.ts';
import { makeMargins } from '../../../clients/report/html/browser/margins.ts';
import { readModel } from '../../../clients/report/html/browser/model.ts';
import { findSpans } from '../../../clients/report/html/browser/spans.ts';
import { htmlPage } from '../../../clients/report/html/page.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import type { Run } from '../../../scenarios/runner/world.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { temporaryFolder } from '../../cli/support/temporary.ts';
import { root } from '../../cli/support/up-process.ts';
import { findChromium } from '../../support/chromium.ts';
import { isThorough } from '../../support/thorough.ts';
import { patienceMs } from '../../support/until.ts';
import { hostileRun, hostileTexts, manySessions, oneOfEach, runOf } from './report-sample.ts';

const executablePath = findChromium();

/** A key and three signatures in the simulated world, while a node dies, one lies and one is slow. */
function simulatedRun(): Run {
  const events: RunEvent[] = [];
  const cluster = new SimCluster({
    seed: 'page',
    receiver: true,
    record: (event) => events.push(event),
    faults: [
      { fault: 'crash', id: 'dies', target: 'node/2', at: { point: 'partial_request' }, restart_after_ms: 100 },
      { fault: 'bad_partial', id: 'liar', target: 'node/4' },
      { fault: 'delay', id: 'slow', target: 'node/1', by_ms: 20 },
    ],
  });
  const messageHash = new Uint8Array(32).fill(7);
  cluster.initiateDkg({ sessionId: 'k', derivation: { curve: 'secp256k1' } }).result();
  cluster.exchangeDkgShares({ sessionId: 'k' }).result();
  for (const transactionIntentId of ['t1', 't2', 't3']) {
    const begun = cluster.initiateSigning({ transactionIntentId, walletId: 'k', messageHash }).result();
    cluster.submitSignatureShare({ signingSessionId: begun.signingSessionId }).result();
  }
  return runOf(events, {
    verdict: { kind: 'failed', what: 'node 4 is honest', cause: 'its partial was wrong (liar)' },
  });
}

describe.skipIf(executablePath === undefined)('the page in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({
      ...(executablePath === undefined ? {} : { executablePath }),
      args: ['--headless', '--no-sandbox', '--disable-gpu'],
    });
  });
  afterAll(() => browser?.close());

  /** Opens the page of a run; `wrong` collects what must not be: errors, and requests to anywhere. */
  async function open(run: Run) {
    const file = join(temporaryFolder(), 'run.html');
    writeFileSync(file, htmlPage(run));
    const url = pathToFileURL(file).href;
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    const wrong: string[] = [];
    page.on('console', (message) => wrong.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
    page.on('request', (request) => {
      if (request.url() !== url) wrong.push(`request: ${request.url()}`);
    });
    const cpu = await page.context().newCDPSession(page);
    await cpu.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.goto(url);
    await page.waitForSelector('body[data-ready=yes]', { timeout: patienceMs() });
    return { page, wrong, cpu };
  }

  /** CPU time that the page's thread has taken, in milliseconds: what the machine does besides is not the page's. */
  async function cpuMs(cpu: CDPSession): Promise<number> {
    const { metrics } = await cpu.send('Performance.getMetrics');
    return 1_000 * metrics.find(({ name }) => name === 'TaskDuration')!.value;
  }

  /** How many different colours are on the canvas. */
  const colourCount = `(() => {
    const canvas = document.getElementById('diagram');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) seen.add(data[at] * 65536 + data[at + 1] * 256 + data[at + 2]);
    return seen.size;
  })()`;

  const statesShown = async (page: Page) =>
    new Map(
      await page
        .locator('#states [data-address]')
        .evaluateAll((rows) =>
          (rows as unknown as { dataset: Record<string, string> }[]).map(
            ({ dataset }) => [dataset.address!, dataset.state!] as const,
          ),
        ),
    );

  /** The last state of each actor whose process has not gone down since. */
  const statesOf = (events: readonly RunEvent[]) => {
    const states = new Map<string, string>();
    for (const event of events) {
      if (event.kind === 'state') states.set(event.address, event.state);
      if (event.kind !== 'process' || event.what !== 'down') continue;
      for (const address of states.keys()) {
        const process = address.startsWith('node/') ? address.split('/').slice(0, 2).join('/') : 'coordinator';
        if (process === event.process) states.delete(address);
      }
    }
    return states;
  };

  test('shows a simulated run: verdict, diagram, details of what is clicked, states at any moment', async () => {
    const run = simulatedRun();
    const { page, wrong } = await open(run);
    expect(await page.locator('#verdict strong').textContent()).toBe('failed: node 4 is honest');
    expect(await page.locator('#cause').textContent()).toBe('its partial was wrong (liar)');
    expect(await page.locator('#replay').textContent()).toBe(run.replay);
    expect(await page.locator('#count').textContent()).toBe(`${run.events.length} events`);
    expect(await page.locator('#marks li strong').allTextContents()).toEqual(['crash', 'bad_partial', 'delay']);
    await page.waitForSelector('#diagram[data-first="0"]');
    expect(await page.evaluate(colourCount)).toBeGreaterThan(20);

    // A frame in sight, where the layout says that it is.
    const model = readModel(JSON.stringify(encodeRun(run)));
    const spans = findSpans(model);
    const everything = { words: '', without: new Set<string>(), actor: '', session: '', fault: '' };
    const layout = makeLayout(model, spans, everything, { ordinal: true, zoom: 1, apart: false });
    const width = (await page.evaluate(`document.getElementById('scroller').clientWidth`)) as number;
    const { xOf, head, pad } = makeMargins().geometry(layout, spans, width);
    const index = run.events.findIndex((event) => event.kind === 'frame');
    const frame = run.events[index] as Extract<RunEvent, { kind: 'frame' }>;
    const position = {
      x: xOf(layout.columnOf(frame.from)),
      y: layout.yOfRank(model.startRank[index]!) + head + pad,
    };
    await page.locator('#diagram').click({ position });
    expect(await page.locator('#details strong').textContent()).toBe(frame.point);
    expect(await page.locator('#details .pairs').first().textContent()).toContain(frame.text);
    expect(await page.locator('#said').textContent()).toContain(`${frame.from} to ${frame.to}`);

    // The keyboard continues from there.
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('#details .number').textContent()).toBe(`${index + 2} of ${run.events.length}`);

    const moments = [0, 0.4, 0.6, 0.8, 1].map((part) => Math.round(part * (run.events.length - 1)));
    for (const moment of moments) {
      await page.locator('#moment').fill(String(moment));
      expect(await statesShown(page)).toEqual(statesOf(run.events.slice(0, moment + 1)));
    }
    expect(statesOf(run.events).size).toBeGreaterThan(5);

    await page.locator('#proportional').click();
    await page.locator('#apart').click();
    await page.locator('#scroller').press('Home');
    await page.waitForSelector('#diagram[data-first="0"]');
    expect(wrong).toEqual([]);
    await page.close();
  });

  test('shows the run of a scenario', async () => {
    const file = join(root, 'scenarios/coordinator-crash-during-round.yaml');
    const run = runSimulated(loadScenario(readFileSync(file, 'utf8'), { file }));
    const { page, wrong } = await open(run);
    expect(await page.locator('h1').textContent()).toBe('coordinator-crash-during-round');
    expect(await page.locator('#verdict').getAttribute('class')).toContain(run.verdict.kind);
    expect(run.events.some(({ kind }) => kind === 'step')).toBe(true);
    const down = run.events.findIndex((event) => event.kind === 'process' && event.what === 'down');
    await page.locator('#moment').fill(String(down));
    expect(await page.locator('#states .health.down').count()).toBe(1);
    expect(await statesShown(page)).toEqual(statesOf(run.events.slice(0, down + 1)));
    expect(wrong).toEqual([]);
    await page.close();
  });

  test('shows what the filters leave, and goes from fault to fault', async () => {
    const run = manySessions(40);
    const { page, wrong } = await open(run);
    const countOf = (keep: (event: RunEvent) => boolean) =>
      `${run.events.filter(keep).length} of ${run.events.length} events`;
    const count = page.locator('#count');
    await page.getByRole('button', { name: 'frame', exact: true }).click();
    expect(await count.textContent()).toBe(countOf(({ kind }) => kind !== 'frame'));
    await page.locator('#everything').click();
    expect(await count.textContent()).toBe(`${run.events.length} events`);
    await page.locator('#session').fill('sig_00000c');
    const session = (event: RunEvent) => JSON.stringify(event).includes('sig_00000c');
    await page.getByText(countOf(session), { exact: true }).waitFor();
    await page.locator('#everything').click();
    await page.locator('#words').fill('partial_reply node/3');
    const words = (event: RunEvent) => event.kind === 'frame' && event.from === 'node/3';
    await page.getByText(countOf(words), { exact: true }).waitFor();
    await page.locator('#everything').click();
    await page.locator('#fault').selectOption('slow-3');
    const fault = (event: RunEvent) =>
      (event.kind === 'fault' && event.id === 'slow-3') || (event.kind === 'frame' && event.faults.includes('slow-3'));
    expect(await count.textContent()).toBe(countOf(fault));
    await page.locator('#next-fault').click();
    expect(await page.locator('#details strong').textContent()).toBe('delay armed');
    await page.locator('#scroller').press('f');
    expect(await page.locator('#details .pairs').textContent()).toContain('slow-3');
    expect(wrong).toEqual([]);
    await page.close();
  });

  test('leads to a violation', async () => {
    const violation: RunEvent = {
      kind: 'violation',
      atMs: 95,
      invariant: 'a nonce signs once',
      text: 'n_1 signed twice',
    };
    const { events } = manySessions(20);
    const { page, wrong } = await open(runOf([...events, violation]));
    expect(await page.locator('#details strong').textContent()).toBe('a nonce signs once');
    await page.locator('#scroller').press('Home');
    await page.locator('#marks .jump.bad').click();
    expect(await page.locator('#details .pairs').textContent()).toContain('n_1 signed twice');
    expect(wrong).toEqual([]);
    await page.close();
  });

  test('takes hostile texts for texts', async () => {
    const events = hostileTexts.flatMap(oneOfEach);
    const { page, wrong } = await open({ ...hostileRun(hostileTexts.join(' ')), events });
    expect(await page.locator('#count').textContent()).toBe(`${events.length} events`);
    await page.locator('#apart').click();
    await page.locator('#scroller').press('Home');
    for (let event = 1; event < events.length; event += 1) await page.locator('#scroller').press('ArrowDown');
    expect(await page.locator('#details .number').textContent()).toBe(`${events.length} of ${events.length}`);
    expect(await page.title()).not.toBe('owned');
    expect(await page.locator('b').count()).toBe(0);
    expect(wrong).toEqual([]);
    await page.close();
  });

  test.runIf(isThorough)('loads 100,000 events within seconds, and draws the last of them', async () => {
    const run = manySessions(5300);
    const last = run.events.length - 1;
    expect(last).toBeGreaterThan(100_000);
    const { page, wrong, cpu } = await open(run);
    const loadingMs = await cpuMs(cpu);
    expect(loadingMs).toBeGreaterThan(0);
    expect(loadingMs).toBeLessThan(15_000);
    await page.evaluate(`document.getElementById('scroller').scrollTop = 1e9`);
    await page.waitForSelector(`#diagram[data-last="${last}"]`);
    expect(await page.evaluate(colourCount)).toBeGreaterThan(20);
    // Anywhere in between, one drawing takes less than a screen's patience.
    let slowest = 0;
    for (let part = 0; part <= 20; part += 1) {
      const began = await cpuMs(cpu);
      await page.evaluate(`(async () => {
        const scroller = document.getElementById('scroller');
        scroller.scrollTop = (scroller.scrollHeight * ${part}) / 20;
        for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
      })()`);
      slowest = Math.max(slowest, (await cpuMs(cpu)) - began);
    }
    expect(slowest).toBeGreaterThan(0);
    expect(slowest).toBeLessThan(1000);
    await page.locator('#moment').fill(String(last));
    expect(await page.locator('#details .number').textContent()).toBe(`${last + 1} of ${last + 1}`);
    expect(wrong).toEqual([]);
    await page.close();
  });
});
