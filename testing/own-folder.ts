/**
 * Folders of live clusters in the system's temporary directory, each with a note of whose it is. What a process left
 * behind that was killed, the next one to make a folder clears away: the processes that still run on it, then the folder.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify, isRunning, type ProcessIdentity, parseRecord, signal } from '../actors/live/process-identity.ts';

export interface OwnFolder {
  /** Where the cluster lives. */
  readonly dataDir: string;
  remove(): void;
}

const prefix = 'signmesh-test-';
const ownerFile = 'owner.json';
/** Between its making and the note of whose it is. */
const withoutOwnerMs = 60_000;
const endsWithinMs = 10_000;

/** Resolves when nothing of others that are gone is left. */
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

/** Of this user, and the process that made it is gone. */
function isAbandoned(folder: string): boolean {
  try {
    const { uid, mtimeMs } = statSync(folder);
    if (uid !== process.getuid?.()) return false;
    const owner = recordIn(join(folder, ownerFile));
    return owner === undefined ? Date.now() - mtimeMs > withoutOwnerMs : !isRunning(owner);
  } catch {
    // Another one has just cleared it away.
    return false;
  }
}

/**
 * `up` ends when its parent does, and its children with it; they get a short time for that. A process removes its record before
 * it ends, so those once seen are waited for.
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

/** `up` by its lock, its children by their records. */
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
