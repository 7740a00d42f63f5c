/** The signature of a message by the key of an EVM wallet. Nothing is sent: an intent of a message is over when it is signed. */
import { hashOfMessage } from '../../networks/evm-messages.ts';
import { networkOf } from '../../networks/networks.ts';
import {
  type CallMeta,
  ProviderRejected,
  type SignedMessage,
  type Transfer,
  type TransferProgress,
} from '../port/port.ts';
import type { ClusterSigner } from './cluster-signer.ts';
import { assertMessageDecided } from './decided.ts';
import { assertSigner, parityOf } from './evm-line.ts';
import { notSubmitted } from './progress.ts';

/** May be repeated: a purpose has one signature. Throws NotDecided, ProviderUnavailable. */
export async function signMessage(
  meta: CallMeta,
  signer: ClusterSigner,
  transfer: Transfer,
): Promise<TransferProgress> {
  const { intent, wallet } = transfer;
  if (intent.message === undefined) throw new Error(`${intent.id} has no message`);
  const hash = hashOfMessage(intent.message);
  assertMessageDecided(transfer, hash);
  const feeAsset = networkOf(wallet.network).nativeAsset;
  const message = Buffer.from(hash.slice(2), 'hex');
  try {
    const signed = await signer.sign(meta, {
      walletId: wallet.id,
      purpose: intent.id,
      message,
      networkId: wallet.network,
      policyReceipt: intent.policyReceipt ?? '',
    });
    assertSigner(wallet, message, signed);
    const bytes = Buffer.concat([signed.signature, Uint8Array.of(27 + parityOf(signed))]);
    const submission: SignedMessage = {
      signature: `0x${bytes.toString('hex')}`,
      signingSessionIds: [signed.sessionId],
    };
    const feePaid = { asset: feeAsset, units: 0n };
    return { stage: 'completed', providerTxId: null, providerStatus: 'SIGNED', feePaid, submission };
  } catch (error) {
    if (!(error instanceof ProviderRejected)) throw error;
    const { providerCode: code, message: why } = error;
    return notSubmitted(feeAsset, { code, message: why }, { subStatus: 'REJECTED_BY_PROVIDER' });
  }
}
