/**
 * What events and answers say of a wallet is a state that it had: the one that their own change has made. A model follows
 * the events one by one and must find in each what the ones before add up to.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { creditDeposit } from '../../../../wallets/custody/wallets/deposits.ts';
import { parseAmount } from '../../../../wallets/networks/amounts.ts';
import type { StoredEvent } from '../../../../wallets/store/contract.ts';
import type { JsonAnswer } from '../../../support/gateway.ts';
import { fresh, startWorld, type Tenant, type World } from './support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

const oneEth = 10n ** 18n;

const credit = (tenant: Tenant, walletId: string, txId: string, over: { nowMs?: number; asset?: string } = {}) =>
  creditDeposit(world.store, {
    tenant: tenant.id,
    walletId,
    asset: 'ETH',
    units: oneEth,
    txId,
    fromAddress: null,
    nowMs: Date.now(),
    newId: fresh,
    ...over,
  });

async function eventsOf(tenant: Tenant): Promise<readonly StoredEvent[]> {
  return (await world.store.events(tenant.id, { afterSequence: 0, limit: 1_000, types: [] })).events;
}

interface Shown {
  readonly status: string;
  readonly version: number;
  readonly assets: readonly { readonly symbol: string; readonly balance: string; readonly available: string }[];
  readonly deposit?: { readonly asset: string; readonly amount: string };
}

const unitsOf = (text: string) => (text === '0' ? 0n : (parseAmount(text, 18) as bigint));

/** Each event, from the first on, against what all up to it add up to. */
function follow(events: readonly StoredEvent[]): void {
  let status = 'active';
  let version = 0;
  let units = 0n;
  for (const { type, object, resource } of events) {
    const shown = object as Shown;
    if (type === 'wallet.created') units = unitsOf(shown.assets[0]!.balance);
    if (type === 'wallet.frozen') status = 'frozen';
    if (type === 'wallet.unfrozen') status = 'active';
    if (type === 'wallet.archived') status = 'archived';
    if (type === 'wallet.deposit_received') units += unitsOf(shown.deposit!.amount);
    else version += 1;
    expect({ type, status: shown.status, version: shown.version, balance: unitsOf(shown.assets[0]!.balance) }).toEqual({
      type,
      status,
      version,
      balance: units,
    });
    expect(resource.version).toBe(version);
  }
}

test('six deposits at once are six different balances', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  await Promise.all(Array.from({ length: 6 }, (_, k) => credit(tenant, wallet.id, `0x${k}`)));
  const events = await eventsOf(tenant);
  expect(events.map(({ object }) => (object as Shown).assets[0]!.balance)).toEqual([
    '1.5',
    ...['2.5', '3.5', '4.5', '5.5', '6.5', '7.5'],
  ]);
  follow(events);
});

test('freezing, unfreezing and archiving among deposits tell what they have made, and so do their answers', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const replies: JsonAnswer[] = [];
  const act = async (verb: string, key: string) => {
    const headers = { 'idempotency-key': key };
    const reply = await tenant.call('POST', `/v1/wallets/${wallet.id}/${verb}`, undefined, headers);
    expect(reply.status).toBe(200);
    replies.push(reply);
    const again = await tenant.call('POST', `/v1/wallets/${wallet.id}/${verb}`, undefined, headers);
    expect(again.body).toEqual(reply.body);
  };
  for (let round = 0; round < 4; round += 1) {
    await Promise.all([
      act(round % 2 === 0 ? 'freeze' : 'unfreeze', `k${round}`),
      ...Array.from({ length: 8 }, (_, k) => credit(tenant, wallet.id, `${round}/${k}`)),
    ]);
  }
  await Promise.all([
    act('archive', 'end'),
    ...Array.from({ length: 8 }, (_, k) => credit(tenant, wallet.id, `end/${k}`)),
  ]);
  const events = await eventsOf(tenant);
  follow(events);
  for (const { body } of replies) {
    const event = events.find(
      ({ type, object }) => type !== 'wallet.deposit_received' && (object as Shown).version === body.version,
    );
    expect(body).toEqual(event?.object);
  }
});

test('a wallet is read as it was at one moment', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const states = async () =>
    Promise.all(
      Array.from({ length: 20 }, async () => {
        const { body } = await tenant.call('GET', `/v1/wallets/${wallet.id}`);
        return `${body.assets.length}/${body.version}`;
      }),
    );
  // The deposit lists the asset, raises the version and brings the balance, in one change.
  const [seen] = await Promise.all([states(), credit(tenant, wallet.id, 'usdc', { asset: 'USDC' })]);
  for (const state of seen) expect(['1/1', '2/2']).toContain(state);
});

test('times never run backwards against the sequence, whatever the clocks say', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const nowMs = Date.now();
  for (const [k, skewMs] of [5_000, -60_000, 3_000, 5_000, 0, 6_000].entries()) {
    await credit(tenant, wallet.id, `0x${k}`, { nowMs: nowMs + skewMs });
  }
  const times = (await eventsOf(tenant)).map(({ atMs }) => atMs);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times.slice(1)).toEqual([5_000, 5_000, 5_000, 5_000, 5_000, 6_000].map((skewMs) => nowMs + skewMs));
});
