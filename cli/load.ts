/** `signmesh load`: loads a service from outside, over its doors, and reports how it fared (load/). */
import { writeFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { checkTarget, exitCodeOf, type LoadFlags, loadCommand } from '../load/command/command.ts';
import { planOf } from '../load/command/plan.ts';
import { WrongCall } from '../load/command/wrong-call.ts';
import { LiveView } from '../load/report/live.ts';
import { textOf } from '../load/report/text.ts';
import { runLoad } from '../load/run/run.ts';
import { errorText, exitCodes, Failure } from './common/failure.ts';
import { type TargetFlags, targetOf, withTarget } from './events/target.ts';

/** Resolves with an exit code. Throws a Failure for a wrong call, and when there is nothing to load. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    return await load(args);
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error instanceof WrongCall) throw new Failure(error.message, exitCodes.usage);
    if (!(error instanceof CommanderError)) throw new Failure(errorText(error));
    if (error.exitCode === 0) return exitCodes.ok;
    throw new Failure(error.message.replace(/^error: /, '').replace('\n(', ' ('), exitCodes.usage);
  }
}

async function load(args: readonly string[]): Promise<number> {
  const command = withTarget(loadCommand()).parse([...args], { from: 'user' });
  const flags = command.opts<LoadFlags & TargetFlags>();
  const plan = planOf(command.args, flags);
  const { url, token, grpc } = targetOf(flags);
  const target = { url, token, grpc: flags.grpc ?? grpc };
  checkTarget(target, plan, flags);
  const { stderr } = process;
  const view = new LiveView({ isTTY: stderr.isTTY === true, write: (text) => stderr.write(text) }, plan);
  const interrupted = new AbortController();
  const stop = () => {
    if (interrupted.signal.aborted) process.exit(exitCodes.interrupted);
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
