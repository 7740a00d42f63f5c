/** What other modules use of compliance: lists, and the screening of a transaction. */
export { evictLists } from './load.ts';
export { complianceRoutes } from './routes.ts';
export { ComplianceList, Screening } from './schemas.ts';
export { screenTransaction } from './screening.ts';
