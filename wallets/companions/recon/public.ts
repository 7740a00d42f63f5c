/** The exports of reconciliation. */
export { jobDispatcher } from './dispatch.ts';
export { driftRoutes } from './drift-routes.ts';
export { jobDuePrefix } from './job-record.ts';
export type { ReconQueue, ReconTask } from './queue.ts';
export { reconRoutes } from './routes.ts';
export { CorrectionView, Exception, Job } from './schemas.ts';
export { startReconWorker } from './worker.ts';
