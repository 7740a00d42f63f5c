/**
 * When a command of the Redis client counts as unanswered. The client's own timer cannot tell a Redis that is late from a process
 * that was: timers run before sockets are read, so after a pause of this process (no CPU, a long collection) they
 * fail commands whose answers have arrived. Here a timer that is late itself waits as long again as it was late, at most its time.
 */
import { Command } from 'ioredis';

/** A timer that is later than this tells of a pause of the process. */
const pauseMinMs = 20;
/** A process that pauses repeatedly does not wait for ever. */
const pausesMax = 4;

/** What the client reads and clears when the command is settled. Both are hidden by its types; the version is exact. */
interface Timed {
  _commandTimeoutTimer?: NodeJS.Timeout;
  readonly isSettled: boolean;
  reject(error: Error): void;
}

/** For every command of this process from now on. */
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
