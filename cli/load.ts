/** `signmesh load`: loads a service from outside, over its APIs, and reports the results (clients/load/). */
import { checkTarget, type LoadFlags, loadCommand } from '../clients/load/command/command.ts';
import { performLoad } from '../clients/load/command/perform.ts';
import { planFrom } from '../clients/load/command/plan.ts';
import { WrongCall } from '../clients/load/command/wrong-call.ts';
import { YamlError } from '../scenarios/runner/yaml-file.ts';
import { errorText, exitCodes, Failure } from './common/failure.ts';
import { readIfThere } from './common/files.ts';
import { runSubcommand } from './common/subcommands.ts';
import { type TargetFlags, targetOf, withTarget } from './events/public.ts';
import { readScenarios } from './scenario/public.ts';

/** Resolves with an exit code. Throws a Failure for a wrong call, and when there is no service to load. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    return await load(args);
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error instanceof WrongCall || error instanceof YamlError) throw new Failure(error.message, exitCodes.usage);
    throw new Failure(errorText(error));
  }
}

async function load(args: readonly string[]): Promise<number> {
  const command = withTarget(loadCommand());
  const ended = await runSubcommand(command, args);
  if (ended !== undefined) return ended;
  const flags = command.opts<LoadFlags & TargetFlags>();
  const plan = planFrom(command.args, flags, readPlan);
  const { url, token, grpc } = targetOf(flags);
  const target = { url, token, grpc };
  checkTarget(target, plan, flags);
  const faults = plan.faults === undefined ? [] : readScenarios([plan.faults]).flatMap((scenario) => scenario.faults);
  return performLoad(plan, target, faults, flags);
}

function readPlan(file: string): string {
  const text = readIfThere(file);
  if (text === undefined) throw new Failure(`There is no file ${file}.`, exitCodes.usage);
  return text;
}
