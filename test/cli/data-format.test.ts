/** What is stored by another version is refused in one line that says what to do, by every role and command. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ensureClusterMaterial, readRosters } from '../../cli/cluster-files/cluster-material.ts';
import { dataFormat, dataFormats } from '../../cli/cluster-files/data-format.ts';
import { coordinatorConfig, gatewayConfig, nodeConfig, workerConfig } from '../../cli/role-configs.ts';
import { loadSettings } from '../../cli/settings/config.ts';
import { Snapshots } from '../../cli/up/snapshots.ts';
import { environmentOf } from '../../clients/testing/up-process.ts';
import { temporaryFolder } from './support/temporary.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** Of two nodes, made by make-data-format.mjs with the last version of that format. */
const fixture = fileURLToPath(new URL('./fixtures/data-format-1', import.meta.url));

function oldDirectory(): string {
  const dataDir = join(temporaryFolder(), 'a cluster');
  cpSync(fixture, dataDir, { recursive: true });
  return dataDir;
}

const refusal = (dataDir: string) =>
  `${dataDir} was made by an earlier version (data format 1; this version has ${dataFormat}). It cannot be carried over: ` +
  `remove it (rm -r '${dataDir}') and start again, or choose another --data-dir.`;

test('the formats are numbered without holes', () => {
  expect(dataFormats.map(({ format }) => format)).toEqual(dataFormats.map((_, index) => index + 1));
});

test.each(['coordinator', 'node', 'gateway', 'worker'] as const)('a %s refuses an older directory', (role) => {
  const dataDir = oldDirectory();
  const { settings } = loadSettings({
    SIGNMESH_DATA_DIR: dataDir,
    REDIS_URL: 'redis://127.0.0.1:1',
    SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:1',
  });
  const read = {
    coordinator: () => coordinatorConfig(settings),
    node: () => nodeConfig(settings, 1),
    gateway: () => gatewayConfig(settings),
    worker: () => workerConfig(settings),
  }[role];
  expect(read).toThrow(refusal(dataDir));
});

test.each([['up'], ['init'], ['tokens', 'list', '--tenant', 't'], ['credentials', 'rewrap']])(
  'signmesh %s refuses an older directory in one line, and its remedy works',
  async (...args) => {
    const dataDir = oldDirectory();
    const before = readFileSync(join(dataDir, 'cluster.json'), 'utf8');
    const env = environmentOf({ dataDir });
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { env, encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([1, '', `signmesh: ${refusal(dataDir)}\n`]);
    expect(readFileSync(join(dataDir, 'cluster.json'), 'utf8')).toBe(before);
    const remedy = /\((rm -r [^)]*)\)/.exec(stderr)?.[1] ?? '';
    spawnSync('sh', ['-c', remedy]);
    expect(existsSync(dataDir)).toBe(false);
    expect(ensureClusterMaterial(dataDir, 2, 5, 'sandbox').nodes).toHaveLength(2);
  },
);

test('a new directory names its format, and that of a later version is refused', () => {
  const dataDir = temporaryFolder();
  const roster = ensureClusterMaterial(dataDir, 2, 5, 'sandbox');
  const path = join(dataDir, 'cluster.json');
  const written = JSON.parse(readFileSync(path, 'utf8')) as { data_format: number };
  expect(written.data_format).toBe(dataFormat);
  expect(ensureClusterMaterial(dataDir, undefined, 5, 'sandbox')).toEqual(roster);
  writeFileSync(path, JSON.stringify({ ...written, data_format: dataFormat + 1 }));
  expect(() => ensureClusterMaterial(dataDir, undefined, 5, 'sandbox')).toThrow(
    `${dataDir} was made by a later version (data format ${dataFormat + 1}; this version has ${dataFormat}). Start it with that version, or choose another --data-dir.`,
  );
});

test('a directory of format 4 becomes cluster 1, and has this version’s number from then on', () => {
  const dataDir = join(temporaryFolder(), 'four');
  cpSync(fileURLToPath(new URL('./fixtures/data-format-4', import.meta.url)), dataDir, { recursive: true });
  const path = join(dataDir, 'cluster.json');
  const before = JSON.parse(readFileSync(path, 'utf8')) as object;
  const { settings } = loadSettings({ SIGNMESH_DATA_DIR: dataDir, REDIS_URL: 'redis://127.0.0.1:1' });
  expect(coordinatorConfig(settings).roster.nodes).toHaveLength(2);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(before);
  const second = ensureClusterMaterial(dataDir, undefined, 5, 'sandbox');
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ ...before, data_format: dataFormat });
  expect(ensureClusterMaterial(dataDir, undefined, 5, 'sandbox')).toEqual(second);
  expect(readRosters(dataDir, 'sandbox')).toEqual([second]);
});

test('a snapshot of an earlier format is not restored', async () => {
  const dataDir = temporaryFolder();
  cpSync(join(fixture, 'snapshots'), join(dataDir, 'snapshots'), { recursive: true });
  const [id = ''] = readdirSync(join(dataDir, 'snapshots'));
  const unused = (): never => {
    throw new Error('nothing of the cluster is touched');
  };
  const processes = new Proxy({}, { get: unused }) as never;
  const options = {
    dataDir,
    nodes: ['node/1', 'node/2'],
    redisUrl: '',
    processes,
    untilLinked: unused,
    makeReadyKeys: unused,
  };
  const snapshots = new Snapshots(options);
  expect(snapshots.list().map((one) => one.id)).toEqual([id]);
  await expect(snapshots.restore(id)).rejects.toThrow(
    `snapshot ${id} was taken by an earlier version (data format 1; this version has ${dataFormat}): delete it, and take it again`,
  );
  snapshots.delete(id);
  expect(readdirSync(join(dataDir, 'snapshots'))).toEqual([]);
  rmSync(dataDir, { recursive: true, force: true });
});
