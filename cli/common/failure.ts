/** A user's mistake or next action, as one clear line. Any other thrown error is a bug and keeps its stack. */

/** Exit codes of the command. 130 is the shell's word for "interrupted", 141 for a reader of the output that has ended. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130, readerGone: 141 } as const;

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

const foreign = 'Run it as the user who owns that, or choose another place.';
const lacks: Readonly<Record<string, string>> = {
  EACCES: foreign,
  EPERM: foreign,
  EMFILE: 'Raise the limit of open files (ulimit -n).',
  ENFILE: 'The system has too many open files: end other processes.',
  ENOSPC: 'Free some space there.',
  EDQUOT: 'Free some space there.',
  EROFS: 'Choose a place that can be written.',
};

/** What the machine lacks, whatever was to be done with it; undefined: the error is another one. */
export function machineFailure(error: unknown): Failure | undefined {
  if ((error as { syscall?: unknown } | undefined)?.syscall === 'uv_cwd')
    return new Failure('The current directory no longer exists: change to another one.');
  const remedy = lacks[errorCode(error)];
  return remedy === undefined ? undefined : new Failure(`${errorText(error)}. ${remedy}`);
}

/** The code of a system error (ENOENT, EADDRINUSE, …), or an empty string. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
