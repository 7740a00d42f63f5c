/**
 * The npm package, as a stranger uses it: packed, installed in an empty project outside the repository, and used there by
 * command, by tests, by the compiler and by CommonJS.
 */

import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReadyLine } from '../../../clients/testing/ready-line.ts';
import { keptFolder, temporaryFolder } from '../../cli/support/temporary.ts';
import { root } from '../../cli/support/up-process.ts';
import { allGone } from '../../support/alive.ts';
import { isThorough, runs } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';
import { install, listing, type Packed, pack, run, shellEnvironment } from './support/installed-package.ts';

/** Bundles hold the packages that they use. */
const packedBytesMax = 3_000_000;
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

const folder = keptFolder();
const project = join(folder, 'project');
const installed = join(project, 'node_modules', 'signmesh');
let packed: Packed;
beforeAll(async () => {
  packed = await pack(folder);
  await install(project, packed.tarball);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the package', () => {
  test('holds the build, the documents, no source, no source map and no test', () => {
    expect(packed.bytes).toBeLessThan(packedBytesMax);
    for (const path of [
      'dist/cli/main.js',
      'dist/clients/client/index.js',
      'dist/licenses.txt',
      'dist/native/secp256k1/linux-x64/secp256k1.glibc.node',
      'dist/sbom.cdx.json',
      'dist/clients/testing/index.d.ts',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'docs/simulation.md',
      'docs/testing.md',
    ]) {
      expect(packed.files).toContain(path);
    }
    expect(packed.files).toContain('proto/svc/mesh/v1/mpc_wallet.proto');
    expect(packed.files).toContain('proto/signmesh/wire/v1/frame.proto');
    const strays =
      /^(test|tools|bench|\.ci)\/|^dist\/(test|tools|bench)\/|^(?!dist\/|examples\/).*\.ts$|^package-lock|^Docker|^docker|\.stamp$|\.map$/;
    expect(packed.files.filter((path) => strays.test(path))).toEqual([]);
  });

  test('holds every script that one of its scripts loads', () => {
    const scripts = packed.files.filter((path) => /^dist\/.*\.js$/.test(path));
    const loaded = scripts.flatMap((path) => {
      const text = readFileSync(join(installed, path), 'utf8');
      return [...text.matchAll(/\b(?:from|import\(?) ?["'](\.[^"']+\.js)["']/g)].map(([, to]) =>
        join(dirname(path), to!),
      );
    });
    expect(loaded.length).toBeGreaterThan(scripts.length);
    expect(loaded.filter((path) => !scripts.includes(path))).toEqual([]);
  });

  test('has its client in one file without imports, for browsers too', () => {
    const client = readFileSync(join(installed, 'dist/clients/client/index.js'), 'utf8');
    expect(client).toContain('export{');
    expect(client).not.toMatch(/\bimport\b *[({*'"\w]|\bfrom *['"]|\brequire\(/);
  });

  test('declares types out of its own files and of packages that it brings', () => {
    const brought = Object.keys(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).dependencies);
    const declarations = packed.files.filter((path) => path.endsWith('.d.ts'));
    expect(declarations.length).toBeGreaterThan(20);
    const imported = declarations.flatMap((path) => {
      const text = readFileSync(join(installed, path), 'utf8');
      return [...text.matchAll(/(?:from|import\(|import) ?['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)/g)].map(
        ([, name]) => name!,
      );
    });
    expect([...new Set(imported)].filter((name) => !brought.includes(name))).toEqual([]);
    // A schema library's types take a compiler 15 s.
    expect(imported).not.toContain('typebox');
  });
});

describe('npx signmesh', () => {
  // The processes of a cluster are the program of the embedded service below; Ctrl-C: test/integration/stopping.test.ts.
  test.runIf(isThorough)(
    'starts a cluster that signs; Ctrl-C ends it, and nothing was written into node_modules',
    async () => {
      const before = listing(installed);
      const settings = {
        SIGNMESH_HTTP_PORT: '0',
        SIGNMESH_GRPC_PORT: '0',
        // They start in half the time.
        SIGNMESH_NODES_PER_PROCESS: '5',
      };
      // A process group of its own: a terminal sends Ctrl-C to all of it.
      const child = spawn('npx', ['signmesh', 'up', '--json'], {
        cwd: project,
        env: { ...shellEnvironment(), ...settings, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      const said = { stdout: '', stderr: '' };
      child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
      const exited = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
      const over = () => child.exitCode !== null || child.signalCode !== null;
      try {
        await until(() => /^\{"event":"ready".*\}$/m.test(said.stdout) || over(), 'ready');
        expect(said.stderr).toContain('signmesh is ready');
        const ready = JSON.parse(/^\{"event":"ready".*\}$/m.exec(said.stdout)![0]) as ReadyLine;
        await signOnce(ready);
        process.kill(-child.pid!, 'SIGINT');
        await exited;
        await allGone(ready.pids);
        expect(said.stderr).toContain('All processes have stopped');
        expect(existsSync(join(project, '.signmesh', 'cluster.json'))).toBe(true);
        expect(listing(installed)).toEqual(before);
      } finally {
        if (!over()) process.kill(-child.pid!, 'SIGKILL');
      }
    },
  );

  test('without redis-server says in one line what to install, and installs nothing', async () => {
    const bin = join(temporaryFolder(), 'bin');
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, 'node'));
    const command = join(project, 'node_modules', '.bin', 'signmesh');
    const { exitCode, stdout, stderr } = await run(project, command, ['up', '--no-embedded'], { PATH: bin });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(
      /^signmesh: redis-server is not on this machine\. Install Redis 7 or newer .*REDIS_URL.*\n$/,
    );
  });

  test('runs the whole service in one process, without redis-server, and leaves nothing behind', async () => {
    const empty = temporaryFolder();
    const bin = join(empty, 'bin');
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, 'node'));
    const ports = { SIGNMESH_HTTP_PORT: '0', SIGNMESH_GRPC_PORT: '0' };
    const command = join(project, 'node_modules', '.bin', 'signmesh');
    const before = listing(installed);
    const child = spawn(command, ['up', '--embedded', '--json'], {
      cwd: empty,
      env: { ...shellEnvironment(), ...ports, PATH: bin },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    const exited = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
    try {
      await until(() => stdout.endsWith('}\n') || child.exitCode !== null, 'ready');
      await signOnce(JSON.parse(stdout) as ReadyLine);
    } finally {
      child.kill('SIGINT');
    }
    expect(await exited).toBe(0);
    expect(readdirSync(empty)).toEqual(['bin']);
    expect(listing(installed)).toEqual(before);
    // In the background, it has a directory where other commands find it: of a checkout, test/cli/up.test.ts.
    if (!isThorough) return;
    const there = (...words: string[]) =>
      run(empty, command, [...words, '--data-dir', 'here'], { ...ports, PATH: bin });
    const detached = await there('up', '--embedded', '--detach', '--json');
    await signOnce(JSON.parse(detached.stdout) as ReadyLine);
    expect(JSON.parse((await there('status', '--json')).stdout)).toMatchObject({ state: 'ready' });
    expect((await there('up', '--embedded', '--detach')).stderr).toMatch(/^signmesh: .* is in use by/m);
    expect(await there('stop')).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^All processes have/) });
  });

  test('offers what a package can do, and refuses the rest by name', async () => {
    const signmesh = (...words: string[]) => run(project, join(project, 'node_modules', '.bin', 'signmesh'), words);
    const { stdout } = await signmesh('--help');
    expect(stdout).toMatch(/^ {2}scenario /m);
    expect(stdout).not.toMatch(/^ {2}(bench|check|docs) /m);
    const refused = await signmesh('check');
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is for a checkout') });
    const ran = await signmesh('scenario', 'run', 'crash-before-partial');
    expect(ran).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('npx signmesh scenario run ') });
    if (!isThorough) return;
    const searched = await signmesh('sim', '--seeds', '2', '--profile', 'calm', '--jobs', '2');
    expect(searched).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^2 runs, .*: nothing found\n$/) });
  });

  // The choice of the library: test/core/crypto/secp256k1.test.ts.
  test.runIf(isThorough)(
    'on a platform without a binary of secp256k1 signs in JavaScript, and its health says so',
    async () => {
      const without = join(project, 'node_modules', 'signmesh-without-binary');
      cpSync(installed, without, { recursive: true });
      rmSync(join(without, 'dist', 'native', 'secp256k1', `${process.platform}-${process.arch}`), { recursive: true });
      const cryptos = await Promise.all(
        [installed, without].map(async (folder) => {
          const data = temporaryFolder();
          const there = (...words: string[]) =>
            run(data, process.execPath, [join(folder, 'cli', 'signmesh.mjs'), ...words, '--data-dir', 'here'], {
              SIGNMESH_HTTP_PORT: '0',
              SIGNMESH_GRPC_PORT: '0',
            });
          const { stdout } = await there('up', '--embedded', '--detach', '--json');
          const ready = JSON.parse(stdout) as ReadyLine;
          await signOnce(ready);
          const health = (await (await fetch(`${ready.http}/v1/health`)).json()) as { readonly crypto: string };
          await there('stop');
          return health.crypto;
        }),
      );
      rmSync(without, { recursive: true });
      expect(cryptos).toEqual(['native', 'js']);
    },
  );

  test.runIf(isThorough)('brings no elliptic, and npm lists what it brings', async () => {
    const elliptic = await run(project, 'npm', ['ls', 'elliptic', '--omit=dev', '--json']);
    expect(JSON.parse(elliptic.stdout)).not.toHaveProperty('dependencies');
    // From the lock file: node_modules has tools of this repository besides.
    const { stdout } = await run(project, 'npm', [
      'sbom',
      '--sbom-format',
      'cyclonedx',
      '--omit=dev',
      '--package-lock-only',
    ]);
    const { components } = JSON.parse(stdout) as { readonly components: readonly { readonly name: string }[] };
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['signmesh', 'sodium-native']));
  });

  test('of a package that was made without its build says so', async () => {
    const bare = temporaryFolder();
    for (const path of ['package.json', 'cli']) cpSync(join(installed, path), join(bare, path), { recursive: true });
    const { exitCode, stderr } = await run(bare, process.execPath, ['cli/signmesh.mjs', 'up']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^signmesh: the package in .* contains no build: .*"npm run package".*\n$/);
  });
});

describe('signmesh/testing, installed', () => {
  // In the checkout examples/testing/ runs always; what vitest and node:test import is the same.
  test.runIf(isThorough)('serves vitest files: signatures, and the HTTP client of a user', async () => {
    for (const file of ['survives-a-crash.test.ts', 'payouts.test.ts', 'payout-client.ts'])
      cpSync(join(root, 'examples/testing', file), join(project, file));
    // Vitest's own limits, 5 and 10 s by the clock, are too short for a busy machine.
    const limits = ['--testTimeout=120000', '--hookTimeout=120000'];
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...limits];
    // The cluster with ports is the embedded service, which is tried above.
    const { exitCode, stdout, stderr } = await run(project, process.execPath, vitest, { PAYOUTS_IN: 'simulated' });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/Tests .*7 passed/);
  });

  test('serves a node:test file', async () => {
    cpSync(join(root, 'examples/testing/snapshot.node-test.mjs'), join(project, 'snapshot.node-test.mjs'));
    const { exitCode, stdout } = await run(project, process.execPath, ['--test', 'snapshot.node-test.mjs']);
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/pass 2\n[\s\S]*fail 0/) });
  });

  const resolutions: [resolution: string, module: string, files: string[]][] = [
    ['nodenext', 'nodenext', ['typed.mts', 'typed-commonjs.cts']],
    ['bundler', 'esnext', ['typed.mts']],
  ];
  // Of the two, `nodenext` reads all of `exports` and both kinds of modules.
  test.each(resolutions.slice(0, runs(1, 2)))('compiles strictly under %s', async (resolution, module, files) => {
    const settings = [
      '--strict',
      '--noEmit',
      '--checkers',
      '1',
      '--skipLibCheck',
      'false',
      '--target',
      'es2022',
      '--types',
      '',
    ];
    const args = [tsc, ...settings, '--moduleResolution', resolution, '--module', module, ...files];
    expect(await run(project, process.execPath, args, { GOGC: '400' })).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: '',
    });
  });

  test('is loaded by require from CommonJS', async () => {
    const { exitCode, stdout } = await run(project, process.execPath, ['commonjs.cjs']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '64\n' });
  });
});

async function signOnce({ http, token, keys }: ReadyLine): Promise<void> {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${http}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, string>;
  };
  const digest = new Uint8Array(32).fill(7);
  const opened = await post('/v1/signing/initiate', {
    transaction_intent_id: 'stranger-1',
    wallet_id: 'sandbox-secp256k1',
    message_hash: Buffer.from(digest).toString('base64'),
  });
  const signed = await post('/v1/signing/share', { signing_session_id: opened.signing_session_id });
  const signature = Buffer.from(signed.full_signature!, 'base64');
  const publicKey = Buffer.from(keys.find(({ wallet_id }) => wallet_id === 'sandbox-secp256k1')!.public_key, 'hex');
  expect(secp256k1.verify(signature, digest, publicKey, { prehash: false })).toBe(true);
}
