/** A reference in a process of its own, which sends one message when it is ready. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { builtFile } from '../../../cli/common/built.ts';

/** Ends the process when `work` has ended. */
export async function withChild<Ready, T>(name: string, work: (ready: Ready, pid: number) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, [builtFile(`tools/bench/reference/${name}.js`)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  try {
    const [ready] = (await once(child, 'message')) as [Ready];
    return await work(ready, child.pid!);
  } finally {
    child.kill();
    await exited;
  }
}
