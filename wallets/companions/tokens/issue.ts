/** A new token: its record, its symbol, and the intent that deploys its contract from the issuer's wallet, in one change. */
import type { Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { type FieldIssue, ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Answer, RequestContext } from '../../../gateway/api/route.ts';
import { tokenAssetId, tokenAssetType } from '../../custody/assets/token-assets.ts';
import {
  draftOf,
  evaluateOperation,
  findWallet,
  type IntentDependencies,
  type IntentQueue,
  openingOf,
  refuseIntent,
  verdictOf,
} from '../../custody/intents/public.ts';
import { amountTakes, parseAmount } from '../../networks/amounts.ts';
import { assetOf, type TokenTerms } from '../../networks/assets.ts';
import { networkOf } from '../../networks/networks.ts';
import { create, merge } from '../../store/changes.ts';
import { tokenChange } from './effects.ts';
import { intentIdOf, type OwnTokenRecord, tokenOrigin } from './record.ts';
import type { CreateBody } from './schemas.ts';
import { tokenView } from './view.ts';

export interface TokenDeps {
  readonly intents: IntentDependencies;
  readonly driver: IntentQueue;
}

/** The digits of the largest amount that an account of the chain can hold. */
const unitDigitsMax = 42;

/** Throws ServiceError, ProviderRejected, ProviderUnavailable. */
export async function issueToken(
  { intents, driver }: TokenDeps,
  context: RequestContext,
  body: Static<typeof CreateBody>,
): Promise<Answer> {
  const { nowMs } = context;
  const terms = termsOf(body);
  const found = await findWallet(context, body.issuer_wallet_id);
  const { wallet } = found;
  if (wallet.network !== body.network) {
    throw invalidFields([
      { field: 'issuer_wallet_id', issue: 'wrong_network', message: `takes a wallet on ${body.network}` },
    ]);
  }
  await assertSymbolFree(context, terms.symbol);
  const id = context.newId('tkn');
  const address = wallet.addresses.find(({ network }) => network === wallet.network)?.address;
  if (address === undefined) throw new Error(`wallet ${wallet.id} has no address on its network`);
  const evaluation = await evaluateOperation(intents, context, found, {
    id: intentIdOf(id),
    kind: 'deploy',
    asset: assetOf(networkOf(wallet.network).nativeAsset)!,
    units: 0n,
    toAddress: address,
    token: terms,
    policy: body.policy,
    metadata: body.metadata,
  });
  const draft = { ...draftOf(intents, context, found, evaluation), origin: { kind: tokenOrigin, id } };
  const { connection } = evaluation;
  const opening = openingOf(context, { draft, verdict: verdictOf(evaluation), wallet, connection });
  const token: OwnTokenRecord = {
    ...terms,
    id,
    version: 1,
    status: 'deploying',
    issuerWalletId: wallet.id,
    connectionId: wallet.connectionId,
    provider: wallet.provider,
    intentId: draft.id,
    error: null,
    freezeReason: null,
    metadata: body.metadata ?? {},
    correlationId: context.requestId,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  const asset = { ...terms, id: tokenAssetId(terms.symbol), version: 1, status: 'deploying' } as const;
  return {
    status: 201,
    body: tokenView(token, new Map()),
    headers: { location: `/v1/tokens/${id}` },
    change: merge(evaluation.change, opening.change, tokenChange(context, 'created', undefined, token), {
      puts: [create(tokenAssetType, asset)],
    }),
    onRefusal: refuseIntent,
    ...(opening.intent.status === 'approved' && {
      afterCommit: () => driver.enqueue(context.tenant, opening.intent, wallet),
    }),
  };
}

/** Throws ServiceError 400. */
function termsOf({ symbol, name, network, decimals, supply_cap: cap }: Static<typeof CreateBody>): TokenTerms {
  const issues: FieldIssue[] = [];
  if (networkOf(network).family !== 'evm') {
    issues.push({ field: 'network', issue: 'not_allowed_value', message: 'takes an EVM network' });
  }
  const units = parseAmount(cap, decimals);
  if (typeof units === 'string') {
    issues.push({ field: 'supply_cap', issue: units, message: amountTakes(units, decimals) });
  } else if (units.toString().length > unitDigitsMax) {
    issues.push({
      field: 'supply_cap',
      issue: 'too_large',
      message: `at most ${unitDigitsMax} digits with its decimals`,
    });
  }
  if (issues.length > 0 || typeof units === 'string') throw invalidFields(issues);
  return { symbol, name, network, decimals, contract: null, supplyCap: units.toString() };
}

/** Throws ServiceError 409. Of two concurrent requests the store refuses one, which reads again. */
async function assertSymbolFree({ store, tenant }: RequestContext, symbol: string): Promise<void> {
  const taken = assetOf(symbol) ?? (await store.read(tenant, tokenAssetType, tokenAssetId(symbol)));
  if (taken === undefined) return;
  throw new ServiceError('conflict', `the symbol ${symbol} is taken`, {
    details: [{ field: 'symbol', issue: 'symbol_taken', message: 'an asset of the registry or your own token has it' }],
  });
}
