/**
 * Set-up, from outside: cli/signmesh.mjs in a repository of its own, with stand-ins for npm, the build and redis-server
 * that write down how often they were called.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { isAlive } from '../support/alive.ts';
import { isThorough, runs } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { keptFolder, temporaryFolder } from './support/temporary.ts';
import { root as repository } from './support/up-process.ts';

class Fixture {
  readonly root: string;

  constructor(folder = temporaryFolder()) {
    this.root = folder;
    this.write('package.json', JSON.stringify({ type: 'module', dependencies: { a: '1.0.0' } }));
    this.write('package-lock.json', JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.0' } } }));
    this.write('tools/build.mjs', buildStandIn);
    this.write('cli/main.ts', 'one');
    copyFileSync(join(repository, 'cli/signmesh.mjs'), join(this.root, 'cli/signmesh.mjs'));
    this.program('npm', npmStandIn);
    // Once: a process that is running must not find one half written.
    this.makeTools();
    this.program('redis-server', `echo 'Redis server v=7.2.4 sha=0'`);
    this.program('chromium', '');
  }

  path = (path: string) => join(this.root, path);
  read = (path: string) => (existsSync(this.path(path)) ? readFileSync(this.path(path), 'utf8') : '');
  calls = (name: string) => this.read(`${name}.calls`).split('\n').filter(Boolean).length;

  write(path: string, content: string): void {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), content);
  }

  program(name: string, script: string): void {
    this.write(`bin/${name}`, `#!/bin/sh\ncd "${this.root}"\necho "$@" >> ${name}.calls\n${script}\n`);
    chmodSync(this.path(`bin/${name}`), 0o755);
  }

  run(
    args: readonly string[],
    extra: NodeJS.ProcessEnv = {},
    /** Runs once, when standard error says `on`. */
    { on, act }: { on?: RegExp; act?: (child: ChildProcess) => void } = {},
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const child = spawn(process.execPath, [this.path('cli/signmesh.mjs'), ...args], {
      // The stand-ins and the tools they are made of, and nothing else of this machine.
      env: { PATH: `${this.path('bin')}:${this.path('shell')}`, ...extra },
      stdio: 'pipe',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      if (on?.test(stderr) !== true) return;
      on = undefined;
      act?.(child);
    });
    return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr })));
  }

  makeTools(): void {
    for (const tool of ['mkdir', 'rm', 'cp', 'cat', 'true']) {
      this.write(`shell/${tool}`, `#!/bin/sh\nPATH=/usr/bin:/bin exec ${tool} "$@"\n`);
      chmodSync(this.path(`shell/${tool}`), 0o755);
    }
  }
}

/** Does what `npm ci` does, in its order: the old packages go first, the lock of the installed ones comes last. */
const npmStandIn = `
rm -rf node_modules
mkdir -p node_modules/a
echo '{"version":"1.0.0"}' > node_modules/a/package.json
[ -f interrupt ] && exit 1
cp package-lock.json node_modules/.package-lock.json`;

/** As tools/build.mjs: a file, and the digests of what it read. */
const buildStandIn = `
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const root = join(import.meta.dirname, '..');
appendFileSync(join(root, 'build.calls'), 'call\\n');
const source = readFileSync(join(root, 'cli/main.ts'), 'utf8');
if (source === 'broken') { console.log('cli/main.ts:1:1: error: broken'); process.exit(1); }
const out = process.argv[2];
mkdirSync(join(out, 'cli'), { recursive: true });
const without = '[globalThis.signmeshNoRedis, globalThis.signmeshNoChromium].map((why) => why && "(" + why + ")").find(Boolean)';
const words = '[' + JSON.stringify(source) + ', ...process.argv.slice(2), ' + without + '].filter(Boolean).join(" ")';
writeFileSync(join(out, 'cli/main.js'), 'console.log(' + words + ')');
const inputs = ['cli/main.ts', 'long-unchanged.ts'].filter((path) => existsSync(join(root, path)));
const digest = (path) => createHash('sha256').update(readFileSync(join(root, path))).digest('hex');
writeFileSync(join(out, '.stamp'), JSON.stringify(Object.fromEntries(inputs.map((path) => [path, digest(path)]))));`;

test('installs and builds once, hands the words over, then says and does nothing more', async () => {
  const fixture = new Fixture();
  const first = await fixture.run(['gateway', '--x']);
  expect(first).toMatchObject({ code: 0, stdout: 'one gateway --x\n' });
  expect(first.stderr).toMatch(/packages +installing with npm ci/);
  expect(first.stderr).toMatch(/build +ready/);
  expect(await fixture.run(['gateway'])).toEqual({ code: 0, stdout: 'one gateway\n', stderr: '' });
  expect([fixture.calls('npm'), fixture.calls('build')]).toEqual([1, 1]);
});

test('a changed source is built again, and only that', async () => {
  const fixture = new Fixture();
  await fixture.run(['x']);
  fixture.write('cli/main.ts', 'two');
  expect((await fixture.run(['x'])).stdout).toBe('two x\n');
  expect([fixture.calls('npm'), fixture.calls('build')]).toEqual([1, 2]);
});

test('a source whose size and times are those of an earlier comparison is not read again', async () => {
  const fixture = new Fixture();
  symlinkSync(join(repository, 'package.json'), fixture.path('long-unchanged.ts'));
  const soon = new Date(Date.now() + 3_600_000);
  utimesSync(fixture.path('cli/main.ts'), soon, soon);
  await fixture.run(['x']);
  await fixture.run(['x']);
  const compared = () => JSON.parse(fixture.read('.setup/compared.json')) as Record<string, string>;
  // One that has just been written might be written again at the same time of the file system.
  expect(Object.keys(compared())).toEqual(['long-unchanged.ts']);
  const digests = JSON.parse(fixture.read('dist/.stamp')) as Record<string, string>;
  fixture.write('cli/main.ts', 'two');
  const { size, mtimeMs, ctimeMs } = statSync(fixture.path('cli/main.ts'));
  const claimed = `${size} ${mtimeMs} ${ctimeMs} ${digests['cli/main.ts']}`;
  fixture.write('.setup/compared.json', JSON.stringify({ ...compared(), 'cli/main.ts': claimed }));
  expect((await fixture.run(['x'])).stdout).toBe('one x\n');
  utimesSync(fixture.path('cli/main.ts'), 1, 1);
  expect((await fixture.run(['x'])).stdout).toBe('two x\n');
  expect(fixture.calls('build')).toBe(2);
});

test('other dependencies are installed', async () => {
  const fixture = new Fixture();
  await fixture.run(['x']);
  fixture.write('package.json', JSON.stringify({ type: 'module', dependencies: { a: '1.0.0', b: '1.0.0' } }));
  fixture.write('package-lock.json', JSON.stringify({ packages: { '': {}, 'node_modules/a': { version: '1.0.1' } } }));
  await fixture.run(['x']);
  expect(fixture.calls('npm')).toBe(2);
});

test('an install that has a package too many is made again', async () => {
  const fixture = new Fixture();
  await fixture.run(['x']);
  const lock = JSON.parse(fixture.read('package-lock.json'));
  const { packages } = lock;
  const before = { packages: { ...packages, 'node_modules/b': { version: '1.0.0' } } };
  fixture.write('node_modules/.package-lock.json', JSON.stringify(before));
  rmSync(fixture.path('node_modules/.signmesh-stamp'));
  await fixture.run(['x']);
  expect(fixture.calls('npm')).toBe(2);
});

test('an interrupted install is made again', async () => {
  const fixture = new Fixture();
  fixture.write('interrupt', '');
  const interrupted = await fixture.run(['x']);
  expect(interrupted.code).toBe(1);
  expect(interrupted.stderr).toMatch(/packages: "npm ci .*" failed \(1\)/);
  rmSync(fixture.path('interrupt'));
  expect((await fixture.run(['x'])).code).toBe(0);
  expect(fixture.calls('npm')).toBe(2);
});

test('an install that was made by hand is taken as it is', async () => {
  const fixture = new Fixture();
  await fixture.run(['x']);
  rmSync(fixture.path('node_modules/.signmesh-stamp'));
  await fixture.run(['x']);
  expect(fixture.calls('npm')).toBe(1);
  rmSync(fixture.path('node_modules/.signmesh-stamp'));
  rmSync(fixture.path('node_modules/a'), { recursive: true });
  await fixture.run(['x']);
  expect(fixture.calls('npm')).toBe(2);
});

test('a build that fails shows its words and leaves the old build where it is', async () => {
  const fixture = new Fixture();
  await fixture.run(['x']);
  fixture.write('cli/main.ts', 'broken');
  const broken = await fixture.run(['x']);
  expect(broken.code).toBe(1);
  expect(broken.stderr).toContain('error: broken');
  expect(fixture.read('dist/cli/main.js')).toContain('one');
  fixture.write('cli/main.ts', 'one');
  expect((await fixture.run(['x'])).stdout).toBe('one x\n');
});

test('of several that start at once one installs and builds, and none sees half of it', async () => {
  const fixture = new Fixture();
  const results = await Promise.all(Array.from({ length: 6 }, () => fixture.run(['x'])));
  for (const result of results) expect(result).toMatchObject({ code: 0, stdout: 'one x\n' });
  expect([fixture.calls('npm'), fixture.calls('build')]).toEqual([1, 1]);
});

test('a lock whose owner died is taken over', async () => {
  const fixture = new Fixture();
  fixture.write('.setup/packages.lock', '999999999');
  fixture.write('.setup/build.lock', '999999999');
  expect((await fixture.run(['x'])).code).toBe(0);
});

const kept = keptFolder();
let shared: Fixture | undefined;
afterAll(() => rmSync(kept, { recursive: true, force: true }));
/** For tests that change nothing in it: the first of them installs and builds. */
function installed(): Fixture {
  shared ??= new Fixture(kept);
  return shared;
}

test.each([
  [['up'], {}, 1],
  [['up'], { REDIS_URL: 'redis://h:1' }, 0],
  [['--development', 'check'], { REDIS_URL: 'redis://h:1' }, 1],
  [['--development', 'check', '--tier', 'redis'], {}, 1],
  [['--development', 'check', '--tier', 'fast'], {}, 0],
  [['gateway'], {}, 0],
  [['up', '--help'], {}, 0],
])('%j with %j asks for redis-server %i times', async (args, environment, times) => {
  const fixture = installed();
  rmSync(fixture.path('redis-server.calls'), { force: true });
  const { code, stdout } = await fixture.run(args, environment);
  expect(code).toBe(0);
  expect(stdout).toBe(`one ${args.filter((arg) => arg !== '--development').join(' ')}\n`);
  expect(fixture.calls('redis-server')).toBe(times);
});

const missing =
  'Install Redis 7 or newer (package "redis-server" or "redis"), or set SIGNMESH_REDIS_SERVER to its program or REDIS_URL to a running one.';

const causes: readonly (readonly [cause: string, redis: string | undefined, brew: string, why: RegExp | string])[] = [
  ['is too old', `echo 'Redis server v=6.2.1 sha=0'`, '', /^Redis 7 or newer is needed; redis-server is 6\.2\.1\. /],
  ['is missing, and no package manager', undefined, '', `redis-server is not on this machine. ${missing}`],
  ['does not run', 'exit 1', '', /^redis-server does not run as a redis-server\. /],
  [
    'is missing, and its installation fails',
    undefined,
    'echo Reading; echo E: no such package >&2; exit 100',
    `redis-server is not on this machine, and brew did not install it: E: no such package. ${missing}`,
  ],
];
test.each(causes.slice(0, runs(2, causes.length)))(
  'where redis-server %s, up and the checks hear of it, and other commands end in one line',
  async (cause, redis, brew, why) => {
    const fixture = new Fixture();
    if (redis === undefined) rmSync(fixture.path('bin/redis-server'));
    else fixture.program('redis-server', redis);
    if (brew !== '') fixture.program('brew', brew);
    const heard = async (args: readonly string[]) => {
      const { code, stdout } = await fixture.run(args);
      expect(code).toBe(0);
      return /^one \w+ \((.*)\)\n$/.exec(stdout)?.[1];
    };
    const said = await heard(['up']);
    expect(said).toMatch(typeof why === 'string' ? new RegExp(`^${why.replace(/[.()]/g, '\\$&')}$`) : why);
    expect(await heard(['--development', 'check'])).toBe(said);
    const others = [['demo'], ['bench'], ['scenario', 'run', '--live', 'x.yaml'], ['--development', 'mutate']];
    // Which commands need one does not depend on what is wrong with it.
    for (const args of others.slice(0, isThorough || cause === 'is too old' ? others.length : 1)) {
      const { code, stdout, stderr } = await fixture.run(args);
      expect([code, stdout, stderr.trim().split('\n').at(-1)]).toEqual([1, '', `signmesh: ${said}`]);
    }
  },
);

test('tests get a chromium, and no other command does; without one they hear why', async () => {
  const fixture = installed();
  rmSync(fixture.path('bin/chromium'));
  fixture.program('sudo', 'shift\nexec "$@"');
  fixture.program('apk', `echo 'E: no such package' >&2; exit 1`);
  await fixture.run(['up']);
  fixture.program('browser', '');
  const own = { CHROMIUM_PATH: fixture.path('bin/browser') };
  expect((await fixture.run(['--development', 'check'], own)).stdout).toBe('one check\n');
  fixture.program('browser', 'exit 1');
  expect((await fixture.run(['--development', 'check'], own)).stdout).toMatch(
    /^one check \(\S+\/browser does not start here\. /,
  );
  expect(fixture.calls('apk')).toBe(0);
  const why = 'chromium is not on this machine, and apk did not install it: E: no such package. ';
  const remedy = 'Install the package "chromium", or set CHROMIUM_PATH to a browser\'s program.';
  expect((await fixture.run(['--development', 'check'])).stdout).toBe(`one check (${why}${remedy})\n`);
  fixture.program('apk', `cp bin/redis-server bin/chromium`);
  expect((await fixture.run(['--development', 'check'])).stdout).toBe('one check\n');
  await fixture.run(['--development', 'check']);
  expect(fixture.read('apk.calls')).toBe('add chromium\nadd chromium\n');
});

test.each((['SIGTERM', 'SIGINT', 'SIGHUP'] as const).slice(0, runs(1, 3)))(
  '%s during set-up ends its command and set-up',
  async (signal) => {
    const fixture = new Fixture();
    fixture.program('npm', 'echo $$ > npm.pid; PATH=/usr/bin:/bin; sleep 600 & wait');
    const at = { on: /installing with npm ci/, act: (child: ChildProcess) => void child.kill(signal) };
    const { code, stdout, stderr } = await fixture.run(['up'], {}, at);
    expect([code, stdout, stderr.trim().split('\n').at(-1)]).toEqual([130, '', `Stopping: ${signal}.`]);
    expect(readdirSync(fixture.path('.setup'))).toEqual([]);
    const npm = Number(fixture.read('npm.pid'));
    if (npm > 0) await until(() => !isAlive(npm), 'npm has ended');
  },
);

test('a signal while set-up waits for a program ends it: nothing starts', async () => {
  const fixture = new Fixture();
  await fixture.run(['x']);
  fixture.program('redis-server', `kill -INT $PPID; echo 'Redis server v=7.2.4 sha=0'`);
  expect(await fixture.run(['up'])).toEqual({ code: 130, stdout: '', stderr: 'Stopping: SIGINT.\n' });
});

test('a command that ignores the signal is killed by a second one, and an interrupted installation is not replaced', async () => {
  const fixture = new Fixture();
  rmSync(fixture.path('bin/redis-server'));
  fixture.program('brew', 'trap "" TERM; echo $$ > brew.pid; PATH=/usr/bin:/bin; while :; do sleep 1; done');
  const act = (child: ChildProcess) => {
    const again = setInterval(() => child.kill('SIGINT') || clearInterval(again), 50);
  };
  const { code, stdout } = await fixture.run(['up'], {}, { on: /installing with brew/, act });
  expect([code, stdout]).toEqual([130, '']);
  const brew = Number(fixture.read('brew.pid'));
  if (brew > 0) await until(() => !isAlive(brew), 'brew has ended');
});

test('a package manager that may install brings redis-server', async () => {
  const fixture = new Fixture();
  rmSync(fixture.path('bin/redis-server'));
  const redis = `#!/bin/sh\\necho "Redis server v=7.2.4 sha=0"`;
  fixture.program('brew', `printf '${redis}' > bin/redis-server; PATH=/usr/bin:/bin chmod 755 bin/redis-server`);
  const { code, stderr } = await fixture.run(['up']);
  expect(stderr).toMatch(/redis-server +installing with brew/);
  expect(code).toBe(0);
  expect(fixture.read('brew.calls')).toBe('install --quiet redis\n');
});

test('a redis-server that is named is the one that counts', async () => {
  const fixture = new Fixture();
  rmSync(fixture.path('bin/redis-server'));
  fixture.program('my-redis', `echo 'Redis server v=7.9.0 sha=0'`);
  expect((await fixture.run(['up'], { SIGNMESH_REDIS_SERVER: fixture.path('bin/my-redis') })).code).toBe(0);
  const none = await fixture.run(['up'], { SIGNMESH_REDIS_SERVER: '/nowhere/redis' });
  expect(none.code).toBe(1);
  expect(none.stderr).toContain('/nowhere/redis does not run as a redis-server');
});
