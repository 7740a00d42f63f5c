/** A load run with what a person sees of it: the live view, Ctrl-C, the report in its formats. */
import { writeFileSync } from 'node:fs';
import type { Target } from '../operations/prepare.ts';
import type { LoadPlan } from '../plan/plan.ts';
import { LiveView } from '../report/live.ts';
import { textOf } from '../report/text.ts';
import { runLoad } from '../run/run.ts';
import { exitCodeOf, type LoadFlags, loadExitCodes } from './command.ts';

/** Resolves with an exit code. Rejects when there is nothing that could be loaded. */
export async function performLoad(plan: LoadPlan, target: Target, flags: LoadFlags): Promise<number> {
  const { stderr } = process;
  const view = new LiveView({ isTTY: stderr.isTTY === true, write: (text) => stderr.write(text) }, plan);
  const interrupted = new AbortController();
  const stop = () => {
    if (interrupted.signal.aborted) process.exit(loadExitCodes.interrupted);
    view.say('stopping; a second Ctrl-C ends without a report');
    interrupted.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const report = await runLoad({
    plan,
    target,
    signal: interrupted.signal,
    onProgress: (progress) => view.show(progress),
    say: (line) => view.say(line),
  }).finally(() => process.off('SIGINT', stop).off('SIGTERM', stop));
  const json = `${JSON.stringify(report, null, 2)}\n`;
  const toOutput = flags.json === true || flags.json === '-';
  if (toOutput) process.stdout.write(json);
  else if (typeof flags.json === 'string') writeFileSync(flags.json, json);
  (toOutput ? stderr : process.stdout).write(`${textOf(report)}\n`);
  return exitCodeOf(report);
}
