/** Folders that tests make and that are gone when the test is. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function temporaryFolder(): string {
  const folder = keptFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** For a whole file: its caller removes it. */
export function keptFolder(): string {
  return mkdtempSync(join(tmpdir(), 'signmesh-cli-'));
}
