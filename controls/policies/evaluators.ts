/** The three judges and the receipt, as the intents room calls them. */

import type { Evaluators } from '../../custody/intents/evaluators.ts';
import { screenTransaction } from '../compliance/screening.ts';
import { receiptClaims } from '../receipts/claims.ts';
import type { ReceiptSigner } from '../receipts/signer.ts';
import { assessTransaction } from '../risk/assess.ts';
import { decideTransaction } from './decide.ts';

export function makeEvaluators({ signer }: { readonly signer: ReceiptSigner }): Evaluators {
  return {
    screen: screenTransaction,
    assess: assessTransaction,
    decide: decideTransaction,
    receipt: ({ tenant }, facts, decision, risk) =>
      signer.sign(receiptClaims(tenant, 'transaction_intent', facts, decision, risk)),
  };
}
