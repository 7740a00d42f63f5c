/** The three evaluators and the receipt, behind the port of the intents module. */

import type { Evaluators } from '../../custody/intents/public.ts';
import { screenTransaction } from '../compliance/public.ts';
import { type ReceiptSigner, receiptClaims } from '../receipts/public.ts';
import { assessTransaction } from '../risk/public.ts';
import { decideTransaction } from './decide.ts';

export function makeEvaluators({ signer }: { readonly signer: ReceiptSigner }): Evaluators {
  return {
    screen: screenTransaction,
    assess: assessTransaction,
    decide: decideTransaction,
    receipt: ({ tenant }, facts, decision, risk, fee) =>
      signer.sign(receiptClaims(tenant, 'transaction_intent', facts, decision, risk, fee)),
    readReceipt: (receipt) => signer.read(receipt) as ReturnType<Evaluators['readReceipt']>,
  };
}
