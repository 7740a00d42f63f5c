/** Parses a command line, and runs its subcommand where the command has some (`signmesh tokens`). */
import { type Command, CommanderError } from 'commander';
import { exitCodes, Failure } from './failure.ts';

/**
 * Resolves with undefined when the command line is valid and its subcommand has run, or with the exit code of a call that only
 * asked for help. `program`: with `exitOverride`. Throws a Failure for a wrong call, and every error of the subcommand.
 */
export async function runSubcommand(program: Command, args: readonly string[]): Promise<number | undefined> {
  try {
    await program.parseAsync([...args], { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.ok;
    // A call without a subcommand prints the help.
    if (error.code === 'commander.help') return exitCodes.usage;
    throw new Failure(error.message.replace(/^error: /, '').replace('\n(', ' ('), exitCodes.usage);
  }
}
