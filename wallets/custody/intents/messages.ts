/**
 * Intents that sign a message instead of a transaction. They are evaluated, approved and signed like transfers, and sent nowhere. A
 * policy allows one only by a rule that names its kind (wallets/policy/policies/evaluate.ts).
 */
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { assetOf } from '../../networks/assets.ts';
import { textMessage } from '../../networks/evm-messages.ts';
import { networkOf } from '../../networks/networks.ts';
import type { IntentDependencies } from './dependencies.ts';
import { addressOn, evaluateOperation, type TransferEvaluation } from './evaluation.ts';
import type { FoundWallet } from './lookup.ts';
import type { IntentOrigin } from './record.ts';

export interface MessageRequest {
  readonly message: string;
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
  { message: text, policy, metadata }: MessageRequest,
): Promise<TransferEvaluation> {
  const { wallet } = found;
  const message = textMessage(text);
  if (message === undefined) {
    const remedy = 'takes the message itself, not its digest: the service hashes it (EIP-191)';
    throw invalidFields([{ field: 'message', issue: 'invalid_value', message: remedy }]);
  }
  return evaluateOperation(deps, context, found, {
    id: context.newId('txi'),
    kind: 'message',
    asset: assetOf(networkOf(wallet.network).nativeAsset)!,
    units: 0n,
    toAddress: addressOn(wallet),
    message,
    policy,
    metadata,
  });
}
