/** What other modules use of policies: those in force, and the evaluators of an intent. */
export { makeEvaluators } from './evaluators.ts';
export { evictPolicies, findPolicy } from './load.ts';
export { policyRoutes } from './routes.ts';
export { Approver, Policy, policyLimits } from './schemas.ts';
