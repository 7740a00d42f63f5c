/**
 * Folders of live clusters in the system's temporary directory, each with a note of its owner. When a process was killed, the
 * next process that makes a folder cleans up after it: it ends the remaining processes, then removes the folder.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  identify,
  isRunning,
  type ProcessIdentity,
  parseRecord,
  signal,
} from '../../core/actors/live/process-identity.ts';

export interface OwnFolder {
  /** The data directory of the cluster. */
  readonly dataDir: string;
  remove(): void;
}

const prefix = 'signmesh-test-';
const ownerFile = 'owner.json';
/** The longest time between the creation of a folder and its owner's note. */
const withoutOwnerMs = 60_000;
const endsWithinMs = 10_000;

/** Resolves when no remains of dead owners are left. */
export async function makeOwnFolder(parent = tmpdir()): Promise<OwnFolder> {
  await clearAbandoned(parent);
  const folder = mkdtempSync(join(parent, prefix));
  writeFileSync(join(folder, ownerFile), JSON.stringify(identify(process.pid)));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  return { dataDir: join(folder, 'data'), remove };
}

async function clearAbandoned(parent: string): Promise<void> {
  const folders = readdirSync(parent)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(parent, name))
    .filter(isAbandoned);
  await Promise.all(folders.map(clear));
}

/** It belongs to this user, and the process that made it has ended. */
function isAbandoned(folder: string): boolean {
  try {
    const { uid, mtimeMs } = statSync(folder);
    if (uid !== process.getuid?.()) return false;
    const owner = recordIn(join(folder, ownerFile));
    return owner === undefined ? Date.now() - mtimeMs > withoutOwnerMs : !isRunning(owner);
  } catch {
    // Another process has just removed it.
    return false;
  }
}

/**
 * `up` ends when its parent does, and its children with it; they get a short time for that. A process removes its record before
 * it ends, so this function waits for every process that it has seen.
 */
async function clear(folder: string): Promise<void> {
  const untilMs = performance.now() + endsWithinMs;
  const seen = new Map<number, ProcessIdentity>();
  for (;;) {
    for (const process of processesOf(join(folder, 'data', 'run'))) seen.set(process.pid, process);
    const left = [...seen.values()].filter(isRunning);
    if (left.length === 0) break;
    const isLate = performance.now() > untilMs;
    for (const process of left) {
      signal(process, 'SIGCONT');
      signal(process, isLate ? 'SIGKILL' : 'SIGTERM');
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** `up` by its lock file, its children by their records. */
function processesOf(runDir: string): readonly ProcessIdentity[] {
  let names: readonly string[];
  try {
    names = readdirSync(runDir);
  } catch {
    return [];
  }
  return names
    .filter((name) => name === 'up.lock' || name.endsWith('.pid'))
    .map((name) => recordIn(join(runDir, name)))
    .filter((record) => record !== undefined);
}

function recordIn(path: string): ProcessIdentity | undefined {
  try {
    return parseRecord(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
