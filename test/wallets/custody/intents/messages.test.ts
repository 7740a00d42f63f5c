/** Messages of EVM wallets: real policies and receipts, a key of a signer in this process, everything in memory. */

import { verifyMessage as ethersRecover, verifyTypedData } from 'ethers';
import { recoverAddressTyped } from 'micro-eth-signer';
import { recoverTypedDataAddress, recoverMessageAddress as viemRecover } from 'viem';
import { describe, expect, it } from 'vitest';
import {
  type TokenAssetRecord,
  tokenAssetId,
  tokenAssetType,
} from '../../../../wallets/custody/assets/token-assets.ts';
import { intentType } from '../../../../wallets/custody/intents/record.ts';
import { factsOfRequest } from '../../../../wallets/policy/risk/transaction.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import { done } from '../../../support/memory-store.ts';
import { contextAt } from '../../companions/support/handlers.ts';
import { devnet, testnet } from '../../providers/self-hosted/support.ts';
import { deskWith, policy, type Rules, read, receipts } from './support/decided-desk.ts';
import { somewhere } from './support/desk.ts';
import { StuckDesk } from './support/stuck-desk.ts';

const text = 'example.com wants you to sign in.\n\nNonce: 32891756';
const names = {
  id: 'texts',
  effect: 'allow',
  when: 'tx.kind == "message" && tx.message.startsWith("example.com ")',
} as const;
const asks = {
  id: 'asks',
  effect: 'require_approval',
  when: 'tx.kind in ["message"]',
  approvals: { quorum: 1 },
} as const;

const sign = (desk: StuckDesk, body: object, query = {}) => desk.call('createMessageIntent', { body, query });
const approve = (desk: StuckDesk, txId: string, by: string) =>
  desk.call('approveTransactionIntent', { params: { id: 'wal_1', txId } }, by);

describe('a message', () => {
  it('is signed as personal_sign does, by the wallet’s address, and moves nothing', async () => {
    const desk = await deskWith([names]);
    const before = await desk.balance('ETH');
    const made = await sign(desk, { message: text });
    expect(made).toMatchObject({
      kind: 'message',
      status: 'approved',
      amount: '0',
      message: { text, signature: null },
    });
    await desk.run(1);
    const { message, status, status_history: history, fee, provider_tx_id: txId } = await read(desk, made.id);
    expect([status, fee.paid, txId]).toEqual(['completed', '0', null]);
    expect(history.map((one: { status: string }) => one.status).slice(2)).toEqual(['approved', 'signing', 'completed']);
    expect(ethersRecover(text, message.signature)).toBe(desk.address);
    expect(await viemRecover({ message: text, signature: message.signature })).toBe(desk.address);
    expect(await desk.balance('ETH')).toEqual(before);
    expect(desk.signer.orders).toHaveLength(1);
    const { transaction, purpose } = receipts.read(made.policy_receipt) as never as Record<string, object>;
    expect([transaction, purpose]).toMatchObject([
      { kind: 'message', message_hash: message.hash },
      'transaction_intent',
    ]);
    // It has taken no number of the account: the next transfer has the first.
    await policy(desk, 'default', [{ id: 'all', effect: 'allow', when: 'true' }]);
    const next = await desk.transfer({ asset: 'ETH', amount: '1' });
    await desk.run();
    expect(await read(desk, next.id)).toMatchObject({ status: 'completed', message: null });
  });

  it.each([
    [[]],
    [[{ id: 'all', effect: 'allow', when: 'true' }]],
    [[{ id: 'others', effect: 'allow', when: 'tx.kind != "transfer"' }]],
    [[{ id: 'named', effect: 'allow', when: 'tx.kind != "" && !(tx.kind == "message" && tx.amount > units("1"))' }]],
    [[{ id: 'asks', effect: 'require_approval', when: 'true', approvals: { quorum: 1 } }]],
    [[names, { id: 'never', effect: 'deny', when: 'tx.kind == "message"' }]],
  ] as readonly (readonly [Rules])[])('is denied by %j', async (rules) => {
    const desk = await deskWith(rules);
    expect(await sign(desk, { message: text })).toMatchObject({ status: 'denied', sub_status: 'POLICY_DENIED' });
    await desk.run(1);
    expect(desk.signer.orders).toEqual([]);
  });

  it('is denied where the wallet’s or the named policy has no such rule, though `default` has one', async () => {
    const desk = await deskWith([names]);
    await policy(desk, 'plain', [{ id: 'all', effect: 'allow', when: 'true' }]);
    expect((await sign(desk, { message: text, policy: 'plain' })).status).toBe('denied');
    await desk.changeWallet({ policy: 'plain' });
    expect((await sign(desk, { message: text })).status).toBe('denied');
    await policy(desk, 'plain', [{ id: 'all', effect: 'allow', when: 'true' }, names]);
    expect((await sign(desk, { message: text })).status).toBe('approved');
  });

  it('waits for votes, and is signed when it has them', async () => {
    const desk = await deskWith([asks]);
    const [voted, rejected, late] = await Promise.all(
      ['one', 'two', 'three'].map((message) => sign(desk, { message })),
    );
    expect(voted).toMatchObject({ status: 'pending_approval', approvals_required: 1 });
    await expect(approve(desk, voted.id, 'tok_1')).rejects.toMatchObject({ kind: 'insufficientScope' });
    await approve(desk, voted.id, 'tok_2');
    const params = { id: 'wal_1', txId: rejected.id };
    await desk.call('approveTransactionIntent', { params, body: { decision: 'reject', reason: 'no' } }, 'tok_2');
    await desk.run(1);
    expect((await read(desk, voted.id)).message.signature).toMatch(/^0x[0-9a-f]{128}1[bc]$/);
    desk.nowMs += 2 * 86_400_000;
    await desk.run(1);
    expect((await read(desk, rejected.id)).status).toBe('rejected');
    expect((await read(desk, late.id)).status).toBe('expired');
    expect(desk.signer.orders.map(({ purpose }) => purpose)).toEqual([voted.id]);
  });

  it('twice is two intents, each with its own session', async () => {
    const desk = await deskWith([names]);
    const both = [await sign(desk, { message: text }), await sign(desk, { message: text })];
    await desk.run(1);
    expect(desk.signer.orders.map(({ purpose }) => purpose).sort()).toEqual(both.map(({ id }) => id).sort());
  });

  it('is tried again while the cluster cannot sign, and not signed for a frozen wallet', async () => {
    const desk = await deskWith([names]);
    desk.signer.failures.push(new ProviderUnavailable('no quorum'));
    const { id } = await sign(desk, { message: text });
    await desk.run(1);
    expect(await read(desk, id)).toMatchObject({ status: 'signing', sub_status: 'AWAITING_QUORUM' });
    await desk.run(1);
    expect((await read(desk, id)).status).toBe('completed');
    const held = await sign(desk, { message: text });
    await desk.changeWallet({ status: 'frozen' });
    await desk.run(1);
    expect(await read(desk, held.id)).toMatchObject({ status: 'approved', sub_status: 'WALLET_NOT_ACTIVE' });
    await expect(sign(desk, { message: text })).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('whose record was changed after its decision is not signed', async () => {
    const desk = await deskWith([names]);
    const { id } = await sign(desk, { message: text });
    const before = (await desk.store.read(desk.tenant, intentType, id))!;
    const message = { ...before.message!, text: 'pay the thief' };
    await done(desk.store, desk.tenant, { puts: [update(intentType, before, { ...before, version: 2, message })] });
    await desk.run(1);
    expect(await read(desk, id)).toMatchObject({ status: 'failed', sub_status: 'RECORD_TAMPERED' });
    expect(desk.signer.orders).toEqual([]);
  });

  it('is refused as a digest, and by wallets whose keys sign none', async () => {
    const desk = await deskWith([names]);
    const digest = 'a1'.repeat(32);
    for (const message of [digest, `0x${digest.toUpperCase()}`, ` ${digest}\n`]) {
      await expect(sign(desk, { message })).rejects.toMatchObject({
        details: [expect.objectContaining({ field: 'message', issue: 'invalid_value' })],
      });
    }
    expect((await sign(desk, { message: `0x${digest}00` }, { dry_run: 'true' })).decision).toBe('deny');
    for (const network of [testnet, devnet]) {
      const other = await deskWith([names], network);
      await expect(sign(other, { message: text })).rejects.toMatchObject({
        details: [expect.objectContaining({ field: 'wallet.network', issue: 'not_supported' })],
      });
    }
    const adapter = { info: { capabilities: ['transfers'], displayName: 'A custodian', hosting: 'hosted' } };
    const hosted = await StuckDesk.start(undefined, { adapters: new Map([['self_hosted', adapter]]) as never });
    await expect(sign(hosted, { message: text })).rejects.toMatchObject({
      kind: 'providerRejected',
      details: [expect.objectContaining({ issue: 'not_supported' })],
    });
  });

  it('shows its decisions in a dry run, and creates nothing', async () => {
    const desk = await deskWith([names]);
    const shown = await sign(desk, { message: text }, { dry_run: 'true' });
    expect(shown).toMatchObject({ decision: 'allow', sufficient_funds: true, fee: { reserved: '0' } });
    expect(await desk.store.count(desk.tenant, 'intents')).toBe(0);
  });
});

const order = {
  types: {
    Order: [
      { name: 'maker', type: 'address' },
      { name: 'prices', type: 'uint256[]' },
      { name: 'isOpen', type: 'bool' },
    ],
  },
  primaryType: 'Order',
  domain: { name: 'Market', chainId: '0xaa36a7', verifyingContract: '0x1111111111111111111111111111111111111111' },
  message: { maker: somewhere, prices: ['0x10', 20], isOpen: true },
};
const orders = {
  id: 'orders',
  effect: 'allow',
  when: `tx.kind == "typed_data" && tx.typed_data["primaryType"] == "Order" && tx.typed_data["message.prices[0]"] == "16"
    && tx.typed_data["message.maker"] == "${somewhere.toLowerCase()}" && !("message.prices[2]" in tx.typed_data)`,
} as const;

describe('typed data', () => {
  it('is signed as eth_signTypedData_v4 does, by the wallet’s address', async () => {
    const desk = await deskWith([orders]);
    const made = await sign(desk, { typed_data: order });
    expect(made).toMatchObject({
      ...{ kind: 'typed_data', status: 'approved', amount: '0', asset: 'ETH' },
      destination: { address: order.domain.verifyingContract },
    });
    await desk.run(1);
    const { message, status } = await read(desk, made.id);
    expect([status, message.text]).toEqual(['completed', null]);
    const { signature, typed_data: shown } = message;
    const { EIP712Domain: _, ...types } = shown.types;
    expect(shown.message).toEqual({ maker: somewhere.toLowerCase(), prices: ['16', '20'], isOpen: true });
    const { domain, message: values } = order;
    expect(verifyTypedData(domain, order.types, values, signature)).toBe(desk.address);
    expect(verifyTypedData(shown.domain, types, shown.message, signature)).toBe(desk.address);
    const told = { ...order, domain: { ...domain, chainId: 11155111 }, signature } as const;
    expect(await recoverTypedDataAddress(told as never)).toBe(desk.address);
    expect(recoverAddressTyped(signature, { ...told, domain: { ...told.domain, chainId: 11155111n } } as never)).toBe(
      desk.address,
    );
    const { transaction } = receipts.read(made.policy_receipt) as never as { readonly transaction: object };
    expect(transaction).toMatchObject({ kind: 'typed_data', message_hash: message.hash });
  });

  it('is allowed by rules that see its fields and name its kind, and by no other', async () => {
    const desk = await deskWith([orders, { ...asks, when: 'tx.kind == "message"' }]);
    const status = async (message: object) =>
      (await sign(desk, { typed_data: { ...order, message } }, { dry_run: 'true' })).decision;
    expect(await status(order.message)).toBe('allow');
    expect(await status({ ...order.message, prices: [17] })).toBe('deny');
    expect(await status({ ...order.message, prices: [16, 1, 2] })).toBe('deny');
    expect(await status({ ...order.message, maker: desk.address })).toBe('deny');
    const builtIn = await deskWith();
    expect((await sign(builtIn, { typed_data: order })).status).toBe('denied');
  });

  it('is refused with the field at fault', async () => {
    const desk = await deskWith([orders]);
    const refusal = (field: string, issue: string) => ({
      kind: 'invalidRequest',
      details: [expect.objectContaining({ field, issue })],
    });
    const typed = (over: object) => sign(desk, { typed_data: { ...order, ...over } });
    await expect(typed({ message: { ...order.message, isOpen: 'false' } })).rejects.toMatchObject(
      refusal('typed_data.message.isOpen', 'invalid_value'),
    );
    await expect(typed({ domain: { chainId: 1 } })).rejects.toMatchObject(
      refusal('typed_data.domain.chainId', 'invalid_value'),
    );
    await expect(sign(desk, {})).rejects.toMatchObject(refusal('message', 'missing_required'));
    await expect(sign(desk, { message: text, typed_data: order })).rejects.toMatchObject(
      refusal('typed_data', 'duplicate_field'),
    );
  });
});

const usdc = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';
const permit2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3';
const maxUint = `${(1n << 256n) - 1n}`;
const types = {
  Permit: ['address owner', 'address spender', 'uint256 value', 'uint256 nonce', 'uint256 deadline'],
  PermitDetails: ['address token', 'uint160 amount', 'uint48 expiration', 'uint48 nonce'],
  PermitSingle: ['PermitDetails details', 'address spender', 'uint256 sigDeadline'],
  PermitBatch: ['PermitDetails[] details', 'address spender', 'uint256 sigDeadline'],
  TokenPermissions: ['address token', 'uint256 amount'],
  PermitTransferFrom: ['TokenPermissions permitted', 'address spender', 'uint256 nonce', 'uint256 deadline'],
};
const typesOf = (...names: (keyof typeof types)[]) =>
  Object.fromEntries(
    names.map((one) => [one, types[one].map((field) => ({ type: field.split(' ')[0]!, name: field.split(' ')[1]! }))]),
  );
const typed = (primaryType: keyof typeof types, verifyingContract: string, message: object, more: object = {}) => ({
  types: typesOf(primaryType),
  ...{ primaryType, domain: { name: 'USD Coin', chainId: 11155111, verifyingContract }, message },
  ...more,
});
const permit = (owner: string, value: string | number, more: object = {}) =>
  typed('Permit', usdc, { owner, spender: somewhere, value, nonce: 0, deadline: maxUint }, more);
const single = (token: string, amount: string | number, verifier = permit2) =>
  typed(
    'PermitSingle',
    verifier,
    { details: { token, amount, expiration: 1, nonce: 0 }, spender: somewhere, sigDeadline: 1 },
    { types: typesOf('PermitSingle', 'PermitDetails') },
  );
const once = (token: string, amount: string | number) =>
  typed(
    'PermitTransferFrom',
    permit2,
    { permitted: { token, amount }, spender: somewhere, nonce: 0, deadline: 1 },
    { types: typesOf('PermitTransferFrom', 'TokenPermissions') },
  );
const signs = { id: 'signs', effect: 'allow', when: 'tx.kind == "typed_data"' } as const;
const pays = { id: 'pays', effect: 'allow', when: 'tx.kind == "transfer" && tx.amount <= units("100")' } as const;

describe('a permit', () => {
  it('is a transfer of its amount to its spender, by every rule about transfers', async () => {
    const desk = await deskWith([signs, pays]);
    const status = async (typed_data: object) => (await sign(desk, { typed_data }, { dry_run: 'true' })).decision;
    for (const make of [
      (value: number) => permit(desk.address, value),
      (value: number) => single(usdc, value),
      (value: number) => once(usdc, value),
    ]) {
      expect(await status(make(100_000_000))).toBe('allow');
      expect(await status(make(100_000_001))).toBe('deny');
    }
    const made = await sign(desk, { typed_data: permit(desk.address, 25_000_000) });
    expect(made).toMatchObject({
      asset: 'USDC',
      amount: '25',
      destination: { address: somewhere },
      kind: 'typed_data',
    });
    const before = await desk.balance('USDC');
    await desk.run(1);
    const { status: ended, message } = await read(desk, made.id);
    expect([ended, message.signature]).toEqual(['completed', expect.stringMatching(/^0x/)]);
    expect(await desk.balance('USDC')).toEqual(before);
    const { transaction } = receipts.read(made.policy_receipt) as never as { readonly transaction: object };
    expect(transaction).toMatchObject({ asset: 'USDC', amount: '25', to: somewhere, message_hash: message.hash });
    // It counts among what went to its spender, and in the hour.
    await policy(desk, 'default', [signs, { ...pays, when: 'history.intents_to_destination < 1' }]);
    expect((await desk.transfer({ asset: 'USDC', amount: '1' }, { dry_run: 'true' })).decision).toBe('deny');
  });

  it.each([
    [[signs], 'deny'],
    [[pays, { ...signs, when: 'true' }], 'deny'],
    [[signs, { ...pays, effect: 'require_approval', approvals: { quorum: 2 } }], 'require_approval'],
    [[signs, pays, { id: 'no', effect: 'deny', when: 'tx.kind == "transfer" && tx.asset == "USDC"' }], 'deny'],
    [[signs, pays, { id: 'no', effect: 'deny', when: 'tx.kind == "typed_data" && tx.amount > 0' }], 'deny'],
    [[signs, { ...pays, when: 'risk.score < 30' }], 'allow'],
  ] as readonly (readonly [Rules, string])[])('decided by %j is %s', async (rules, wanted) => {
    const desk = await deskWith(rules);
    const shown = await sign(desk, { typed_data: permit(desk.address, 1) }, { dry_run: 'true' });
    expect(shown.decision).toBe(wanted);
    expect(shown.trace).toHaveLength(2 * rules.length);
  });

  it('of the largest number is one of that amount', async () => {
    const desk = await deskWith([signs, { ...pays, when: 'tx.amount >= tx.available && risk.score < 36' }]);
    const made = await sign(desk, { typed_data: permit(desk.address, maxUint) });
    expect(made).toMatchObject({
      status: 'approved',
      amount: `${maxUint.slice(0, -6)}.${maxUint.slice(-6)}`,
      risk_score: 35,
    });
    await desk.run(1);
    expect((await read(desk, made.id)).status).toBe('completed');
  });

  it('is evaluated again by what is available, and not by what others have reserved', async () => {
    const desk = await deskWith([signs, { ...pays, when: 'true' }]);
    await desk.transfer({ asset: 'USDC', amount: '10' });
    const { id } = await sign(desk, { typed_data: permit(desk.address, maxUint) });
    const { availableUnits } = await factsOfRequest(
      contextAt(desk.nowMs, desk.store, { tenant: desk.tenant }),
      { intent_id: id },
      '',
    );
    expect(availableUnits).toBe((await desk.balance('USDC')).available);
  });

  it('in another shape, of another contract or of unknown tokens is refused', async () => {
    const desk = await deskWith([signs, { ...pays, when: 'true' }]);
    const unknown = `0x${'22'.repeat(20)}`;
    const owner = desk.address;
    const loose = typesOf('Permit').Permit!.slice(0, 4);
    const { deadline: _, ...message } = permit(owner, 1).message as Record<string, unknown>;
    const daiLike = { types: { Permit: loose }, message };
    const batch = typed(
      'PermitBatch',
      permit2,
      { details: [{ token: usdc, amount: 1, expiration: 1, nonce: 0 }], spender: somewhere, sigDeadline: 1 },
      { types: typesOf('PermitBatch', 'PermitDetails') },
    );
    const unsupported: object[] = [
      permit(owner, 1, daiLike),
      { ...permit(owner, 1), domain: { chainId: 11155111, verifyingContract: unknown } },
      { ...permit(owner, 1), domain: { chainId: 11155111 } },
      single(unknown, 1),
      single(usdc, 1, unknown),
      single(usdc, 1, usdc),
      once(unknown, 1),
      batch,
      { ...order, domain: { ...order.domain, verifyingContract: permit2.toLowerCase() } },
      { ...order, domain: { ...order.domain, verifyingContract: usdc } },
    ];
    for (const typed_data of unsupported) {
      await expect(sign(desk, { typed_data }), JSON.stringify(typed_data)).rejects.toMatchObject({
        kind: 'providerRejected',
        details: [expect.objectContaining({ issue: 'not_supported' })],
      });
    }
    await expect(sign(desk, { typed_data: permit(somewhere, 1) })).rejects.toMatchObject({
      details: [expect.objectContaining({ field: 'typed_data.message.owner' })],
    });
  });

  it('of the tenant’s own token is one of its units, and waits while that is frozen', async () => {
    const desk = await deskWith([signs, { ...pays, when: 'tx.asset == "GOLD" && tx.amount == units("0.5")' }]);
    const contract = `0x${'33'.repeat(20)}`;
    const gold: TokenAssetRecord = {
      ...{ id: tokenAssetId('GOLD'), version: 1, symbol: 'GOLD', name: 'Gold', network: 'eip155:11155111' },
      ...{ decimals: 2, contract, supplyCap: '1000', status: 'active' },
    };
    await done(desk.store, desk.tenant, { puts: [create(tokenAssetType, gold)] });
    const typed_data = { ...permit(desk.address, 50), domain: { chainId: 11155111, verifyingContract: contract } };
    const { id } = await sign(desk, { typed_data });
    const frozen: TokenAssetRecord = { ...gold, version: 2, status: 'frozen' };
    await done(desk.store, desk.tenant, { puts: [update(tokenAssetType, gold, frozen)] });
    await desk.run(1);
    expect(await read(desk, id)).toMatchObject({
      status: 'approved',
      sub_status: 'TOKEN_FROZEN',
      token: { symbol: 'GOLD' },
    });
    await expect(sign(desk, { typed_data })).rejects.toMatchObject({
      details: [expect.objectContaining({ issue: 'frozen' })],
    });
    expect(desk.signer.orders).toEqual([]);
  });
});
