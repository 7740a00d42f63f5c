/** The parts of `signmesh sim`. */
export { explainFailure, failureLine, verdictLine } from './failures.ts';
export { readPlan } from './plan-file.ts';
export { SimProgress } from './progress.ts';
export { runAll, type WorldName, workloadOf, worlds } from './runs.ts';
