/** What the author of a client looks at in the console, as tests of a file that has a browser and an embedded service. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Running } from '../../../simulation/embedded/support/service.ts';
import { until } from '../../../support/until.ts';
import { hash, isLive, pingAnInbox } from './console-page.ts';

export function apiStories(open: (url: string) => Promise<Page>, running: () => Running): void {
  const url = () => `http://${running().service.httpAddress}/`;

  test('shows each request, why it was refused, and sends one again', async () => {
    const page = await open(`${url()}#/requests`);
    await isLive(page);
    const bad = await running().call('POST', '/v1/wallets', { network: 'ethereum', nmae: '<b>bold</b>' });
    expect(bad.status).toBe(400);
    // Other stories have refused requests too.
    const refused = page
      .locator('[data-request]', { hasText: 'POST /v1/wallets' })
      .filter({ hasText: 'invalid_request' })
      .first();
    await refused.locator('.chip.failed', { hasText: '400' }).waitFor();
    await refused.getByRole('button').press('Enter');
    await page.locator('#why', { hasText: 'Refused with invalid_request' }).waitFor();
    expect(await hash(page)).toMatch(/^#\/requests\/\d+$/);
    await page.locator('section[aria-label=Body] pre', { hasText: '(unknown field)' }).waitFor();
    await page.locator('section[aria-label=Answer] pre', { hasText: '"issue": "unknown_field"' }).waitFor();

    const hook = { url: 'https://example.com/hook?key=hidden', events: ['*'] };
    const made = await running().must(201, 'POST', '/v1/webhooks', hook);
    await page.getByRole('button', { name: '← Requests' }).click();
    await page.locator('[data-request]', { hasText: 'POST /v1/webhooks' }).first().getByRole('button').click();
    const answer = page.locator('section[aria-label=Answer] pre');
    await answer.filter({ hasText: '"secret": "(secret)"' }).waitFor();
    await page.getByText('url: the page does not know the value.').waitFor();
    const content = await page.content();
    expect([String(made.secret), 'key=hidden'].filter((text) => content.includes(text))).toEqual([]);

    await running().must(200, 'GET', '/v1/wallets?limit=3');
    await page.getByRole('button', { name: '← Requests' }).click();
    await page.locator('#request-words').fill('get /v1/wallets');
    const reads = page.locator('[data-request]');
    await until(async () => (await reads.count()) === 1, 'the one read that no page made');
    await reads.getByRole('button').click();
    await page.locator('pre', { hasText: `curl -sS '${url()}v1/wallets?limit=3'` }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.locator('.last-call.good', { hasText: 'answered 200' }).waitFor();
    await page.getByRole('button', { name: '← Requests' }).click();
    await until(async () => (await reads.count()) === 2, 'the request that was sent again');
  });

  test('an inbox shows each delivery, and a receiver that fails says why', async () => {
    const page = await open(`${url()}#/webhooks`);
    await isLive(page);
    await pingAnInbox(page);
    const inbox = (await hash(page)).replace('#/webhooks/', '');
    await page.locator('[data-received] summary').first().press('Enter');
    await page.locator('[data-received] pre', { hasText: '"type": "webhook.ping"' }).first().waitFor();

    const fault = await running().must(201, 'POST', '/v1/sandbox/faults', { fault: 'receiver_status', status: 503 });
    await page.getByRole('button', { name: 'Ping' }).click();
    const failing = page.locator('[data-delivery]', { has: page.locator('.chip.failed') });
    await failing.getByText('The receiver answered 503, at try 4; no try is left;').waitFor();
    await failing.getByRole('button', { name: 'Its answer' }).press('Enter');
    await failing.getByText('content-length').waitFor();
    expect(await failing.textContent()).toContain(`the fault receiver_status (${fault.id}) may be why: remove it, or`);
    await running().must(200, 'POST', '/v1/sandbox/faults/reset');
    await failing.getByRole('button', { name: 'Deliver again' }).press('Enter');
    await page.locator('[data-delivery] .chip.completed').nth(1).waitFor();
    const second = page.locator('[data-delivery]').first();
    expect(await second.locator('.try-of').count()).toBe(5);

    // The log has them, and an id of anything leads there.
    const { deliveries } = await running().must(200, 'GET', `/v1/webhooks/${inbox}/deliveries`);
    const [newest] = deliveries as readonly { readonly id: string; readonly event_id: string }[];
    const { id: delivery, event_id: event } = newest!;
    await page.getByRole('searchbox', { name: 'Go to any id' }).fill(delivery);
    await page.keyboard.press('Enter');
    await until(async () => (await hash(page)) === `#/webhooks/${inbox}?q=${delivery}`, 'the endpoint of the delivery');
    await until(async () => (await page.locator('[data-delivery]').count()) === 1, 'the delivery alone');
    await page.getByRole('searchbox', { name: 'Go to any id' }).fill(event);
    await page.keyboard.press('Enter');
    await page.locator('[data-event="webhook.ping"]', { hasText: event }).waitFor();
    await until(async () => (await page.locator('[data-event]').count()) === 1, 'the event alone');
    await page.getByRole('searchbox', { name: 'Search by type or any id' }).fill('');
    await page.getByRole('combobox', { name: 'Which events' }).selectOption('webhook');
    const made = page.locator('[data-event="webhook.created"]');
    await made.first().waitFor();
    const before = await made.count();
    await running().must(201, 'POST', '/v1/sandbox/inboxes');
    await made.nth(before).waitFor();

    // An endpoint of one's own shows its secret once.
    await page.getByText('Add an endpoint of your own').click();
    await page.getByRole('textbox', { name: 'URL' }).fill('http://127.0.0.1:9/mine');
    await page.getByRole('textbox', { name: 'Events' }).fill('vault.*, wallet.created');
    await page.getByRole('button', { name: 'Add it' }).click();
    await page.getByText(/^whsec_/).waitFor();
    const { webhooks } = await running().must(200, 'GET', '/v1/webhooks');
    expect((webhooks as readonly object[])[0]).toMatchObject({
      ...{ url: 'http://127.0.0.1:9/mine', events: ['vault.*', 'wallet.created'] },
    });
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.locator('[data-webhook]').first().waitFor();
    const mine = page.locator('[data-webhook]', { hasText: 'http://127.0.0.1:9/mine' });
    await until(async () => (await mine.count()) === 0, 'the endpoint is gone');
  });
}
