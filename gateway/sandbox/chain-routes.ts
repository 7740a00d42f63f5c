/** /v1/sandbox/chains/:network/fee-market: the price that transactions of a simulated chain must pay. */
import Type from 'typebox';
import { type NetworkId, networkIds } from '../../wallets/networks/networks.ts';
import { type Chains, type FeeLimits, feeLimitsOf } from '../../wallets/providers/chains/public.ts';
import { invalidFields } from '../api/errors/invalid-fields.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, OneOf, PathId } from '../api/schema-kit.ts';
import type { SandboxDeps } from './deps.ts';
import { common } from './shared.ts';

const Market = Closed(
  {
    network: OneOf(networkIds),
    price: Type.String({
      description:
        'a transaction that offers less waits: EVM the base fee, wei a unit of gas; Bitcoin satoshi a virtual byte',
    }),
    initial: Type.String({ description: 'the price until it is moved' }),
    min: Type.String({ description: 'the network relays no transaction that offers less' }),
    max: Type.String(),
  },
  { title: 'SandboxFeeMarket' },
);

const params = Closed({ network: PathId('CAIP-2 id of the network') });
const path = '/v1/sandbox/chains/:network/fee-market';

export function chainRoutes({ chains }: Pick<SandboxDeps, 'chains'>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path,
      operationId: 'getSandboxFeeMarket',
      clientName: 'sandbox.feeMarket',
      summary: 'Read the fee market of a simulated chain',
      params,
      responses: { 200: { description: 'The market', schema: Market } },
      errors: [404, 422],
      handle: async (_context, { params: { network: id } }) => {
        const { network, limits } = marketOf(id);
        return { status: 200, body: await marketView(chains, network, limits) };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path,
      operationId: 'moveSandboxFeeMarket',
      clientName: 'sandbox.moveFeeMarket',
      example: { price: '2000000000' },
      summary: 'Move the fee market of a simulated chain',
      description:
        'It holds for all tenants, until it is moved again. A transaction that offers less than the price waits with `BELOW_MARKET_FEE`, until the market falls or another one replaces it.',
      params,
      body: Closed({
        price: Type.String({ pattern: '^[1-9][0-9]{0,15}$', description: 'a whole number from `min` to `max`' }),
      }),
      responses: { 200: { description: 'The market afterwards', schema: Market } },
      errors: [404, 422],
      handle: async (_context, { params: { network: id }, body }) => {
        const { network, limits } = marketOf(id);
        const price = BigInt(body.price);
        if (price < limits.min || price > limits.max) {
          const issue = price < limits.min ? 'too_small' : 'too_large';
          throw invalidFields([{ field: 'price', issue, message: `takes ${limits.min} to ${limits.max}` }]);
        }
        await chains.of(network).moveMarket(price);
        return { status: 200, body: await marketView(chains, network, limits) };
      },
    }),
  ];
}

/** Throws ServiceError. */
function marketOf(id: string): { readonly network: NetworkId; readonly limits: FeeLimits } {
  const network = networkIds.find((known) => known === id);
  if (network === undefined) throw new ServiceError('notFound', `no network ${id}: there are ${networkIds.join(', ')}`);
  const limits = feeLimitsOf(network);
  if (limits !== undefined) return { network, limits };
  const message = `${network} has fixed fees and no market`;
  throw new ServiceError('providerRejected', message, {
    details: [{ field: 'network', issue: 'not_supported', message }],
  });
}

async function marketView(
  chains: Pick<Chains, 'of'>,
  network: NetworkId,
  { initial, min, max }: FeeLimits,
): Promise<object> {
  const price = (await chains.of(network).market()) ?? initial;
  return { network, price: String(price), initial: String(initial), min: String(min), max: String(max) };
}
