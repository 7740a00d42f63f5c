/** Calls of tokens' contracts: real policies and receipts, a simulated chain, everything in memory. Encoded by ethers. */
import { Interface, Transaction } from 'ethers';
import { describe, expect, it } from 'vitest';
import {
  type TokenAssetRecord,
  tokenAssetId,
  tokenAssetType,
} from '../../../../wallets/custody/assets/token-assets.ts';
import { intentType } from '../../../../wallets/custody/intents/record.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import { done } from '../../../support/memory-store.ts';
import { testnet } from '../../providers/self-hosted/support.ts';
import { deskWith, policy, type Rules, read, receipts } from './support/decided-desk.ts';
import { somewhere } from './support/desk.ts';
import { gwei, type StuckDesk } from './support/stuck-desk.ts';

const usdc = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';
const abi = new Interface([
  'function transfer(address to, uint256 amount)',
  'function mint(address to, uint256 amount)',
  'function burn(uint256 amount)',
]);
const pays = (units: bigint, to: string = somewhere) => abi.encodeFunctionData('transfer', [to, units]);
const names = { id: 'calls', effect: 'allow', when: 'tx.kind == "contract_call"' } as const;
const transfers = { id: 'transfers', effect: 'allow', when: 'tx.kind == "transfer"' } as const;
const both: Rules = [names, transfers];

const call = (desk: StuckDesk, body: object, query = {}) =>
  desk.call('createContractCallIntent', { body: { contract: usdc, ...body }, query });
const lower = (text: string) => text.toLowerCase();

describe('a transfer by call', () => {
  it('moves the amount as ethers encoded it, and costs its fee', async () => {
    const desk = await deskWith(both);
    const before = await desk.balance('USDC');
    const data = pays(250_000n);
    const made = await call(desk, { data });
    expect(made).toMatchObject({
      ...{ kind: 'contract_call', status: 'approved', asset: 'USDC', amount: '0.25' },
      destination: { address: somewhere },
      call: {
        ...{ contract: usdc, data, selector: '0xa9059cbb', function: 'transfer' },
        arguments: { to: lower(somewhere), amount: '250000' },
      },
    });
    await desk.run();
    const { status, provider_details: details } = await read(desk, made.id);
    expect([status, details.receipt.status]).toEqual(['completed', 'success']);
    expect(Transaction.from(details.raw_transaction)).toMatchObject({ to: usdc, value: 0n, data, from: desk.address });
    expect(await desk.balance('USDC')).toEqual({ available: before!.available - 250_000n, reserved: 0n });
    for (const asset of ['USDC', 'ETH']) expect(await desk.onChain(asset)).toEqual(await desk.balance(asset));
    const { transaction } = receipts.read(made.policy_receipt) as never as Record<string, object>;
    expect(transaction).toMatchObject({ kind: 'contract_call', amount: '0.25', call: { contract: usdc, data } });
  });

  it.each<[Rules]>([
    [[]],
    [[{ id: 'all', effect: 'allow', when: 'true' }]],
    [[transfers]],
    [[names]],
    [[transfers, { id: 'others', effect: 'allow', when: 'tx.kind != "message"' }]],
    [[transfers, { id: 'not', effect: 'allow', when: '!(tx.kind == "contract_call" && tx.amount > units("1"))' }]],
    [[...both, { id: 'limit', effect: 'deny', when: 'tx.kind == "transfer" && tx.amount > units("0.2")' }]],
    [[...both, { id: 'to', effect: 'deny', when: `tx.to == "${somewhere}"` }]],
    [[...both, { id: 'args', effect: 'deny', when: `tx.call["arguments.to"] == "${lower(somewhere)}"` }]],
    [[...both, { id: 'which', effect: 'deny', when: 'tx.call["selector"] == "0xa9059cbb"' }]],
  ])('is denied by %j', async (rules) => {
    const desk = await deskWith(rules);
    expect(await call(desk, { data: pays(250_000n) })).toMatchObject({
      ...{ status: 'denied', sub_status: 'POLICY_DENIED' },
    });
    await desk.run(1);
    expect(desk.signer.orders).toEqual([]);
  });

  it('is decided by a dry run as it would be, without an effect', async () => {
    const desk = await deskWith(both);
    const shown = await call(desk, { data: pays(250_000n), fee_level: 'high' }, { dry_run: 'true' });
    const made = await call(desk, { data: pays(250_000n), fee_level: 'high' });
    expect(shown).toMatchObject({ status: made.status, amount: made.amount, sufficient_funds: true });
    expect(shown.fee.reserved).toBe(made.fee.reserved);
  });

  it('of nothing, and to the wallet itself, changes no balance but that of the fee', async () => {
    const desk = await deskWith(both);
    const before = await desk.balance('USDC');
    for (const data of [pays(0n), pays(7n, desk.address)]) {
      const made = await call(desk, { data });
      await desk.run();
      expect((await read(desk, made.id)).status).toBe('completed');
    }
    expect((await desk.onChain('USDC')).available).toBe(before!.available);
  });

  it.each([
    ['an odd number of digits', { data: `${pays(1n)}0` }, 'data', 'invalid_format'],
    ['no hex', { data: `${pays(1n).slice(0, -2)}zz` }, 'data', 'invalid_format'],
    ['no 0x', { data: pays(1n).slice(2) }, 'data', 'invalid_format'],
    ['nothing', { data: '0x' }, 'data', 'unknown_selector'],
    ['half a selector', { data: '0xa905' }, 'data', 'unknown_selector'],
    ['a selector alone', { data: '0xa9059cbb' }, 'data', 'malformed_arguments'],
    ['a byte too few', { data: pays(1n).slice(0, -2) }, 'data', 'malformed_arguments'],
    ['a byte too many', { data: `${pays(1n)}00` }, 'data', 'malformed_arguments'],
    ['a dirty address', { data: pays(1n).replace('0xa9059cbb00', '0xa9059cbb01') }, 'data', 'malformed_arguments'],
    ['mint', { data: abi.encodeFunctionData('mint', [somewhere, 1n]) }, 'data', 'unknown_selector'],
    ['burn', { data: abi.encodeFunctionData('burn', [1n]) }, 'data', 'unknown_selector'],
    ['the largest number', { data: pays(2n ** 256n - 1n) }, 'data', 'insufficient_funds'],
    ['the zero address', { data: pays(1n, `0x${'0'.repeat(40)}`) }, 'destination.address', 'unsupported_destination'],
    ['the token itself', { data: pays(1n, usdc) }, 'destination.address', 'unsupported_destination'],
    ['an unknown contract', { contract: somewhere, data: pays(1n) }, 'contract', 'unknown_contract'],
    ['no address', { contract: 'usdc', data: pays(1n) }, 'contract', 'invalid_format'],
  ])('with %s is 422', async (_name, body, field, issue) => {
    const desk = await deskWith(both);
    await expect(call(desk, body)).rejects.toMatchObject({ kind: 'providerRejected', details: [{ field, issue }] });
  });

  it('of more than the wallet has is 422, and of two that have too little together the second', async () => {
    const desk = await deskWith(both);
    const { available } = (await desk.balance('USDC'))!;
    const tooLittle = { kind: 'providerRejected', details: [{ issue: 'insufficient_funds' }] };
    await expect(call(desk, { data: pays(available + 1n) })).rejects.toMatchObject(tooLittle);
    await call(desk, { data: pays(available) });
    await expect(call(desk, { data: pays(1n) })).rejects.toMatchObject(tooLittle);
  });

  it('is for EVM wallets of the cluster', async () => {
    const desk = await deskWith(both, testnet);
    await expect(call(desk, { data: pays(1n) })).rejects.toMatchObject({
      details: [{ field: 'wallet.network', issue: 'not_supported' }],
    });
    const hosted = await deskWith(both);
    const { info } = hosted.deps.adapters.get('self_hosted')!;
    Object.assign(info, { hosting: 'hosted' });
    try {
      await expect(call(hosted, { data: pays(1n) })).rejects.toMatchObject({
        details: [{ field: 'wallet.provider', issue: 'not_supported' }],
      });
    } finally {
      Object.assign(info, { hosting: 'self_hosted' });
    }
  });

  it('of the tenant’s own token is accepted while that is neither frozen nor deploying', async () => {
    const desk = await deskWith(both);
    const contract = `0x${'5b'.repeat(20)}`;
    const token: TokenAssetRecord = {
      ...{ id: tokenAssetId('OWN'), version: 1, status: 'active', symbol: 'OWN', name: 'Own', network: desk.network },
      ...{ decimals: 0, contract, supplyCap: '1000' },
    };
    const data = pays(0n);
    await expect(call(desk, { contract, data })).rejects.toMatchObject({ details: [{ issue: 'unknown_contract' }] });
    await done(desk.store, desk.tenant, { puts: [create(tokenAssetType, token)] });
    const made = await call(desk, { contract, data });
    expect(made).toMatchObject({ status: 'approved', asset: 'OWN', token: { contract } });
    const frozen = { ...token, version: 2, status: 'frozen' } as const;
    await done(desk.store, desk.tenant, { puts: [update(tokenAssetType, token, frozen)] });
    await expect(call(desk, { contract, data })).rejects.toMatchObject({ details: [{ issue: 'frozen' }] });
    await desk.run(1);
    expect(await read(desk, made.id)).toMatchObject({ status: 'approved', sub_status: 'TOKEN_FROZEN' });
  });

  it('whose record has other data by then is never signed', async () => {
    const desk = await deskWith(both);
    const made = await call(desk, { data: pays(5n) });
    const record = await desk.intent(made.id);
    const other = { contract: usdc, data: pays(5n, desk.address) };
    const changed = { ...record, version: record.version + 1, call: other };
    await done(desk.store, desk.tenant, { puts: [update(intentType, record, changed)] });
    await desk.run(1);
    expect(await read(desk, made.id)).toMatchObject({ status: 'failed', sub_status: 'RECORD_TAMPERED' });
    expect(desk.signer.orders).toEqual([]);
  });

  it('that waits below the market is sped up with the same data, if a rule names calls, and cancelled without', async () => {
    const desk = await deskWith(both);
    const data = pays(5n);
    const stuck = async () => {
      await desk.chain.moveMarket(gwei);
      const made = await call(desk, { data, fee_level: 'low' });
      await desk.chain.moveMarket(1_000n * gwei);
      await desk.run(1);
      return made.id as string;
    };
    const replace = (txId: string, kind: string) =>
      desk.call('replaceTransactionIntent', { params: { id: 'wal_1', txId }, body: { kind, fee_level: 'high' } });
    const first = await stuck();
    expect(await read(desk, first)).toMatchObject({ sub_status: 'BELOW_MARKET_FEE' });
    const replaces = { id: 'replaces', effect: 'allow', when: 'tx.kind in ["speed_up", "cancel"]' } as const;
    await policy(desk, 'default', [transfers, replaces]);
    expect((await replace(first, 'speed_up')).status).toBe('denied');
    await policy(desk, 'default', [...both, replaces]);
    const faster = await replace(first, 'speed_up');
    expect(faster).toMatchObject({ kind: 'speed_up', status: 'approved', call: { data } });
    await desk.run();
    expect([(await read(desk, first)).sub_status, (await read(desk, faster.id)).status]).toEqual([
      'REPLACED',
      'completed',
    ]);
    const second = await stuck();
    const cancelling = await replace(second, 'cancel');
    expect(cancelling).toMatchObject({ amount: '0', call: null });
    await desk.run();
    expect([(await read(desk, second)).status, (await read(desk, cancelling.id)).status]).toEqual([
      'failed',
      'completed',
    ]);
    for (const asset of ['USDC', 'ETH']) expect(await desk.onChain(asset)).toEqual(await desk.balance(asset));
  });
});
