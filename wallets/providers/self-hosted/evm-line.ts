/** EVM: one EIP-1559 transaction an intent, whose nonce is the number that the store allocated. */

import { recoverEcdsa } from '../../../core/crypto/mock-ecdsa.ts';
import { assetOf, assetsOn, type TokenTerms } from '../../networks/assets.ts';
import { callData, callOf, type EvmCall, type TokenCall, targetOf } from '../../networks/token-calls.ts';
import {
  type EvmAction,
  type EvmChain,
  type EvmFees,
  gasOf,
  readUnsignedEvm,
  type SubmitOptions,
  signedEvm,
  unsignedEvm,
} from '../chains/public.ts';
import {
  type CallMeta,
  type FeeTerms,
  type FillerTransaction,
  type HeldWallet,
  type IntentKind,
  ProviderRejected,
} from '../port/port.ts';
import type { ClusterSignature, ClusterSigner } from './cluster-signer.ts';
import { assertDecided, type TransactionEffect } from './decided.ts';
import { chooseEvmFees, chooseGasLimit, evmFeesOf } from './fee-choice.ts';
import { addressOf, type Line, publicKeyOf, wrongSignature } from './line.ts';

export function evmLine(chain: EvmChain): Line {
  return {
    chain,
    async quote({ kind, asset, units, toAddress, token, call, wallet, fees: choice = {}, replaces }) {
      const receiver = toAddress.toLowerCase();
      const contracts = [...assetsOn(wallet.network), ...(token === undefined ? [] : [token])];
      if (contracts.some(({ contract }) => contract?.toLowerCase() === receiver)) {
        throw new ProviderRejected('units sent to a token’s own contract are lost', {
          field: 'destination.address',
          issue: 'unsupported_destination',
          providerCode: 'CONTRACT_DESTINATION',
        });
      }
      const fees = chooseEvmFees(choice, await chain.market(), replaces && (replaces.fees ?? { fee_level: null }));
      const { maxFeePerGas } = evmFeesOf(fees);
      const action = actionOf({ kind, asset, units, to: toAddress, token, call });
      if (action.kind === 'call') await assertAllowed(chain, wallet, action.contract, asset, action.call);
      const gasLimit = chooseGasLimit(choice, action);
      return {
        units: maxFeePerGas * (gasLimit ?? gasOf(action)),
        fees: { ...fees, ...(gasLimit !== undefined && { gas_limit: String(gasLimit) }) },
      };
    },
    receiptOf: (transaction) => chain.receiptOf(transaction),
    sequenceCounter: ({ id }) => `nonce:${id}`,
    async submit(meta, signer, transfer, fails) {
      const { intent, wallet, number } = transfer;
      if (number === undefined) throw new Error(`transfer ${intent.id} has no nonce`);
      const { transaction, raw, sessionId } = await signAndSubmit(meta, signer, chain, wallet, {
        fees: evmFeesOf(intent.fees),
        gasLimit: intent.fees?.gas_limit === undefined ? undefined : BigInt(intent.fees.gas_limit),
        action: actionOf({ ...intent, units: BigInt(intent.units), to: intent.destination.address }),
        nonce: number,
        purpose: intent.id,
        policyReceipt: intent.policyReceipt ?? '',
        options: { fails },
        check: (effect) => assertDecided(transfer, effect),
      });
      return { kind: 'taken', transaction, raw, signingSessionIds: [sessionId] };
    },
  };
}

/**
 * Uses a nonce that later transactions wait for and that no transfer will use: the wallet sends itself zero. A nonce is filled
 * once, also for repeated calls.
 */
export async function fillNonce(
  meta: CallMeta,
  signer: ClusterSigner,
  chain: EvmChain,
  wallet: HeldWallet,
  nonce: number,
  fees: FeeTerms | undefined,
): Promise<{ readonly transaction: FillerTransaction; readonly feeUnits: bigint }> {
  // It pays the same whenever it is mined, and whatever the market is then: its fee is known at once.
  const { maxFeePerGas } = evmFeesOf(fees);
  const { transaction, raw, sessionId } = await signAndSubmit(meta, signer, chain, wallet, {
    action: { kind: 'coin', units: 0n, to: addressOf(wallet) },
    nonce,
    fees: { maxFeePerGas, maxPriorityFeePerGas: maxFeePerGas },
    purpose: `${wallet.id}:fill:${nonce}`,
    policyReceipt: '',
    options: {},
    check: () => undefined,
  });
  const { id, feeUnits } = transaction;
  return { transaction: { id, rawTransaction: raw, signingSessionIds: [sessionId] }, feeUnits };
}

interface Wanted {
  readonly kind: IntentKind;
  /** Symbol. */
  readonly asset: string;
  readonly units: bigint;
  readonly to: string;
  readonly token?: TokenTerms | undefined;
  readonly call?: EvmCall | undefined;
}

function actionOf({ kind, asset, units, to, token, call }: Wanted): EvmAction {
  if (call !== undefined) return { kind: 'call', contract: call.contract, call: callOf(call) };
  if (kind === 'deploy') {
    if (token === undefined) throw new Error('a deployment names its token');
    const { name, symbol, decimals, supplyCap } = token;
    return { kind, token: { name, symbol, decimals, cap: BigInt(supplyCap) } };
  }
  const known = token ?? assetOf(asset);
  if (known === undefined) throw new Error(`asset ${asset} is not registered`);
  const { contract } = known;
  if (contract === null) return { kind: 'coin', to, units };
  if (kind === 'burn') return { kind: 'call', contract, call: { kind, units } };
  return { kind: 'call', contract, call: { kind: kind === 'mint' ? kind : 'transfer', to, units } };
}

/** As a node that estimates the gas of `transferFrom`. What changes before it is mined makes it fail on the chain. */
async function assertAllowed(
  chain: EvmChain,
  wallet: HeldWallet,
  contract: string,
  asset: string,
  call: TokenCall,
): Promise<void> {
  if (call.kind !== 'transferFrom') return;
  const { from, units } = call;
  const own = addressOf(wallet).toLowerCase();
  const given = (await chain.allowances(from)).find(
    (one) => one.spender === own && one.contract === contract.toLowerCase(),
  );
  const allowed = given === undefined ? 0n : (given.units ?? units);
  const refused = (issue: string, message: string) =>
    new ProviderRejected(`data: ${message}`, { field: 'data', issue, providerCode: issue.toUpperCase() });
  if (allowed < units) {
    throw refused('insufficient_allowance', `${from} lets this wallet move ${allowed} units, by \`approve\``);
  }
  const balances = await chain.balances(from);
  const held = balances.get(asset) ?? balances.get(contract.toLowerCase()) ?? 0n;
  if (held < units) throw refused('insufficient_funds', `${from} holds ${held} units`);
}

interface EvmOrder {
  readonly action: EvmAction;
  readonly nonce: number;
  readonly fees: EvmFees;
  readonly gasLimit?: bigint | undefined;
  readonly purpose: string;
  readonly policyReceipt: string;
  readonly options: SubmitOptions;
  /** Throws if this may not be signed. */
  readonly check: (effect: TransactionEffect) => void;
}

function effectOf(network: HeldWallet['network'], bytes: Uint8Array): TransactionEffect {
  const { action, feeMax } = readUnsignedEvm(network, bytes);
  switch (action.kind) {
    case 'coin':
      return { kind: 'transfer', contract: null, units: action.units, to: action.to, feeMax };
    case 'call': {
      const { contract, call } = action;
      const to = call.kind === 'burn' ? undefined : targetOf(call);
      const data = `0x${Buffer.from(callData(call)).toString('hex')}`;
      return { kind: call.kind, contract, units: call.units, to, feeMax, data };
    }
    case 'deploy':
      return { kind: 'deploy', contract: null, units: 0n, to: undefined, feeMax };
  }
}

async function signAndSubmit(
  meta: CallMeta,
  signer: ClusterSigner,
  chain: EvmChain,
  wallet: HeldWallet,
  { action, nonce, fees, gasLimit, purpose, policyReceipt, options, check }: EvmOrder,
) {
  const unsigned = unsignedEvm({ action, nonce: BigInt(nonce), network: wallet.network, fees, gasLimit });
  check(effectOf(wallet.network, unsigned.bytes));
  const signature = await signer.sign(meta, {
    walletId: wallet.id,
    purpose,
    message: unsigned.digest,
    networkId: wallet.network,
    policyReceipt,
  });
  assertSigner(wallet, unsigned.digest, signature);
  const raw = signedEvm(unsigned, signature.signature, parityOf(signature));
  const transaction = await chain.submit(raw, meta.nowMs, options);
  return { transaction, raw: `0x${Buffer.from(raw).toString('hex')}`, sessionId: signature.sessionId };
}

/** Who has signed follows from the signature: another one would spend from, or speak for, another account. */
export function assertSigner(
  wallet: HeldWallet,
  digest: Uint8Array,
  { signature, recoveryId = 0 }: ClusterSignature,
): void {
  const sender = recoverEcdsa({ signature, recoveryId, digest });
  if (sender === undefined || Buffer.compare(sender, publicKeyOf(wallet)) !== 0) throw wrongSignature();
}

/** Ethereum writes one bit: a nonce point whose abscissa passed the order, once in 2^127, cannot be encoded. */
export function parityOf({ recoveryId }: ClusterSignature): number {
  if (recoveryId !== 0 && recoveryId !== 1) throw new Error(`an EVM signature cannot have recovery id ${recoveryId}`);
  return recoveryId;
}
