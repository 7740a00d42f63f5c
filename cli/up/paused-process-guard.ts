/**
 * A paused process cannot notice that we die, and would be left behind. A watchman of a paused process is a shell
 * that waits for the end of its input, which our death brings about, and then lets that process go on, to its own end.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** Never throws: without a shell there is no watchman. Ended by `dismiss`. */
export function watchman(pid: number): ChildProcess {
  const shell = spawn('sh', ['-c', 'read -r _; kill -CONT "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A Ctrl-C on the terminal is not for it.
    detached: true,
  });
  shell.on('error', () => undefined);
  shell.stdin?.on('error', () => undefined);
  shell.unref();
  return shell;
}

/** The watched process continues by other means, or has ended. */
export function dismiss(shell: ChildProcess | undefined): void {
  shell?.kill('SIGKILL');
}
