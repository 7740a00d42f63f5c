/** The exports of the treasury. */
export { type ExchangeRecord, exchangeRecordId, exchangesIndex, exchangeType } from './exchange-record.ts';
export { planStatuses, planTransitions, tradeStatuses, tradeTransitions } from './plan-record.ts';
export { Plan, Strategy } from './schemas.ts';
export { type TreasuryJobDeps, treasuryJobs, treasuryRoutes } from './treasury.ts';
