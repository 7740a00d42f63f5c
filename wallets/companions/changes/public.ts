/** The exports of change control for the gateway and the documents. */
export { proposalJobs } from './expiry.ts';
export { withChangeControl } from './routes.ts';
export { ChangeControl, ChangeProposal } from './schemas.ts';
