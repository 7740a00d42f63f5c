/** The rules of cap and reserve to their edges: what an order may begin, what is set aside for it, and what its end leaves. */

import { beforeAll, describe, expect, it } from 'vitest';
import { type OrderRecord, orderType, tokenType } from '../../../../wallets/companions/tokens/record.ts';
import { type IntentRecord, intentType } from '../../../../wallets/custody/intents/record.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import { update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../support/ledger-entry.ts';
import { type StoreUnderTest, startMemoryStore } from '../../../support/memory-store.ts';
import { eventTypes } from '../support/handlers.ts';
import { attestation, one, startMs, TokenDesk, wallet } from './support/desk.ts';

let under: StoreUnderTest;
let store: TenantStore;
beforeAll(async () => {
  under = startMemoryStore();
  store = await under.open({ nowMs: () => startMs });
});

const open = () => new TokenDesk(under, store).open();
const plenty = attestation(1_000n);
const begun = ['processing', null];

describe('the cap', () => {
  it('is used to its last unit; a mint that fails gives its part back, and a redemption makes room', async () => {
    const desk = await open();
    const first = await desk.mint(60n, plenty);
    expect(await desk.supply()).toEqual([40n, 60n, 0n]);
    expect(await desk.begin(await desk.order('mint', 41n, plenty))).toEqual(['rejected', 'CAP_EXCEEDED']);
    const last = await desk.mint(40n, plenty);
    await desk.end(first, 'completed');
    expect(await desk.supply()).toEqual([0n, 40n, 60n]);
    await desk.end(last, 'failed');
    expect(await desk.supply()).toEqual([40n, 0n, 60n]);
    const burn = await desk.order('redeem', 60n, plenty);
    expect(await desk.begin(burn)).toEqual(begun);
    expect(await desk.supply()).toEqual([40n, 0n, 60n]);
    await desk.end(burn, 'completed');
    expect(await desk.supply()).toEqual([100n, 0n, 0n]);
  });

  it('is what it was when a redemption fails, or an intent ends before its order begins', async () => {
    const desk = await open();
    await desk.end(await desk.mint(60n, plenty), 'completed');
    const burn = await desk.order('redeem', 5n, plenty);
    await desk.begin(burn);
    await desk.end(burn, 'failed');
    await desk.end(await desk.order('mint', 5n, plenty), 'cancelled');
    expect(await desk.supply()).toEqual([40n, 0n, 60n]);
  });
});

describe('a reserve', () => {
  const needs = async (kind: OrderRecord['kind'], amount: bigint, needed: bigint) => {
    const desk = await open();
    await desk.end(await desk.mint(10n, plenty), 'completed');
    await desk.mint(5n, plenty);
    const order = async (reserved: bigint, over = {}) => desk.order(kind, amount, attestation(reserved, over));
    const little = await order(needed, { units: String(needed * 10n ** 18n - 1n) });
    expect(await desk.begin(little)).toEqual(['rejected', 'RESERVE_INSUFFICIENT']);
    const check = (await store.read(desk.tenant, orderType, little.id))!.reserveCheck!;
    const required = needed * 10n ** 18n;
    expect(check).toEqual({ requiredUnits: String(required), heldUnits: String(required - 1n), atMs: startMs });
    expect(await desk.begin(await order(needed))).toEqual(begun);
  };

  it('covers what is in circulation, what is being minted, and the mint itself', () => needs('mint', 7n, 22n));

  it('holds what a redemption burns', () => needs('redeem', 7n, 7n));

  it('that is attested holds until its end, and not at it', async () => {
    const desk = await open();
    const reserve = attestation(50n, { expiresAtMs: startMs + 10 });
    const [early, late] = [await desk.order('mint', 1n, reserve), await desk.order('mint', 1n, reserve)];
    desk.nowMs = startMs + 9;
    expect(await desk.begin(early)).toEqual(begun);
    desk.nowMs += 1;
    expect(await desk.begin(late)).toEqual(['rejected', 'RESERVE_EXPIRED']);
  });

  it('in a wallet is set aside for the order that needs most, until the last one of them is over', async () => {
    const desk = await open();
    const first = await desk.mint(30n, wallet);
    expect(await desk.held()).toEqual([70n, 30n]);
    const second = await desk.mint(20n, wallet);
    expect(await desk.held()).toEqual([50n, 50n]);
    await desk.end(first, 'completed');
    expect(await desk.held()).toEqual([50n, 50n]);
    const burn = await desk.order('redeem', 10n, wallet);
    expect(await desk.begin(burn)).toEqual(begun);
    await desk.end(second, 'failed');
    expect(await desk.held()).toEqual([50n, 50n]);
    await desk.end(burn, 'completed');
    expect(await desk.held()).toEqual([100n, 0n]);
  });

  it('in a wallet counts what is available and what is set aside for the same token, to the last unit', async () => {
    const desk = await open();
    await desk.mint(60n, wallet);
    await desk.does({ ledger: [ledgerEntry('wal_1', 'USDC', -10n * one - 1n)] });
    const over = await desk.order('mint', 30n, wallet);
    expect(await desk.begin(over)).toEqual(['rejected', 'RESERVE_INSUFFICIENT']);
    const { heldUnits } = (await store.read(desk.tenant, orderType, over.id))!.reserveCheck!;
    expect(heldUnits).toBe(String(90n * one - 1n));
    await desk.does({ ledger: [ledgerEntry('wal_1', 'USDC', 1n)] });
    expect(await desk.begin(await desk.order('mint', 30n, wallet))).toEqual(begun);
    expect(await desk.held()).toEqual([0n, 90n]);
  });

  it('whose wallet is archived is none', async () => {
    const desk = await open();
    const before = (await store.read(desk.tenant, walletType, 'wal_1'))!;
    await desk.does({ puts: [update(walletType, before, { ...before, version: 2, status: 'archived' })] });
    expect(await desk.begin(await desk.order('mint', 1n, wallet))).toEqual(['rejected', 'RESERVE_UNAVAILABLE']);
  });

  it.each([
    ['units in circulation', async (desk: TokenDesk) => desk.end(await desk.mint(1n, wallet), 'completed')],
    ['units being minted', (desk: TokenDesk) => desk.mint(1n, wallet)],
    ['a redemption in process', redeemsAll],
  ] as const)('backs no other token while it backs %s', async (_, uses) => {
    const desk = await (await open()).issue('TIN');
    await uses(desk);
    const order = await desk.order('mint', 1n, wallet, { tokenId: 'tkn_TIN', asset: 'TIN' });
    expect(await desk.begin(order)).toEqual(['rejected', 'RESERVE_TAKEN']);
  });

  it('is taken over when nothing of its token is left, unless that is minted again meanwhile', async () => {
    const desk = await (await open()).issue('TIN');
    const burn = await redeemsAll(desk);
    await desk.end(burn, 'completed');
    const tin = await desk.order('mint', 1n, wallet, { tokenId: 'tkn_TIN', asset: 'TIN' });
    const { change } = await desk.leave(tin);
    const other = await desk.mint(1n, attestation(50n));
    expect((await store.commit(desk.tenant, change)).committed).toBe(false);
    expect(await desk.begin(tin)).toEqual(['rejected', 'RESERVE_TAKEN']);
    await desk.end(other, 'failed');
    const again = await desk.order('mint', 2n, wallet, { tokenId: 'tkn_TIN', asset: 'TIN' });
    expect(await desk.begin(again)).toEqual(begun);
    expect([await desk.held(), await desk.supply('TIN')]).toEqual([
      [98n, 2n],
      [98n, 2n, 0n],
    ]);
  });
});

/** The whole supply of GOLD, which the reserve in the wallet backs, is being redeemed. */
async function redeemsAll(desk: TokenDesk): Promise<OrderRecord> {
  await desk.end(await desk.mint(3n, wallet), 'completed');
  const burn = await desk.order('redeem', 3n, wallet);
  await desk.begin(burn);
  return burn;
}

describe('what an order read must still hold when its signing begins:', () => {
  const changes: readonly (readonly [string, (desk: TokenDesk) => Promise<unknown>])[] = [
    ['its token', (desk) => desk.call('freezeToken', { params: { id: 'tkn_GOLD' } })],
    ['the supply', (desk) => desk.mint(1n, plenty)],
    ['the reserve', (desk) => desk.does({ ledger: [ledgerEntry('wal_1', 'USDC', -98n * one)] })],
  ];
  it.each(changes)('%s', async (_, changed) => {
    const desk = await open();
    const { kind, change } = await desk.leave(await desk.order('mint', 3n, wallet));
    expect(kind).toBe('granted');
    await changed(desk);
    expect((await store.commit(desk.tenant, change)).committed).toBe(false);
  });
});

it('an order of a frozen token, and an intent whose order is over, sign nothing', async () => {
  const desk = await open();
  const order = await desk.mint(1n, plenty);
  const { kind, subStatus } = (await desk.leave(order)) as { readonly kind: string; readonly subStatus: string };
  expect([kind, subStatus]).toEqual(['refused', 'ORDER_OVER']);
  await desk.call('freezeToken', { params: { id: 'tkn_GOLD' } });
  expect(await desk.begin(await desk.order('mint', 1n, plenty))).toEqual(['rejected', 'TOKEN_FROZEN']);
});

it('an order takes the outcome of its intent, once, with the provider’s reason', async () => {
  const desk = await open();
  const providerError = { code: 'REVERTED', message: 'r' };
  for (const [status, over, subStatus, error] of [
    ['completed', {}, null, null],
    ['failed', { providerError, subStatus: 'FAILED_ON_CHAIN' }, 'INTENT_FAILED', providerError],
    ['failed', { subStatus: 'LATE' }, 'INTENT_FAILED', { code: 'LATE', message: expect.stringContaining('failed') }],
    ['expired', {}, 'INTENT_EXPIRED', { code: 'EXPIRED', message: expect.stringContaining('expired') }],
  ] as const) {
    const order = await desk.mint(1n, plenty);
    await desk.end(order, status, over as Partial<IntentRecord>);
    const after = (await store.read(desk.tenant, orderType, order.id))!;
    const ended = status === 'completed' ? 'completed' : 'failed';
    expect(after).toMatchObject({ status: ended, subStatus, error, version: 3 });
    expect([(await eventTypes(store, desk.tenant)).at(-1), await desk.due(order)]).toEqual([
      `token.order.${ended}`,
      undefined,
    ]);
    await desk.job(order.id);
    expect(await store.read(desk.tenant, orderType, order.id)).toEqual(after);
  }
  expect(await desk.supply()).toEqual([99n, 0n, 1n]);
});

it.each([
  ['confirming', null],
  ['completed', 'NOT_FINAL'],
])('a job of an order whose intent is %s, %s, changes nothing', async (status, subStatus) => {
  const desk = await open();
  const order = await desk.mint(1n, plenty);
  await desk.end(order, status, { subStatus });
  expect([await desk.standing(order), await desk.due(order)]).toEqual([begun, undefined]);
});

describe('a deployment', () => {
  const contract = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
  const receipt = (contractAddress: string | null) => ({ receipt: { status: 'success', contractAddress, logs: [] } });
  const deployed = async (status: string, submission: unknown, over: Partial<IntentRecord> = {}) => {
    const desk = await (await open()).issue('TIN', { status: 'deploying', contract: null });
    await desk.end({ id: 'tkn_TIN' }, status, { submission, ...over });
    const token = (await store.read(desk.tenant, tokenType, 'tkn_TIN'))!;
    return { desk, token, last: (await eventTypes(store, desk.tenant)).at(-1) };
  };

  it('makes the whole cap mintable, and the token an asset, with its contract as EIP-55 writes it', async () => {
    const { desk, token, last } = await deployed('completed', receipt(contract));
    const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    expect([token, last]).toMatchObject([{ status: 'active', contract: address, version: 2 }, 'token.deployed']);
    expect(await desk.supply('TIN')).toEqual([100n, 0n, 0n]);
    await desk.job('tkn_TIN');
    expect(await desk.supply('TIN')).toEqual([100n, 0n, 0n]);
    await expect(desk.issue('TIN')).rejects.toThrow('conflict');
  });

  it('waits until nothing can undo its transaction', async () => {
    const { token } = await deployed('completed', receipt(contract), { subStatus: 'NOT_FINAL' });
    expect([token.status, token.version]).toEqual(['deploying', 1]);
  });

  it.each([
    ['failed', null, { providerError: { code: 'NO', message: 'no' } }, 'NO'],
    ['completed', receipt(null), {}, 'COMPLETED'],
  ] as const)('that is %s without a contract fails the token, and frees its symbol', async (...given) => {
    const [status, submission, over, code] = given;
    const { desk, token, last } = await deployed(status, submission, over);
    expect([token.status, token.error?.code, last]).toEqual(['failed', code, 'token.failed']);
    expect((await desk.supply('TIN'))[0]).toBe(100n);
    expect(await store.read(desk.tenant, intentType, 'txi_TIN')).toBeDefined();
  });
});
