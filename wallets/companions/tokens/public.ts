/** The exports of token operations for the gateway and the documents. */
export { orderOwner } from './owner.ts';
export { orderOrigin } from './record.ts';
export { tokenRoutes } from './routes.ts';
export { TokenFacts, TokenOrder } from './schemas.ts';
export { tokenJobs } from './settle.ts';
export { orderStatuses, orderStatusTexts, orderSubStatusTexts, orderTransitions } from './states.ts';
