/** A load run with its output: the live view, Ctrl-C, the report in its formats. */
import { accessSync, constants, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { LoadTarget } from '../calls/target.ts';
import type { LoadPlan } from '../plan/plan.ts';
import { compare } from '../report/baseline.ts';
import { LiveView } from '../report/live.ts';
import type { LoadReport } from '../report/results.ts';
import { textOf } from '../report/text.ts';
import { runLoad } from '../run/run.ts';
import { exitCodeOf, type LoadFlags, loadExitCodes } from './command.ts';
import { WrongCall } from './wrong-call.ts';

/** Resolves with an exit code. Rejects when there is no service to load. */
export async function performLoad(
  plan: LoadPlan,
  target: LoadTarget,
  faults: readonly Fault[],
  flags: LoadFlags,
): Promise<number> {
  const strange = faults.find(({ at }) => at?.step !== undefined || at?.session !== undefined);
  if (strange !== undefined) {
    throw new WrongCall(
      `The fault ${strange.id ?? strange.fault} waits for a step or a session of its scenario, and a load has none: give it at: { after_ms: … }.`,
    );
  }
  for (const file of [flags.json, flags.html]) if (typeof file === 'string' && file !== '-') checkWritable(file);
  const before = flags.baseline === undefined ? undefined : readReport(flags.baseline);
  const { stderr } = process;
  const view = new LiveView(
    { isTTY: stderr.isTTY === true, columns: stderr.columns ?? 80, write: (text) => stderr.write(text) },
    plan,
  );
  const interrupted = new AbortController();
  const stop = () => {
    if (interrupted.signal.aborted) process.exit(loadExitCodes.interrupted);
    view.say('stopping; a second Ctrl-C ends without a report');
    interrupted.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const measured = await runLoad({
    plan,
    target,
    faults,
    signal: interrupted.signal,
    onProgress: (progress) => view.show(progress),
    say: (line) => view.say(line),
  }).finally(() => process.off('SIGINT', stop).off('SIGTERM', stop));
  const report = before === undefined ? measured : compared(measured, before);
  const json = `${JSON.stringify(report, null, 2)}\n`;
  const toOutput = flags.json === true || flags.json === '-';
  (toOutput ? stderr : process.stdout).write(`${textOf(report)}\n`);
  if (toOutput) process.stdout.write(json);
  else if (typeof flags.json === 'string') writeFileSync(flags.json, json);
  if (flags.html !== undefined) {
    const { loadPage } = await import('../html/page.ts');
    writeFileSync(flags.html, loadPage(report));
  }
  return exitCodeOf(report);
}

function compared(report: LoadReport, before: LoadReport): LoadReport {
  return { ...report, baseline: { startedAt: before.startedAt, comparisons: compare(report, before) } };
}

/** Before the load, which may take hours. Makes missing folders. Throws WrongCall. */
function checkWritable(file: string): void {
  let why = 'it is a folder.';
  try {
    if (!statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
      mkdirSync(dirname(file), { recursive: true });
      accessSync(dirname(file), constants.W_OK);
      return;
    }
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
  }
  throw new WrongCall(`Cannot write ${file}: ${why}`);
}

/** Throws WrongCall. */
function readReport(file: string): LoadReport {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8')) as LoadReport;
    if (report.schema === 'signmesh-load/1') return report;
  } catch (error) {
    throw new WrongCall(`Cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new WrongCall(`${file} is no report of signmesh load: make one with --json ${file}.`);
}
