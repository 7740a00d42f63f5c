/** The parts that the command `scenario` uses. */
export { type FoundScenario, listed, readScenarios } from './files.ts';
export { runLive } from './live.ts';
export { parseReport, type Report, RunReporter } from './reports.ts';
