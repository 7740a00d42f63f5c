/**
 * One `up` a data directory: a file that names its owner and appears whole, by a link. A new owner takes over a dead owner's
 * lock.
 */
import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { errorCode, Failure } from './failure.ts';
import { readIfThere } from './files.ts';
import { identify, isRunning, parseRecord, readRecord } from './process-records.ts';

export interface Lock {
  release(): void;
}

/** Throws a Failure that names the owner when another live process holds the lock. `option`: the one that names the place. */
export function takeLock(path: string, what: string, option = '--data-dir'): Lock {
  const mine = `${path}.${randomUUID()}`;
  writeFileSync(mine, JSON.stringify(identify(process.pid)), { mode: 0o600 });
  try {
    while (!tryLink(mine, path)) {
      const content = readIfThere(path);
      if (content === undefined) continue;
      const owner = parseRecord(content);
      if (owner !== undefined && isRunning(owner)) {
        throw new Failure(
          `${what} is in use by another signmesh up (process ${owner.pid}). Stop it, or choose another ${option}.`,
        );
      }
      moveAway(path, content);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return { release: () => releaseOwn(path) };
}

/** Between reading a dead owner's lock and moving it, another process may have taken it over: puts its lock back. */
function moveAway(path: string, content: string): void {
  const stale = `${path}.${randomUUID()}`;
  try {
    renameSync(path, stale);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  if (readIfThere(stale) !== content) tryLink(stale, path);
  rmSync(stale, { force: true });
}

function releaseOwn(path: string): void {
  if (readRecord(path)?.pid === process.pid) rmSync(path, { force: true });
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}
