/** Solana: one legacy transaction a transfer. The intent's id makes its message unique. */

import { networkOf } from '../../networks/networks.ts';
import {
  readSolanaMessage,
  rentExempt,
  type SolanaChain,
  signatureFee,
  signedSolana,
  solanaMessage,
} from '../chains/public.ts';
import { ProviderRejected, type TransferDraft } from '../port/port.ts';
import { assertDecided } from './decided.ts';
import { refuseFeeChoice } from './fee-choice.ts';
import { addressOf, type Line } from './line.ts';

/** A message names an account once, and this one is in every message. */
const systemProgram = '1'.repeat(32);

export function solanaLine(chain: SolanaChain): Line {
  return {
    chain,
    async quote(draft) {
      const { toAddress, fees = {} } = draft;
      refuseFeeChoice(fees);
      if (toAddress === systemProgram) {
        throw new ProviderRejected('a program takes no transfer', {
          field: 'destination.address',
          issue: 'unsupported_destination',
          providerCode: 'PROGRAM_DESTINATION',
        });
      }
      await refuseRent(chain, draft);
      return { units: signatureFee };
    },
    sequenceCounter: () => undefined,
    async submit(meta, signer, transfer, fails) {
      const { intent, wallet } = transfer;
      const message = solanaMessage({
        from: addressOf(wallet),
        to: intent.destination.address,
        lamports: BigInt(intent.units),
        purpose: intent.id,
      });
      const { to, lamports } = readSolanaMessage(message);
      assertDecided(transfer, { kind: 'transfer', contract: null, units: lamports, to, feeMax: signatureFee });
      const { signature, sessionId } = await signer.sign(meta, {
        walletId: wallet.id,
        purpose: intent.id,
        message,
        networkId: wallet.network,
        policyReceipt: intent.policyReceipt ?? '',
      });
      const raw = signedSolana(message, signature);
      const transaction = await chain.submit(raw, meta.nowMs, { fails });
      return { kind: 'taken', transaction, raw: Buffer.from(raw).toString('base64'), signingSessionIds: [sessionId] };
    },
  };
}

/** By the balances of now; the chain decides about those of the block. */
async function refuseRent(chain: SolanaChain, { wallet, toAddress, units }: TransferDraft): Promise<void> {
  const asset = networkOf(wallet.network).nativeAsset;
  const own = addressOf(wallet);
  if (toAddress === own) return;
  const [held = 0n, there = 0n] = await Promise.all(
    [own, toAddress].map(async (address) => (await chain.balances(address)).get(asset)),
  );
  const left = held - units - signatureFee;
  const refuse = (issue: string, why: string) => {
    const message = `an account holds nothing, or at least ${rentExempt} lamports: ${why}`;
    throw new ProviderRejected(message, { field: 'amount', issue, providerCode: 'BELOW_RENT_EXEMPTION' });
  };
  if (there + units < rentExempt) refuse('amount_too_small', `send ${rentExempt - there} or more to this one`);
  if (left > 0n && left < rentExempt && held >= rentExempt) {
    const most = held - signatureFee;
    refuse('leaves_too_little', `send all but the fee, ${most}, or at most ${most - rentExempt}`);
  }
}
