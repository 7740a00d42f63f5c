/**
 * The entry of every signmesh process. A role ("node 3", "gateway") runs at once: `up` starts eight of them, and they skip the
 * commands and options for people (command-line.ts).
 */
import './source-maps.ts';
import { exitCodes, Failure, machineFailure } from './common/failure.ts';
import { endWithOutput, lostOutput } from './common/output.ts';
import { type RoleCall, roleCall } from './role-call.ts';
import { readEnvironment } from './settings/environment.ts';

async function main(argv: readonly string[]): Promise<number> {
  const role = roleCall(argv.slice(2));
  try {
    return role === undefined ? await runCommand(argv) : await runRoleCall(role);
  } catch (error) {
    const failure = error instanceof Failure ? error : machineFailure(error);
    if (failure === undefined) throw error;
    for (const line of failure.message.split('\n')) process.stderr.write(`signmesh: ${line}\n`);
    return failure.exitCode;
  }
}

async function runCommand(argv: readonly string[]): Promise<number> {
  const { runCommandLine } = await import('./command-line.ts');
  return runCommandLine(argv);
}

async function runRoleCall({ role, nodeIds }: RoleCall): Promise<number> {
  const { settings } = readEnvironment({});
  const { runRole } = await import('./roles.ts');
  return runRole(role, nodeIds, settings);
}

// Only the owner can read keys, stores and logs.
process.umask(0o077);
for (const output of [process.stdout, process.stderr]) endWithOutput(output, end);
const exitCode = await main(process.argv);
// Handles left open by a library must not keep a finished command alive; its output must still arrive.
process.stdout.write('', () => end(exitCode));

function end(code: number): never {
  const lost = lostOutput(process.stdout);
  if (lost !== undefined) process.stderr.write(`signmesh: ${lost}\n`);
  process.exit(lost === undefined ? code : exitCodes.failed);
}
