import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  credentialKeysDir,
  ensureClusterMaterial,
  readRoster,
  readRosters,
  readSecret,
  secretFiles,
} from '../../cli/cluster-files/cluster-material.ts';
import { clustersInSteps } from '../../cli/cluster-files/clusters.ts';
import { ensureSandbox, newSandbox, readNodeSeed, readSandbox } from '../../cli/cluster-files/sandbox.ts';
import { coordinatorConfig, gatewayConfig, nodeConfig, workerConfig } from '../../cli/role-configs.ts';
import { loadSettings, type Settings } from '../../cli/settings/config.ts';
import { identityFromSeed } from '../../core/crypto/identity.ts';
import { tokenEnvironment } from '../../gateway/auth/token-format.ts';
import { assertGatewayConfig, assertWorkerConfig } from '../../gateway/config.ts';
import { checkNodeConfig } from '../../nodes/config.ts';
import { serializeRoster } from '../../proto/roster.ts';
import { temporaryFolder } from './support/temporary.ts';

function filesIn(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const files = paths.filter((path) => statSync(join(folder, path)).isFile());
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
}

test('every identity is the one that the roster names', () => {
  const folder = temporaryFolder();
  const roster = ensureClusterMaterial(folder, 3, 5, 'sandbox');
  expect(roster.nodes.map(({ id }) => id)).toEqual([1, 2, 3]);
  for (const { id, publicKey } of roster.nodes) {
    expect(identityFromSeed(readSecret(folder, secretFiles.nodeIdentity(id))).publicKey).toEqual(
      new Uint8Array(publicKey),
    );
  }
});

test('again, nothing changes', () => {
  const folder = temporaryFolder();
  const first = ensureClusterMaterial(folder, undefined, 5, 'sandbox');
  const before = filesIn(folder);
  expect(serializeRoster(ensureClusterMaterial(folder, undefined, 5, 'sandbox'), 'sandbox')).toBe(
    serializeRoster(first, 'sandbox'),
  );
  expect(filesIn(folder)).toEqual(before);
});

test('what an interrupted making left is kept and completed', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 3, 5, 'sandbox');
  const before = filesIn(folder);
  rmSync(join(folder, 'cluster.json'));
  rmSync(join(folder, 'node-2'), { recursive: true });
  ensureClusterMaterial(folder, 3, 5, 'sandbox');
  const after = filesIn(folder);
  expect(Object.keys(after)).toEqual(Object.keys(before));
  expect(after['node-1/identity.key']).toBe(before['node-1/identity.key']);
  expect(after['join.secret']).toBe(before['join.secret']);
});

test('a directory that is older than a secret of the gateways gets it, and nothing else changes', () => {
  const folder = temporaryFolder();
  const roster = ensureClusterMaterial(folder, 3, 5, 'sandbox');
  const before = filesIn(folder);
  rmSync(join(folder, secretFiles.gatewayReceipt));
  rmSync(join(folder, credentialKeysDir), { recursive: true });
  expect(serializeRoster(ensureClusterMaterial(folder, undefined, 5, 'sandbox'), 'sandbox')).toBe(
    serializeRoster(roster, 'sandbox'),
  );
  const after = filesIn(folder);
  expect(Object.keys(after)).toEqual(Object.keys(before));
  const late = [secretFiles.gatewayReceipt, `${credentialKeysDir}/1.key`];
  for (const [path, content] of Object.entries(before)) expect(after[path] === content).toBe(!late.includes(path));
  for (const path of late) expect(readSecret(folder, path)).toHaveLength(32);
});

test('the first credential key does not come back once a rotation has retired it', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 3, 5, 'sandbox');
  const keys = join(folder, credentialKeysDir);
  renameSync(join(keys, '1.key'), join(keys, '2.key'));
  ensureClusterMaterial(folder, undefined, 5, 'sandbox');
  expect(readdirSync(keys)).toEqual(['2.key']);
});

test('all secrets differ, and another cluster has others', () => {
  const one = temporaryFolder();
  const two = temporaryFolder();
  for (const folder of [one, two]) ensureClusterMaterial(folder, 5, 5, 'sandbox');
  const secrets = [one, two].flatMap((folder) => Object.values(filesIn(folder)));
  expect(new Set(secrets).size).toBe(secrets.length);
});

test('files are 0600 and folders 0700, whatever the umask', () => {
  const umask = process.umask(0);
  try {
    const folder = join(temporaryFolder(), 'data');
    ensureClusterMaterial(folder, 2, 5, 'sandbox');
    ensureSandbox(folder, 'random');
    const modes = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect(modes(folder)).toBe('700');
    for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      expect(`${path} ${modes(join(folder, path))}`).toBe(
        `${path} ${statSync(join(folder, path)).isFile() ? '600' : '700'}`,
      );
    }
  } finally {
    process.umask(umask);
  }
});

test('another number of nodes is refused', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 3, 5, 'sandbox');
  expect(() => ensureClusterMaterial(folder, 4, 5, 'sandbox')).toThrow(/holds a cluster of 3 nodes, not 4/);
});

test('a lost or foreign identity is refused, never made anew', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 3, 5, 'sandbox');
  const path = join(folder, secretFiles.nodeIdentity(2));
  writeFileSync(path, `${'ab'.repeat(32)}\n`);
  expect(() => ensureClusterMaterial(folder, undefined, 5, 'sandbox')).toThrow(
    /node-2\/identity\.key is not the identity/,
  );
  rmSync(path);
  expect(() => ensureClusterMaterial(folder, undefined, 5, 'sandbox')).toThrow(/node-2\/identity\.key is missing/);
  expect(existsSync(path)).toBe(false);
});

test('damaged files are named, and a data directory without a cluster says what to do', () => {
  const folder = temporaryFolder();
  expect(() => readRoster(folder, 'sandbox')).toThrow(/signmesh init/);
  ensureClusterMaterial(folder, 2, 5, 'sandbox');
  writeFileSync(join(folder, 'join.secret'), 'short\n');
  expect(() => readSecret(folder, secretFiles.join)).toThrow(/join\.secret is damaged/);
  writeFileSync(join(folder, 'cluster.json'), '{}');
  expect(() => readRoster(folder, 'sandbox')).toThrow(/cluster_id/);
});

test('the public seed gives every cluster the same token and keys; a text gives its own; random gives new ones', () => {
  const make = (choice: string | undefined) => ensureSandbox(temporaryFolder(), choice);
  expect(make(undefined)).toEqual(make(undefined));
  expect(make('ours')).toEqual(make('ours'));
  expect(make('ours').token).not.toBe(make('theirs').token);
  expect(make('random').token).not.toBe(make('random').token);
  expect(make('ours').approverToken).not.toBe(make('theirs').approverToken);
  expect(make('random').approverToken).not.toBe(make('random').approverToken);
  for (const choice of [undefined, 'ours', 'random']) {
    const { token, approverToken } = make(choice);
    expect(approverToken).not.toBe(token);
    // A live token of the same letters must carry its checksum: so do these.
    for (const each of [token, approverToken]) expect(each).toMatch(/^svc_sk_test_[0-9A-Za-z]{36}$/);
    expect(tokenEnvironment(token)).toBe('sandbox');
    expect(tokenEnvironment(approverToken)).toBe('sandbox');
  }
});

test('a sandbox of an earlier version, with its seed in sandbox.json, keeps its tokens and deals the same keys', () => {
  for (const choice of [undefined, 'ours', 'random']) {
    const folder = temporaryFolder();
    const { seed, approverToken, ...sandbox } = newSandbox(choice);
    const older = { ...sandbox, seed: Buffer.from(seed).toString('hex') };
    writeFileSync(join(folder, 'sandbox.json'), JSON.stringify(older));
    for (const again of [undefined, ...(choice === undefined ? [] : [choice])]) {
      expect(ensureSandbox(folder, again, [1, 2])).toMatchObject({ ...sandbox, approverToken });
    }
    expect(() => ensureSandbox(folder, 'another', [1, 2])).toThrow(/was made with/);
    expect(readNodeSeed(folder, 2)).toEqual(Buffer.from(seed));
    expect(existsSync(join(folder, secretFiles.nodeSandbox(2)))).toBe(false);
  }
});

test('from a secret seed each node gets a secret of its own, and nothing holds the seed', () => {
  const made = (choice: string | undefined) => {
    const folder = temporaryFolder();
    ensureClusterMaterial(folder, 3, 5, 'sandbox');
    ensureSandbox(folder, choice, [1, 2, 3]);
    return folder;
  };
  const seeds = (folder: string) => [1, 2, 3].map((id) => Buffer.from(readNodeSeed(folder, id)!).toString('hex'));
  for (const choice of ['ours', 'random']) {
    const folder = made(choice);
    expect(new Set(seeds(folder)).size).toBe(3);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    const texts = files.map((one) => readFileSync(join(one.parentPath, one.name), 'utf8'));
    expect(texts.join()).not.toContain(Buffer.from(newSandbox('ours').seed).toString('hex'));
    expect(JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8'))).not.toHaveProperty('seed');
    // A node without its secret deals nothing.
    rmSync(join(folder, secretFiles.nodeSandbox(2)));
    expect(() => readNodeSeed(folder, 2)).toThrow(/node-2\/sandbox\.key is missing/);
  }
  expect(seeds(made('ours'))).toEqual(seeds(made('ours')));
  expect(seeds(made('ours'))).not.toEqual(seeds(made('theirs')));
  expect(seeds(made('random'))).not.toEqual(seeds(made('random')));
  expect(new Set(seeds(made(undefined)))).toEqual(new Set([Buffer.from(newSandbox(undefined).seed).toString('hex')]));
});

test('a sandbox keeps its seed, and refuses another', () => {
  const folder = temporaryFolder();
  const sandbox = ensureSandbox(folder, 'random');
  expect(ensureSandbox(folder, undefined)).toEqual(sandbox);
  expect(ensureSandbox(folder, 'random')).toEqual(sandbox);
  expect(() => ensureSandbox(folder, 'text')).toThrow(/was made with a random seed/);
  expect(readSandbox(folder)).toEqual(sandbox);
});

test('the roles accept what is made for them, and production has no sandbox', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 3, 5, 'sandbox');
  ensureSandbox(folder, undefined);
  const environment = {
    SIGNMESH_DATA_DIR: folder,
    REDIS_URL: 'redis://h:1',
    SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:2',
  };
  const { settings } = loadSettings(environment);
  expect(() => checkNodeConfig(nodeConfig(settings, 3))).not.toThrow();
  expect(() => assertGatewayConfig(gatewayConfig(settings))).not.toThrow();
  expect(coordinatorConfig(settings).resumeKey).toHaveLength(32);
  expect(nodeConfig(settings, 1).sandbox?.sessions).toEqual(['sandbox-secp256k1', 'sandbox-ed25519', 'sandbox-bip340']);
  expect(() => nodeConfig(settings, 4)).toThrow('There is no node 4: this cluster has nodes 1 to 3.');
  const productionFolder = temporaryFolder();
  ensureClusterMaterial(productionFolder, 3, 5, 'production');
  const production = loadSettings({
    ...environment,
    SIGNMESH_DATA_DIR: productionFolder,
    SIGNMESH_ENVIRONMENT: 'production',
  }).settings;
  expect(nodeConfig(production, 1).sandbox).toBeUndefined();
  expect(gatewayConfig(production).bannerToken).toBeUndefined();
  expect(gatewayConfig(production).approverToken).toBeUndefined();
  const { receiptSeed, credentialKeysDir: keys, chainBlockMs } = gatewayConfig(settings);
  expect([receiptSeed.length, existsSync(join(keys, '1.key')), chainBlockMs]).toEqual([32, true, 1000]);
  expect(() => assertGatewayConfig(gatewayConfig(production))).not.toThrow();
  for (const each of [settings, production]) {
    expect(() => assertWorkerConfig(workerConfig(each))).not.toThrow();
    expect(workerConfig(each).credentialKeysDir).toBe(join(each.SIGNMESH_DATA_DIR, credentialKeysDir));
    expect(workerConfig(each).retryScheduleMs).toBeUndefined();
  }
});

test('a worker takes a schedule of retries in a sandbox alone', () => {
  const folder = temporaryFolder();
  const productionFolder = temporaryFolder();
  ensureClusterMaterial(folder, 2, 5, 'sandbox');
  ensureClusterMaterial(productionFolder, 2, 5, 'production');
  const environment = { SIGNMESH_DATA_DIR: folder, REDIS_URL: 'redis://h:1' };
  const short = { ...environment, SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS: '100,200' };
  const config = workerConfig(loadSettings(short).settings);
  expect(config.retryScheduleMs).toEqual([100, 200]);
  const production = loadSettings({
    ...short,
    SIGNMESH_DATA_DIR: productionFolder,
    SIGNMESH_ENVIRONMENT: 'production',
  }).settings;
  expect(() => workerConfig(production)).toThrow('SIGNMESH_WEBHOOK_RETRY_SCHEDULE_MS works only in a sandbox');
  expect(() => assertWorkerConfig({ ...config, environment: 'production' })).toThrow('only in a sandbox');
  expect(() => assertWorkerConfig({ ...config, redisUrl: 'http://h' })).toThrow('redisUrl');
  expect(() => assertWorkerConfig({ ...config, retryScheduleMs: [0] })).toThrow('retryScheduleMs');
});

const everyRole: Readonly<Record<string, (settings: Settings) => unknown>> = {
  coordinator: coordinatorConfig,
  node: (settings) => nodeConfig(settings, 1),
  gateway: gatewayConfig,
  worker: workerConfig,
};

test.each(Object.entries(everyRole))('a %s refuses a data directory of another environment', (_, config) => {
  const settingsOf = (folder: string, environment: string) =>
    loadSettings({
      SIGNMESH_DATA_DIR: folder,
      REDIS_URL: 'redis://h:1',
      SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:2',
      ...(environment !== '' && { SIGNMESH_ENVIRONMENT: environment }),
    }).settings;
  const folders = { sandbox: temporaryFolder(), production: temporaryFolder() };
  for (const name of ['sandbox', 'production'] as const) ensureClusterMaterial(folders[name], 2, 5, name);
  // Without the variable a role is a sandbox's.
  expect(() => config(settingsOf(folders.production, ''))).toThrow(
    `${folders.production} holds a production cluster, and SIGNMESH_ENVIRONMENT says sandbox. ` +
      'Set SIGNMESH_ENVIRONMENT=production, or choose another SIGNMESH_DATA_DIR.',
  );
  expect(() => config(settingsOf(folders.sandbox, 'production'))).toThrow('Set SIGNMESH_ENVIRONMENT=sandbox');
  expect(() => config(settingsOf(folders.sandbox, ''))).not.toThrow();
  expect(() => config(settingsOf(folders.production, 'production'))).not.toThrow();
});

test('set-up of one environment in the other one’s directory changes nothing', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 2, 5, 'production');
  const before = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  expect(() => ensureClusterMaterial(folder, undefined, 5, 'sandbox')).toThrow('holds a production cluster');
  expect(readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()).toEqual(before);
});

test('a storage key may lie elsewhere than beside its store', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 2, 5, 'sandbox');
  const beside = join(folder, secretFiles.nodeStorage(1));
  const elsewhere = join(temporaryFolder(), 'storage-key');
  writeFileSync(elsewhere, `${'ab'.repeat(32)}\n`);
  rmSync(beside);
  const keyFor = (more: Readonly<Record<string, string>>) => {
    const environment = { SIGNMESH_DATA_DIR: folder, SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:2', ...more };
    return Buffer.from(nodeConfig(loadSettings(environment).settings, 1).storageKey).toString('hex');
  };
  expect(keyFor({ SIGNMESH_STORAGE_KEY_FILE: elsewhere })).toBe('ab'.repeat(32));
  expect(keyFor({ SIGNMESH_STORAGE_KEY: 'CD'.repeat(32) })).toBe('cd'.repeat(32));
  expect(() => keyFor({})).toThrow('storage.key is missing');
  const both = { SIGNMESH_STORAGE_KEY: 'cd'.repeat(32), SIGNMESH_STORAGE_KEY_FILE: elsewhere };
  expect(() => keyFor(both)).toThrow('both set: unset one');
  // What a variable may not be is said without its value.
  expect(() => keyFor({ SIGNMESH_STORAGE_KEY: 'secret-but-wrong' })).toThrow(/^(?!.*secret-but-wrong)/s);
  writeFileSync(elsewhere, 'short');
  expect(() => keyFor({ SIGNMESH_STORAGE_KEY_FILE: elsewhere })).toThrow('must hold 64 hex digits');
  rmSync(elsewhere);
  expect(() => keyFor({ SIGNMESH_STORAGE_KEY_FILE: elsewhere })).toThrow(`${elsewhere} is missing`);
  // The rest of the cluster starts without the file too.
  expect(() => ensureClusterMaterial(folder, undefined, 5, 'sandbox')).not.toThrow();
});

test('the PIN of a token comes from a file that has one', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 2, 5, 'sandbox');
  const file = join(temporaryFolder(), 'pin');
  const pin = () => {
    const token = { SIGNMESH_PKCS11_MODULE: '/m.so', SIGNMESH_PKCS11_PIN_FILE: file };
    const environment = { SIGNMESH_DATA_DIR: folder, SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:2', ...token };
    return nodeConfig(loadSettings(environment).settings, 1).hsm?.pin;
  };
  expect(pin).toThrow(`${file} is missing.`);
  writeFileSync(file, '\n');
  expect(pin).toThrow(`${file} is empty.`);
  writeFileSync(file, '835217\n');
  expect(pin()).toBe('835217');
});

test('a role reads its own secrets and no other’s', () => {
  const folder = temporaryFolder();
  ensureClusterMaterial(folder, 2, 5, 'sandbox');
  for (const other of ['coordinator', 'gateway', 'node-2']) rmSync(join(folder, other), { recursive: true });
  chmodSync(folder, 0o700);
  const { settings } = loadSettings({ SIGNMESH_DATA_DIR: folder, SIGNMESH_COORDINATOR_URL: 'ws://127.0.0.1:2' });
  expect(nodeConfig(settings, 1).nodeId).toBe(1);
});

describe('a further cluster', () => {
  test('has a folder, members and secrets of its own; its gateways are those of all', () => {
    const folder = temporaryFolder();
    const first = ensureClusterMaterial(folder, 3, 5, 'sandbox');
    const second = ensureClusterMaterial(folder, 4, 5, 'sandbox', { cluster: 2, threshold: 2 });
    expect(second).toMatchObject({
      number: 2,
      installation: first.clusterId,
      sharing: { threshold: 2, totalNodes: 4 },
    });
    expect(second.gateway).toEqual(first.gateway);
    expect(second.coordinator).not.toEqual(first.coordinator);
    expect(readSecret(join(folder, 'cluster-2'), secretFiles.join)).not.toEqual(readSecret(folder, secretFiles.join));
    expect(readdirSync(join(folder, 'cluster-2')).sort()).toEqual(
      ['cluster.json', 'coordinator', 'join.secret', 'node-1', 'node-2', 'node-3', 'node-4'].sort(),
    );
    expect(readRosters(folder, 'sandbox')).toEqual([first, second]);
    expect(ensureClusterMaterial(folder, undefined, 5, 'sandbox', { cluster: 2 })).toEqual(second);
  });

  test('of another number, another threshold or too few nodes is refused', () => {
    const folder = temporaryFolder();
    ensureClusterMaterial(folder, 3, 5, 'sandbox');
    expect(() => ensureClusterMaterial(folder, 3, 5, 'sandbox', { cluster: 2, threshold: 4 })).toThrow(
      '--threshold 4 is more than the 3 nodes of a cluster',
    );
    ensureClusterMaterial(folder, 3, 5, 'sandbox', { cluster: 2, threshold: 2 });
    expect(() => ensureClusterMaterial(folder, 3, 5, 'sandbox', { cluster: 2, threshold: 3 })).toThrow(
      'holds a cluster with threshold 2, not 3',
    );
    cpSync(join(folder, 'cluster-2'), join(folder, 'cluster-3'), { recursive: true });
    expect(() => readRosters(folder, 'sandbox')).toThrow('belongs to cluster 2, not to cluster 3');
  });
});

test('gives way between the files of nodes, and another start completes what was left', () => {
  const folder = temporaryFolder();
  const wanted = { clusters: 2, nodes: 4, nodesDefault: 5, threshold: undefined, environment: 'sandbox' } as const;
  const left = clustersInSteps(folder, wanted);
  for (let step = 0; step < 2; step += 1) expect(left.next().done).toBe(false);
  let steps = 0;
  for (const making = clustersInSteps(folder, wanted); making.next().done !== true; steps += 1);
  // Each node's files are made, and then checked.
  expect(steps).toBe(2 * 2 * 4);
  expect(readRosters(folder, 'sandbox').map(({ nodes }) => nodes.length)).toEqual([4, 4]);
});
