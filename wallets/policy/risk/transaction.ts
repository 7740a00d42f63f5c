/** Builds the facts for evaluators from a transaction in a request: from its intent, or given in full. */
import Type, { type Static } from 'typebox';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { Metadata } from '../../../gateway/api/metadata.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { Closed, DecimalText, Id } from '../../../gateway/api/schema-kit.ts';
import { mayUseConnection, noSuch } from '../../../gateway/api/visibility.ts';
import { findAsset, termsOf } from '../../custody/assets/token-assets.ts';
import { historyOf, intentType, type TransactionFacts, unitsTaken, withoutOwn } from '../../custody/intents/public.ts';
import { type WalletRecord, walletType } from '../../custody/wallets/public.ts';
import { addressProblem, canonicalAddress } from '../../networks/addresses.ts';
import { amountTakes, formatAmount, parseAmount } from '../../networks/amounts.ts';

export const TransactionBody = Closed(
  {
    wallet_id: Id('wal'),
    asset: Type.String({ minLength: 1, maxLength: 20, description: 'asset symbol' }),
    amount: DecimalText,
    destination: Closed({ address: Type.String({ minLength: 1, maxLength: 128 }) }),
    metadata: Type.Optional(Metadata),
  },
  { description: 'a transaction with the fields of an intent' },
);

export const subjectOfEvaluation = {
  intent_id: Type.Optional(Id('txi')),
  transaction: Type.Optional(TransactionBody),
} as const;

/** `id`: the id of a transaction without an intent. Throws ServiceError 400 or 404. */
export async function factsOfRequest(
  context: RequestContext,
  body: { readonly intent_id?: string | undefined; readonly transaction?: Static<typeof TransactionBody> | undefined },
  id: string,
): Promise<TransactionFacts> {
  const { intent_id: intentId, transaction } = body;
  if (intentId !== undefined && transaction !== undefined) {
    throw refused('transaction', 'invalid_value', 'give intent_id or transaction, not both');
  }
  if (transaction !== undefined) return await factsOfTransaction(context, transaction, id);
  if (intentId === undefined) throw refused('transaction', 'missing_required', 'takes intent_id or transaction');
  return await factsOfIntent(context, intentId);
}

async function factsOfTransaction(
  context: RequestContext,
  { wallet_id: walletId, asset: symbol, amount, destination, metadata = {} }: Static<typeof TransactionBody>,
  id: string,
): Promise<TransactionFacts> {
  const { wallet, available } = await walletOf(context, walletId, symbol);
  const asset = await findAsset(context, symbol);
  if (asset === undefined || asset.network !== wallet.network) throw refused('transaction.asset', 'unknown_asset');
  const units = parseAmount(amount, asset.decimals);
  if (typeof units !== 'bigint') throw refused('transaction.amount', units, amountTakes(units, asset.decimals));
  const problem = addressProblem(wallet.network, destination.address);
  if (problem !== undefined) throw refused('transaction.destination.address', problem);
  const toAddress = canonicalAddress(wallet.network, destination.address);
  return {
    ...ofWallet(wallet),
    id,
    kind: 'transfer',
    asset: symbol,
    amount: formatAmount(units, asset.decimals),
    units,
    decimals: asset.decimals,
    token: asset.token && termsOf(asset.token),
    toAddress,
    availableUnits: available,
    initiator: actorOf(context.principal),
    metadata,
    history: await historyOf(context, wallet.id, toAddress),
    nowMs: context.nowMs,
  };
}

/**
 * The present state of the intent; its amount may already be reserved, so it is counted as available. What it does not take from
 * the wallet is not.
 */
async function factsOfIntent(context: RequestContext, intentId: string): Promise<TransactionFacts> {
  const intent = await context.store.read(context.tenant, intentType, intentId);
  if (intent === undefined || !mayUseConnection(context.principal, intent.connectionId)) {
    throw noSuch('transaction intent');
  }
  const { wallet, available, reserved } = await walletOf(context, intent.walletId, intent.asset);
  const decimals = intent.token?.decimals ?? (await findAsset(context, intent.asset))?.decimals;
  if (decimals === undefined) throw new Error(`asset ${intent.asset} is not registered`);
  const units = BigInt(intent.units);
  const own = unitsTaken(intent);
  return {
    ...ofWallet(wallet),
    id: intent.id,
    kind: intent.kind,
    asset: intent.asset,
    amount: intent.amount,
    units,
    decimals,
    token: intent.token,
    message: intent.message,
    call: intent.call,
    toAddress: intent.destination.address,
    availableUnits: available + reserved - (reserved > own ? reserved - own : 0n),
    initiator: intent.initiator,
    metadata: intent.metadata,
    // The intent that is asked about is not counted.
    history: withoutOwn(
      await historyOf(context, wallet.id, intent.destination.address),
      context.nowMs,
      intent.createdAtMs,
    ),
    nowMs: context.nowMs,
  };
}

function ofWallet(wallet: WalletRecord) {
  return {
    walletId: wallet.id,
    walletName: wallet.name,
    connectionId: wallet.connectionId,
    provider: wallet.provider,
    network: wallet.network,
    fromAddress: wallet.addresses[0]?.address ?? '',
  };
}

async function walletOf(
  { store, tenant, principal }: RequestContext,
  walletId: string,
  asset: string,
): Promise<{ readonly wallet: WalletRecord; readonly available: bigint; readonly reserved: bigint }> {
  const found = await store.readWithBalances(tenant, walletType, walletId);
  if (found === undefined || !mayUseConnection(principal, found.record.connectionId)) throw noSuch('wallet');
  const { available = 0n, reserved = 0n } = found.balances.get(asset) ?? {};
  return { wallet: found.record, available, reserved };
}

function refused(field: string, issue: string, message?: string): ServiceError {
  return invalidFields([{ field, issue, ...(message === undefined ? {} : { message }) }]);
}
