/** Records of processes: files that identify a process (core/actors/live/process-identity.ts). */
import { rmSync } from 'node:fs';
import { type ProcessIdentity, parseRecord } from '../../core/actors/live/process-identity.ts';
import { readIfThere, replaceShortLived } from './files.ts';

export {
  identify,
  isRunning,
  isStopped,
  type ProcessIdentity,
  parseRecord,
  processorMs,
  processorWaitMs,
  signal,
} from '../../core/actors/live/process-identity.ts';

export function writeRecord(path: string, identity: ProcessIdentity): void {
  replaceShortLived(path, `${JSON.stringify(identity)}\n`);
}

export function removeRecord(path: string): void {
  rmSync(path, { force: true });
}

/** undefined: no record, or a damaged one that names no process. */
export function readRecord(path: string): ProcessIdentity | undefined {
  return parseRecord(readIfThere(path) ?? '');
}
