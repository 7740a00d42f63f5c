/** Receipts and votes as a gateway signs them, for intents that no evaluator has decided about. */

import type { IntentDependencies } from '../../../../../wallets/custody/intents/dependencies.ts';
import type { Evaluators } from '../../../../../wallets/custody/intents/evaluators.ts';
import type { PolicyDecision, RiskResult, TransactionFacts } from '../../../../../wallets/custody/intents/facts.ts';
import type { IntentDraft } from '../../../../../wallets/custody/intents/machine.ts';
import { unitsText } from '../../../../../wallets/custody/intents/view.ts';
import { VoteSeal } from '../../../../../wallets/custody/intents/votes.ts';
import { receiptClaims, receiptSigner } from '../../../../../wallets/policy/receipts/public.ts';

const seed = new Uint8Array(32).fill(3);
const signer = receiptSigner(seed);

export const votes = new VoteSeal(seed);

/** The part of the evaluators that concerns receipts. */
export const receipts: Pick<Evaluators, 'receipt' | 'readReceipt'> = {
  receipt: ({ tenant }, facts, decision, risk, fee) =>
    signer.sign(receiptClaims(tenant, 'transaction_intent', facts, decision, risk, fee)),
  readReceipt: (receipt) => signer.read(receipt) as ReturnType<Evaluators['readReceipt']>,
};

/** The dependencies that check orders. */
export const proofs = { votes, evaluators: receipts } as Pick<IntentDependencies, 'votes' | 'evaluators'>;

/** The draft with the receipt that decides about it. */
export function decided(tenant: string, draft: IntentDraft, approvals?: PolicyDecision['approvals']): IntentDraft {
  const { asset, units } = draft.feeReserve;
  const facts = { ...draft, toAddress: draft.destination.address, units: BigInt(draft.units), nowMs: 0 };
  const decision = {
    ...draft,
    id: 'dec_1',
    matchedRules: [],
    decision: approvals ? 'require_approval' : 'allow',
    approvals,
  };
  const policyReceipt = receipts.receipt(
    { tenant } as Parameters<Evaluators['receipt']>[0],
    facts as unknown as TransactionFacts,
    decision as unknown as PolicyDecision,
    { score: 0 } as RiskResult,
    { asset, limit: unitsText(asset, BigInt(units)) },
  );
  return { ...draft, policyReceipt };
}
