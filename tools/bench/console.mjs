/**
 * What the console costs while a cluster signs, and how well it keeps up: `node tools/bench/console.mjs --rate 500 --seconds 60`.
 * It loads the `signmesh up` of the data directory (start it with SIGNMESH_RATE_LIMIT=off), in turn without a page and with one, and
 * prints medians: CPU of gateway and supervisor, long tasks and the heap of the page, and the time from an event to its paint.
 * Needs a Chromium. It is plain JavaScript, so that the build holds no browser driver.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    token: { type: 'string', default: 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '60' },
    runs: { type: 'string', default: '5' },
    panel: { type: 'string', default: 'ceremonies' },
  },
});
const { url, token, rate, panel } = values;
const seconds = Number(values.seconds);
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const quantile = (numbers, share) => numbers.toSorted((a, b) => a - b)[Math.ceil(numbers.length * share) - 1] ?? 0;

const print = (line) => process.stdout.write(`${line}\n`);

/** CPU seconds of a process, and its parent. */
function stat(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ');
  return { parent: Number(fields[1]), cpuS: (Number(fields[11]) + Number(fields[12])) / 100 };
}

async function processes() {
  const response = await fetch(`${url}/v1/sandbox/nodes`, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`${url} answers ${response.status}: is it a sandbox, and the token its own?`);
  const { nodes } = await response.json();
  const { pid } = nodes.find(({ process }) => process === 'gateway');
  // An embedded service is one process.
  return { gateway: pid ?? undefined, supervisor: pid === null ? undefined : stat(pid).parent };
}

function load() {
  const args = [
    'cli/signmesh.mjs',
    'load',
    'sign',
    '--rate',
    rate,
    '--for',
    `${seconds}s`,
    '--url',
    url,
    '--token',
    token,
  ];
  const child = spawn(process.execPath, [...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more) => {
    text += more;
  });
  return new Promise((resolve, reject) => {
    child.on('close', () => {
      try {
        resolve(JSON.parse(text));
      } catch {
        reject(new Error('signmesh load gave no report'));
      }
    });
  });
}

/** In the page: long tasks, and the time from the newest event of a message to the paint that follows it. */
function watch() {
  globalThis.seen = { longTasksMs: [], latenciesMs: [] };
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.seen.longTasksMs.push(duration);
  }).observe({ type: 'longtask' });
  const { fetch: plain } = globalThis;
  globalThis.fetch = async (...given) => {
    const response = await plain(...given);
    if (!String(given[0]).includes('/v1/sandbox/stream')) return response;
    const [mine, theirs] = response.body.tee();
    void follow(mine);
    return new Response(theirs, response);
  };
  async function follow(body) {
    let text = '';
    let beganMs;
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split('\n');
      text = lines.pop();
      for (const line of lines) {
        if (!line.startsWith('data: ')) continue;
        const message = JSON.parse(line.slice(6));
        beganMs ??= Date.parse(message.began_at);
        const last = message.events?.at(-1);
        if (last === undefined) continue;
        // Two frames: the page has drawn what it took in the first.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => globalThis.seen.latenciesMs.push(Date.now() - beganMs - last.at_ms)),
        );
      }
    }
  }
}

async function openPage() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  });
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
  await page.addInitScript(`sessionStorage.setItem('signmesh-token', ${JSON.stringify(token)}); (${watch})();`);
  await page.goto(`${url}/#/${panel}`);
  await page.waitForSelector('.connection.live', { timeout: 60_000 }).catch(async () => {
    throw new Error(`the page does not connect; it says: ${await page.locator('body').textContent()}`);
  });
  const devtools = await page.context().newCDPSession(page);
  const heapMb = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  return { browser, heapMb, seen: () => page.evaluate('seen') };
}

async function run(hasPage) {
  const { gateway, supervisor } = await processes();
  const page = hasPage ? await openPage() : undefined;
  const heaps = [];
  const timer = setInterval(() => void page?.heapMb().then((mb) => heaps.push(mb)), (seconds * 1_000) / 4);
  const [beganGateway, beganSupervisor] = [gateway, supervisor].map((pid) => (pid === undefined ? 0 : stat(pid).cpuS));
  const beganMs = performance.now();
  const report = await load();
  const tookS = (performance.now() - beganMs) / 1_000;
  clearInterval(timer);
  const [gatewayS, supervisorS] = [gateway, supervisor].map((pid) => (pid === undefined ? 0 : stat(pid).cpuS));
  const seen = await page?.seen();
  await page?.browser.close();
  const percent = (cpuS) => (100 * cpuS) / tookS;
  const cpu = { gateway: percent(gatewayS - beganGateway), supervisor: percent(supervisorS - beganSupervisor) };
  const done = Math.round(report.stages[0].achievedRate * 10) / 10;
  if (seen === undefined) return { ...cpu, rate: done };
  return {
    ...{ ...cpu, rate: done, heaps: heaps.map((mb) => Math.round(mb * 10) / 10) },
    ...{ longestTaskMs: Math.max(0, ...seen.longTasksMs), longTasks: seen.longTasksMs.filter((ms) => ms > 100).length },
    ...{ messages: seen.latenciesMs.length, p95Ms: quantile(seen.latenciesMs, 0.95) },
  };
}

const [without, withPage] = [[], []];
for (let turn = 0; turn < Number(values.runs); turn += 1) {
  for (const [hasPage, into] of [
    [false, without],
    [true, withPage],
  ]) {
    into.push(await run(hasPage));
    print(`${hasPage ? 'page   ' : 'no page'} ${JSON.stringify(into.at(-1))}`);
  }
}
const of = (all, name) => Math.round(median(all.map((one) => one[name])) * 10) / 10;
for (const name of ['gateway', 'supervisor'])
  print(`${name}: ${of(without, name)} % of a core without a page, ${of(withPage, name)} % with one`);
print(`event to paint, p95: ${of(withPage, 'p95Ms')} ms; longest task: ${of(withPage, 'longestTaskMs')} ms`);
