/** The routes of token operations. */

import { exampleIds, exampleNetwork, exampleReceiver } from '../../../gateway/api/examples.ts';
import { listBody, readCreated, readPage } from '../../../gateway/api/pages.ts';
import { type Route, route } from '../../../gateway/api/route.ts';
import { unchangedIn } from '../../../gateway/api/state-changes.ts';
import { visibleIndices } from '../../../gateway/api/visibility.ts';
import { approveOrder, cancelOrder } from './decide.ts';
import { findOrder, findToken } from './find.ts';
import { setTokenFrozen } from './freeze.ts';
import { issueToken, type TokenDeps } from './issue.ts';
import { mintToken, redeemToken } from './place-order.ts';
import { orderType, tokenStates, tokenType } from './record.ts';
import {
  CreateBody,
  MintBody,
  OrderList,
  OrderParams,
  OrderQuery,
  ReasonBody,
  RedeemBody,
  Token,
  TokenList,
  TokenOrder,
  TokenParams,
  TokenQuery,
  VoteBody,
} from './schemas.ts';
import { orderStates, orderStatuses } from './states.ts';
import { orderView, tokenView } from './view.ts';

const exampleReserve = { type: 'wallet', asset: 'USDC', wallet_id: exampleIds.wallet };
const tag = 'Token operations';
const reads = { tag, scope: 'tokens:read' } as const;
const writes = { tag, scope: 'tokens:write' } as const;

export function tokenRoutes(deps: TokenDeps): readonly Route[] {
  return [...ofTokens(deps), ...ofOrders(deps)];
}

function ofTokens(deps: TokenDeps): readonly Route[] {
  return [
    route({
      ...writes,
      method: 'POST',
      path: '/v1/tokens',
      operationId: 'createToken',
      clientName: 'tokens.create',
      example: {
        symbol: 'GOLD',
        name: 'Vaulted gold',
        network: exampleNetwork,
        decimals: 6,
        supply_cap: '1000000',
        issuer_wallet_id: exampleIds.wallet,
      },
      summary: 'Issue a token: its contract is deployed from the issuer’s wallet',
      description:
        'The deployment is a transaction intent of the wallet, under its policies. The token is `active` when that is completed.',
      body: CreateBody,
      responses: { 201: { schema: Token, description: 'the token, being deployed' } },
      errors: [404, 409, 422],
      handle: (context, { body }) => issueToken(deps, context, body),
    }),
    route({
      ...reads,
      method: 'GET',
      path: '/v1/tokens',
      operationId: 'listTokens',
      clientName: 'tokens.list',
      summary: 'List tokens, newest first',
      query: TokenQuery,
      responses: { 200: { schema: TokenList, description: 'a page of tokens' } },
      handle: async (context, { query }) => {
        const { tenant, principal, store } = context;
        const page = readPage(context, 'tokens', query);
        const found = await store.list(tenant, tokenType, {
          indices: [query.status === undefined ? 'tokens' : `tokens:status:${query.status}`],
          ...visibleIndices(principal, (id) => `tokens:connection:${id}`),
          order: 'newest',
          withBalances: true,
          ...page.query,
          ...readCreated(query),
        });
        return {
          status: 200,
          body: listBody('tokens', found, (token, balances) => tokenView(token, balances ?? new Map()), page),
        };
      },
    }),
    route({
      ...reads,
      method: 'GET',
      path: '/v1/tokens/:id',
      operationId: 'getToken',
      clientName: 'tokens.get',
      summary: 'Read a token and its supply',
      params: TokenParams,
      responses: { 200: { schema: Token, description: 'the token' } },
      errors: [404],
      handle: async (context, { params }) => {
        const { token, balances } = await findToken(context, params.id);
        return { status: 200, body: tokenView(token, balances) };
      },
    }),
    ...(['freeze', 'unfreeze'] as const).map((verb) =>
      route({
        ...writes,
        method: 'POST',
        path: `/v1/tokens/:id/${verb}`,
        operationId: `${verb}Token`,
        clientName: `tokens.${verb}`,
        example: { reason: verb === 'freeze' ? 'the custodian of the gold is being replaced' : 'replaced' },
        summary: verb === 'freeze' ? 'Freeze a token: stop its mints, redemptions and transfers' : 'Unfreeze a token',
        description: `Changes nothing if the token is already ${verb === 'freeze' ? 'frozen' : 'active'}.`,
        params: TokenParams,
        body: ReasonBody,
        bodyOptional: true,
        responses: { 200: { schema: Token, description: 'the token' } },
        errors: [404, 409],
        states: verb === 'freeze' ? tokenStates.freeze : tokenStates.unfreeze,
        handle: (context, { params, body }) => setTokenFrozen(context, params.id, verb === 'freeze', body.reason),
      }),
    ),
  ];
}

function ofOrders(deps: TokenDeps): readonly Route[] {
  return [
    route({
      ...writes,
      method: 'POST',
      path: '/v1/tokens/:id/mint',
      operationId: 'mintToken',
      clientName: 'tokens.mint',
      example: { amount: '250', destination: { address: exampleReceiver }, reserve_reference: exampleReserve },
      loadClass: 'transfers',
      summary: 'Order a mint: units for an address, backed by a reserve',
      description:
        'Policy decides at once. Cap and reserve are checked when the transaction is about to be signed: the reserve must cover the units in circulation, the units being minted, and this order.',
      params: TokenParams,
      body: MintBody,
      responses: { 201: { schema: TokenOrder, description: 'the order' } },
      errors: [404, 409, 422],
      states: tokenStates.order,
      handle: (context, { params, body }) => mintToken(deps, context, params.id, body),
    }),
    route({
      ...writes,
      method: 'POST',
      path: '/v1/tokens/:id/redeem',
      operationId: 'redeemToken',
      clientName: 'tokens.redeem',
      example: { amount: '1', source: { wallet_id: exampleIds.wallet }, reserve_reference: exampleReserve },
      loadClass: 'transfers',
      summary: 'Order a redemption: units of a wallet are burnt',
      description:
        'Works like a mint; the reserve must hold the redeemed amount. Paying the holder is a separate transfer.',
      params: TokenParams,
      body: RedeemBody,
      responses: { 201: { schema: TokenOrder, description: 'the order' } },
      errors: [404, 409, 422],
      states: tokenStates.order,
      handle: (context, { params, body }) => redeemToken(deps, context, params.id, body),
    }),
    route({
      ...reads,
      method: 'GET',
      path: '/v1/tokens/:id/orders',
      operationId: 'listTokenOrders',
      clientName: 'tokens.orders',
      summary: 'List the orders of a token, newest first',
      params: TokenParams,
      query: OrderQuery,
      responses: { 200: { schema: OrderList, description: 'a page of orders' } },
      errors: [404],
      handle: async (context, { params, query }) => {
        const { token } = await findToken(context, params.id);
        const index = `token_orders:${token.id}`;
        const page = readPage(context, `tokens/${token.id}/orders`, query);
        const filters = [
          ...(query.status === undefined ? [] : [`${index}:status:${query.status}`]),
          ...(query.kind === undefined ? [] : [`${index}:kind:${query.kind}`]),
        ];
        const found = await context.store.list(context.tenant, orderType, {
          indices: filters.length === 0 ? [index] : filters,
          order: 'newest',
          ...page.query,
          ...readCreated(query),
        });
        return { status: 200, body: listBody('orders', found, orderView, page) };
      },
    }),
    route({
      ...reads,
      method: 'GET',
      path: '/v1/tokens/:id/orders/:orderId',
      operationId: 'getTokenOrder',
      clientName: 'tokens.order',
      summary: 'Read an order',
      params: OrderParams,
      responses: { 200: { schema: TokenOrder, description: 'the order' } },
      errors: [404],
      handle: async (context, { params }) => ({ status: 200, body: orderView(await findOrder(context, params)) }),
    }),
    route({
      ...writes,
      method: 'POST',
      path: '/v1/tokens/:id/orders/:orderId/approve',
      operationId: 'approveTokenOrder',
      clientName: 'tokens.approveOrder',
      example: { decision: 'approve', comment: 'the reserve statement is in' },
      summary: 'Approve or reject an order that awaits approval',
      description:
        'The order is approved when it has the number of approvals that its policy requires; one rejection ends it. The initiator has no vote. A repeated vote changes nothing.',
      scope: 'intents:approve',
      params: OrderParams,
      body: VoteBody,
      bodyOptional: true,
      responses: { 200: { schema: TokenOrder, description: 'the order after the vote' } },
      errors: [404, 409, 422],
      states: { ...unchangedIn(...orderStatuses), ...orderStates.vote },
      handle: (context, { params, body }) => approveOrder(deps, context, params, body),
    }),
    route({
      ...writes,
      method: 'POST',
      path: '/v1/tokens/:id/orders/:orderId/cancel',
      operationId: 'cancelTokenOrder',
      clientName: 'tokens.cancelOrder',
      example: { reason: 'ordered twice' },
      summary: 'Cancel an order before its signing begins',
      params: OrderParams,
      body: ReasonBody,
      bodyOptional: true,
      responses: { 200: { schema: TokenOrder, description: 'the order, rejected' } },
      errors: [404, 409],
      states: orderStates.cancel,
      handle: (context, { params, body }) => cancelOrder(context, params, body.reason),
    }),
  ];
}
