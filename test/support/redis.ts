/** A private redis-server for tests: a free port on loopback, nothing on disk, gone with `stop`. Never a mock. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './ports.ts';

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  /** Makes it stand still, or go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Kills the server at once. Repeatable. */
  stop(): Promise<void>;
}

/**
 * Resolves when the server accepts connections, or says `readyLine`. `port`: to come back where an earlier one was;
 * `settings`: as arguments.
 */
export async function startRedis(
  port?: number,
  settings: readonly string[] = [],
  readyLine = 'Ready to accept connections',
): Promise<TestRedis> {
  // Another program may take the free port before the server does: then another port is tried.
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOn(port ?? (await freePort()), settings, readyLine);
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

async function startOn(port: number, settings: readonly string[], readyLine: string): Promise<TestRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'signmesh-redis-'));
  const child = spawn(
    'redis-server',
    [
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      '--dir',
      directory,
      ...settings,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const killWithUs = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', killWithUs);
  const stop = async (): Promise<void> => {
    process.off('exit', killWithUs);
    child.kill('SIGKILL');
    await gone;
    await rm(directory, { recursive: true, force: true });
  };
  const ready = await new Promise<boolean>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes(readyLine)) resolve(true);
    });
    gone.then(() => resolve(false));
  });
  if (!ready) {
    await stop();
    throw new Error(`redis-server did not start on port ${port}`);
  }
  const signal = (name: NodeJS.Signals): void => {
    child.kill(name);
  };
  return { url: `redis://127.0.0.1:${port}`, port, directory, signal, stop };
}
