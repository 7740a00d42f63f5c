/** What the command `scenario` uses of its parts. */
export { type FoundScenario, listed, readScenarios } from './files.ts';
export { runLive } from './live.ts';
export { parseReport, type Report, RunReporter } from './reports.ts';
