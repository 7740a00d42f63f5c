/**
 * Clients mint and redeem a token while gateways die by kill -9. Each client repeats a call that was cut under its
 * idempotency key. Afterwards every order is over with one effect: the sum of the completed orders is the supply of the
 * contract on the chain and of the token, and the transfers' logs of the transactions add up to the same.
 * In a thorough run alone: scenarios/tokens-minted-while-the-gateway-dies.yaml is simulated.
 */
import { Interface } from 'ethers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EvmChain } from '../../wallets/providers/chains/evm.ts';
import { RedisEvmLedger } from '../../wallets/providers/chains/redis-evm-ledger.ts';
import { RestClient } from '../support/rest.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { FurtherGateway } from './support/further-gateway.ts';

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON
type Json = Record<string, any>;

const network = 'eip155:11155111';
const clients = 8;
const ordersEach = 3;
const kills = 3;
const erc20 = new Interface(['event Transfer(address indexed from, address indexed to, uint256 units)']);
const zero = `0x${'0'.repeat(40)}`;

let cluster: BorrowedCluster;
let further: FurtherGateway;
let redis: Redis;
beforeAll(async () => {
  cluster = await borrowCluster();
  further = await FurtherGateway.start(cluster);
  redis = new Redis(cluster.redisUrl());
}, borrowWithinMs);
afterAll(async () => {
  redis?.disconnect();
  await cluster?.stop();
});

test.runIf(isThorough)('orders that meet the death of their gateways have one effect each', async () => {
  const doors = [
    new RestClient(cluster.httpUrl, cluster.ready.token),
    new RestClient(further.url, cluster.ready.token),
  ];
  const api = doors[0]!;
  // While a gateway starts again, the other one answers; both may be starting.
  const get = (path: string): Promise<Json> =>
    until(
      async () => {
        for (const door of doors) {
          const answer = await door.get<Json>(path).catch(() => undefined);
          if (answer?.status === 200) return answer.body;
        }
        return undefined;
      },
      `an answer of GET ${path}`,
      100,
    );
  const { id: connection } = await api.made('/v1/providers/connect', {
    type: 'self_hosted',
    name: 'c',
    credentials: {},
  });
  const wallet = await api.made<Json & { id: string }>('/v1/wallets', {
    name: 'issuer',
    provider_connection_id: connection,
    network,
  });
  const { id } = await api.made('/v1/tokens', {
    ...{ symbol: 'KILLED', name: 'Killed', network, decimals: 6, supply_cap: '1000', issuer_wallet_id: wallet.id },
  });
  const token = await until(async () => {
    const found = await get(`/v1/tokens/${id}`);
    return found.status === 'active' && found;
  }, 'the token to be deployed');

  const reserve_reference = { type: 'wallet', asset: 'USDC', wallet_id: wallet.id };
  const place = async (client: number, turn: number): Promise<void> => {
    const isMint = turn !== 1;
    const body = isMint
      ? { amount: '30', destination: { address: wallet.addresses[0].address }, reserve_reference }
      : { amount: '10', source: { wallet_id: wallet.id }, reserve_reference };
    const headers = { 'idempotency-key': `killed-${client}-${turn}` };
    let run = client;
    await until(
      async () => {
        const door = doors[run++ % 2]!;
        const { status } = await door.post(`/v1/tokens/${id}/${isMint ? 'mint' : 'redeem'}`, body, { headers });
        // Too little to redeem yet: that order was never made.
        return status === 201 || status === 422;
      },
      `order ${turn} of client ${client} to be answered`,
      100,
    );
  };
  const ordering = Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let turn = 0; turn < ordersEach; turn += 1) await place(client, turn);
    }),
  );
  for (let kill = 0; kill < kills; kill += 1) {
    const before = (await get(`/v1/tokens/${id}/orders?limit=100`)).orders.length;
    // Not before the clients have got on since the last one died.
    await until(
      async () => (await get(`/v1/tokens/${id}/orders?limit=100`)).orders.length > before,
      'another order',
    ).catch(() => undefined);
    if (kill % 2 === 0) await cluster.kill('gateway');
    else await further.kill();
  }
  await ordering;

  let orders: Json[] = [];
  const ends = ['completed', 'rejected', 'failed'];
  await until(
    async () => {
      orders = (await get(`/v1/tokens/${id}/orders?limit=100`)).orders;
      return orders.every(({ status }) => ends.includes(status));
    },
    () => `orders to end: ${JSON.stringify(orders.map(({ status }) => status))}`,
    200,
  );
  const chain = new EvmChain(network, new RedisEvmLedger(redis, network));
  const { supply, cap } = (await chain.token(token.contract))!;
  let completed = 0n;
  let logged = 0n;
  for (const order of orders) {
    if (order.status === 'completed')
      completed += BigInt(order.amount) * (order.kind === 'mint' ? 1_000_000n : -1_000_000n);
    const path = `/v1/wallets/${wallet.id}/transaction-intents/${order.transaction_intent_id}`;
    const { provider_details: details } = await get(path);
    for (const log of details?.receipt?.logs ?? []) {
      const { from, units } = erc20.parseLog(log)!.args;
      logged += from === zero ? units : -units;
    }
  }
  expect({ completed, logged, shown: BigInt((await get(`/v1/tokens/${id}`)).supply) * 1_000_000n }).toEqual({
    completed: supply,
    logged: supply,
    shown: supply,
  });
  expect(supply > 0n && supply <= cap).toBe(true);
  expect(orders.filter(({ kind }) => kind === 'mint')).toHaveLength(clients * 2);
});
