/** The end of a command whose output is lost. `up`, `logs` and the roles handle it themselves: they go on, or stop in order. */
import type { Writable } from 'node:stream';
import { errorCode, exitCodes } from './failure.ts';

type Output = Pick<Writable, 'on' | 'listenerCount' | 'errored'>;

/** A reader that has ended, as `head` does, ends the command at once, without a word. */
export function endWithOutput(output: Output, end: (exitCode: number) => void): void {
  output.on('error', (error) => {
    if (output.listenerCount('error') === 1) end(isReaderGone(error) ? exitCodes.readerGone : exitCodes.failed);
  });
}

/** Why what a command has written does not all arrive, as on a full disk; undefined: it does, or no one reads it. */
export function lostOutput({ errored }: Pick<Output, 'errored'>): string | undefined {
  if (errored === undefined || errored === null || isReaderGone(errored)) return undefined;
  return `The output cannot be written: ${errored.message}.`;
}

function isReaderGone(error: unknown): boolean {
  return errorCode(error) === 'EPIPE';
}
