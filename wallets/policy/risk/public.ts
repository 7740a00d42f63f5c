/** What other modules use of risk: rules in force, and the assessment of a transaction. */
export { assessTransaction, ruleInputOf, viewsOf } from './assess.ts';
export { decisiveHabits } from './decisive-factors.ts';
export { evictRiskRules } from './load.ts';
export { riskRoutes } from './routes.ts';
export { Expression, RiskRule, Warning } from './schemas.ts';
export { factsOfRequest, subjectOfEvaluation } from './transaction.ts';
