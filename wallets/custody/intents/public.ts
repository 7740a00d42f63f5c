/** The exports of intents for other modules: the record and its facts, the port to the evaluators, the driver. */
export { ballotOf, checkVoter, type VoteRequest } from './approval.ts';
export { createIntent, draftOf, openingOf, refuseIntent, verdictOf } from './creation.ts';
export type { IntentDependencies, IntentQueue } from './dependencies.ts';
export { IntentDriver } from './driver.ts';
export { changeOf } from './effects.ts';
export { destinationIssues, evaluateOperation, usableDestination, walletNotActive } from './evaluation.ts';
export type { EvaluatorResult, Evaluators, FeeLimit } from './evaluators.ts';
export type {
  DryRunDecision,
  PolicyDecision,
  PolicyTraceLine,
  RiskFactor,
  RiskResult,
  RiskRuleAction,
  ScreeningDecision,
  ScreeningMatch,
  ScreeningResult,
  TransactionFacts,
} from './facts.ts';
export { historyOf, withoutOwn } from './history.ts';
export { unitsTaken } from './ledger.ts';
export { type FoundWallet, findWallet } from './lookup.ts';
export { approversOf, cancelIntent, hasVoted, type IntentDraft, type IntentVerdict } from './machine.ts';
export type { IntentOwner, SigningLeave } from './owner.ts';
export {
  type IntentRecord,
  intentType,
  isSettled,
  ofWalletIndex,
  toDestinationIndex,
  txIndex,
  type Vote,
} from './record.ts';
export { intentRoutes } from './routes.ts';
export { Actor, Intent, PolicyUsed, Trace, Votes, voteBody } from './schemas.ts';
export { isFinal, isSubmitted } from './states.ts';
export { receiptOf } from './view.ts';
export { VoteSeal } from './votes.ts';
