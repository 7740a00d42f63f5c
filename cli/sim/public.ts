/** The parts that the command `sim` uses. */
export { explainFailure, verdictLine } from './failures.ts';
export { KeptSeeds } from './kept-seeds.ts';
export { SimProgress } from './progress.ts';
export {
  type Finished,
  runAll,
  type SeedTask,
  type WorldName,
  walletProfile,
  walletProfiles,
  worlds,
} from './runs.ts';
export { explainWallets, readPlan, roundRuns, roundVariants, searchWallets } from './wallets.ts';
