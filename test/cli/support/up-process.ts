/** Where the repository lies, and what tells that the processes of a cluster are gone. */
import { fileURLToPath } from 'node:url';
import { eventually, isAlive } from './eventually.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export function allGone(pids: Readonly<Record<string, number>>): Promise<void> {
  return eventually(`gone: ${JSON.stringify(pids)}`, () => !Object.values(pids).some((pid) => isAlive(pid)));
}
