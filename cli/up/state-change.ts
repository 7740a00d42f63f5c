/**
 * Replaces the stored state of a cluster (Redis and the stores of the nodes) with a snapshot's or an empty one.
 *
 * Everything that can fail for lack of space or of a whole snapshot happens before any change. The pending change is recorded,
 * and the next start completes it: a kill in the middle leaves no inconsistent state.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { readIfThere, replaceFile } from '../common/files.ts';
import { nodeFolder, storeFolder } from './process-control.ts';
import { clearRedis, restoreRedis } from './redis-state.ts';

export interface StatePlace {
  readonly dataDir: string;
  /** By their fault names. */
  readonly nodes: readonly string[];
  readonly redisUrl: string;
}

/** The new state; null: as after the first start. */
export type StateTarget = {
  readonly id: string;
  readonly digest: string;
  /** Its records are of a version without MACs, and get theirs. */
  readonly seals?: boolean;
} | null;

export interface StateChange {
  /** No process may use Redis or the stores meanwhile. */
  perform(): Promise<void>;
  /** The change is cancelled. */
  discard(): void;
}

/** The fault of a snapshot that differs from its description. */
export class DamagedSnapshot extends Error {}

export const redisFile = 'redis.bin';
const metaFile = 'meta.json';

export function snapshotsFolder(dataDir: string): string {
  return join(dataDir, 'snapshots');
}

/** Of every file of a snapshot, except its description. */
export function digestOf(folder: string): string {
  const hash = createHash('sha256');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => file !== metaFile)
    .sort();
  for (const file of files) {
    const bytes = readFileSync(join(folder, file));
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

/** Throws DamagedSnapshot. When it rejects, nothing has changed. */
export async function prepareChange(place: StatePlace, target: StateTarget): Promise<StateChange> {
  const { dataDir, redisUrl } = place;
  const { nodes } = place;
  const discard = () => discardNext(place);
  discard();
  let redis: Buffer | undefined;
  if (target !== null) {
    const from = join(snapshotsFolder(dataDir), target.id);
    if (!isWhole(from, target.digest)) {
      throw new DamagedSnapshot(`the files of snapshot ${target.id} have changed: delete it`);
    }
    redis = readFileSync(join(from, redisFile));
    try {
      for (const node of nodes) {
        const copy = join(from, nodeFolder(node));
        if (existsSync(copy)) await cp(copy, nextStore(dataDir, node), { recursive: true });
      }
    } catch (error) {
      discard();
      throw error;
    }
  }
  const perform = async () => {
    replaceFile(underwayFile(dataDir), `${JSON.stringify({ target })}\n`);
    if (redis === undefined) await clearRedis(redisUrl);
    else await restoreRedis(redisUrl, redis, target?.seals === true ? dataDir : undefined);
    for (const node of nodes) {
      const store = storeFolder(dataDir, node);
      rmSync(store, { recursive: true, force: true });
      if (existsSync(nextStore(dataDir, node))) renameSync(nextStore(dataDir, node), store);
    }
    rmSync(underwayFile(dataDir), { force: true });
  };
  return { perform, discard };
}

/** Completes the change of an earlier start, over a Redis that answers and has no users yet. */
export async function completeChange(place: StatePlace, say: (line: string) => void): Promise<void> {
  const path = underwayFile(place.dataDir);
  const text = readIfThere(path);
  if (text === undefined) {
    discardNext(place);
    return;
  }
  const { target } = JSON.parse(text) as { readonly target: StateTarget };
  say(
    target === null
      ? 'a reset was interrupted; completing it'
      : `restoring ${target.id} was interrupted; completing it`,
  );
  try {
    await (await prepareChange(place, target)).perform();
  } catch (error) {
    if (!(error instanceof DamagedSnapshot)) throw error;
    say(`${error.message}. The stored data is partly from before: reset the sandbox`);
    rmSync(path, { force: true });
  }
}

function discardNext({ dataDir, nodes }: StatePlace): void {
  for (const node of nodes) rmSync(nextStore(dataDir, node), { recursive: true, force: true });
}

function isWhole(folder: string, digest: string): boolean {
  try {
    return digestOf(folder) === digest;
  } catch {
    return false;
  }
}

function underwayFile(dataDir: string): string {
  return join(dataDir, 'run', 'state-change.json');
}

function nextStore(dataDir: string, node: string): string {
  return `${storeFolder(dataDir, node)}.next`;
}
