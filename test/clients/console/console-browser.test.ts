/**
 * The console in a real browser, on an embedded service: a whole story by clicks and keys, a connection that breaks, and texts that
 * would like to be markup.
 */
import axe from 'axe-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostedScenarios } from '../../../cli/scenario/hosted.ts';
import { type Running, signature, startService } from '../../simulation/embedded/support/service.ts';
import { until } from '../../support/until.ts';
import { apiStories } from './support/api-stories.ts';
import { chips, describeInBrowser, go, hash, isLive, picture } from './support/console-page.ts';
import { scenarioStory } from './support/scenario-story.ts';

describeInBrowser('the console on an embedded service', (open) => {
  let running: Running;
  beforeAll(async () => {
    running = await startService({
      scenarios: hostedScenarios(() => {
        const { httpAddress: http, grpcAddress: grpc } = running.service;
        return { gateways: [{ http: `http://${http}`, grpc }], token: running.token, hasApiFaults: true };
      }),
    });
  });
  afterAll(() => running?.service.stop());
  const url = () => `http://${running.service.httpAddress}/`;

  test('shows the cluster, and the same as a table; a process is chosen, paused and resumed by the keyboard', async () => {
    const page = await open(url());
    await isLive(page);
    const names = ['gateway', 'coordinator', ...[1, 2, 3, 4, 5].map((id) => `node/${id}`), 'worker', 'redis'];
    await chips(page, 'node/5').waitFor();
    const drawn = await page
      .locator('[data-process]')
      .evaluateAll((all) => all.map((one) => one.getAttribute('data-process')));
    expect(drawn.sort()).toEqual([...names].sort());
    expect((await page.locator('tbody th').allTextContents()).sort()).toEqual([...names].sort());

    // Frames that pass are seen.
    const moving = page.waitForSelector('.frame:not(.idle)');
    await signature(running, 'sandbox-secp256k1', Buffer.alloc(32, 5), 'frames that pass');
    await moving;
    await picture(page, 'console-cluster');

    await chips(page, 'node/3').focus();
    await page.keyboard.press('Enter');
    expect(await hash(page)).toBe('#/cluster/node%2F3');
    const inspector = page.getByRole('complementary', { name: 'node 3' });
    await inspector.getByRole('button', { name: 'Pause' }).focus();
    await inspector.locator('pre', { hasText: `-X POST '${url()}v1/sandbox/nodes/3/pause'` }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForSelector('[data-process="node/3"].paused');
    await inspector.getByRole('button', { name: 'Resume' }).press('Enter');
    await page.waitForSelector('[data-process="node/3"].running');
    await inspector.getByRole('button', { name: 'signmesh/client' }).click();
    await inspector.locator('pre', { hasText: 'await client.sandbox.' }).waitFor();
    expect(await page.locator('pre').allTextContents()).not.toContain(running.token);
  });

  test('tells a whole story: a key, node 2 lies, it is named, and a session is resumed', async () => {
    const page = await open(`${url()}#/faults`);
    await isLive(page);
    await page.locator('#fault-kind').selectOption('bad_partial');
    await page.locator('input[name=target]').fill('node/2');
    await page.locator('form pre', { hasText: `-d '{"fault":"bad_partial","target":"node/2"}'` }).waitFor();
    await page.getByRole('button', { name: 'Arm bad_partial' }).click();
    await page.locator('[data-fault]', { hasText: 'bad_partial' }).waitFor();

    await go(page, 'Ceremonies');
    await page.getByRole('button', { name: 'Make a key and sign' }).click();
    const signed = page.locator('tbody tr', { hasText: 'signature' }).first();
    await signed.locator('.chip.completed').waitFor();
    await signed.locator('.node-mark.blamed', { hasText: '2' }).waitFor();
    await signed.getByRole('button').click();
    const why = page.locator('#why');
    await why.getByText('node 2 is blamed').waitFor();
    expect(await why.textContent()).toMatch(
      /^The signature has been made; node 2 is blamed; the fault bad_partial of node\/2 \(flt_\d+\) touched its frames[.]$/,
    );
    const [session] = /sig_[\w-]+/.exec(await hash(page)) ?? [];

    // The diagram shows it, a click explains, and the table has the same.
    await page.waitForSelector('.canvas[data-first="0"]');
    await page.getByRole('button', { name: 'Next fault' }).click();
    await page.locator('.event strong').waitFor();
    await picture(page, 'console-ceremony', 1_000);
    await page.getByRole('button', { name: 'Table' }).click();
    await page.locator('.flow tr.touched').first().waitFor();
    // Of the same draw: what a read brings is drawn a moment later than the diagram.
    const events = await page.locator('.flow h3').textContent();
    expect(`${await page.locator('.flow tbody tr').count()} events`).toBe(events);
    expect(await page.locator('.flow tr.touched').first().textContent()).toContain('partial_reply');

    // The fault leads to the ceremony that it touched, and is removed.
    await go(page, 'Faults');
    const fault = page.locator('[data-fault]', { hasText: 'bad_partial' });
    await fault.getByRole('button', { name: session! }).waitFor();
    await fault.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('None: the cluster runs as it should.', { exact: false }).waitFor();

    // A key generation that fails says what to do, and is resumed.
    await page.locator('#fault-kind').selectOption('bad_share');
    await page.getByRole('button', { name: 'Arm bad_share' }).click();
    await page.locator('[data-fault]', { hasText: 'bad_share' }).waitFor();
    await go(page, 'Ceremonies');
    await page.getByRole('button', { name: 'Make a key and sign' }).click();
    const failed = page.locator('tbody tr', { has: page.locator('.chip.failed') });
    await failed.getByRole('button').click();
    await why.getByText('then resume the session.').waitFor();
    expect(await why.textContent()).toContain('node 2 is blamed');
    await go(page, 'Faults');
    await page.getByRole('button', { name: 'Remove all' }).click();
    await page.goBack();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.session-head .chip.completed').waitFor();
    await page.locator('.last-call', { hasText: 'DKG_COMPLETED' }).waitFor();
    // No token of a session is in what the page shows.
    expect(await page.content()).not.toContain('rt1_');
    const recorded = await running.must(200, 'GET', '/v1/sandbox/recording?limit=10000');
    expect(JSON.stringify(recorded)).not.toContain('rt1_');
  });

  test('a key and a signature are stepped by clicks, and another tenant’s once its token is there', async () => {
    const page = await open(`${url()}#/ceremonies`);
    await isLive(page);
    await page.getByRole('button', { name: 'A key step by step' }).click();
    const steps = page.getByRole('region', { name: 'Step it' });
    const step = (name: string) => steps.getByRole('button', { name, exact: true });
    await step('→: node 1 deals to node 2').focus();
    await steps.locator('pre', { hasText: '"sender_node_id":1,"recipient_node_id":2' }).waitFor();
    await page.keyboard.press('Enter');
    await steps.getByText('1 of 20 pairs so far').waitFor();
    await step('Deals to all: node 3 deals to every node').click();
    await steps.getByText('5 of 20 pairs so far').waitFor();
    await step('All the rest: every node deals to every node').click();
    await page.getByRole('button', { name: 'Sign step by step' }).click();
    await step('Answers: node 4 answers').click();
    await steps.getByText('1 of 3 partial signatures so far').waitFor();
    await steps.getByRole('row', { name: 'node 4 its partial is in' }).waitFor();
    await step('All the rest: every node answers').click();
    await page.locator('.session-head .chip.completed').waitFor();
    await steps.waitFor({ state: 'detached' });

    // Of another tenant's session it says that a token is missing.
    const stranger = 'svc_sk_test_aTenantOfItsOwn';
    const theirs = { session_id: 'of-a-stranger', threshold: 2, total_nodes: 3 };
    expect((await running.call('POST', '/v1/dkg/initiate', theirs, stranger)).status).toBe(200);
    const pair = { session_id: 'of-a-stranger', sender_node_id: 1, recipient_node_id: 2 };
    expect((await running.call('POST', '/v1/dkg/shares', pair, stranger)).status).toBe(200);
    await page.evaluate(`location.hash = '#/ceremonies/of-a-stranger'`);
    await steps.getByText('only a token of that tenant steps it').waitFor();
    await go(page, 'Tenants');
    await page.getByText('ran 1 ceremony: paste its token').waitFor();
    await page.locator('#other-token').fill(stranger);
    await page.getByRole('button', { name: 'Add it, and act with it' }).click();
    await page.getByText('None: the page holds a token of every tenant', { exact: false }).waitFor();
    await page.goBack();
    await step('All the rest: every node deals to every node').click();
    await page.locator('.session-head .chip.completed').waitFor();
    await page.getByRole('combobox', { name: 'Act as' }).selectOption('tok_sandbox');
    expect(await page.content()).not.toContain(stranger);
  });

  test('a wallet is made and pays: an approval by another person, a failure with its reason', async () => {
    const page = await open(`${url()}#/wallets`);
    await isLive(page);
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByRole('button', { name: 'One that needs an approval' }).click();
    await page.locator('form pre', { hasText: '"amount":"0.00477"' }).waitFor();
    await page.getByRole('button', { name: 'Send 0.00477 ETH' }).click();
    await page.locator('.timeline .now', { hasText: 'Approvals' }).waitFor();
    await page.locator('.timeline', { hasText: '✓ review, require approval: true' }).waitFor();
    await page.getByText('its initiator has none; approve it as another person.').waitFor();
    await page.getByRole('button', { name: 'Make an approver' }).press('Enter');
    await page.getByRole('button', { name: 'Approve', exact: true }).press('Enter');
    await page.locator('.session-head .chip.completed').waitFor();
    expect(await page.locator('.timeline .done').count()).toBe(9);
    await picture(page, 'console-wallet');
    await page.locator('.timeline').getByRole('button', { name: /^sig_/ }).click();
    await page.locator('h2.id', { hasText: /^sig_/ }).waitFor();
    await page.locator('.session-head .chip.completed').waitFor();
    const signing = (await hash(page)).replace('#/ceremonies/', '');
    expect(await running.must(200, 'GET', `/v1/sandbox/sessions/${signing}`)).toMatchObject({
      requested_by: 'wallet_service',
    });
    await page.goBack();
    await page.getByRole('button', { name: /^wal_/ }).click();
    await page.getByRole('button', { name: 'One to a sanctioned address' }).click();
    await page.getByRole('button', { name: 'Send 0.1 ETH' }).click();
    await page.locator('.session-head .chip.failed').waitFor();
    await page.locator('#why', { hasText: 'it is on the list test_sanctions; send to another address.' }).waitFor();
    const intent = (await hash(page)).replace('#/wallets/', '');
    await go(page, 'Cluster');
    await page.getByRole('searchbox', { name: 'Go to any id' }).fill(intent);
    await page.keyboard.press('Enter');
    await page.locator('.timeline .bad', { hasText: 'Screening' }).waitFor();
  });

  test('an open ceremony grows while it runs', async () => {
    const page = await open(`${url()}#/ceremonies`);
    await isLive(page);
    const begun = await running.must(200, 'POST', '/v1/signing/initiate', {
      ...{ transaction_intent_id: 'grows', wallet_id: 'sandbox-secp256k1' },
      message_hash: Buffer.alloc(32, 7).toString('base64'),
    });
    const id = String(begun.signing_session_id);
    await page.evaluate(`location.hash = '#/ceremonies/${id}'`);
    const count = async () => Number.parseInt((await page.locator('.flow h3').textContent()) ?? '', 10);
    const first = await until(count, 'the number of events');
    await running.must(200, 'POST', '/v1/signing/share', { signing_session_id: id });
    await until(async () => (await count()) > first, 'more events');
    await page.locator('.session-head .chip.completed').waitFor();
  });

  apiStories(open, () => running);
  scenarioStory(open, () => ({ url: `http://${running.service.httpAddress}`, token: running.token }));

  test('load is plotted with its refusals, its faults and what a generator intends, and is the same in tables', async () => {
    const page = await open(`${url()}#/load`);
    await isLive(page);
    await page.locator('pre', { hasText: 'signmesh load sign' }).waitFor();
    await running.must(204, 'POST', '/v1/sandbox/load', { load: '<b>mine</b>', stage: 'climb', rate: 40 });
    await page
      .locator('#intended', { hasText: '<b>mine</b>, stage climb: it intends 40.0 operations a second' })
      .waitFor();
    await running.must(201, 'POST', '/v1/sandbox/faults', {
      fault: 'slow',
      target: 'node/2',
      by_ms: 5,
      for_ms: 60_000,
    });
    await signature(running, 'sandbox-secp256k1', Buffer.alloc(32, 8), 'is plotted');
    await running.must(404, 'GET', '/v1/wallets/wal_none');
    const plot = (title: string) => page.locator(`[data-plot^="${title}"]`);
    await plot('Refusals').locator('.legend', { hasText: 'not_found' }).waitFor();
    await plot('Rate').locator('rect.window').first().waitFor();
    await plot('Rate')
      .locator('.legend', { hasText: /slow \(flt_\w+\)/ })
      .waitFor();
    await plot('Nonce pools')
      .locator('.legend', { hasText: /mock_ecdsa [1-9]/ })
      .waitFor();
    await plot('Queues').locator('.legend', { hasText: 'deliveries waiting 0' }).waitFor();
    await picture(page, 'console-load', 1_000);
    await page.getByRole('button', { name: 'Tables' }).press('Enter');
    await plot('Rate')
      .getByRole('row', { name: /40 slow \(flt_\w+\)$/ })
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Plots' }).press('Enter');
    await plot('CPU').locator('svg').waitFor();
    await running.must(200, 'POST', '/v1/sandbox/faults/reset');
  });

  test('a connection that breaks is said, and read on', async () => {
    const page = await open(url());
    await isLive(page);
    await running.must(202, 'POST', '/v1/sandbox/nodes/gateway/crash', { restart_after_ms: 1_500 });
    await page.waitForSelector('.connection.broken');
    await page.locator('.notice.bad').waitFor();
    await isLive(page);
    await page.locator('.notice.bad').waitFor({ state: 'detached' });
    await signature(running, 'sandbox-secp256k1', Buffer.alloc(32, 9), 'after the break');
    await go(page, 'Ceremonies');
    await page.locator('tbody tr', { hasText: 'signature' }).first().waitFor();
  });

  test('a panel whose script does not load says so, and is shown once it does', async () => {
    const page = await open(url());
    await isLive(page);
    await page.route('**/console/time-panel-*.js', (route) => route.abort());
    await go(page, 'Time and state');
    await page.getByRole('alert').filter({ hasText: 'The script of this panel did not load.' }).waitFor();
    await go(page, 'Faults');
    await page.locator('#fault-kind').waitFor();
    await page.goBack();
    await page.unroute('**/console/time-panel-*.js');
    await page.locator('#offset').waitFor();
    expect(await hash(page)).toBe('#/time');
  });

  test('every panel can be read by all, by day and by night', async () => {
    const page = await open(url());
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await isLive(page);
    await page.evaluate(axe.source);
    const everything = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] };
    const look = async (fragment: string, seen: string) => {
      await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
      await page.locator(seen).first().waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const options = JSON.stringify(colorScheme === 'light' ? everything : { runOnly: ['color-contrast'] });
        const { violations } = (await page.evaluate(`axe.run(${options})`)) as axe.AxeResults;
        const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
        expect([fragment, colorScheme, found]).toEqual([fragment, colorScheme, []]);
      }
    };
    await look('#/cluster/node%2F2', '.inspector');
    await look('#/ceremonies', '.chip.completed');
    await look('#/ceremonies/sandbox-secp256k1', '.canvas[data-first="0"]');
    await look('#/requests', '[data-request]');
    await page.locator('[data-request] button').first().click();
    await look(await hash(page), 'section[aria-label=Answer]');
    await look('#/webhooks', '[data-event]');
    await page.locator('[data-webhook] button').first().click();
    await look(await hash(page), '[data-delivery]');
    await look('#/faults', 'form select');
    await look('#/load', '[data-plot^=Rate] svg');
    await page.getByRole('button', { name: 'Tables' }).click();
    await look('#/load', '[data-plot^=Rate] td');
    await look('#/tenants', '#other-token');
    await look('#/time', '#offset');
    await look('#/wallets', 'form .primary');
  });

  test('texts that would like to be markup are texts, in every panel', async () => {
    const nasty = '<img src=x onerror="document.title=\'owned\'"><b>\u202egnp.\u0007';
    const visible = nasty.replace(/[^ -~]/g, '');
    const fault = await running.must(201, 'POST', '/v1/sandbox/faults', {
      ...{ fault: 'drop', target: 'node/1', id: 'nasty', at: { step: nasty } },
    });
    expect(fault.state).toBe('armed');
    await running.must(204, 'POST', '/v1/sandbox/steps', { step: visible });
    await running.call('POST', '/v1/signing/initiate', {
      ...{ transaction_intent_id: nasty, wallet_id: nasty, message_hash: 'AA==' },
    });
    await running.must(201, 'POST', '/v1/webhooks', {
      ...{ url: 'http://127.0.0.1:9/', events: ['webhook.ping'], description: visible },
    });
    const page = await open(`${url()}#/ceremonies/${encodeURIComponent(nasty)}?q=${encodeURIComponent(nasty)}`);
    await isLive(page);
    await page.getByRole('heading', { name: '<img' }).waitFor();
    for (const panel of [
      'Faults',
      'Cluster',
      'Ceremonies',
      'Requests',
      'Load',
      'Tenants',
      'Time and state',
      'Wallets',
      'Webhooks',
    ]) {
      await go(page, panel);
      await page.locator('.panel').first().waitFor();
      if (panel === 'Requests') {
        await page
          .locator('[data-request]', { hasText: 'POST /v1/signing/initiate' })
          .first()
          .getByRole('button')
          .click();
        await page.locator('section[aria-label=Body]', { hasText: '<img src=x' }).waitFor();
      }
      if (panel === 'Webhooks') {
        await page.getByRole('searchbox', { name: 'Search by type or any id' }).fill('onerror');
        await page
          .locator('[data-event="webhook.created"] pre', { hasText: '<img src=x' })
          .waitFor({ state: 'attached' });
      }
      if (panel === 'Faults') await page.locator('[data-fault=nasty]', { hasText: '<img src=x' }).waitFor();
      expect(await page.locator('img, b').count()).toBe(0);
      const shown = (await page.evaluate('document.body.innerText')) as string;
      expect(['\u202e', '\u0007'].filter((character) => shown.includes(character))).toEqual([]);
    }
    expect(await page.title()).not.toBe('owned');
    await running.must(200, 'POST', '/v1/sandbox/faults/reset');
  });

  test('the clock is advanced, and a snapshot brings back what was there', async () => {
    const page = await open(`${url()}#/time`);
    await isLive(page);
    await page.getByText('None yet. Take one before a test', { exact: false }).waitFor();
    await page.getByRole('textbox', { name: 'Name of the snapshot' }).fill('before');
    await page.getByRole('button', { name: 'Take a snapshot' }).click();
    const row = page.getByRole('row', { name: 'before' });
    await row.waitFor();
    await page.getByRole('button', { name: '+1 h', exact: true }).press('Enter');
    await page.locator('#offset', { hasText: '+1 h' }).waitFor();
    await page.locator('main pre', { hasText: '{"advance_s":3600}' }).waitFor();
    // What loses data asks first.
    await row.getByRole('button', { name: 'Restore' }).click();
    expect((await running.must(200, 'GET', '/v1/sandbox/clock')).offset_ms).toBe(3_600_000);
    await row.getByRole('button', { name: 'Yes: lose what is there now' }).click();
    await page.locator('.last-call.good', { hasText: 'Restore before' }).waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Reset the sandbox' }).click();
    await page.getByRole('button', { name: 'Yes: lose what is there now' }).click();
    await page.locator('.last-call.good', { hasText: 'Start afresh' }).waitFor();
    await page.locator('#offset', { hasText: 'no offset' }).waitFor();
  });
});
