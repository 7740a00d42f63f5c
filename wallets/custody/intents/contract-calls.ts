/**
 * Intents that call a token's contract with data that the caller encoded. The data is decoded, and the intent is decided as what it does:
 * a rule must name the kind, and each rule is asked about the movement too, as about a transfer.
 */
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { RequestContext } from '../../../gateway/api/route.ts';
import { addressProblem, canonicalAddress } from '../../networks/addresses.ts';
import { networkOf } from '../../networks/networks.ts';
import { type CallProblem, callableText, readCall, targetOf } from '../../networks/token-calls.ts';
import type { FeeChoice } from '../../providers/port/port.ts';
import { findAssetAt } from '../assets/token-assets.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import type { IntentDependencies } from './dependencies.ts';
import { evaluateMovement, notSupported, type TransferEvaluation, usableDestination } from './evaluation.ts';
import type { FoundWallet } from './lookup.ts';
import type { IntentOrigin } from './record.ts';

export interface ContractCallRequest {
  readonly contract: string;
  readonly data: string;
  readonly policy?: string | undefined;
  readonly external_id?: string | undefined;
  readonly metadata?: MetadataValue | undefined;
  readonly fees?: FeeChoice;
  readonly origin?: IntentOrigin;
}

const remedies: Readonly<Record<CallProblem, string>> = {
  invalid_format: 'takes 0x and an even number of hex digits',
  unknown_selector: `takes a call of ${callableText}`,
  malformed_arguments:
    'takes one word of 32 bytes for each argument and nothing more; an address fills the last 20 bytes',
};

/** What a chain can count: see wallets/providers/chains/lua-units.ts. */
const unitsMax = 10n ** 42n;

/** Throws ServiceError, ProviderRejected, ProviderUnavailable. */
export async function evaluateCall(
  deps: IntentDependencies,
  context: RequestContext,
  found: FoundWallet,
  { contract, data, policy, metadata, fees }: ContractCallRequest,
): Promise<TransferEvaluation> {
  const { network, provider } = found.wallet;
  const { family, name } = networkOf(network);
  const { hosting, displayName } = adapterOf(deps, provider).info;
  if (family !== 'evm') throw notSupported('wallet.network', `wallets on ${name} call no contracts: EVM wallets do`);
  if (hosting !== 'self_hosted') {
    throw notSupported('wallet.provider', `${displayName} calls no contracts: only wallets of our cluster do`);
  }
  const problem = addressProblem(network, contract);
  if (problem !== undefined) throw refused('contract', problem, `takes an address of ${network}`);
  const asset = await findAssetAt(context, network, contract);
  if (asset === undefined) {
    throw refused('contract', 'unknown_contract', 'no asset of the registry, and no token of yours, has this contract');
  }
  const call = readCall(data);
  if (typeof call === 'string') throw refused('data', call, remedies[call]);
  if (call.kind !== 'approve' && call.units >= unitsMax)
    throw refused('data', 'insufficient_funds', 'no account can hold this amount');
  return evaluateMovement(deps, context, found, {
    id: context.newId('txi'),
    kind: 'contract_call',
    asset,
    units: call.units,
    toAddress: usableDestination(network, targetOf(call)),
    call: { contract: canonicalAddress(network, contract), data: data.toLowerCase() },
    policy,
    metadata,
    fees,
  });
}

/** 422: the call is one that the wallet must not sign. */
function refused(field: string, issue: string, message: string): ServiceError {
  return new ServiceError('providerRejected', `the call is not accepted: ${field} ${message}`, {
    details: [{ field, issue, message }],
  });
}
