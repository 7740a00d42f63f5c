/**
 * What holds of tokens whatever 16 clients do through two gateways at once: they mint and redeem, and move the reserve away
 * meanwhile. The events, replayed in their order, show at each mint that its reserve was there; in the end the sum of the
 * completed orders is the contract's supply, to the smallest unit. Jobs that run again change nothing.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EvmChain } from '../../../../wallets/providers/chains/evm.ts';
import { RedisEvmLedger } from '../../../../wallets/providers/chains/redis-evm-ledger.ts';
import { runs } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { startWalletService, type WalletService } from '../../../support/wallet-service.ts';
import { Issuer, type Json, sepolia } from './support/issuer.ts';

const clients = 16;
const ordersEach = 4;
const units = (text: string): bigint => BigInt(Math.round(Number(text) * 1e6));

let service: WalletService;
let another: WalletService;
let chain: EvmChain;
beforeAll(async () => {
  service = await startWalletService({ chainBlockMs: 20 });
  another = await service.another();
  chain = new EvmChain(sepolia, new RedisEvmLedger(service.redis, sepolia));
});
afterAll(async () => {
  await another?.stop();
  await service?.stop();
});

/** All pages of a list. */
async function all(issuer: Issuer, url: string, key: string): Promise<Json[]> {
  const found: Json[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = `limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const page: Json = await issuer.get(`${url}${url.includes('?') ? '&' : '?'}${query}`);
    found.push(...page[key]);
    cursor = page.next_cursor;
  }
  return found;
}

async function over(issuer: Issuer, id: string): Promise<Json[]> {
  let orders: Json[] = [];
  const isOver = ({ status }: Json) => ['completed', 'rejected', 'failed'].includes(status);
  await until(
    async () => {
      orders = await all(issuer, `/v1/tokens/${id}/orders`, 'orders');
      return orders.every(isOver);
    },
    () => `orders to end: ${JSON.stringify(orders.filter((order) => !isOver(order)).map(({ status }) => status))}`,
    100,
  );
  return orders;
}

const sumOf = (orders: readonly Json[], kind: string): bigint =>
  orders
    .filter((order) => order.kind === kind && order.status === 'completed')
    .reduce((sum, { amount }) => sum + units(amount), 0n);

/** Replays what happened: at each mint that began, the reserve held all that was out, on its way, and of this mint. */
function checkReserves(events: readonly Json[], reserveWallet: string): number {
  let reserve = 10_000_000_000n;
  let issued = 0n;
  let checked = 0;
  for (const { type, data } of events) {
    const { object } = data;
    const amount = units(object.amount ?? '0');
    const isMint = object.kind === 'mint';
    if (object.wallet_id === reserveWallet && object.asset === 'USDC') {
      if (type === 'transaction_intent.created') reserve -= amount;
      if (type === 'transaction_intent.failed') reserve += amount;
    }
    if (type === 'token.order.processing' && isMint) {
      issued += amount;
      checked += 1;
      expect(issued <= reserve, `${object.id}: ${issued} of ${reserve}`).toBe(true);
    }
    if (type === 'token.order.failed' && isMint && object.reserve_check !== null) issued -= amount;
    if (type === 'token.order.completed' && object.kind === 'redeem') issued -= amount;
  }
  return checked;
}

describe('with 16 clients and two gateways', () => {
  it('the supply stays within cap and reserve, and is the sum of the completed orders', async () => {
    const issuer = await new Issuer(service).open();
    const reserveWallet = await issuer.addWallet();
    const token = await issuer.issue({ symbol: 'SUM', supply_cap: '9000' });
    const reserve_reference = issuer.reserve({ wallet_id: reserveWallet.id });
    const destination = { address: issuer.address };
    const doors = [service, another];
    const [{ supply, cap }] = [(await chain.token(token.contract))!];
    expect(supply).toBe(0n);
    const client = async (number: number): Promise<void> => {
      const door = doors[number % 2]!;
      for (let turn = 0; turn < ordersEach; turn += 1) {
        const amount = String(100 + ((number * 37 + turn * 211) % 400));
        const body =
          turn % 3 === 2
            ? { amount: '50', source: { wallet_id: issuer.wallet.id }, reserve_reference }
            : { amount, destination, reserve_reference };
        const verb = turn % 3 === 2 ? 'redeem' : 'mint';
        await issuer.call('POST', `/v1/tokens/${token.id}/${verb}`, body, door);
        if (number % 4 === 0) {
          const out = { asset: 'USDC', amount: '200', destination };
          await issuer.call('POST', `/v1/wallets/${reserveWallet.id}/transaction-intents`, out, door);
        }
        expect((await chain.token(token.contract))!.supply <= cap).toBe(true);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    const orders = await over(issuer, token.id);
    const ended = await chain.token(token.contract);
    expect(sumOf(orders, 'mint') - sumOf(orders, 'redeem')).toBe(ended!.supply);
    expect(units((await issuer.get(`/v1/tokens/${token.id}`)).supply)).toBe(ended!.supply);
    expect(new Set(orders.map(({ sub_status }) => sub_status))).toContain('RESERVE_INSUFFICIENT');
    const setAside = async () =>
      (await issuer.get(`/v1/wallets/${reserveWallet.id}`)).assets.find(({ symbol }: Json) => symbol === 'USDC')
        .pending;
    await until(async () => Number(await setAside()) === 0, 'nothing of the reserve is set aside any more');
    const events = await all(issuer, '/v1/events', 'events');
    expect(checkReserves(events, reserveWallet.id)).toBeGreaterThan(5);

    // Every job once more: nothing happens.
    const atMs = Date.now();
    const due = orders.map(({ id }) => ({ member: `token-order/${id}`, atMs }));
    await service.api.store.commit(issuer.tenant, { due });
    await until(
      async () => (await service.redis.zcard(`sm:{t:${issuer.tenant}}:due`)) === 0,
      'the repeated jobs to be done',
    );
    expect(await chain.token(token.contract)).toEqual(ended);
    expect(await over(issuer, token.id)).toEqual(orders);
    expect((await all(issuer, '/v1/events', 'events')).length).toBe(events.length);
  });
});

describe('any orders', () => {
  it('end as a model of cap, reserve and holdings says, one after the other', async () => {
    const issuer = await new Issuer(service).open();
    let symbols = 0;
    const step = fc.record({
      kind: fc.constantFrom('mint', 'redeem'),
      amount: fc.integer({ min: 1, max: 60 }),
      attested: fc.integer({ min: 1, max: 150 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 20, max: 100 }),
        fc.array(step, { minLength: 1, maxLength: 5 }),
        async (cap, steps) => {
          symbols += 1;
          const token = await issuer.issue({ symbol: `MODEL${symbols}`, supply_cap: String(cap) });
          let supply = 0;
          for (const { kind, amount, attested } of steps) {
            const reserve_reference = {
              type: 'attestation',
              asset: 'USD',
              reference: `model of ${token.symbol}`,
              amount: String(attested),
              expires_at: new Date(Date.now() + 3_600_000).toISOString(),
            };
            const ordered = { amount: String(amount), reserve_reference };
            const place = kind === 'mint' ? issuer.mint(token, ordered.amount, ordered) : undefined;
            if (place === undefined && amount > supply) {
              const body = { ...ordered, source: { wallet_id: issuer.wallet.id } };
              expect(await issuer.refused(`/v1/tokens/${token.id}/redeem`, body)).toMatchObject({ status: 422 });
              continue;
            }
            const needed = kind === 'mint' ? supply + amount : amount;
            const reason =
              kind === 'mint' && supply + amount > cap
                ? 'CAP_EXCEEDED'
                : needed > attested
                  ? 'RESERVE_INSUFFICIENT'
                  : null;
            const order = await (place ?? issuer.redeem(token, ordered.amount, ordered));
            const ended = await issuer.orderAs(order, reason === null ? 'completed' : 'rejected');
            expect(ended.sub_status).toBe(reason);
            if (reason === null) supply += kind === 'mint' ? amount : -amount;
            expect((await chain.token(token.contract))!.supply).toBe(BigInt(supply) * 1_000_000n);
          }
        },
      ),
      { numRuns: runs(2, 4) },
    );
  });
});
