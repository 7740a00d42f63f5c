/** EVM: one EIP-1559 transaction a transfer, whose nonce is the number that the store allocated. */

import { assetOf, assetsOn } from '../../networks/assets.ts';
import { networkOf } from '../../networks/networks.ts';
import {
  coinGas,
  type EvmChain,
  type EvmTransfer,
  maxFeePerGas,
  type SubmitOptions,
  signedEvm,
  tokenGas,
  unsignedEvm,
} from '../chains/public.ts';
import { type CallMeta, type FillerTransaction, type HeldWallet, ProviderRejected } from '../port/port.ts';
import type { ClusterSignature, ClusterSigner } from './cluster-signer.ts';
import { addressOf, type Line } from './line.ts';

export function evmLine(chain: EvmChain): Line {
  return {
    chain,
    feeReserve({ asset, toAddress, wallet }) {
      const receiver = toAddress.toLowerCase();
      if (assetsOn(wallet.network).some(({ contract }) => contract?.toLowerCase() === receiver)) {
        throw new ProviderRejected('what is sent to a token’s own contract is lost', {
          field: 'destination.address',
          issue: 'unsupported_destination',
          providerCode: 'CONTRACT_DESTINATION',
        });
      }
      return maxFeePerGas * (assetOf(asset)?.contract === null ? coinGas : tokenGas);
    },
    sequenceCounter: ({ id }) => `nonce:${id}`,
    async submit(meta, signer, { intent, wallet, number }, fails) {
      if (number === undefined) throw new Error(`transfer ${intent.id} has no nonce`);
      const { transaction, raw, sessionId } = await signAndSubmit(meta, signer, chain, wallet, {
        transfer: { asset: intent.asset, units: BigInt(intent.units), to: intent.destination.address, nonce: number },
        purpose: intent.id,
        policyReceipt: intent.policyReceipt ?? '',
        options: { fails },
      });
      return { kind: 'taken', transaction, raw, signingSessionIds: [sessionId] };
    },
  };
}

/**
 * Takes a nonce that later transactions wait for and that no transfer will use: the wallet sends itself nothing. The same
 * nonce is filled once, however often it is asked for.
 */
export async function fillNonce(
  meta: CallMeta,
  signer: ClusterSigner,
  chain: EvmChain,
  wallet: HeldWallet,
  nonce: number,
): Promise<{ readonly transaction: FillerTransaction; readonly feeUnits: bigint }> {
  const { transaction, raw, sessionId } = await signAndSubmit(meta, signer, chain, wallet, {
    transfer: { asset: networkOf(wallet.network).nativeAsset, units: 0n, to: addressOf(wallet), nonce },
    purpose: `${wallet.id}:fill:${nonce}`,
    policyReceipt: '',
    options: {},
  });
  const { id, feeUnits } = transaction;
  return { transaction: { id, rawTransaction: raw, signingSessionIds: [sessionId] }, feeUnits };
}

interface EvmOrder {
  readonly transfer: Omit<EvmTransfer, 'network' | 'nonce'> & { readonly nonce: number };
  readonly purpose: string;
  readonly policyReceipt: string;
  readonly options: SubmitOptions;
}

async function signAndSubmit(
  meta: CallMeta,
  signer: ClusterSigner,
  chain: EvmChain,
  wallet: HeldWallet,
  { transfer, purpose, policyReceipt, options }: EvmOrder,
) {
  const unsigned = unsignedEvm({ ...transfer, nonce: BigInt(transfer.nonce), network: wallet.network });
  const signature = await signer.sign(meta, {
    walletId: wallet.id,
    purpose,
    message: unsigned.digest,
    networkId: wallet.network,
    policyReceipt,
  });
  const raw = signedEvm(unsigned, signature.signature, parityOf(signature));
  const transaction = await chain.submit(raw, meta.nowMs, options);
  return { transaction, raw: `0x${Buffer.from(raw).toString('hex')}`, sessionId: signature.sessionId };
}

/** Ethereum writes one bit: a nonce point whose abscissa passed the order, once in 2^127, has no place there. */
function parityOf({ recoveryId }: ClusterSignature): number {
  if (recoveryId !== 0 && recoveryId !== 1) throw new Error(`an EVM signature cannot have recovery id ${recoveryId}`);
  return recoveryId;
}
