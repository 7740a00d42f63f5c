/** The cluster that runs in a data directory, for other commands. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { errorText, Failure } from '../common/failure.ts';
import { makeDataDirectory, readIfThere, replaceShortLived } from '../common/files.ts';
import { identify, isRunning, type ProcessIdentity, parseRecord, readRecord } from '../common/process-records.ts';
import type { ReadyLineFacts } from './banner.ts';

export interface RunningCluster {
  /** `signmesh up` itself. */
  readonly up: ProcessIdentity;
  /** undefined: it is still starting. */
  readonly ready: ReadyLineFacts | undefined;
}

export interface ProcessRecord {
  readonly name: string;
  readonly identity: ProcessIdentity;
}

export function lockFile(dataDir: string): string {
  return join(dataDir, 'run', 'up.lock');
}

export function readyFile(dataDir: string): string {
  return join(dataDir, 'run', 'ready.json');
}

/** Of an embedded service in the foreground, which keeps nothing else in its data directory. */
function embeddedFile(dataDir: string): string {
  return join(dataDir, 'embedded.json');
}

/**
 * Other commands find an embedded service by this file, until the returned function removes it, with a directory that
 * was made for it. undefined: the file is that of
 * another one, which runs. Throws a Failure where it cannot be written.
 */
export function announceEmbedded(dataDir: string, ready: ReadyLineFacts): (() => void) | undefined {
  if (runningEmbedded(dataDir) !== undefined) return undefined;
  const isNew = !existsSync(dataDir);
  makeDataDirectory(dataDir);
  const file = embeddedFile(dataDir);
  replaceShortLived(file, `${JSON.stringify({ ...identify(process.pid), ready })}\n`);
  return () => {
    if (runningEmbedded(dataDir)?.up.pid !== process.pid) return;
    rmSync(file, { force: true });
    // A directory that it made for this file alone.
    if (isNew && readdirSync(dataDir).join() === '.gitignore') rmSync(dataDir, { recursive: true, force: true });
  };
}

function runningEmbedded(dataDir: string): RunningCluster | undefined {
  const text = readIfThere(embeddedFile(dataDir)) ?? '';
  const up = parseRecord(text);
  if (up === undefined || !isRunning(up)) return undefined;
  return { up, ready: (JSON.parse(text) as { readonly ready: ReadyLineFacts }).ready };
}

/** undefined: no cluster runs in `dataDir`. Throws a Failure when its file is damaged. */
export function runningCluster(dataDir: string): RunningCluster | undefined {
  const up = readRecord(lockFile(dataDir));
  if (up === undefined || !isRunning(up)) return runningEmbedded(dataDir);
  const ready = readReady(dataDir);
  // An earlier start may leave its file.
  return { up, ready: ready?.pids.up === up.pid ? ready : undefined };
}

/** Of the last start, also when it has ended. */
export function readReady(dataDir: string): ReadyLineFacts | undefined {
  const path = readyFile(dataDir);
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as ReadyLineFacts;
  } catch (error) {
    throw new Failure(`${path} is damaged: ${errorText(error)}`);
  }
}

/** Children of the last start whose end it has not recorded yet. */
export function processRecords(dataDir: string): readonly ProcessRecord[] {
  const folder = join(dataDir, 'run');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.pid'))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap((file) => {
      const identity = readRecord(join(folder, file));
      return identity === undefined ? [] : [{ name: file.slice(0, -'.pid'.length), identity }];
    });
}
