/** Messages of EVM wallets: real policies and receipts, a key of a signer in this process, everything in memory. */

import { verifyMessage as ethersRecover, verifyTypedData } from 'ethers';
import { recoverAddressTyped } from 'micro-eth-signer';
import type { Static } from 'typebox';
import { recoverTypedDataAddress, recoverMessageAddress as viemRecover } from 'viem';
import { describe, expect, it } from 'vitest';
import { intentType } from '../../../../wallets/custody/intents/record.ts';
import type { NetworkId } from '../../../../wallets/networks/networks.ts';
import { makeEvaluators } from '../../../../wallets/policy/policies/evaluators.ts';
import type { PolicyBody } from '../../../../wallets/policy/policies/schemas.ts';
import { nextPolicyVersion } from '../../../../wallets/policy/policies/write-policy.ts';
import { receiptSigner } from '../../../../wallets/policy/receipts/signer.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { update } from '../../../../wallets/store/changes.ts';
import { done } from '../../../support/memory-store.ts';
import { contextAt } from '../../companions/support/handlers.ts';
import { devnet, testnet } from '../../providers/self-hosted/support.ts';
import { somewhere } from './support/desk.ts';
import { StuckDesk } from './support/stuck-desk.ts';

const text = 'example.com wants you to sign in.\n\nNonce: 32891756';
const receipts = receiptSigner(new Uint8Array(32).fill(3));
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

type Rules = Static<typeof PolicyBody>['rules'];

async function deskWith(rules: Rules = [], network?: NetworkId): Promise<StuckDesk> {
  const desk = await StuckDesk.start(network, { evaluators: makeEvaluators({ signer: receipts }) });
  await desk.changeWallet({ policy: null });
  if (rules.length > 0) await policy(desk, 'default', rules);
  return desk;
}

async function policy(desk: StuckDesk, name: string, rules: Rules): Promise<void> {
  const context = contextAt(desk.nowMs, desk.store, { tenant: desk.tenant });
  await done(desk.store, desk.tenant, (await nextPolicyVersion(context, { name, rules })).change);
}

const sign = (desk: StuckDesk, body: object, query = {}) => desk.call('createMessageIntent', { body, query });
const read = (desk: StuckDesk, txId: string) => desk.call('getTransactionIntent', { params: { id: 'wal_1', txId } });
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
