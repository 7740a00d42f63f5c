/** What other modules use of risk: rules in force, and the assessment of a transaction. */
export { assessTransaction, ruleInputOf } from './assess.ts';
export { decisiveHabits } from './habits.ts';
export { evictRiskRules } from './load.ts';
export { riskRoutes } from './routes.ts';
export { Expression, RiskRule, Warning } from './schemas.ts';
export { factsOfRequest, subjectOfEvaluation } from './transaction.ts';
