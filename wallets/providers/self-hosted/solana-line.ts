/** Solana: one legacy transaction a transfer. The intent's id makes its message unique. */

import { readSolanaMessage, type SolanaChain, signatureFee, signedSolana, solanaMessage } from '../chains/public.ts';
import { ProviderRejected } from '../port/port.ts';
import { assertDecided } from './decided.ts';
import { refuseFeeChoice } from './fee-choice.ts';
import { addressOf, type Line } from './line.ts';

/** A message names an account once, and this one is in every message. */
const systemProgram = '1'.repeat(32);

export function solanaLine(chain: SolanaChain): Line {
  return {
    chain,
    async quote({ toAddress, fees = {} }) {
      refuseFeeChoice(fees);
      if (toAddress === systemProgram) {
        throw new ProviderRejected('a program takes no transfer', {
          field: 'destination.address',
          issue: 'unsupported_destination',
          providerCode: 'PROGRAM_DESTINATION',
        });
      }
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
