/**
 * Intents that sign a message instead of a transaction. They are evaluated, approved and signed like transfers, and sent nowhere. A
 * policy allows one only by a rule that names its kind (wallets/policy/policies/evaluate.ts).
 */
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { canonicalAddress } from '../../networks/addresses.ts';
import { assetOf } from '../../networks/assets.ts';
import { type EvmMessage, textMessage, typedMessage } from '../../networks/evm-messages.ts';
import { type NetworkId, networkOf } from '../../networks/networks.ts';
import { InvalidTypedData, readTypedData, type TypedData } from '../../networks/typed-data.ts';
import type { IntentDependencies } from './dependencies.ts';
import { addressOn, evaluateOperation, notSupported, type TransferEvaluation } from './evaluation.ts';
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
  const { verifyingContract } = message.typedData?.domain ?? {};
  return evaluateOperation(deps, context, found, {
    id: context.newId('txi'),
    kind: message.typedData === undefined ? 'message' : 'typed_data',
    asset: assetOf(nativeAsset)!,
    units: 0n,
    toAddress:
      typeof verifyingContract === 'string' ? canonicalAddress(wallet.network, verifyingContract) : addressOn(wallet),
    message,
    policy,
    metadata,
  });
}

/** Throws ServiceError 400. */
function readMessage(network: NetworkId, text: string | undefined, typedData: TypedData | undefined): EvmMessage {
  const refused = (field: string, issue: string, message: string) => invalidFields([{ field, issue, message }]);
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
