/**
 * A paused process cannot notice our death, and would remain. Its guard is a shell that waits for the end of its input, which our
 * death causes, and then resumes the process, which ends itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** Never throws: without a shell there is no guard. `dismiss` ends it. */
export function watchman(pid: number): ChildProcess {
  const shell = spawn('sh', ['-c', 'read -r _; kill -CONT "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // It must not get a Ctrl-C of the terminal.
    detached: true,
  });
  shell.on('error', () => undefined);
  shell.stdin?.on('error', () => undefined);
  shell.unref();
  return shell;
}

/** Something else has resumed the watched process, or it has ended. */
export function dismiss(shell: ChildProcess | undefined): void {
  shell?.kill('SIGKILL');
}
