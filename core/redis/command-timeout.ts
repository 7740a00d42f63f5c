/**
 * The timeout of commands of the Redis client. The client's own timer cannot distinguish a late Redis from a paused process:
 * timers run before sockets are read, so after a pause of this process (no CPU, a long collection) they fail commands whose
 * answers have arrived. Here a late timer waits again for the time that it was late, at most its own duration.
 */
import { Command } from 'ioredis';

/** A timer that is later than this indicates a pause of the process. */
const pauseMinMs = 20;
/** Limits the extensions, so that repeated pauses do not delay the timeout forever. */
const pausesMax = 4;

/** The fields that the client reads and clears when the command settles. Its types hide both; the version is exact. */
interface Timed {
  _commandTimeoutTimer?: NodeJS.Timeout;
  readonly isSettled: boolean;
  reject(error: Error): void;
}

/** Applies to every command of this process from now on. */
export function timeOutByAnswers(): void {
  Command.prototype.setTimeout = function (this: unknown, timeoutMs: number): void {
    const command = this as Timed;
    if (command._commandTimeoutTimer === undefined) wait(command, timeoutMs, timeoutMs, pausesMax);
  };
}

function wait(command: Timed, timeoutMs: number, forMs: number, pausesLeft: number): void {
  const dueMs = performance.now() + forMs;
  command._commandTimeoutTimer = setTimeout(() => {
    if (command.isSettled) return;
    const lateMs = performance.now() - dueMs;
    if (lateMs < pauseMinMs || pausesLeft === 0) command.reject(new Error('Command timed out'));
    else wait(command, timeoutMs, Math.min(lateMs, timeoutMs), pausesLeft - 1);
  }, forMs);
}
