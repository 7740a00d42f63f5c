/** A process warns of secret files that other users of the host can read, and of a data directory that they can write to. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { credentialKeysDir, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { exposureWarning } from '../../cli/cluster-files/exposed-files.ts';
import { ensureSandbox } from '../../cli/cluster-files/sandbox.ts';
import { startWarnings } from '../../cli/cluster-files/start-warnings.ts';
import { initialise } from '../../cli/init.ts';
import { loadSettings, type Settings } from '../../cli/settings/config.ts';
import type { Role } from '../../cli/settings/variables.ts';
import { temporaryFolder } from './support/temporary.ts';

let folder = '';
let settings: Settings;
beforeAll(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'signmesh-test-')), 'a b');
  settings = loadSettings({ SIGNMESH_DATA_DIR: folder, SIGNMESH_NODES: '2', SIGNMESH_CLUSTERS: '2' }).settings;
  initialise(settings, 'random', undefined);
});
afterAll(() => rmSync(join(folder, '..'), { recursive: true }));
const named = (role: Role, nodeIds: readonly number[] = []) =>
  [...(exposureWarning(role, settings, nodeIds) ?? '').matchAll(/'[^']*\/a b\/?([^']*)'/g)].map(([, path]) => path);

test('what init makes is for its owner alone', () => {
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const role of ['init', 'coordinator', 'node', 'gateway', 'worker'] as const) {
    expect(exposureWarning(role, settings, [1, 2])).toBeUndefined();
  }
});

test.each([
  ['coordinator', secretFiles.join, 0o640],
  ['coordinator', secretFiles.coordinatorIdentity, 0o604],
  ['coordinator', secretFiles.coordinatorResume, 0o620],
  ['node', secretFiles.join, 0o644],
  ['node', secretFiles.nodeIdentity(2), 0o644],
  ['node', secretFiles.nodeStorage(1), 0o644],
  ['node', secretFiles.nodeSandbox(2), 0o644],
  ['gateway', 'sandbox.json', 0o644],
  ['gateway', secretFiles.join, 0o602],
  ['gateway', secretFiles.gatewayToken, 0o644],
  ['gateway', `${credentialKeysDir}/1.key`, 0o644],
  ['gateway', 'gateway/tls.key', 0o644],
  ['worker', `${credentialKeysDir}/1.key`, 0o640],
  ['init', '', 0o777],
  ['worker', '', 0o720],
] as const)('a %s names %j with mode 0%o, and the command that repairs it', (role, path, mode) => {
  const before = statSync(join(folder, path)).mode & 0o777;
  chmodSync(join(folder, path), mode);
  const warning = exposureWarning(role, settings, [1, 2]);
  const quoted = `'${join(folder, path)}'`;
  expect(warning).toBe(`Other users of this host can read or change ${quoted}. Run: chmod go-rwx ${quoted}`);
  const certs = { links: [], door: undefined };
  expect(startWarnings(role, settings, certs, 0, [1, 2])).toEqual([{ event: 'files.exposed', text: warning }]);
  chmodSync(join(folder, path), before);
});

test('a process names only its own files, all of them in one line', () => {
  const open = [secretFiles.join, secretFiles.nodeIdentity(1), secretFiles.nodeIdentity(2), 'cluster-2/join.secret'];
  for (const path of open) chmodSync(join(folder, path), 0o644);
  expect(named('node', [1])).toEqual([...open.slice(0, 2), ...open.slice(0, 2)]);
  expect(named('worker')).toEqual([]);
  for (const path of open) chmodSync(join(folder, path), 0o600);
});

test('files of the operator’s choice count too, and the public sandbox is no secret', () => {
  const at = temporaryFolder();
  const files = ['door.key', 'storage.key', 'pin'].map((name) => join(at, name));
  for (const file of files) {
    writeFileSync(file, '');
    // Whatever the umask is.
    chmodSync(file, 0o644);
  }
  const [door, storage, pin] = files as [string, string, string];
  const own = loadSettings({
    ...{ SIGNMESH_DATA_DIR: at, SIGNMESH_TLS_KEY: door, SIGNMESH_STORAGE_KEY_FILE: storage },
    SIGNMESH_PKCS11_PIN_FILE: pin,
  }).settings;
  ensureSandbox(at, undefined);
  chmodSync(join(at, 'sandbox.json'), 0o644);
  expect(exposureWarning('gateway', own, [])).toContain(`chmod go-rwx ${door}`);
  expect(exposureWarning('node', own, [1])).toContain(`chmod go-rwx ${storage} ${pin}`);
});

test('init says it of a directory that exists, and changes no mode of it', () => {
  const at = join(temporaryFolder(), 'open');
  mkdirSync(at);
  chmodSync(at, 0o777);
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    initialise(loadSettings({ SIGNMESH_DATA_DIR: at }).settings, undefined, undefined);
    expect(said.mock.calls).toEqual([
      [`signmesh: Other users of this host can read or change ${at}. Run: chmod go-rwx ${at}\n`],
    ]);
  } finally {
    said.mockRestore();
  }
  expect(statSync(at).mode & 0o777).toBe(0o777);
});
