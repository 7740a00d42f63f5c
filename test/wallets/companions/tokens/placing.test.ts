/** Placing orders and issuing tokens, to the edges of what a request may say, with policies that the test decides. */

import { beforeAll, describe, expect, it } from 'vitest';
import { readReserve } from '../../../../wallets/companions/tokens/reserve.ts';
import { tokenAssetId, tokenAssetType } from '../../../../wallets/custody/assets/token-assets.ts';
import { intentType } from '../../../../wallets/custody/intents/record.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../support/ledger-entry.ts';
import { type StoreUnderTest, startMemoryStore } from '../../../support/memory-store.ts';
import { eventTypes, refusal } from '../support/handlers.ts';
import { one, own, startMs, TokenDesk } from './support/desk.ts';

const time = (ms: number) => new Date(ms).toISOString();
const network = 'eip155:11155111';
const outside = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const wallet = { type: 'wallet', asset: 'USDC', wallet_id: 'wal_1' } as const;
const attested = {
  type: 'attestation',
  asset: 'USD',
  reference: 'a',
  amount: '5',
  expires_at: time(startMs + 1),
} as const;

let under: StoreUnderTest;
let store: TenantStore;
beforeAll(async () => {
  under = startMemoryStore();
  store = await under.open({ nowMs: () => startMs });
});

const open = () => new TokenDesk(under, store).open();
const mint = (desk: TokenDesk, over: object = {}) => {
  const body = { amount: '3', destination: { address: outside }, reserve_reference: wallet, ...over };
  return desk.call('mintToken', { params: { id: 'tkn_GOLD' }, body });
};
const redeem = (desk: TokenDesk, over: object = {}) => {
  const body = { amount: '3', source: { wallet_id: 'wal_1' }, reserve_reference: wallet, ...over };
  return desk.call('redeemToken', { params: { id: 'tkn_GOLD' }, body });
};
const issue = (desk: TokenDesk, over: object = {}) => {
  const terms = { symbol: 'TIN', name: 'Tin', network, decimals: 6, supply_cap: '100', issuer_wallet_id: 'wal_1' };
  return desk.call('createToken', { body: { ...terms, ...over } });
};
const invalid = (field: string, issue: string) => refusal('invalidRequest', field, issue);

describe('a mint and a redemption', () => {
  it('are decided as what they are, and become intents of the same number', async () => {
    const desk = await open();
    await desk.does({ ledger: [ledgerEntry('wal_1', 'GOLD', 3n * one)] });
    for (const [place, kind, toAddress] of [
      [mint, 'mint', outside],
      [redeem, 'burn', `0x${'0'.repeat(40)}`],
    ] as const) {
      const placed = await place(desk);
      expect(placed).toMatchObject({ status: 'reserve_check', amount: '3', initiator: 'tok_2', expires_at: null });
      expect(desk.decided.at(-1)).toMatchObject({ kind, toAddress, asset: 'GOLD', units: 3n * one, walletId: 'wal_1' });
      const id = `txi_${placed.id.slice(4)}`;
      expect([placed.transaction_intent_id, desk.queued.at(-1)]).toEqual([id, id]);
      const origin = { kind: 'token-order', id: placed.id };
      expect(await store.read(desk.tenant, intentType, id)).toMatchObject({ kind, origin, status: 'approved' });
    }
    expect((await eventTypes(store, desk.tenant)).filter((type) => type.startsWith('token'))).toEqual(
      ['created', 'reserve_check', 'created', 'reserve_check'].map((happening) => `token.order.${happening}`),
    );
  });

  it('wait for approvals as long as the policy says, or are rejected, and are no intents then', async () => {
    const desk = await open();
    desk.decision = {
      decision: 'require_approval',
      approvals: { quorum: 2, approvers: ['tok_8', 'tok_9'], timeoutS: 90 },
    };
    const pending = await mint(desk);
    expect(pending).toMatchObject({
      ...{ status: 'pending_approval', sub_status: 'AWAITING_APPROVAL', expires_at: time(startMs + 90_000) },
      ...{ approvals_required: 2, approvers: ['tok_8', 'tok_9'] },
    });
    expect(await desk.due(pending)).toBe(90_000);
    desk.decision = { decision: 'deny' };
    const denied = await mint(desk);
    expect(denied).toMatchObject({ status: 'rejected', sub_status: 'POLICY_DENIED', expires_at: null });
    for (const { transaction_intent_id: id } of [pending, denied]) {
      expect(await store.read(desk.tenant, intentType, id)).toBeUndefined();
    }
    expect([desk.queued, await desk.due(denied)]).toEqual([[], undefined]);
  });

  it.each([
    ['a mint', mint],
    ['a redemption', redeem],
  ] as const)('of a token that is frozen, or becomes it while the policies decide: %s is refused', async (_, place) => {
    const desk = await open();
    await desk.does({ ledger: [ledgerEntry('wal_1', 'GOLD', 3n * one)] });
    desk.deciding = () => desk.call('freezeToken', { params: { id: 'tkn_GOLD' } });
    await expect(place(desk)).rejects.toThrow('conflict');
    await expect(place(desk)).rejects.toEqual(refusal('conflict', 'status', 'state_conflict'));
  });

  it('take an amount of the token, an address that can spend it, and a wallet on its network', async () => {
    const desk = await open();
    for (const amount of ['0', '0.0000001', '1e3']) {
      for (const place of [mint, redeem])
        await expect(place(desk, { amount })).rejects.toEqual(refusal('invalidRequest', 'amount'));
    }
    const to = (address: string) => mint(desk, { destination: { address } });
    await expect(to('0x1')).rejects.toEqual(refusal('invalidRequest', 'destination.address'));
    for (const address of ['0x00000000000000000000000000000000000000C1', `0x${'0'.repeat(40)}`]) {
      await expect(to(address)).rejects.toEqual(refusal('providerRejected', 'destination.address'));
    }
    await expect(redeem(desk, { source: { wallet_id: 'wal_2' } })).rejects.toEqual(refusal('notFound'));
  });
});

describe('a reserve', () => {
  it.each([
    [wallet, { type: 'wallet', walletId: 'wal_1', asset: 'USDC', decimals: 6 }],
    [
      attested,
      {
        type: 'attestation',
        reference: 'a',
        asset: 'USD',
        decimals: 18,
        units: String(5n * 10n ** 18n),
        expiresAtMs: startMs + 1,
      },
    ],
  ] as const)('%j is read', async (reference, reserve) => {
    expect(await readReserve((await open()).context(), 'GOLD', reference)).toEqual(reserve);
  });

  it.each([
    [{ ...wallet, wallet_id: undefined }, 'wallet_id', 'missing_required'],
    [{ ...wallet, amount: '5' }, 'amount', 'not_applicable'],
    [{ ...wallet, asset: 'GOLD' }, 'asset', 'invalid_value'],
    [{ ...wallet, asset: 'BTC' }, 'asset', 'unknown_asset'],
    [{ ...wallet, asset: 'NONE' }, 'asset', 'unknown_asset'],
    [{ ...attested, reference: undefined }, 'reference', 'missing_required'],
    [{ ...attested, expires_at: undefined }, 'expires_at', 'missing_required'],
    [{ ...attested, wallet_id: 'wal_1' }, 'wallet_id', 'not_applicable'],
    [{ ...attested, amount: '0' }, 'amount', 'must_be_positive'],
    [{ ...attested, amount: '0.0000000000000000001' }, 'amount', 'too_many_decimals'],
    [{ ...attested, expires_at: time(startMs) }, 'expires_at', 'too_small'],
  ] as const)('%j is not: %s %s', async (reference, field, issue) => {
    const context = (await open()).context();
    await expect(readReserve(context, 'GOLD', reference as typeof wallet)).rejects.toEqual(
      invalid(`reserve_reference.${field}`, issue),
    );
  });
});

describe('a token', () => {
  it('is being deployed by an intent of its number from its issuer’s wallet, and has its symbol at once', async () => {
    const desk = await open();
    const token = await issue(desk, { metadata: { desk: 'emea' } });
    const id = `txi_${token.id.slice(4)}`;
    expect(token).toMatchObject({
      ...{ status: 'deploying', symbol: 'TIN', supply_cap: '100', supply: '0', minting: '0', available_to_mint: '100' },
      ...{ contract: null, transaction_intent_id: id, metadata: { desk: 'emea' }, version: 1 },
    });
    expect(desk.decided[0]).toMatchObject({ kind: 'deploy', units: 0n, asset: 'ETH', toAddress: own });
    expect(await store.read(desk.tenant, intentType, id)).toMatchObject({ origin: { kind: 'token', id: token.id } });
    expect(await store.read(desk.tenant, tokenAssetType, tokenAssetId('TIN'))).toMatchObject({ status: 'deploying' });
    expect([desk.queued, (await eventTypes(store, desk.tenant)).at(-1)]).toEqual([[id], 'token.created']);
    for (const symbol of ['TIN', 'GOLD', 'USDC']) {
      await expect(issue(desk, { symbol })).rejects.toEqual(refusal('conflict', 'symbol', 'symbol_taken'));
    }
  });

  it.each([
    ['a denied deployment', { decision: 'deny' }],
    ['one that waits', { decision: 'require_approval', approvals: { quorum: 1, approvers: [], timeoutS: 9 } }],
  ] as const)('of %s is not queued', async (_, decision) => {
    const desk = await open();
    desk.decision = decision;
    expect([(await issue(desk)).status, desk.queued]).toEqual(['deploying', []]);
  });

  it('has a cap of 42 digits at most, in its decimals, on a network with contracts', async () => {
    const desk = await open();
    const supply_cap = '9'.repeat(30);
    expect((await issue(desk, { supply_cap, decimals: 12 })).supply_cap).toBe(supply_cap);
    const bitcoin = 'bip122:000000000933ea01ad0ee984209779ba';
    for (const [over, field, issues] of [
      [{ supply_cap, decimals: 13 }, 'supply_cap', 'too_large'],
      [{ supply_cap: `${supply_cap}9`, decimals: 0 }, 'supply_cap', 'too_large'],
      [{ supply_cap: '0.0000001' }, 'supply_cap', 'too_many_decimals'],
      [{ supply_cap: '0' }, 'supply_cap', 'must_be_positive'],
      [{ network: bitcoin }, 'network', 'not_allowed_value'],
      [{ issuer_wallet_id: 'wal_2' }, undefined, undefined],
    ] as const) {
      const refused = field === undefined ? refusal('notFound') : invalid(field, issues);
      await expect(issue(desk, { symbol: 'LEAD', ...over })).rejects.toEqual(refused);
    }
    const message = 'takes up to 30 digits before the decimal point';
    await expect(issue(desk, { symbol: 'LEAD', supply_cap: `${supply_cap}9` })).rejects.toMatchObject({
      details: [{ field: 'supply_cap', issue: 'too_large', message }],
    });
  });
});
