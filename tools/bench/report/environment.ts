/** The environment of a run: without it no figure means anything. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { packageFile } from '../../../cli/common/built.ts';

export interface Environment {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  /** Of the working tree; empty outside a checkout. */
  readonly commit: string;
  /** One-minute load average before the bench began, so without its own load. */
  readonly loadBefore: number;
  /** The kernel's text: runnable and existing processes. */
  readonly loadavg: string;
}

export function environment(): Environment {
  return {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release()} ${arch()}`,
    commit: commitOfCheckout(),
    loadBefore: loadavg()[0] ?? 0,
    loadavg: loadAverages(),
  };
}

export function loadAverages(): string {
  try {
    return readFileSync('/proc/loadavg', 'utf8').trim();
  } catch {
    return loadavg()
      .map((value) => value.toFixed(2))
      .join(' ');
  }
}

function commitOfCheckout(): string {
  try {
    const cwd = packageFile('.');
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd, encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return '';
  }
}
