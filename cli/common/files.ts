/**
 * Files of the data directory: written whole or not at all, durable when the call returns (except records of running processes),
 * readable only by their owner.
 */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode, errorText, Failure } from './failure.ts';

/** With its parents. Directories are 0700; the umask can only remove rights. */
export function makeDirectory(path: string): void {
  try {
    makeWithParents(resolve(path));
  } catch (error) {
    const remedy = 'Choose another data directory: --data-dir, or SIGNMESH_DATA_DIR';
    throw new Failure(`Cannot make the directory ${path}: ${errorText(error)}. ${remedy}.`);
  }
}

/**
 * A data directory, with these folders in it. A new one, and the default one, gets a `.gitignore`, so that no secret of it is
 * committed with the project that it lies in; other directories may be more than ours, and stay as they are.
 */
export function makeDataDirectory(path: string, folders: readonly string[] = []): void {
  const isOurs = basename(resolve(path)) === '.signmesh' || !existsSync(path);
  makeDirectory(path);
  for (const folder of folders) makeDirectory(join(path, folder));
  if (isOurs && !existsSync(join(path, '.gitignore'))) replaceShortLived(join(path, '.gitignore'), '*\n');
}

/** Step by step: Node's own recursive mkdir never returns where a file system says ENOENT for a parent that exists (/proc). */
function makeWithParents(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeWithParents(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process created it first.
    if (errorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

/** Writes the file unless it exists; the first writer wins. Returns its content afterwards. */
export function writeOnce(path: string, content: string): string {
  const temporary = writeTemporary(path, content);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  syncDirectory(dirname(path));
  return readFileSync(path, 'utf8');
}

export function replaceFile(path: string, content: string): void {
  renameSync(writeTemporary(path, content), path);
  syncDirectory(dirname(path));
}

/**
 * For facts that are valid only while this machine runs: not synced to the disk, which takes a busy disk a tenth of a second.
 * After a power loss the file may be the old one, or empty.
 */
export function replaceShortLived(path: string, content: string): void {
  const temporary = temporaryPath(path);
  try {
    writeFileSync(temporary, content, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new Failure(`Cannot write ${path}: ${errorText(error)}`);
  }
  renameSync(temporary, path);
}

/** undefined: no such file. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new Failure(`Cannot read ${path}: ${errorText(error)}`);
  }
}

function writeTemporary(path: string, content: string): string {
  const temporary = temporaryPath(path);
  let file: number;
  try {
    file = openSync(temporary, 'wx', 0o600);
  } catch (error) {
    throw new Failure(`Cannot write ${path}: ${errorText(error)}`);
  }
  try {
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return temporary;
}

function temporaryPath(path: string): string {
  return `${path}.${randomUUID()}.tmp`;
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
