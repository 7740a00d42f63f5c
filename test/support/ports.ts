/**
 * Ports for servers under test that cannot bind port 0 and report it: redis-server, and roles that come back at their old port.
 * Test workers choose them side by side, and a server listens seconds after its port was chosen, so a file claims each one.
 */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../cli/common/failure.ts';
import { freePort as unclaimedPort } from '../../cli/common/ports.ts';

/** Of this user: another's files cannot be changed. */
const folder = join(tmpdir(), `signmesh-test-ports-${userInfo().uid}`);
/** No run of the tests takes longer: a claim that is older belongs to an ended one. */
const claimMsMax = 30 * 60_000;

export async function freePort(): Promise<number> {
  mkdirSync(folder, { recursive: true });
  for (;;) {
    const port = await unclaimedPort(new Set());
    if (claimed(join(folder, String(port)))) return port;
  }
}

/** As many different ones. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

function claimed(path: string): boolean {
  try {
    writeFileSync(path, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    const made = statSync(path, { throwIfNoEntry: false });
    // The next choice of this port claims it.
    if (made !== undefined && Date.now() - made.mtimeMs > claimMsMax) rmSync(path, { force: true });
    return false;
  }
}
