/** What other modules use of intents: the record and its facts, the port to those who decide, the driver. */

export { createIntent } from './creation.ts';
export type { IntentDependencies, IntentQueue } from './dependencies.ts';
export { IntentDriver } from './driver.ts';
export type { EvaluatorResult, Evaluators } from './evaluators.ts';
export type {
  DryRunDecision,
  PolicyDecision,
  PolicyTraceLine,
  RiskFactor,
  RiskResult,
  ScreeningDecision,
  ScreeningMatch,
  ScreeningResult,
  TransactionFacts,
} from './facts.ts';
export { historyOf, withoutOwn } from './history.ts';
export type { IntentRecord } from './record.ts';
export { intentType, ofWalletIndex, toDestinationIndex, txIndex } from './record.ts';
export { intentRoutes } from './routes.ts';
export { Intent } from './schemas.ts';
export { isFinal, isSubmitted } from './states.ts';
