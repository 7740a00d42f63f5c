/** Token operations through their door: tokens that are contracts, orders that are transactions, and what refuses them. */
import { Interface, Transaction } from 'ethers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { EvmChain } from '../../../../wallets/providers/chains/evm.ts';
import { RedisEvmLedger } from '../../../../wallets/providers/chains/redis-evm-ledger.ts';
import { RedisTenantStore } from '../../../../wallets/store/redis-tenant-store.ts';
import { startWalletService, type WalletService } from '../../../support/wallet-service.ts';
import { Issuer, type Json, sepolia } from './support/issuer.ts';

const erc20 = new Interface([
  'function mint(address to, uint256 units)',
  'function burn(uint256 units)',
  'event Transfer(address indexed from, address indexed to, uint256 units)',
]);
const ordersAtOnce = 24;
const zero = `0x${'0'.repeat(40)}`;
const outside = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

let service: WalletService;
let chain: EvmChain;
let issuer: Issuer;
let gold: Json;
beforeAll(async () => {
  service = await startWalletService({ chainBlockMs: 50 });
  chain = new EvmChain(sepolia, new RedisEvmLedger(service.redis, sepolia));
  issuer = await new Issuer(service).open();
  gold = await issuer.issue();
});
afterAll(() => service?.stop());

const transactionOf = async ({ wallet_id: wallet, transaction_intent_id: id }: Json): Promise<Json> =>
  issuer.get(`/v1/wallets/${wallet}/transaction-intents/${id}`);
const supplyOf = async ({ contract }: Json) => (await chain.token(contract))!.supply;

describe('a token', () => {
  it('is a contract that the issuer’s wallet has deployed', async () => {
    expect(await chain.token(gold.contract)).toEqual({
      name: 'Vaulted gold',
      symbol: 'GOLD',
      decimals: 6,
      cap: 10_000_000_000n,
      owner: issuer.address.toLowerCase(),
      supply: 0n,
    });
    const intent = await issuer.get(
      `/v1/wallets/${issuer.wallet.id}/transaction-intents/${gold.transaction_intent_id}`,
    );
    const deployment = Transaction.from(intent.provider_details.raw_transaction);
    expect(intent).toMatchObject({ kind: 'deploy', amount: '0', origin: { kind: 'token', id: gold.id } });
    expect([deployment.to, deployment.from]).toEqual([null, issuer.address]);
    expect(intent.provider_details.receipt.contract_address).toBe(gold.contract.toLowerCase());
    expect(await issuer.eventsOf(gold.id)).toEqual(['token.created', 'token.deployed']);
  });

  it('is minted, transferred like any asset, and redeemed, by transactions that ethers reads', async () => {
    const minted = await issuer.orderAs(await issuer.mint(gold, '250'), 'completed');
    const mint = await transactionOf(minted);
    expect(mint).toMatchObject({ kind: 'mint', origin: { kind: 'token-order', id: minted.id } });
    const raw = Transaction.from(mint.provider_details.raw_transaction);
    expect([raw.to, ...erc20.decodeFunctionData('mint', raw.data)]).toEqual([
      gold.contract,
      issuer.address,
      250_000_000n,
    ]);
    const [log] = mint.provider_details.receipt.logs;
    expect(erc20.parseLog(log)!.args.toArray()).toEqual([zero, issuer.address, 250_000_000n]);
    expect(await issuer.held('GOLD')).toBe('250');

    const second = await issuer.addWallet();
    const moved = await issuer.post(`/v1/wallets/${issuer.wallet.id}/transaction-intents`, {
      asset: 'GOLD',
      amount: '50',
      destination: { address: second.addresses[0].address },
    });
    const claims = JSON.parse(Buffer.from(moved.policy_receipt.split('.')[1], 'base64url').toString());
    const token = { contract: gold.contract, symbol: 'GOLD', name: 'Vaulted gold', decimals: 6 };
    expect(claims.transaction).toMatchObject({ asset: 'GOLD', amount: '50', token });
    await expect
      .poll(async () => (await transactionOf({ ...moved, transaction_intent_id: moved.id })).status)
      .toBe('completed');
    const { assets } = await issuer.get(`/v1/wallets/${second.id}`);
    expect(assets.at(-1)).toEqual({
      ...{ symbol: 'GOLD', balance: '50', available: '50', pending: '0' },
      ...{ network: sepolia, decimals: 6, contract: gold.contract },
    });

    const redeemed = await issuer.orderAs(
      await issuer.redeem(gold, '20', { source: { wallet_id: second.id } }),
      'completed',
    );
    const burn = await transactionOf(redeemed);
    const burnt = Transaction.from(burn.provider_details.raw_transaction);
    expect([burn.kind, erc20.decodeFunctionData('burn', burnt.data)[0]]).toEqual(['burn', 20_000_000n]);
    expect(await supplyOf(gold)).toBe(230_000_000n);
    expect(await issuer.get(`/v1/tokens/${gold.id}`)).toMatchObject({
      supply: '230',
      minting: '0',
      available_to_mint: '9770',
    });
    expect(await issuer.eventsOf(redeemed.id)).toEqual(
      ['created', 'reserve_check', 'processing', 'completed'].map((status) => `token.order.${status}`),
    );
  });

  it('has a symbol of its own, and an issuer that holds tokens', async () => {
    const custodial = await issuer.addWallet('sandbox');
    const bodies: [object, number, string][] = [
      [issuer.body(), 409, 'symbol_taken'],
      [issuer.body({ symbol: 'USDC' }), 409, 'symbol_taken'],
      [issuer.body({ symbol: 'ONE', issuer_wallet_id: custodial.id }), 422, 'unsupported_asset'],
      [issuer.body({ symbol: 'ONE', network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' }), 400, 'not_allowed_value'],
      [issuer.body({ symbol: 'ONE', supply_cap: '0.0000001' }), 400, 'too_many_decimals'],
      [issuer.body({ symbol: 'ONE', supply_cap: '1e9' }), 400, 'invalid_format'],
    ];
    for (const [body, status, issue] of bodies) {
      expect(await issuer.refused('/v1/tokens', body), JSON.stringify(body)).toEqual({ status, issue });
    }
  });

  it('fails where the policy denies its deployment, and frees its symbol', async () => {
    const policy = await issuer.policy('deny', 'tx.kind == "deploy"');
    const { id } = await issuer.post('/v1/tokens', issuer.body({ symbol: 'TIN', policy }));
    expect((await issuer.tokenAs(id, 'failed')).error).toMatchObject({ code: 'POLICY_DENIED' });
    expect(await issuer.refused(`/v1/tokens/${id}/mint`, { ...mintBody(), amount: '1' })).toEqual({
      status: 409,
      issue: 'state_conflict',
    });
    await issuer.issue({ symbol: 'TIN' });
  });

  it('does not exist for other tenants, whose wallets do not show what they receive of it', async () => {
    const stranger = await new Issuer(service).open();
    expect((await stranger.call('GET', `/v1/tokens/${gold.id}`)).status).toBe(404);
    expect((await stranger.get('/v1/tokens')).tokens).toEqual([]);
    const theirs = await stranger.issue();
    const order = await issuer.mint(gold, '5', { destination: { address: stranger.address } });
    await issuer.orderAs(order, 'completed');
    expect([await stranger.held('GOLD'), await supplyOf(theirs)]).toEqual([undefined, 0n]);
    expect((await stranger.call('GET', `/v1/tokens/${theirs.id}/orders/${order.id}`)).status).toBe(404);
    expect((await chain.balances(stranger.address)).get(gold.contract.toLowerCase())).toBe(5_000_000n);
  });

  it('is frozen with all that moves it, and unfrozen', async () => {
    const coal = await issuer.issue({ symbol: 'COAL' });
    const { id: wallet_id } = await issuer.addWallet();
    await issuer.orderAs(
      await issuer.mint(coal, '10', { reserve_reference: issuer.reserve({ wallet_id }) }),
      'completed',
    );
    const frozen = await issuer.post(`/v1/tokens/${coal.id}/freeze`, { reason: 'an inquiry' });
    expect(frozen).toMatchObject({ status: 'frozen', freeze_reason: 'an inquiry', supply: '10' });
    expect(await issuer.refused(`/v1/tokens/${coal.id}/mint`, { ...mintBody(), amount: '1' })).toMatchObject({
      status: 409,
    });
    const transfer = { asset: 'COAL', amount: '1', destination: { address: outside } };
    const path = `/v1/wallets/${issuer.wallet.id}/transaction-intents`;
    expect(await issuer.refused(path, transfer)).toEqual({ status: 409, issue: 'frozen' });
    await issuer.post(`/v1/tokens/${coal.id}/unfreeze`);
    await issuer.post(path, transfer);
    expect(await issuer.eventsOf(coal.id)).toEqual(
      ['created', 'deployed', 'frozen', 'unfrozen'].map((t) => `token.${t}`),
    );
  });
});

const mintBody = () => ({ destination: { address: outside }, reserve_reference: issuer.reserve() });

describe('an order', () => {
  it('is rejected above the cap, and where the reserve does not hold supply and order together', async () => {
    const cheap = await issuer.issue({ symbol: 'CHEAP', supply_cap: '100' });
    expect(await issuer.orderAs(await issuer.mint(cheap, '100.000001'), 'rejected')).toMatchObject({
      sub_status: 'CAP_EXCEEDED',
      error: { code: 'CAP_EXCEEDED' },
    });
    const attested = (amount: string) => ({
      type: 'attestation',
      asset: 'USD',
      reference: 'statement 7',
      amount,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const first = await issuer.mint(cheap, '60', { reserve_reference: attested('60') });
    await issuer.orderAs(first, 'completed');
    const second = await issuer.mint(cheap, '40', { reserve_reference: attested('99.999999') });
    expect(await issuer.orderAs(second, 'rejected')).toMatchObject({
      sub_status: 'RESERVE_INSUFFICIENT',
      reserve_check: { asset: 'USD', required: '100', held: '99.999999' },
    });
    await issuer.orderAs(await issuer.mint(cheap, '40', { reserve_reference: attested('100') }), 'completed');
    const intent = await transactionOf(second);
    expect(intent).toMatchObject({ status: 'failed', sub_status: 'RESERVE_INSUFFICIENT', provider_tx_id: null });
    expect(await supplyOf(cheap)).toBe(100_000_000n);
  });

  it.each([
    [{ type: 'wallet', asset: 'USDC' }, 'missing_required'],
    [
      { type: 'attestation', asset: 'USD', reference: 'x', amount: '1', expires_at: '2020-01-01T00:00:00Z' },
      'too_small',
    ],
    [{ type: 'attestation', asset: 'USD', reference: 'x', amount: '1' }, 'missing_required'],
  ])('names its reserve completely: %o', async (reserve_reference, issue) => {
    const body = { ...mintBody(), amount: '1', reserve_reference };
    expect(await issuer.refused(`/v1/tokens/${gold.id}/mint`, body)).toEqual({ status: 400, issue });
  });

  it('does not lean on the token itself', async () => {
    const body = { ...mintBody(), amount: '1', reserve_reference: issuer.reserve({ asset: 'GOLD' }) };
    expect(await issuer.refused(`/v1/tokens/${gold.id}/mint`, body)).toEqual({ status: 400, issue: 'invalid_value' });
  });

  it('leans on a reserve that backs no other token', async () => {
    const issuer = await new Issuer(service).open();
    const [one, two] = [await issuer.issue({ symbol: 'ONE' }), await issuer.issue({ symbol: 'TWO' })];
    await issuer.orderAs(await issuer.mint(one, '100'), 'completed');
    const refused = await issuer.orderAs(await issuer.mint(two, '100'), 'rejected');
    expect(refused).toMatchObject({ sub_status: 'RESERVE_TAKEN', reserve_check: null });
    expect(refused.error.message).toContain('ONE');
    await issuer.orderAs(await issuer.redeem(one, '100'), 'completed');
    await issuer.orderAs(await issuer.mint(two, '100'), 'completed');
    expect((await issuer.orderAs(await issuer.mint(one, '1'), 'rejected')).sub_status).toBe('RESERVE_TAKEN');
  });

  it('sets the reserve aside from its signing to its end', async () => {
    const issuer = await new Issuer(service).open();
    const token = await issuer.issue();
    const reserve = await issuer.addWallet();
    const reserve_reference = issuer.reserve({ wallet_id: reserve.id });
    await issuer.orderAs(await issuer.mint(token, '4000', { reserve_reference }), 'completed');
    service.signer.away = true;
    onTestFinished(() => {
      service.signer.away = false;
    });
    const order = await issuer.orderAs(await issuer.mint(token, '2000', { reserve_reference }), 'processing');
    const assetOf = async () =>
      (await issuer.get(`/v1/wallets/${reserve.id}`)).assets.find(({ symbol }: Json) => symbol === 'USDC');
    expect(await assetOf()).toMatchObject({ available: '4000', pending: '6000' });
    const out = { asset: 'USDC', amount: '5000', destination: { address: issuer.address } };
    const path = `/v1/wallets/${reserve.id}/transaction-intents`;
    expect(await issuer.refused(path, out)).toEqual({ status: 422, issue: 'insufficient_funds' });
    const more = await issuer.orderAs(await issuer.mint(token, '4000', { reserve_reference }), 'processing');
    expect(await assetOf()).toMatchObject({ available: '0', pending: '10000' });
    service.signer.away = false;
    await issuer.orderAs(order, 'completed');
    await issuer.orderAs(more, 'completed');
    expect(await assetOf()).toMatchObject({ available: '10000', pending: '0' });
    await issuer.post(path, out);
  });

  it('waits for the approvals of its policy, from others than who placed it', async () => {
    const policy = await issuer.policy('require_approval', 'tx.kind == "mint" && tx.amount > units("1")');
    const order = await issuer.mint(gold, '2', { policy });
    const path = `/v1/tokens/${gold.id}/orders/${order.id}`;
    expect(order).toMatchObject({ status: 'pending_approval', approvals_required: 1, reserve_check: null });
    expect(await issuer.refused(`${path}/approve`)).toEqual({ status: 403, issue: 'initiator_may_not_approve' });
    const approver = new Issuer(service, issuer.tenant);
    const approved = await approver.post(`${path}/approve`, { comment: 'seen' });
    expect(approved.status).toBe('reserve_check');
    expect(await approver.post(`${path}/approve`)).toMatchObject({ id: order.id });
    expect(await issuer.orderAs(order, 'completed')).toMatchObject({
      approvals: [{ decision: 'approve', comment: 'seen' }],
    });

    const another = await issuer.mint(gold, '2', { policy });
    const said = await approver.post(`/v1/tokens/${gold.id}/orders/${another.id}/approve`, {
      decision: 'reject',
      reason: 'no',
    });
    expect(said).toMatchObject({ status: 'rejected', sub_status: 'REJECTED_BY_APPROVER' });
    expect(
      (await issuer.call('GET', `/v1/wallets/${issuer.wallet.id}/transaction-intents/${another.transaction_intent_id}`))
        .status,
    ).toBe(404);
  });

  it('is called off while it awaits approval, and no more when it is over', async () => {
    const policy = await issuer.policy('require_approval', 'true');
    const order = await issuer.mint(gold, '2', { policy });
    const path = `/v1/tokens/${gold.id}/orders/${order.id}/cancel`;
    expect(await issuer.post(path, { reason: 'twice' })).toMatchObject({
      status: 'rejected',
      sub_status: 'CANCELLED',
      error: { message: 'twice' },
    });
    expect(await issuer.refused(path)).toEqual({ status: 409, issue: 'state_conflict' });
  });

  it('expires without approvals', async () => {
    const policy = await issuer.policy('require_approval', 'true');
    const order = await issuer.mint(gold, '2', { policy });
    service.clock.offsetMs += 61_000;
    expect(await issuer.orderAs(order, 'rejected')).toMatchObject({ sub_status: 'EXPIRED' });
  });

  it('is rejected where the policy denies its transaction', async () => {
    const policy = await issuer.policy('deny', 'tx.kind == "burn"');
    expect(await issuer.redeem(gold, '1', { policy })).toMatchObject({
      status: 'rejected',
      sub_status: 'POLICY_DENIED',
    });
  });

  it('fails when its transaction reverts, and gives back its part of the cap', async () => {
    const before = await issuer.get(`/v1/tokens/${gold.id}`);
    const order = await issuer.mint(gold, '0.00441', {});
    expect(await issuer.orderAs(order, 'failed')).toMatchObject({
      sub_status: 'INTENT_FAILED',
      error: { code: 'TRANSACTION_REVERTED' },
    });
    expect(await issuer.get(`/v1/tokens/${gold.id}`)).toMatchObject({ supply: before.supply, minting: '0' });
  });

  it('has one effect under one idempotency key', async () => {
    const supply = await supplyOf(gold);
    const headers = { 'idempotency-key': 'one-mint' };
    const body = { amount: '3', destination: { address: outside }, reserve_reference: issuer.reserve() };
    const asked = () => service.call('POST', `/v1/tokens/${gold.id}/mint`, { token: issuer.token, body, headers });
    const answers = await Promise.all([asked(), asked(), asked()]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    await issuer.orderAs(answers[0]!.body, 'completed');
    expect(await supplyOf(gold)).toBe(supply + 3_000_000n);
  });

  it('is decided once an order, where many begin to sign at once', async () => {
    const reads = vi.spyOn(RedisTenantStore.prototype, 'readWithBalances');
    onTestFinished(() => reads.mockRestore());
    const orders = await Promise.all(Array.from({ length: ordersAtOnce }, () => issuer.mint(gold, '1')));
    await Promise.all(orders.map((order) => issuer.orderAs(order, 'completed')));
    const decisions = reads.mock.calls.filter(([, , id]) => id === gold.id).length;
    // Two each, and some again on a busy machine, whose leases end: 48 to 113. Where they do not wait for each other: 343.
    expect(decisions).toBeLessThan(ordersAtOnce ** 2 / 2);
  });

  it('is refused where the source holds too little', async () => {
    const { status, issue } = await issuer.refused(`/v1/tokens/${gold.id}/redeem`, {
      amount: '9999',
      source: { wallet_id: issuer.wallet.id },
      reserve_reference: issuer.reserve(),
    });
    expect([status, issue]).toEqual([422, 'insufficient_funds']);
  });
});
