/**
 * The clocks of a sandbox's cluster, in `clock.json` of its folder: by how much an advance moved all of them, and faults each
 * process's own. They outlive `up`. Without the file every clock is the machine's.
 */
import { join } from 'node:path';
import type { StoredClocks } from '../../scenarios/injection/ports.ts';
import { Failure } from '../common/failure.ts';
import { readIfThere, replaceFile } from '../common/files.ts';

/** `folder`: of the cluster. Throws a Failure if the file is damaged. */
export function storedClocks(folder: string): StoredClocks {
  const path = join(folder, 'clock.json');
  const text = readIfThere(path);
  const stored = text === undefined ? { offsetMs: 0, ownMs: {} } : clocksIn(text);
  if (stored === undefined) {
    throw new Failure(`${path} is damaged: remove it, and the clock is the machine's again.`);
  }
  return {
    ...stored,
    store: (offsetMs, ownMs) => replaceFile(path, `${JSON.stringify({ offset_ms: offsetMs, own_ms: ownMs })}\n`),
  };
}

function clocksIn(text: string): Pick<StoredClocks, 'offsetMs' | 'ownMs'> | undefined {
  try {
    const { offset_ms: offsetMs, own_ms: ownMs } = JSON.parse(text) as Record<string, unknown>;
    if (!Number.isFinite(offsetMs) || typeof ownMs !== 'object' || ownMs === null) return undefined;
    if (!Object.values(ownMs).every(Number.isFinite)) return undefined;
    return { offsetMs: offsetMs as number, ownMs: ownMs as Readonly<Record<string, number>> };
  } catch {
    return undefined;
  }
}
