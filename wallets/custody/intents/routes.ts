/** The routes of transaction intents. */

import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { exampleTransfer } from '../../../gateway/api/examples.ts';
import { metadataIndex } from '../../../gateway/api/metadata.ts';
import { listBody, readCreated, readPage } from '../../../gateway/api/pages.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { unchangedIn } from '../../../gateway/api/state-changes.ts';
import { visibleIndices } from '../../../gateway/api/visibility.ts';
import type { FeeChoice } from '../../providers/port/port.ts';
import { assertAsset } from '../assets/token-assets.ts';
import { walletStates } from '../wallets/public.ts';
import { approveIntent, awaitsVoteOf, cancel } from './approval.ts';
import { createIntent, showDecisions } from './creation.ts';
import type { IntentDependencies, IntentQueue } from './dependencies.ts';
import { findIntent, findWallet } from './lookup.ts';
import { externalIdIndex, intentType, ofConnectionIndex, ofStatusIndex, ofWalletIndex } from './record.ts';
import { replaceIntent } from './replacement.ts';
import {
  ApproveBody,
  CallBody,
  CancelBody,
  CreateBody,
  CreateQuery,
  DryRun,
  Intent,
  IntentList,
  IntentParams,
  ListQuery,
  MessageBody,
  ReplaceBody,
  TenantListQuery,
  WalletParams,
} from './schemas.ts';
import { intentStates, intentStatuses } from './states.ts';
import { intentView } from './view.ts';

const tag = 'Transaction intents';

/** USDC on Sepolia: transfer(0x7099…79c8, 1). */
const exampleCall = {
  contract: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
  data: `0xa9059cbb${'0'.repeat(24)}70997970c51812dc3a010c7d01b50e0d17dc79c8${'1'.padStart(64, '0')}`,
};

export function intentRoutes(deps: IntentDependencies, driver: IntentQueue): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/wallets/:id/transaction-intents',
      operationId: 'createTransactionIntent',
      clientName: 'intents.create',
      example: { ...exampleTransfer, metadata: { invoice: 'INV-2026-0117' } },
      tag,
      summary: 'Submits a transfer: it is screened, scored and decided at once',
      description:
        'If a policy allows it, the intent is `approved` at once and needs no further call. Amount and largest fee are reserved. A denied intent is created too, with the reason.',
      scope: 'intents:write',
      loadClass: 'transfers',
      params: WalletParams,
      query: CreateQuery,
      body: CreateBody,
      responses: {
        200: { schema: DryRun, description: 'dry run: the decisions; nothing was created' },
        201: { schema: Intent, description: 'the intent' },
      },
      errors: [404, 409, 422],
      states: walletStates.transfer,
      idempotencyField: 'idempotency_key',
      isReadOnly: ({ query }) => query.dry_run === 'true',
      handle: (context, { params, query, body }) =>
        query.dry_run === 'true'
          ? showDecisions(deps, context, params.id, requestOf(body))
          : createIntent(deps, driver, context, params.id, requestOf(body)),
    }),
    route({
      method: 'POST',
      path: '/v1/wallets/:id/transaction-intents/estimate',
      operationId: 'estimateTransactionIntent',
      clientName: 'intents.estimate',
      example: exampleTransfer,
      tag,
      summary: 'Estimates a transfer: its fee by the present market, and the decisions about it',
      description: 'The answer is that of a dry run. Nothing is created.',
      scope: 'intents:write',
      loadClass: 'transfers',
      params: WalletParams,
      body: CreateBody,
      responses: { 200: { schema: DryRun, description: 'the fee and the decisions; nothing was created' } },
      errors: [404, 409, 422],
      states: walletStates.transfer,
      idempotent: false,
      handle: (context, { params, body }) => showDecisions(deps, context, params.id, requestOf(body)),
    }),
    route({
      method: 'POST',
      path: '/v1/wallets/:id/messages',
      operationId: 'createMessageIntent',
      clientName: 'intents.signMessage',
      example: { message: 'example.com wants you to sign in.\n\nNonce: 32891756' },
      tag,
      summary: 'Asks for the signature of a message or of typed data: an intent that moves nothing',
      description:
        'For `self_hosted` EVM wallets. Only a rule that names the kind allows it: every policy that decides needs one, `default` too. The service computes the hash, and takes no digest.',
      scope: 'intents:write',
      loadClass: 'transfers',
      params: WalletParams,
      query: CreateQuery,
      body: MessageBody,
      responses: {
        200: { schema: DryRun, description: 'dry run: the decisions; nothing was created' },
        201: { schema: Intent, description: 'the intent: its signature comes in `message`' },
      },
      errors: [404, 409, 422],
      states: walletStates.transfer,
      idempotencyField: 'idempotency_key',
      isReadOnly: ({ query }) => query.dry_run === 'true',
      handle: (context, { params, query, body }) =>
        query.dry_run === 'true'
          ? showDecisions(deps, context, params.id, body)
          : createIntent(deps, driver, context, params.id, body),
    }),
    route({
      method: 'POST',
      path: '/v1/wallets/:id/contract-calls',
      operationId: 'createContractCallIntent',
      clientName: 'intents.callContract',
      example: exampleCall,
      tag,
      summary: 'Calls a token’s contract with data that you have encoded',
      description:
        'For `self_hosted` EVM wallets, and contracts of the registry’s tokens and of your own. The data is decoded: rules see function, arguments and movement. Only a rule that names the kind allows it: every policy that decides needs one, `default` too.',
      scope: 'intents:write',
      loadClass: 'transfers',
      params: WalletParams,
      query: CreateQuery,
      body: CallBody,
      responses: {
        200: { schema: DryRun, description: 'dry run: the fee and the decisions; nothing was created' },
        201: { schema: Intent, description: 'the intent' },
      },
      errors: [404, 409, 422],
      states: walletStates.transfer,
      idempotencyField: 'idempotency_key',
      isReadOnly: ({ query }) => query.dry_run === 'true',
      handle: (context, { params, query, body }) =>
        query.dry_run === 'true'
          ? showDecisions(deps, context, params.id, requestOf(body))
          : createIntent(deps, driver, context, params.id, requestOf(body)),
    }),
    route({
      method: 'GET',
      path: '/v1/wallets/:id/transaction-intents',
      operationId: 'listTransactionIntents',
      clientName: 'intents.list',
      tag,
      summary: 'Lists the intents of a wallet, the newest first',
      scope: 'intents:read',
      params: WalletParams,
      query: ListQuery,
      responses: { 200: { schema: IntentList, description: 'a page' } },
      errors: [404],
      handle: async (context, { params, query }) => {
        const { wallet } = await findWallet(context, params.id);
        await assertAsset(context, query.asset);
        const page = readPage(context, `wallets/${wallet.id}/transaction_intents`, query);
        const ofWallet = ofWalletIndex(wallet.id);
        const filters = [
          ...(query.status === undefined ? [] : [`${ofWallet}:status:${query.status}`]),
          ...(query.asset === undefined ? [] : [`${ofWallet}:asset:${query.asset}`]),
        ];
        const found = await context.store.list(context.tenant, intentType, {
          indices: filters.length === 0 ? [ofWallet] : filters,
          order: 'newest',
          ...page.query,
          ...readCreated(query),
        });
        return { status: 200, body: listBody('transaction_intents', found, intentView, page) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/transaction-intents',
      operationId: 'listAllTransactionIntents',
      clientName: 'intents.listAll',
      tag,
      summary: 'Lists the intents of all wallets, the newest first',
      description:
        'With `awaiting_my_vote=true` it is an approver’s inbox: a page may hold fewer intents than `limit` although more follow.',
      scope: 'intents:read',
      query: TenantListQuery,
      responses: { 200: { schema: IntentList, description: 'a page' } },
      handle: (context, { query }) => listAll(context, query),
    }),
    route({
      method: 'GET',
      path: '/v1/wallets/:id/transaction-intents/:txId',
      operationId: 'getTransactionIntent',
      clientName: 'intents.get',
      tag,
      summary: 'Reads an intent',
      scope: 'intents:read',
      params: IntentParams,
      responses: { 200: { schema: Intent, description: 'the intent' } },
      errors: [404],
      handle: async (context, { params }) => ({ status: 200, body: intentView(await findIntent(context, params)) }),
    }),
    route({
      method: 'POST',
      path: '/v1/wallets/:id/transaction-intents/:txId/approve',
      operationId: 'approveTransactionIntent',
      clientName: 'intents.approve',
      example: { decision: 'approve', comment: 'matches the invoice' },
      tag,
      summary: 'Approves or rejects an intent that awaits approval',
      description:
        'The intent is approved when it has the number of approvals that its policy requires; one rejection ends it. The initiator has no vote. A repeated vote changes nothing.',
      scope: 'intents:approve',
      params: IntentParams,
      body: ApproveBody,
      bodyOptional: true,
      responses: { 200: { schema: Intent, description: 'the intent after the vote' } },
      errors: [404, 409],
      states: { ...unchangedIn(...intentStatuses), ...intentStates.vote },
      handle: (context, { params, body }) => approveIntent(deps, driver, context, params, body),
    }),
    route({
      method: 'POST',
      path: '/v1/wallets/:id/transaction-intents/:txId/cancel',
      operationId: 'cancelTransactionIntent',
      clientName: 'intents.cancel',
      example: { reason: 'paid by other means' },
      tag,
      summary: 'Cancels an intent that is not signed yet',
      scope: 'intents:write',
      params: IntentParams,
      body: CancelBody,
      bodyOptional: true,
      responses: { 200: { schema: Intent, description: 'the cancelled intent' } },
      errors: [404, 409],
      states: intentStates.cancel,
      handle: (context, { params, body }) => cancel(context, params, body.reason),
    }),
    route({
      method: 'POST',
      path: '/v1/wallets/:id/transaction-intents/:txId/replace',
      operationId: 'replaceTransactionIntent',
      clientName: 'intents.replace',
      example: { kind: 'speed_up', fee_level: 'high' },
      tag,
      summary: 'Replaces a transaction that waits below the market, with a higher fee',
      description:
        'For `self_hosted` EVM and Bitcoin wallets, while `sub_status` is `BELOW_MARKET_FEE`. The replacement is an intent of its own: decided, approved and signed anew. What both move is reserved once. When one of them is mined, the other fails with `REPLACED`.',
      scope: 'intents:write',
      loadClass: 'transfers',
      params: IntentParams,
      body: ReplaceBody,
      responses: { 201: { schema: Intent, description: 'the replacement' } },
      errors: [404, 409, 422],
      states: intentStates.replace,
      handle: (context, { params, body: { kind, policy, metadata, ...body } }) =>
        replaceIntent(deps, driver, context, params, { kind, policy, metadata, fees: feesOf(body) }),
    }),
  ];
}

function requestOf<B extends FeeChoice>(body: B): Omit<B, keyof FeeChoice> & { readonly fees: FeeChoice } {
  const { fee_level, max_fee_per_gas, max_priority_fee_per_gas, gas_limit, sats_per_vbyte, ...request } = body;
  const chosen = { fee_level, max_fee_per_gas, max_priority_fee_per_gas, gas_limit, sats_per_vbyte };
  return { ...request, fees: feesOf(chosen) };
}

/** The fields that the caller chose. Throws ServiceError 400 for a level beside prices, and a tip alone. */
function feesOf(body: FeeChoice): FeeChoice {
  const chosen = Object.entries(body).filter(([, value]) => value !== undefined);
  const fees: FeeChoice = Object.fromEntries(chosen);
  const beside = chosen.map(([name]) => name).find((name) => name !== 'fee_level' && name !== 'gas_limit');
  if (fees.fee_level !== undefined && beside !== undefined) {
    const message = `takes fee_level or ${beside}, not both`;
    throw invalidFields([{ field: beside, issue: 'duplicate_field', message }]);
  }
  if (fees.max_priority_fee_per_gas !== undefined && fees.max_fee_per_gas === undefined) {
    const message = 'max_priority_fee_per_gas needs it';
    throw invalidFields([{ field: 'max_fee_per_gas', issue: 'missing_required', message }]);
  }
  return fees;
}

async function listAll(context: RequestContext, query: Static<typeof TenantListQuery>): Promise<Answer> {
  const { tenant, principal, store, nowMs } = context;
  const { status, provider_connection_id: connection, awaiting_my_vote: awaiting } = query;
  const { external_id: externalId, metadata } = query;
  const isInbox = awaiting === 'true';
  const page = readPage(context, 'transaction_intents', query);
  const found = await store.list(tenant, intentType, {
    indices: [
      'intents',
      ...(status === undefined ? [] : [ofStatusIndex(status)]),
      ...(isInbox ? [ofStatusIndex('pending_approval')] : []),
      ...(connection === undefined ? [] : [ofConnectionIndex(connection)]),
      ...(externalId === undefined ? [] : [externalIdIndex(externalId)]),
      ...(metadata === undefined ? [] : [metadataIndex('intents:metadata', metadata)]),
    ],
    ...visibleIndices(principal, ofConnectionIndex),
    order: 'newest',
    ...page.query,
    ...readCreated(query),
  });
  const items = isInbox ? found.items.filter((intent) => awaitsVoteOf(intent, actorOf(principal), nowMs)) : found.items;
  return { status: 200, body: listBody('transaction_intents', { ...found, items }, intentView, page) };
}
