/**
 * The state of an embedded service as a file, which `--state` loads and saves. One line of JSON describes it; the state follows
 * in V8's format of structured clones, and its SHA-256 protects both. It contains key shares in clear and only its owner can read
 * it.
 */
import { createHash } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import type { WorldSnapshot } from '../service/custody-world.ts';

/** The ready-made things of a sandbox (cli/cluster-files/sandbox.ts). */
export interface StoredSandbox {
  /** Of its seed. Anyone can compute the keys of the public seed. */
  readonly kind: 'public' | 'text' | 'random';
  /** 32 bytes: of the polynomials of its keys. */
  readonly seed: Uint8Array;
  readonly token: string;
  readonly approverToken: string;
}

export interface StoredState {
  /** Of the file that it was read from. */
  readonly format?: number;
  /** 32 bytes, secret: the cluster's identity comes from it. */
  readonly clusterSecret: Uint8Array;
  /** undefined: one, in a file of a version without several. */
  readonly clusters?: number | undefined;
  /** Of each cluster. */
  readonly nodes: number;
  readonly threshold?: number | undefined;
  readonly sandbox: StoredSandbox;
  readonly clockOffsetMs: number;
  /** Of each cluster: the clocks of its processes beside that, by process; undefined in a file of an earlier version. */
  readonly ownClocksMs?: readonly Readonly<Record<string, number>>[] | undefined;
  /** The largest number of starts of a process so far. */
  readonly starts: number;
  readonly world: WorldSnapshot;
  /** The state after a reset. */
  readonly first: WorldSnapshot;
}

/** The reason why a file cannot be used: one sentence with its name and the remedy. */
export class StateFileError extends Error {
  override readonly name = 'StateFileError';
}

interface Head {
  readonly signmesh: 'embedded-state';
  /** Of the file and of every record in it: cli/cluster-files/data-format.ts. */
  readonly format: number;
  readonly sha256: string;
}

export function sizeOfState(state: WorldSnapshot): number {
  return serialize(state).length;
}

/** Replaces the whole file, or nothing. */
export function saveState(path: string, format: number, state: StoredState): void {
  const body = serialize(state);
  const head: Head = { signmesh: 'embedded-state', format, sha256: createHash('sha256').update(body).digest('hex') };
  const part = `${path}.part`;
  writeFileSync(part, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]), { mode: 0o600 });
  chmodSync(part, 0o600);
  renameSync(part, path);
}

/** undefined: there is no file. Throws StateFileError. */
export function loadState(path: string, isReadable: (format: number) => boolean): StoredState | undefined {
  rmSync(`${path}.part`, { force: true });
  const bytes = readIfThere(path);
  if (bytes === undefined) return undefined;
  const end = bytes.indexOf('\n');
  const head = headOf(bytes.subarray(0, Math.max(0, end)).toString('utf8'));
  if (head === undefined)
    throw new StateFileError(`${path} is no state of "signmesh up --embedded": name another file`);
  if (!isReadable(head.format)) {
    throw new StateFileError(`${path} was written in data format ${head.format}, which this version does not read`);
  }
  const body = bytes.subarray(end + 1);
  if (createHash('sha256').update(body).digest('hex') !== head.sha256) {
    throw new StateFileError(`${path} is damaged: remove it to start afresh`);
  }
  return { ...(deserialize(body) as StoredState), format: head.format };
}

function headOf(text: string): Head | undefined {
  try {
    const head = JSON.parse(text) as Partial<Head> | null;
    return head?.signmesh === 'embedded-state' && typeof head.format === 'number' ? (head as Head) : undefined;
  } catch {
    return undefined;
  }
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StateFileError(`${path} cannot be read: ${(error as Error).message}`);
  }
}
