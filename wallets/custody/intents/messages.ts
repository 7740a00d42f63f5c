/**
 * Intents that sign a message instead of a transaction. They are evaluated, approved and signed like transfers, and sent nowhere. A
 * policy allows one only by a rule that names its kind (wallets/policy/policies/evaluate.ts). A permit is decided as a transfer too.
 */
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { canonicalAddress } from '../../networks/addresses.ts';
import { assetOf } from '../../networks/assets.ts';
import { type EvmMessage, textMessage, typedMessage } from '../../networks/evm-messages.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { looksLikePermit, permitOf } from '../../networks/permits.ts';
import { InvalidTypedData, readTypedData, type TypedData } from '../../networks/typed-data.ts';
import { findAssetAt, type KnownAsset } from '../assets/token-assets.ts';
import type { WalletRecord } from '../wallets/public.ts';
import type { IntentDependencies } from './dependencies.ts';
import {
  addressOn,
  evaluateMovement,
  type IntentOperation,
  notSupported,
  type TransferEvaluation,
} from './evaluation.ts';
import type { FoundWallet } from './lookup.ts';
import type { IntentOrigin } from './record.ts';

export interface MessageRequest {
  readonly message?: string | undefined;
  /** Of any values: they are checked here. */
  readonly typed_data?: TypedData | undefined;
  readonly policy?: string | undefined;
  readonly external_id?: string | undefined;
  readonly metadata?: MetadataValue | undefined;
  readonly origin?: IntentOrigin;
}

/** Throws ServiceError, ProviderRejected, ProviderUnavailable. */
export async function evaluateMessage(
  deps: IntentDependencies,
  context: RequestContext,
  found: FoundWallet,
  { message: text, typed_data: typedData, policy, metadata }: MessageRequest,
): Promise<TransferEvaluation> {
  const { wallet } = found;
  const { family, name, nativeAsset } = networkOf(wallet.network);
  if (family !== 'evm') throw notSupported('wallet.network', `wallets on ${name} sign no messages: EVM wallets do`);
  const message = readMessage(wallet.network, text, typedData);
  return evaluateMovement(deps, context, found, {
    id: context.newId('txi'),
    kind: message.typedData === undefined ? 'message' : 'typed_data',
    ...((await permitted(context, wallet, message)) ?? {
      asset: assetOf(nativeAsset)!,
      units: 0n,
      toAddress: addressedTo(wallet, message),
    }),
    message,
    policy,
    metadata,
  });
}

function addressedTo(wallet: WalletRecord, { typedData }: EvmMessage): string {
  const { verifyingContract } = typedData?.domain ?? {};
  return typeof verifyingContract === 'string'
    ? canonicalAddress(wallet.network, verifyingContract)
    : addressOn(wallet);
}

/**
 * What a permit lets its spender take: it counts as a transfer of that. undefined: it is none. Throws ServiceError 422 for what may
 * move assets in a way that nothing here can read.
 */
async function permitted(
  context: RequestContext,
  wallet: WalletRecord,
  { typedData }: EvmMessage,
): Promise<(Pick<IntentOperation, 'units' | 'toAddress'> & { readonly asset: KnownAsset }) | undefined> {
  if (typedData === undefined) return undefined;
  const { network } = wallet;
  const { verifyingContract } = typedData.domain;
  const permit = permitOf(typedData);
  const contract = permit?.contract ?? (typeof verifyingContract === 'string' ? verifyingContract : undefined);
  const asset = contract === undefined ? undefined : await findAssetAt(context, network, contract);
  if (permit === undefined) {
    if (asset === undefined && !looksLikePermit(typedData)) return undefined;
    const takes =
      'of a token takes Permit (EIP-2612), of Permit2 PermitSingle and PermitTransferFrom, in their exact types';
    throw notSupported(
      'typed_data.primaryType',
      `what ${typedData.primaryType} moves is not known: the contract ${takes}`,
    );
  }
  if (asset === undefined) {
    throw notSupported('typed_data', `no asset of the registry, and no token of yours, has the contract ${contract}`);
  }
  if (permit.owner !== undefined && permit.owner !== addressOn(wallet).toLowerCase()) {
    throw refused('typed_data.message.owner', 'invalid_value', `must be ${addressOn(wallet)}, the wallet that signs`);
  }
  return { asset, units: permit.units, toAddress: canonicalAddress(network, permit.spender) };
}

/** Throws ServiceError 400. */
function readMessage(network: NetworkId, text: string | undefined, typedData: TypedData | undefined): EvmMessage {
  if (text !== undefined && typedData !== undefined) {
    throw refused('typed_data', 'duplicate_field', 'takes message or typed_data, not both');
  }
  if (typedData === undefined) {
    if (text === undefined) throw refused('message', 'missing_required', 'takes message or typed_data');
    const message = textMessage(text);
    if (message !== undefined) return message;
    throw refused(
      'message',
      'invalid_value',
      'takes the message itself, not its digest: the service hashes it (EIP-191)',
    );
  }
  try {
    return typedMessage(readTypedData(network, typedData));
  } catch (error) {
    if (!(error instanceof InvalidTypedData)) throw error;
    throw refused(error.field, 'invalid_value', error.message);
  }
}

function refused(field: string, issue: string, message: string): ServiceError {
  return invalidFields([{ field, issue, message }]);
}
