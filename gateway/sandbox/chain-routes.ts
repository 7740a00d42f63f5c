/** /v1/sandbox/chains/:network: the price that transactions of a simulated chain must pay, how deep their blocks must be, and reorganisations. */
import Type from 'typebox';
import { type NetworkId, networkIds } from '../../wallets/networks/networks.ts';
import { type Chain, type Chains, type FeeLimits, feeLimitsOf } from '../../wallets/providers/chains/public.ts';
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

const Confirmations = Closed(
  {
    network: OneOf(networkIds),
    confirmations: Type.Integer({
      description: 'blocks, its own among them, after which the intent of a transaction completes',
    }),
    finality: Type.Integer({ description: 'blocks, its own among them, after which nothing undoes a transaction' }),
    block: Type.Integer({ description: 'the number of the newest block' }),
    block_ms: Type.Integer({ description: 'milliseconds between two blocks' }),
  },
  { title: 'SandboxConfirmations' },
);

const Reorganization = Closed(
  {
    network: OneOf(networkIds),
    depth: Type.Integer({ description: 'how many blocks are undone' }),
    transactions: Type.Integer({ description: 'how many were in them; the next block has them' }),
    next_block: Type.Integer(),
  },
  { title: 'SandboxReorganization' },
);

const depthMax = 64;
const params = Closed({ network: PathId('CAIP-2 id of the network') });
const chainPath = '/v1/sandbox/chains/:network';
const path = `${chainPath}/fee-market`;

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
    route({
      ...common,
      method: 'GET',
      path: `${chainPath}/confirmations`,
      operationId: 'getSandboxConfirmations',
      clientName: 'sandbox.confirmations',
      summary: 'Read after how many blocks intents of a simulated chain complete and are final, and its newest block',
      params,
      responses: { 200: { description: 'The blocks', schema: Confirmations } },
      errors: [404],
      handle: async ({ nowMs }, { params: { network: id } }) => ({
        status: 200,
        body: await confirmationsView(chains.of(knownNetwork(id)), nowMs),
      }),
    }),
    route({
      ...common,
      method: 'POST',
      path: `${chainPath}/confirmations`,
      operationId: 'setSandboxConfirmations',
      clientName: 'sandbox.setConfirmations',
      example: { confirmations: 2, finality: 12 },
      summary: 'Set after how many blocks intents of a simulated chain complete and are final',
      description: 'It holds for all tenants, for transactions that are mined from now on, until it is set again.',
      params,
      body: Closed({
        confirmations: Type.Integer({ minimum: 1, maximum: depthMax }),
        finality: Type.Optional(
          Type.Integer({ minimum: 1, maximum: depthMax, description: '`confirmations` by default, and not below it' }),
        ),
      }),
      responses: { 200: { description: 'The blocks afterwards', schema: Confirmations } },
      errors: [404],
      handle: async ({ nowMs }, { params: { network: id }, body }) => {
        const chain = chains.of(knownNetwork(id));
        const { confirmations, finality = confirmations } = body;
        if (finality < confirmations) {
          const message = `takes ${confirmations} to ${depthMax}: an intent completes before it is final`;
          throw invalidFields([{ field: 'finality', issue: 'too_small', message }]);
        }
        await chain.setDepths({ confirmations, finality });
        return { status: 200, body: await confirmationsView(chain, nowMs) };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: `${chainPath}/reorg`,
      operationId: 'reorganizeSandboxChain',
      clientName: 'sandbox.reorganize',
      example: { depth: 1 },
      summary: 'Undo the newest blocks of a simulated chain',
      description:
        'The next block has their transactions, as they were signed: their confirmations count anew, and their intents stay `confirming`, with `REORGED`. What is final stays: 422 `beyond_finality`.',
      params,
      body: Closed({ depth: Type.Integer({ minimum: 1, maximum: depthMax - 1 }) }),
      responses: { 200: { description: 'What was undone', schema: Reorganization } },
      errors: [404, 422],
      handle: async ({ nowMs }, { params: { network: id }, body: { depth } }) => {
        const network = knownNetwork(id);
        const chain = chains.of(network);
        const reorg = await chain.reorganize(depth, nowMs);
        if (reorg.kind === 'done') {
          const { transactions } = reorg;
          return { status: 200, body: { network, depth, transactions, next_block: chain.head(nowMs) + 1 } };
        }
        const message = `what is final stays: the deepest depth now is ${reorg.depth}`;
        throw new ServiceError('providerRejected', message, {
          details: [{ field: 'depth', issue: 'beyond_finality', message }],
        });
      },
    }),
  ];
}

/** Throws ServiceError. */
function knownNetwork(id: string): NetworkId {
  const network = networkIds.find((known) => known === id);
  if (network === undefined) throw new ServiceError('notFound', `no network ${id}: there are ${networkIds.join(', ')}`);
  return network;
}

async function confirmationsView(chain: Chain, nowMs: number): Promise<object> {
  const { network, blockMs } = chain;
  return { network, ...(await chain.depths()), block: chain.head(nowMs), block_ms: blockMs };
}

/** Throws ServiceError. */
function marketOf(id: string): { readonly network: NetworkId; readonly limits: FeeLimits } {
  const network = knownNetwork(id);
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
