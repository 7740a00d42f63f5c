/**
 * Evaluates a transfer out of a wallet before anything is written: it checks the fields, gets the provider's fee, and runs
 * compliance, risk and policy, in this order. Intents are made from the result, and dry runs return it.
 */

import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import { type FieldIssue, ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { addressProblem, canonicalAddress, isLostAddress } from '../../networks/addresses.ts';
import { amountTakes, formatAmount, parseAmount } from '../../networks/amounts.ts';
import { type Asset, assetsOn, type TokenTerms } from '../../networks/assets.ts';
import type { EvmMessage } from '../../networks/evm-messages.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { EvmCall } from '../../networks/token-calls.ts';
import { isMessage } from '../../providers/port/kinds.ts';
import {
  type FeeChoice,
  type IntentKind,
  messagesCapability,
  type NewBalance,
  type Quote,
  type ReplacedTransfer,
  tokensCapability,
} from '../../providers/port/port.ts';
import { merge } from '../../store/changes.ts';
import { type Change, StoreTampered } from '../../store/contract.ts';
import { findAsset, type KnownAsset, type TokenAssetRecord, termsOf, unchangedToken } from '../assets/token-assets.ts';
import { type ConnectionRecord, connectionType } from '../connections/public.ts';
import { adapterOf, metaOf } from '../provider-calls/calling.ts';
import { unfrozenTenant } from '../tenant/public.ts';
import { type WalletRecord, walletStates } from '../wallets/public.ts';
import type { IntentDependencies } from './dependencies.ts';
import type { PolicyDecision, RiskResult, ScreeningResult, TransactionFacts } from './facts.ts';
import { historyOf } from './history.ts';
import { unitsTaken } from './ledger.ts';
import type { FoundWallet } from './lookup.ts';
import type { IntentOrigin } from './record.ts';

export interface TransferRequest {
  readonly asset: string;
  readonly amount: string;
  readonly destination: { readonly address: string };
  readonly policy?: string | undefined;
  readonly external_id?: string | undefined;
  readonly metadata?: MetadataValue | undefined;
  readonly fees?: FeeChoice;
  /** Its origin; a client's transfer has none. */
  readonly origin?: IntentOrigin;
}

/** The validated fields of an intent. */
export interface IntentOperation {
  /** The intent's. */
  readonly id: string;
  readonly kind: IntentKind;
  readonly asset: Asset;
  readonly units: bigint;
  /** Canonical. Of a deployment: the wallet's own; of a permit: the spender; of a burn: the zero address. */
  readonly toAddress: string;
  readonly message?: EvmMessage;
  readonly call?: EvmCall | undefined;
  readonly token?: TokenTerms | undefined;
  readonly policy?: string | undefined;
  readonly metadata?: MetadataValue | undefined;
  readonly fees?: FeeChoice | undefined;
  readonly replaces?: ReplacedTransfer;
  /** What is set aside for it already, by asset: of a replacement, all that its rivals have. */
  readonly held?: ReadonlyMap<string, bigint>;
}

export interface TransferEvaluation {
  readonly operation: IntentOperation;
  readonly facts: TransactionFacts;
  readonly connection: ConnectionRecord;
  readonly quote: Quote;
  readonly screening: ScreeningResult;
  readonly risk: RiskResult;
  readonly decision: PolicyDecision;
  /** What it sets aside beyond `held`. */
  readonly beyond: readonly NewBalance[];
  /** Whether the wallet held amount and fee when it was read; the ledger alone decides. */
  readonly sufficientFunds: boolean;
  /** The records of the evaluators. */
  readonly change: Change;
}

/** Throws ServiceError, ProviderRejected, ProviderUnavailable. */
export async function evaluateTransfer(
  deps: IntentDependencies,
  context: RequestContext,
  found: FoundWallet,
  request: TransferRequest,
): Promise<TransferEvaluation> {
  const { asset, units, toAddress } = checkFields(found.wallet, request, await findAsset(context, request.asset));
  return evaluateMovement(deps, context, found, {
    id: context.newId('txi'),
    kind: 'transfer',
    asset,
    units,
    toAddress,
    policy: request.policy,
    fees: request.fees,
    metadata: request.metadata,
  });
}

/** Of an asset that may be the tenant's own token, whose units do not move while it is frozen. */
export async function evaluateMovement(
  deps: IntentDependencies,
  context: RequestContext,
  found: FoundWallet,
  operation: IntentOperation & { readonly asset: KnownAsset },
): Promise<TransferEvaluation> {
  const { token } = operation.asset;
  if (token?.status === 'frozen') throw tokenFrozen(token);
  const known = { ...operation, ...(token !== undefined && { token: termsOf(token) }) };
  const evaluation = await evaluateOperation(deps, context, found, known);
  if (token === undefined) return evaluation;
  return { ...evaluation, change: merge(evaluation.change, { guards: [unchangedToken(token)] }) };
}

/** Throws ServiceError, ProviderRejected, ProviderUnavailable. */
export async function evaluateOperation(
  deps: IntentDependencies,
  context: RequestContext,
  { wallet, balances }: FoundWallet,
  operation: IntentOperation,
): Promise<TransferEvaluation> {
  const { id, kind, asset, units, toAddress, message, call, token, fees, replaces } = operation;
  if (!isAllowedIn(walletStates.transfer, wallet.status)) throw walletNotActive(wallet.status);
  const adapter = adapterOf(deps, wallet.provider);
  if (token !== undefined && !adapter.info.capabilities.includes(tokensCapability)) {
    throw noTokens(adapter.info.displayName);
  }
  if (message !== undefined && !adapter.info.capabilities.includes(messagesCapability)) {
    throw notSupported(
      'wallet.provider',
      `${adapter.info.displayName} signs no messages: only wallets of our cluster do`,
    );
  }
  const [chosen] = Object.keys(fees ?? {});
  if (chosen !== undefined && adapter.info.hosting !== 'self_hosted') {
    throw notSupported(chosen, `${adapter.info.displayName} sets the fee of its transfers itself`);
  }
  const [connection, history, unfrozen] = await Promise.all([
    usableConnection(context, wallet.connectionId),
    historyOf(context, wallet.id, toAddress),
    unfrozenTenant(context),
  ]);
  const amount = formatAmount(units, asset.decimals);
  const quote = await adapter.quote(metaOf(context), {
    intentId: id,
    kind,
    wallet,
    asset: asset.symbol,
    amount,
    units,
    toAddress,
    ...(token !== undefined && { token }),
    ...(call !== undefined && { call }),
    ...(fees !== undefined && { fees }),
    ...(replaces !== undefined && { replaces }),
  });
  const facts: TransactionFacts = {
    id,
    walletId: wallet.id,
    walletName: wallet.name,
    connectionId: wallet.connectionId,
    provider: wallet.provider,
    network: wallet.network,
    kind,
    asset: asset.symbol,
    amount,
    units,
    decimals: asset.decimals,
    token,
    message,
    call,
    ...(replaces !== undefined && { replaces: { id: replaces.id, root: replaces.root } }),
    fromAddress: addressOn(wallet),
    toAddress,
    availableUnits: balances.get(asset.symbol)?.available ?? 0n,
    initiator: actorOf(context.principal),
    wantsHuman: wallet.approvalMode === 'human_required',
    metadata: operation.metadata ?? {},
    history,
    nowMs: context.nowMs,
  };
  const screened = await deps.evaluators.screen(context, facts);
  const assessed = await deps.evaluators.assess(context, facts, screened.result);
  const policyNames = [wallet.policy, operation.policy].flatMap((name) => name ?? []);
  const decided = await deps.evaluators.decide(context, facts, screened.result, assessed.result, policyNames);
  const beyond = beyondOf(operation, quote, unitsTaken(facts));
  return {
    operation,
    facts,
    beyond,
    connection,
    quote,
    screening: screened.result,
    risk: assessed.result,
    decision: decided.result,
    sufficientFunds: beyond.every((need) => (balances.get(need.asset)?.available ?? 0n) >= need.units),
    change: merge(screened.change, assessed.change, decided.change, { guards: [unfrozen] }),
  };
}

export function walletNotActive(status: string): ServiceError {
  return new ServiceError('conflict', `the wallet is ${status}: it takes no transaction intents`, {
    details: [{ field: 'wallet.status', issue: status }],
  });
}

/** 422: the request is right, and what it is about cannot do it. */
export function notSupported(field: string, message: string): ServiceError {
  return new ServiceError('providerRejected', message, { details: [{ field, issue: 'not_supported', message }] });
}

function tokenFrozen({ symbol }: TokenAssetRecord): ServiceError {
  return new ServiceError('conflict', `the token ${symbol} is frozen: its units cannot be transferred`, {
    details: [{ field: 'asset', issue: 'frozen' }],
  });
}

function noTokens(provider: string): ServiceError {
  const message = `${provider} holds no tokens of tenants`;
  return new ServiceError('providerRejected', message, {
    details: [{ field: 'asset', issue: 'unsupported_asset', message }],
  });
}

/** All faults at once. `known`: what the tenant knows by this symbol. Throws ServiceError. */
function checkFields(
  wallet: WalletRecord,
  request: TransferRequest,
  known: KnownAsset | undefined,
): { readonly asset: KnownAsset; readonly units: bigint; readonly toAddress: string } {
  const issues: FieldIssue[] = [];
  const asset = known?.network === wallet.network ? known : undefined;
  if (asset === undefined) {
    const symbols = assetsOn(wallet.network).map(({ symbol }) => symbol);
    const message = `assets of this wallet’s network: ${symbols.join(', ')}`;
    issues.push({ field: 'asset', issue: known === undefined ? 'unknown_asset' : 'not_allowed_value', message });
  }
  // Even without the asset, the form and the sign can be checked.
  const units = parseAmount(request.amount, asset?.decimals ?? 30);
  if (typeof units === 'string') {
    issues.push({ field: 'amount', issue: units, message: amountTakes(units, asset?.decimals) });
  }
  const { address } = request.destination;
  issues.push(...destinationIssues(wallet.network, address));
  if (issues.length > 0 || asset === undefined || typeof units === 'string') {
    throw invalidFields(issues, 'the transfer');
  }
  return { asset, units, toAddress: usableDestination(wallet.network, address) };
}

/** At most one. */
export function destinationIssues(network: NetworkId, address: string): FieldIssue[] {
  const problem = addressProblem(network, address);
  if (problem === undefined) return [];
  return [{ field: 'destination.address', issue: problem, message: `takes an address of ${network}` }];
}

/** The canonical form of an address without issues. Throws ServiceError for one whose funds are lost. */
export function usableDestination(network: NetworkId, address: string): string {
  const toAddress = canonicalAddress(network, address);
  if (isLostAddress(network, toAddress)) throw unsupportedDestination();
  return toAddress;
}

function unsupportedDestination(): ServiceError {
  const message = 'money sent to this address cannot be spent';
  return new ServiceError('providerRejected', `the destination is not supported: ${message}`, {
    details: [{ field: 'destination.address', issue: 'unsupported_destination', message }],
  });
}

async function usableConnection(context: RequestContext, id: string): Promise<ConnectionRecord> {
  const connection = await context.store.read(context.tenant, connectionType, id);
  if (connection === undefined) throw new StoreTampered(id, new Error('it is missing, and a wallet names it'));
  if (connection.status === 'disconnected') {
    throw new ServiceError('conflict', 'the provider connection of the wallet is disconnected', {
      details: [{ field: 'wallet.provider_connection_id', issue: 'disconnected' }],
    });
  }
  return connection;
}

function beyondOf({ kind, asset, held }: IntentOperation, { fee }: Quote, taken: bigint): NewBalance[] {
  if (isMessage(kind)) return [];
  const needs = new Map([[asset.symbol, taken]]);
  needs.set(fee.asset, (needs.get(fee.asset) ?? 0n) + fee.units);
  return [...needs]
    .map(([symbol, need]) => ({ asset: symbol, units: need - (held?.get(symbol) ?? 0n) }))
    .filter((beyond) => beyond.units > 0n);
}

export function addressOn({ id, network, addresses }: WalletRecord): string {
  const found = addresses.find((entry) => entry.network === network);
  if (found === undefined) throw new Error(`wallet ${id} has no address on its network`);
  return found.address;
}
