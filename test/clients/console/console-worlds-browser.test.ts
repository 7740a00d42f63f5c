/** The console in a real browser, in the other worlds: several clusters, a sandbox without faults, the processes of `signmesh up`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { consoleFiles } from '../../../clients/console/files.ts';
import { cluster } from '../../../clients/testing/index.ts';
import { type LiveProcess, startLiveProcess, testVariables } from '../../../clients/testing/live-process.ts';
import { systemRandom, systemTimers } from '../../../core/actors/live/ports.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { newToken } from '../../../gateway/auth/token-format.ts';
import type { SandboxDeps } from '../../../gateway/sandbox/deps.ts';
import { sandboxRoutes } from '../../../gateway/sandbox/routes.ts';
import { StreamPlaces } from '../../../gateway/sandbox/stream-places.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import type { TenantStore } from '../../../wallets/store/contract.ts';
import { FakeSessions } from '../../support/fake-control.ts';
import { restApp } from '../../support/rest-app.ts';
import { issueToken, sharedCluster } from '../../support/shared-cluster.ts';
import { isThorough } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';
import { chips, describeInBrowser, go, isLive, pingAnInbox } from './support/console-page.ts';
import { scenarioStory } from './support/scenario-story.ts';

describeInBrowser('the console in a browser', (open) => {
  test('of signmesh/testing with several clusters: each has its nodes', async () => {
    const custody = await cluster({ listen: true, clusters: 2, nodes: 2 });
    try {
      const page = await open(custody.url);
      await page.evaluate(`sessionStorage.setItem('signmesh-token', ${JSON.stringify(custody.token)})`);
      await page.reload();
      await isLive(page);
      await chips(page, 'cluster/2/node/2').waitFor();
      expect(await page.locator('.cluster-title').allTextContents()).toEqual(['cluster 1', 'cluster 2']);
      await chips(page, 'cluster/2/node/1').focus();
      await page.keyboard.press('Enter');
      const second = page.getByRole('complementary', { name: 'node 1' });
      await second.getByRole('button', { name: 'Pause' }).press('Enter');
      await page.waitForSelector('[data-process="cluster/2/node/1"].paused');
      expect(await page.locator('[data-process="node/1"].running').count()).toBe(1);
    } finally {
      await custody.stop();
    }
  });

  test('with SIGNMESH_FAULTS=off: it says what is missing and why, and shows receipts all the same', async () => {
    const token = newToken('sandbox', systemRandom);
    const [sessions, places] = [new FakeSessions(), new StreamPlaces()];
    sessions.put('tn_off', 'sig_known');
    const gateway = await restApp({
      ...{ consoleFiles, store: {} as TenantStore },
      routes: () =>
        sandboxRoutes({
          ...{ version: '0.0.0-test', control: undefined, sessions, timers: systemTimers, places },
          ownerOf: async () => new ServiceError('unavailable', 'not here'),
          chains: {} as SandboxDeps['chains'],
          ...{ webhooks: {} as SandboxDeps['webhooks'], routes: () => [] },
        }),
    });
    try {
      gateway.tokens.put(token, { tenant: 'tn_off' });
      const page = await open(await gateway.http.listen({ host: '127.0.0.1', port: 0 }));
      await page.evaluate(`sessionStorage.setItem('signmesh-token', ${JSON.stringify(token)})`);
      await page.reload();
      await isLive(page);
      for (const topic of ['frames', 'processes', 'faults'])
        await page.locator('.notice.warn', { hasText: `No ${topic}: ` }).waitFor();
      await page.getByText('The processes of this cluster are not known here.').waitFor();
      await page.evaluate(`location.hash = '#/ceremonies/sig_known'`);
      await page.getByText('it is accepted').waitFor();
    } finally {
      // The page's stream has no end of its own.
      places.stop();
      await gateway.stop();
    }
  });

  test('on the processes of a cluster: with a token that is entered, a key and a signature', async () => {
    const shared = await sharedCluster();
    try {
      const page = await open(`${shared.httpUrl}/`);
      await page.evaluate(`sessionStorage.setItem('signmesh-token', 'svc_sk_test_wrong')`);
      await page.reload();
      await page.locator('#token').fill(await issueToken(shared));
      await page.getByRole('button', { name: 'Open the console' }).click();
      await isLive(page);
      await chips(page, 'node/5').waitFor();
      await go(page, 'Ceremonies');
      await page.getByRole('button', { name: 'Make a key and sign' }).click();
      await page.locator('.last-call.good', { hasText: 'Sign with' }).waitFor();
      const key = (await page.locator('.last-call strong').textContent())!.replace('Sign with ', '');
      const made = page.locator('tbody tr', { hasText: key }).first();
      await made.locator('.chip.completed').waitFor();
      await made.getByRole('button').click();
      await page.waitForSelector('.canvas[data-first="0"]');
      await until(
        async () => Number.parseInt((await page.locator('.flow h3').textContent()) ?? '', 10) > 20,
        'its frames',
      );
      // The page's own calls passed the gateway.
      await go(page, 'Requests');
      await page.locator('[data-request]', { hasText: 'POST /v1/signing/share' }).first().getByRole('button').click();
      await page.locator('section[aria-label=Answer] pre', { hasText: 'BACKEND_COMPLETED' }).waitFor();
      await page
        .getByRole('button', { name: key })
        .or(page.getByRole('button', { name: /^sig_/ }))
        .first()
        .click();
      await page.waitForSelector('.canvas[data-first="0"]');
      await go(page, 'Faults');
      await page.getByRole('button', { name: 'Save as scenario' }).press('Enter');
      const file = page.locator('#scenario-file');
      const saved = loadScenario(await until(() => file.inputValue(), 'the file'), { file: 'saved.yaml' });
      expect(saved.expect).toEqual(
        ['key-1', 'signature-2'].map((session) => ({ session, state: 'BACKEND_COMPLETED' })),
      );
      expect(runSimulated(saved).verdict).toEqual({ kind: 'passed' });
      await go(page, 'Load');
      const pools = page.locator('[data-plot^="Nonce pools"] .legend');
      await pools.filter({ hasText: /frost_ed25519 [1-9]/ }).waitFor();
      await page.locator('[data-plot=Queues] .legend', { hasText: 'deliveries waiting 0' }).waitFor();
      await page.locator('[data-plot^=CPU] .legend', { hasText: 'coordinator' }).waitFor();
      await pingAnInbox(page);
      await page.getByRole('button', { name: 'Remove it' }).click();
      await page.locator('.last-call.good', { hasText: 'Remove whk_' }).waitFor();
    } finally {
      await shared.stop();
    }
  });

  // Each run does it on an embedded service (console-browser.test.ts).
  describe.runIf(isThorough)('on the processes of a cluster that takes faults', () => {
    let live: LiveProcess;
    beforeAll(async () => {
      const environment = testVariables({ nodes: 5, partialTimeoutMs: 300, nodesWaitMs: 2_000 });
      live = await startLiveProcess({ environment });
    });
    afterAll(() => live?.stop());
    scenarioStory(open, () => ({ url: live.ready.http, token: live.ready.token }));
  });
});
