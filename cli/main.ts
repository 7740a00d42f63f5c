/**
 * The entry of every signmesh process. A role ("node 3", "gateway") runs at once: `up` starts eight of them, and they skip the
 * commands and options for people (command-line.ts).
 */
import './source-maps.ts';
import { Failure } from './common/failure.ts';
import { type RoleCall, roleCall } from './role-call.ts';
import { readEnvironment } from './settings/environment.ts';

async function main(argv: readonly string[]): Promise<number> {
  const role = roleCall(argv.slice(2));
  try {
    return role === undefined ? await runCommand(argv) : await runRoleCall(role);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    for (const line of error.message.split('\n')) process.stderr.write(`signmesh: ${line}\n`);
    return error.exitCode;
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
const exitCode = await main(process.argv);
// Handles left open by a library must not keep a finished command alive; its output must still arrive.
process.stdout.write('', () => process.exit(exitCode));
