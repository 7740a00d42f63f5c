/**
 * Allowances of ERC-20: a wallet lets another account move its units, whatever is reserved of them. Two wallets, one simulated
 * chain.
 */
import { Interface, MaxUint256 } from 'ethers';
import { describe, expect, it } from 'vitest';
import { intentMovement } from '../../../../wallets/companions/recon/own-side.ts';
import { WalletSources } from '../../../../wallets/companions/recon/sources.ts';
import { tokenAssetType } from '../../../../wallets/custody/assets/token-assets.ts';
import { debitOwner } from '../../../../wallets/custody/intents/receiver-credit.ts';
import { intentType } from '../../../../wallets/custody/intents/record.ts';
import type { Loaded } from '../../../../wallets/custody/intents/step-context.ts';
import { walletRoutes } from '../../../../wallets/custody/wallets/public.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import { nextListVersion } from '../../../../wallets/policy/compliance/write-list.ts';
import { factsOfRequest } from '../../../../wallets/policy/risk/transaction.ts';
import { chainStatements } from '../../../../wallets/providers/chains/public.ts';
import { create } from '../../../../wallets/store/changes.ts';
import type { Change } from '../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../support/ledger-entry.ts';
import { done } from '../../../support/memory-store.ts';
import { contextAt, call as route } from '../../companions/support/handlers.ts';
import { connection, devnet, metaAt, sepolia, testnet } from '../../providers/self-hosted/support.ts';
import { deskWith, type Rules, read } from './support/decided-desk.ts';
import { somewhere } from './support/desk.ts';
import { StuckDesk } from './support/stuck-desk.ts';

const usdc = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238';
const abi = new Interface([
  'function approve(address spender, uint256 amount)',
  'function transferFrom(address from, address to, uint256 amount)',
  'event Transfer(address indexed from, address indexed to, uint256 amount)',
  'event Approval(address indexed owner, address indexed spender, uint256 amount)',
]);
const both: Rules = [
  { id: 'calls', effect: 'allow', when: 'tx.kind == "contract_call"' },
  { id: 'transfers', effect: 'allow', when: 'tx.kind == "transfer"' },
];
const whole = 10_000_000_000n;

/** The desk's own wallet `wal_1` is the owner, `wal_2` the spender. */
async function pairOf(rules: Rules = both) {
  const desk = await deskWith(rules);
  const { store, tenant, network } = desk;
  const adapter = desk.deps.adapters.get('self_hosted')!;
  const made = await adapter.createWallet(metaAt(desk.nowMs), connection(), { walletId: 'wal_2', name: 'w', network });
  const spender = made.addresses[0]!.address;
  const owner = (await store.read(tenant, walletType, 'wal_1'))!;
  const { addresses, publicKey } = made;
  await done(store, tenant, {
    puts: [create(walletType, { ...owner, id: 'wal_2', version: 1, addresses, publicKey, providerWalletId: 'wal_2' })],
    ledger: made.balances.map(({ asset, units }) => ledgerEntry('wal_2', asset, units)),
  });
  const ids = new Map([
    [desk.address, 'wal_1'],
    [spender, 'wal_2'],
  ]);
  const ownerOf = async (_: string, address: string) => {
    const walletId = ids.get(address);
    return walletId === undefined ? undefined : { tenant, walletId };
  };
  Object.assign(desk.deps, { addressBook: { ownerOf } });
  return { desk, spender, owner: desk.address };
}

const call = (desk: StuckDesk, id: string, data: string, query: object = {}) =>
  desk.call('createContractCallIntent', { params: { id }, body: { contract: usdc, data }, query });
const approves = (spender: string, units: bigint) => abi.encodeFunctionData('approve', [spender, units]);
const takes = (from: string, to: string, units: bigint) => abi.encodeFunctionData('transferFrom', [from, to, units]);
const allowed = async (desk: StuckDesk, spender: string) => {
  const all = await desk.chains.evm.allowances(desk.address);
  const found = all.find((one) => one.spender === spender.toLowerCase() && one.contract === usdc.toLowerCase());
  return found === undefined ? 0n : (found.units ?? 'unlimited');
};
/** As the API shows them. */
const listed = ({ deps, nowMs, store, tenant }: StuckDesk, query: object = {}) =>
  route(walletRoutes(deps as never), 'listWalletAllowances', contextAt(nowMs, store, { tenant }), {
    ...{ params: { id: 'wal_1' }, query },
  });
const shown = (desk: StuckDesk, id: string, txId: string) =>
  desk.call('getTransactionIntent', { params: { id, txId } });

async function heldBy(desk: StuckDesk, id: string, asset = 'USDC') {
  const { record, balances } = (await desk.store.readWithBalances(desk.tenant, walletType, id))!;
  const movements = (await desk.store.movements(desk.tenant, id, 99)).filter((each) => each.asset === asset);
  const onChain = (await desk.chain.balances(record.addresses[0]!.address)).get(asset);
  const { available, reserved } = balances.get(asset)!;
  // Whatever happens, what the ledger shows is what the chain has, and what the movements add up to.
  expect([available + reserved, movements.reduce((sum, { units }) => sum + units, 0n)]).toEqual([onChain, onChain]);
  return [available, reserved];
}

/** Both sides of a wallet as reconciliation reads them, movement by movement. */
async function sidesOf(desk: StuckDesk, id: string) {
  const wallet = (await desk.store.read(desk.tenant, walletType, id))!;
  const metaNow = () => ({ ...metaAt(desk.nowMs), tenant: desk.tenant });
  const sources = new WalletSources(desk.store, chainStatements(desk.chains), metaNow, wallet);
  const window = { fromMs: 0, toMs: desk.nowMs + 60_000 };
  const { movements } = await sources.statement(window, null);
  return Promise.all(
    movements.map(async ({ direction, key, asset, units, fee }) => {
      const [own] = await sources.own(direction, [key]);
      return [own && [own.asset, own.units, own.fee.units], [asset, units, fee.units]];
    }),
  );
}

async function approved(units: bigint, rules?: Rules) {
  const pair = await pairOf(rules);
  const { id } = await call(pair.desk, 'wal_1', approves(pair.spender, units));
  await pair.desk.run();
  expect((await read(pair.desk, id)).status).toBe('completed');
  return pair;
}

describe('an approval', () => {
  it.each([
    ['0.000005', 5n],
    [(MaxUint256 / 1_000_000n).toString(), MaxUint256],
  ])('of %s lets the spender, costs its fee, and moves and reserves nothing', async (amount, units) => {
    const { desk, spender } = await pairOf();
    const made = await call(desk, 'wal_1', approves(spender, units));
    expect(made).toMatchObject({
      ...{ status: 'approved', asset: 'USDC', destination: { address: spender } },
      call: {
        function: 'approve',
        selector: '0x095ea7b3',
        arguments: { spender: spender.toLowerCase(), amount: String(units) },
      },
    });
    expect(made.amount.startsWith(amount)).toBe(true);
    expect(await heldBy(desk, 'wal_1')).toEqual([whole, 0n]);
    await desk.run();
    const { status, provider_details: details } = await read(desk, made.id);
    expect([status, details.receipt.status]).toEqual(['completed', 'success']);
    expect(abi.parseLog(details.receipt.logs[0])).toMatchObject({
      ...{ name: 'Approval', args: [desk.address, spender, units] },
    });
    expect(await allowed(desk, spender)).toBe(units === MaxUint256 ? 'unlimited' : units);
    expect([await heldBy(desk, 'wal_1'), await heldBy(desk, 'wal_2')]).toEqual([
      [whole, 0n],
      [whole, 0n],
    ]);
    for (const [own, theirs] of await sidesOf(desk, 'wal_1')) expect(own).toEqual(theirs);
  });

  it('counts as a transfer of its amount to the spender', async () => {
    const limit: Rules = [
      ...both,
      { id: 'limit', effect: 'deny', when: 'tx.kind == "transfer" && tx.amount > units("1")' },
    ];
    const { desk, spender } = await pairOf(limit);
    expect((await call(desk, 'wal_1', approves(spender, 1_000_001n))).status).toBe('denied');
    expect((await call(desk, 'wal_1', approves(spender, 1_000_000n))).status).toBe('approved');
    expect((await call(desk, 'wal_1', takes(spender, spender, 0n))).status).toBe('approved');
  });
});

describe('the allowances of a wallet', () => {
  it('are those of the chain, page by page, less what is taken, and none that is taken back', async () => {
    const { desk, spender, owner } = await approved(7_000_000n);
    const others = ['1', '2'].map((digit) => `0x${digit.repeat(40)}`);
    for (const [index, units] of [MaxUint256, 5n].entries()) await call(desk, 'wal_1', approves(others[index]!, units));
    await call(desk, 'wal_2', takes(owner, somewhere, 5_000_000n));
    await desk.run();
    const shownFor = (address: string, amount: string | null) => ({
      ...{ asset: 'USDC', contract: usdc, spender: address, amount },
    });
    const due = [shownFor(others[0]!, null), shownFor(others[1]!, '0.000005'), shownFor(spender, '2')].sort((a, b) =>
      a.spender.toLowerCase() < b.spender.toLowerCase() ? -1 : 1,
    );
    expect(await listed(desk)).toEqual({ allowances: due, has_more: false, next_cursor: null });
    const first = await listed(desk, { limit: '2' });
    expect(first).toMatchObject({ allowances: due.slice(0, 2), has_more: true });
    const rest = { allowances: due.slice(2), has_more: false, next_cursor: null };
    expect(await listed(desk, { limit: '2', cursor: first.next_cursor })).toEqual(rest);
    const chain = await desk.chains.evm.allowances(owner);
    expect(chain.map(({ units }) => units ?? null).sort()).toEqual([5n, 2_000_000n, null].sort());

    for (const address of [...others, spender]) await call(desk, 'wal_1', approves(address, 0n));
    await desk.run();
    expect(await listed(desk)).toMatchObject({ allowances: [] });
  });

  it('may be of a token of the tenant', async () => {
    const { desk } = await pairOf();
    const contract = `0x${'c'.repeat(40)}`;
    const terms = { symbol: 'OWN', name: 'Own', network: desk.network, decimals: 2, contract, supplyCap: '9' };
    const token = { id: 'ast_OWN', version: 1, status: 'active' as const, ...terms };
    await done(desk.store, desk.tenant, { puts: [create(tokenAssetType, token)] });
    const adapter = { ...desk.deps.adapters.get('self_hosted')! };
    adapter.allowances = async () => [{ contract, spender: somewhere.toLowerCase(), units: 250n }];
    Object.assign(desk.deps, { adapters: new Map([['self_hosted', adapter]]) });
    expect((await listed(desk)).allowances).toMatchObject([{ asset: 'OWN', spender: somewhere, amount: '2.5' }]);
  });

  it.each([
    ['on Bitcoin', testnet, undefined],
    ['on Solana', devnet, undefined],
    ['at a custodian', sepolia, 'fireblocks'],
  ] as const)('are 422 %s', async (_, network, provider) => {
    const desk = await StuckDesk.start(network);
    if (provider !== undefined) {
      await desk.changeWallet({ provider });
      Object.assign(desk.deps, { adapters: new Map([[provider, { info: { displayName: 'The custodian' } }]]) });
    }
    await expect(listed(desk)).rejects.toMatchObject({
      ...{ kind: 'providerRejected', details: [{ issue: 'not_supported' }] },
    });
  });
});

describe('units of another account', () => {
  it('are moved as far as they are allowed: its owner is debited and told once, the spender pays the fee', async () => {
    const { desk, spender, owner } = await approved(7_000_000n);
    const made = await call(desk, 'wal_2', takes(owner, somewhere, 5_000_000n));
    expect(made).toMatchObject({ status: 'approved', amount: '5', destination: { address: somewhere } });
    expect(await heldBy(desk, 'wal_2')).toEqual([whole, 0n]);
    // The process ends between the debit and the intent.
    const { store } = desk;
    const commit = (tenant: string, change: Change) => {
      const ends = change.puts?.some(({ after }) => 'status' in after && after.status === 'completed');
      if (ends) throw new Error('the process is gone');
      return store.commit(tenant, change);
    };
    const dying = new Proxy(store, {
      get: (target, name) => (name === 'commit' ? commit : Reflect.get(target, name).bind(target)),
    });
    await expect(desk.run(4, { ...desk.deps, store: dying })).rejects.toThrow('the process is gone');
    expect(await heldBy(desk, 'wal_1')).toEqual([whole - 5_000_000n, 0n]);
    await desk.run();
    const { status, provider_details: details } = await shown(desk, 'wal_2', made.id);
    expect(status).toBe('completed');
    expect(abi.parseLog(details.receipt.logs[0])).toMatchObject({
      ...{ name: 'Transfer', args: [owner, somewhere, 5_000_000n] },
    });
    expect([await heldBy(desk, 'wal_1'), await heldBy(desk, 'wal_2')]).toEqual([
      [whole - 5_000_000n, 0n],
      [whole, 0n],
    ]);
    await heldBy(desk, 'wal_2', 'ETH');
    expect(await allowed(desk, spender)).toBe(2_000_000n);
    const { events } = await store.events(desk.tenant, {
      ...{ afterSequence: 0, limit: 99, types: ['wallet.allowance_used'], resourceId: 'wal_1' },
    });
    expect(events.map(({ object }) => object)).toMatchObject([
      {
        assets: expect.arrayContaining([expect.objectContaining({ symbol: 'USDC', available: '9995' })]),
        withdrawal: { asset: 'USDC', amount: '5', to_address: somewhere, spender },
      },
    ]);
    for (const id of ['wal_1', 'wal_2']) {
      for (const [own, theirs] of await sidesOf(desk, id)) expect(own).toEqual(theirs);
    }
  });

  it('that the spender takes for itself are a deposit from the owner', async () => {
    const { desk, spender, owner } = await approved(MaxUint256);
    await call(desk, 'wal_2', takes(owner, spender, 9n));
    await desk.run();
    expect([await heldBy(desk, 'wal_1'), await heldBy(desk, 'wal_2')]).toEqual([
      [whole - 9n, 0n],
      [whole + 9n, 0n],
    ]);
    const [last] = (await desk.store.movements(desk.tenant, 'wal_2', 99)).filter(({ asset }) => asset === 'USDC');
    expect(last).toMatchObject({ kind: 'deposit', counterparty: owner });
    expect(await allowed(desk, spender)).toBe('unlimited');
  });

  it('of the caller itself need its own allowance, and are reserved like a transfer', async () => {
    const { desk, owner } = await pairOf();
    await call(desk, 'wal_1', approves(owner, 9n));
    await desk.run();
    await call(desk, 'wal_1', takes(owner, somewhere, 9n));
    expect(await heldBy(desk, 'wal_1')).toEqual([whole - 9n, 9n]);
    await desk.run();
    expect(await heldBy(desk, 'wal_1')).toEqual([whole - 9n, 0n]);
    for (const [own, theirs] of await sidesOf(desk, 'wal_1')) expect(own).toEqual(theirs);
  });

  it.each([
    ['nothing is allowed', 0n, 1n, 'insufficient_allowance'],
    ['less is allowed', 5n, 6n, 'insufficient_allowance'],
    ['its owner holds less', whole + 1n, whole + 1n, 'insufficient_funds'],
    ['no account can hold it', MaxUint256, MaxUint256, 'insufficient_funds'],
  ])('are 422 where %s', async (_, allowance, units, issue) => {
    const { desk, owner } = await approved(allowance);
    await expect(call(desk, 'wal_2', takes(owner, somewhere, units))).rejects.toSatisfy(
      ({ details: [found] = [], ...error }) => (found ?? error).field === 'data' && (found ?? error).issue === issue,
    );
  });

  it('are moved once where the allowance covers one call of two: the other fails on the chain', async () => {
    const { desk, owner } = await approved(9n);
    for (let round = 0; round < 2; round += 1) await call(desk, 'wal_2', takes(owner, somewhere, 5n));
    await desk.run();
    const intents = await desk.call('listTransactionIntents', { params: { id: 'wal_2' } });
    expect(intents.transaction_intents.map((intent: { sub_status: string }) => intent.sub_status).sort()).toEqual([
      'FAILED_ON_CHAIN',
      null,
    ]);
    expect(await heldBy(desk, 'wal_1')).toEqual([whole - 5n, 0n]);
  });

  it('are taken from what is reserved: then nothing is available, and the open intent fails when it is mined', async () => {
    const { desk, owner } = await approved(MaxUint256);
    const first = await call(desk, 'wal_2', takes(owner, somewhere, whole - 3n));
    const { id } = await desk.transfer({ asset: 'USDC', amount: '9999', destination: { address: somewhere } });
    expect(await heldBy(desk, 'wal_1')).toEqual([1_000_000n, whole - 1_000_000n]);
    const record = await desk.intent(id);
    // Its signers are away until the owner is debited.
    await desk.changeWallet({ status: 'frozen' });
    await desk.run();
    expect((await shown(desk, 'wal_2', first.id)).status).toBe('completed');
    expect(await heldBy(desk, 'wal_1')).toEqual([0n, 3n]);
    // Of its amount no more is left.
    const context = contextAt(desk.nowMs, desk.store, { tenant: desk.tenant });
    expect((await factsOfRequest(context, { intent_id: id }, '')).availableUnits).toBe(3n);
    await desk.changeWallet({ status: 'active' });
    await expect(
      desk.transfer({ asset: 'USDC', amount: '0.000001', destination: { address: somewhere } }),
    ).rejects.toMatchObject({ details: [{ issue: 'insufficient_funds' }] });
    desk.nowMs += 600_000;
    await desk.run();
    expect(await read(desk, id)).toMatchObject({ status: 'failed', sub_status: 'FAILED_ON_CHAIN' });
    expect(intentMovement(record, 'tx_id').units).toBe(whole - 1_000_000n);
    expect(await heldBy(desk, 'wal_1')).toEqual([3n, 0n]);
    const again = await desk.transfer({ asset: 'USDC', amount: '0.000003', destination: { address: somewhere } });
    await desk.run();
    expect((await read(desk, again.id)).status).toBe('completed');
    expect(await heldBy(desk, 'wal_1')).toEqual([0n, 0n]);
  });

  it('are debited when nothing can undo it: a transaction that is undone and mined anew debits once', async () => {
    const { desk, owner } = await approved(9n);
    await desk.chain.setDepths({ confirmations: 1, finality: 6 });
    const { id } = await call(desk, 'wal_2', takes(owner, somewhere, 9n));
    await desk.run(3);
    const { providerTxId, subStatus } = await desk.intent(id);
    expect(subStatus).toBe('NOT_FINAL');
    const { confirmations } = (await desk.chain.transaction(providerTxId!, desk.nowMs))!;
    expect(await desk.chain.reorganize(confirmations, desk.nowMs)).toMatchObject({ transactions: 1 });
    await desk.run(1);
    expect((await desk.balance('USDC')).available).toBe(whole);
    await desk.run(9);
    expect(await desk.intent(id)).toMatchObject({ status: 'completed', subStatus: null });
    expect(await heldBy(desk, 'wal_1')).toEqual([whole - 9n, 0n]);
    for (const [own, theirs] of await sidesOf(desk, 'wal_1')) expect(own).toEqual(theirs);
  });

  it('of a token that only its own tenant knows are not taken from a wallet of another tenant', async () => {
    const { desk, owner, spender } = await approved(9n);
    const { id } = await call(desk, 'wal_2', takes(owner, spender, 9n));
    const record = (await desk.store.read(desk.tenant, intentType, id))!;
    const token = { symbol: 'USDC', name: 'its own', contract: usdc, decimals: 6 };
    const task = { tenant: 'tn_other', record: { ...record, token } } as unknown as Loaded;
    await debitOwner(desk.deps, task, '0xabc');
    const { available } = (await desk.store.readWithBalances(desk.tenant, walletType, 'wal_1'))!.balances.get('USDC')!;
    expect(available).toBe(whole);
  });

  it('are screened by owner and target', async () => {
    const { desk, owner } = await approved(9n);
    const context = contextAt(desk.nowMs, desk.store, { tenant: desk.tenant });
    const list = { name: 'no', kind: 'deny', entries: [{ address: owner, network: desk.network }] } as const;
    await done(desk.store, desk.tenant, (await nextListVersion(context, list as never)).change);
    expect(await call(desk, 'wal_2', takes(owner, somewhere, 9n))).toMatchObject({
      ...{ status: 'denied', sub_status: 'SCREENING_BLOCKED' },
    });
  });
});
