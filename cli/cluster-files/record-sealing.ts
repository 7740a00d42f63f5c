/**
 * Whether the records in Redis still have to get their MACs: `gateway/records.json`, beside the key. An older directory gets it
 * with `sealed: null`, together with the key; the first gateway that starts on it seals what it finds and writes when. Without
 * the file nothing is sealed, so a directory on a second host, or a new one, takes no record without a MAC.
 */
import { join } from 'node:path';
import { readIfThere, replaceFile, writeOnce } from '../common/files.ts';

const sealingFile = 'gateway/records.json';

export function markToSeal(dataDir: string): void {
  writeOnce(join(dataDir, sealingFile), `${JSON.stringify({ sealed: null })}\n`);
}

export function isToSeal(dataDir: string): boolean {
  const text = readIfThere(join(dataDir, sealingFile));
  return text !== undefined && (JSON.parse(text) as { sealed?: unknown }).sealed === null;
}

export function noteSealed(dataDir: string, sealed: object, nowMs: number): void {
  const note = { sealed: new Date(nowMs).toISOString(), ...sealed };
  replaceFile(join(dataDir, sealingFile), `${JSON.stringify(note)}\n`);
}
