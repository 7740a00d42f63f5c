/** Each check of the books finds what is planted for it. */
import { beforeAll, expect, test } from 'vitest';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import { type Books, checkWebhook } from '../../../simulation/service/invariants/books.ts';
import type { DeliveredRequest } from '../../../simulation/service/receivers.ts';
import { checkBooks, openTenant, pay, readBooks, settledFaults, type Tenant } from './support/payments.ts';

let tenant: Tenant;
let books: Books;
let received: readonly DeliveredRequest[];

beforeAll(async () => {
  const world = new CustodyWorld({ seed: 'books', keepTrace: false, cryptography: 'model', codec: 'none' });
  tenant = await openTenant(world);
  await world.run(pay(tenant, 'one', '0.1'));
  await world.run(pay(tenant, 'two', '0.1'));
  expect(await settledFaults(world, tenant)).toEqual([]);
  books = await world.run(readBooks(tenant.client));
  received = world.receivers.received;
});

const check = (changed: Partial<Books>, told: Tenant['told'] = tenant.told) =>
  checkBooks({ ...books, ...changed }, told).join('\n');

test('an event that is missing', () => {
  expect(check({ events: books.events.filter((_, at) => at !== 7) })).toContain('comes after sequence');
});

test('money that a wallet has too much', () => {
  const [first, ...others] = books.wallets;
  const [asset, ...rest] = first!.assets;
  const richer = { ...asset!, balance: '1000', available: '1000' };
  expect(check({ wallets: [{ ...first!, assets: [richer, ...rest] }, ...others] })).toContain(
    'was shown as it never was',
  );
});

test('two intents of one key, and an intent that no client asked for', () => {
  const [one, other] = books.intents;
  const twice = { ...other!, metadata: one!.metadata };
  expect(check({ intents: [one!, twice] })).toContain('and made');
  expect(check({}, new Map([['one', tenant.told.get('one')!]]))).toContain('no client asked for');
});

test('two intents that were paid by one transaction', () => {
  const [one, other] = books.intents;
  expect(check({ intents: [one!, { ...other!, provider_tx_id: one!.provider_tx_id }] })).toContain(
    'name one transaction',
  );
});

test('an event that never came, and one with a wrong signature', () => {
  const { webhook } = tenant;
  const last = books.events.at(-1)!;
  const lost = received.filter(({ body }) => (JSON.parse(body) as { id: string }).id !== last.id);
  expect(checkWebhook(webhook, books.events, received)).toEqual([]);
  expect(checkWebhook(webhook, books.events, lost).join()).toContain('never reached');
  expect(checkWebhook({ ...webhook, secret: 'whsec_other' }, books.events, received).join()).toContain(
    'wrong signature',
  );
});
