/** The routes of wallets. */

import type { Static } from 'typebox';
import { exampleIds, exampleNetwork } from '../../../gateway/api/examples.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { visibleIndices } from '../../../gateway/api/visibility.ts';
import type { Balances } from '../../store/contract.ts';
import { assertAsset } from '../assets/token-assets.ts';
import { listAllowances } from './allowances.ts';
import { createWallet, type WalletDeps } from './create.ts';
import { archiveWallet, setFrozen, updateWallet } from './lifecycle.ts';
import { listMovements } from './movements.ts';
import { readWallet } from './read.ts';
import { addReceiveAddress, listReceiveAddresses, ReceiveAddress, ReceiveAddressList } from './receive-addresses.ts';
import { walletStates, walletType } from './record.ts';
import {
  AllowanceList,
  AllowanceQuery,
  ArchiveBody,
  CreateBody,
  MovementList,
  MovementQuery,
  PatchBody,
  Wallet,
  WalletList,
  WalletParams,
  WalletQuery,
} from './schemas.ts';
import { walletView } from './view.ts';

const tag = 'Wallets';
const one = { 200: { schema: Wallet, description: 'the wallet' } } as const;

export function walletRoutes(deps: WalletDeps): readonly Route[] {
  return [...makingRoutes(deps), addressRoute(deps), ...readingRoutes(deps), ...lifecycleRoutes(deps)];
}

function makingRoutes(deps: WalletDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/wallets',
      operationId: 'createWallet',
      clientName: 'wallets.create',
      example: { name: 'treasury', provider_connection_id: exampleIds.connection, network: exampleNetwork },
      tag,
      summary: 'Create a wallet',
      description:
        'The provider makes the wallet. For `self_hosted` the signer cluster generates a key for it: one wallet, one key, on the curve of its network.',
      scope: 'wallets:write',
      body: CreateBody,
      responses: { 201: { schema: Wallet, description: 'the wallet' } },
      errors: [404, 409, 422],
      handle: (context, { body }) => createWallet(deps, context, body),
    }),
    route({
      method: 'PATCH',
      path: '/v1/wallets/:id',
      operationId: 'updateWallet',
      clientName: 'wallets.update',
      example: { name: 'cold treasury', metadata: { desk: 'emea' } },
      tag,
      summary: 'Change a wallet’s settings',
      description:
        'Omitted fields do not change. `metadata` is replaced as a whole. Null removes `policy` or `external_id`. Earlier intents keep their decisions.',
      scope: 'wallets:write',
      params: WalletParams,
      body: PatchBody,
      responses: one,
      errors: [404, 409],
      states: walletStates.update,
      handle: (context, { params, body }) => updateWallet(deps, context, params.id, body),
    }),
  ];
}

function addressRoute(deps: WalletDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/wallets/:id/addresses',
    operationId: 'addReceiveAddress',
    clientName: 'wallets.addAddress',
    tag,
    summary: 'Give a Bitcoin wallet one more address that receives',
    description:
      'For a `self_hosted` wallet on Bitcoin: a child of its key, whose deposits are the wallet’s. Its other transfers and its change are as before. Elsewhere 422 `not_supported`.',
    scope: 'wallets:write',
    params: WalletParams,
    responses: { 201: { schema: ReceiveAddress, description: 'the address' } },
    errors: [404, 409, 422],
    states: walletStates.receive,
    handle: (context, { params }) => addReceiveAddress(deps, context, params.id),
  });
}

function readingRoutes(deps: WalletDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/wallets',
      operationId: 'listWallets',
      clientName: 'wallets.list',
      tag,
      summary: 'List wallets, newest first',
      description: 'Across all providers. Archived wallets are listed only with `status=archived`.',
      scope: 'wallets:read',
      query: WalletQuery,
      responses: { 200: { schema: WalletList, description: 'a page of wallets' } },
      handle: (context, { query }) => listWallets(context, query),
    }),
    route({
      method: 'GET',
      path: '/v1/wallets/:id',
      operationId: 'getWallet',
      clientName: 'wallets.get',
      tag,
      summary: 'Read a wallet and its balances',
      scope: 'wallets:read',
      params: WalletParams,
      responses: one,
      errors: [404],
      handle: async (context, { params }) => {
        const { record, balances } = await readWallet(context, params.id);
        return { status: 200, body: walletView(record, balances) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/wallets/:id/addresses',
      operationId: 'listReceiveAddresses',
      clientName: 'wallets.addresses',
      tag,
      summary: 'List a wallet’s receive addresses, and which are used',
      description: 'Beside the address of the wallet itself, by their index.',
      scope: 'wallets:read',
      params: WalletParams,
      responses: { 200: { schema: ReceiveAddressList, description: 'all of them' } },
      errors: [404],
      handle: (context, { params }) => listReceiveAddresses(deps, context, params.id),
    }),
    route({
      method: 'GET',
      path: '/v1/wallets/:id/movements',
      operationId: 'listWalletMovements',
      clientName: 'wallets.movements',
      tag,
      summary: 'List what changed a wallet’s balances, newest first',
      description:
        'Every change of a balance has one, written in the same step; those of an asset add up to its balance. What is only reserved changes none.',
      scope: 'wallets:read',
      params: WalletParams,
      query: MovementQuery,
      responses: { 200: { schema: MovementList, description: 'a page of movements' } },
      errors: [404],
      handle: (context, { params, query }) => listMovements(context, params.id, query),
    }),
    route({
      method: 'GET',
      path: '/v1/wallets/:id/allowances',
      operationId: 'listWalletAllowances',
      clientName: 'wallets.allowances',
      tag,
      summary: 'List what a wallet lets other accounts move',
      description:
        'What the chain has of it, by contract and spender: `approve` sets it, `transferFrom` takes from it. Elsewhere than on a `self_hosted` EVM wallet 422 `not_supported`.',
      scope: 'wallets:read',
      params: WalletParams,
      query: AllowanceQuery,
      responses: { 200: { schema: AllowanceList, description: 'a page of allowances' } },
      errors: [404, 422],
      handle: (context, { params, query }) => listAllowances(deps, context, params.id, query),
    }),
  ];
}

function lifecycleRoutes(deps: WalletDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/wallets/:id/archive',
      operationId: 'archiveWallet',
      clientName: 'wallets.archive',
      example: { reason: 'no longer used' },
      tag,
      summary: 'Archive a wallet, for good',
      description:
        'Idempotent. 409 while transaction intents are open. Its balances stay where they are. The key of a `self_hosted` wallet is closed: open signing sessions are revoked and it no longer signs.',
      scope: 'wallets:write',
      params: WalletParams,
      body: ArchiveBody,
      bodyOptional: true,
      responses: one,
      errors: [404, 409],
      states: walletStates.archive,
      handle: (context, { params, body }) => archiveWallet(deps, context, params.id, body.reason),
    }),
    ...[true, false].map((isFrozen) =>
      route({
        method: 'POST',
        path: isFrozen ? '/v1/wallets/:id/freeze' : '/v1/wallets/:id/unfreeze',
        operationId: isFrozen ? 'freezeWallet' : 'unfreezeWallet',
        clientName: isFrozen ? 'wallets.freeze' : 'wallets.unfreeze',
        tag,
        summary: isFrozen ? 'Freeze a wallet: it takes no new intents' : 'Let a frozen wallet take intents again',
        description: isFrozen
          ? 'Idempotent. It takes no approvals either, and approved intents wait; transfers that the provider has already continue.'
          : 'Idempotent.',
        scope: 'wallets:write',
        params: WalletParams,
        responses: one,
        errors: [404, 409],
        states: isFrozen ? walletStates.freeze : walletStates.unfreeze,
        handle: (context, { params }) => setFrozen(deps, context, params.id, isFrozen),
      }),
    ),
  ];
}

const noBalances: Balances = new Map();

async function listWallets(context: RequestContext, query: Static<typeof WalletQuery>): Promise<Answer> {
  const { tenant, principal, store } = context;
  const page = readPage(context, 'wallets', query);
  const { provider, provider_connection_id: connection, status, asset, external_id: externalId } = query;
  await assertAsset(context, asset);
  const found = await store.list(tenant, walletType, {
    indices: [
      status === undefined ? 'wallets:live' : `wallets:status:${status}`,
      ...(provider === undefined ? [] : [`wallets:provider:${provider}`]),
      ...(connection === undefined ? [] : [`wallets:connection:${connection}`]),
      ...(asset === undefined ? [] : [`wallets:asset:${asset}`]),
      ...(externalId === undefined ? [] : [`wallets:external:${externalId}`]),
    ],
    ...visibleIndices(principal, (id) => `wallets:connection:${id}`),
    order: 'newest',
    withBalances: true,
    ...page.query,
  });
  const view = (wallet: (typeof found.items)[number], balances: Balances | undefined) =>
    walletView(wallet, balances ?? noBalances);
  return { status: 200, body: listBody('wallets', found, view, page) };
}
