#!/usr/bin/env node
/**
 * Sets up what is missing, then hands over to the real command in the same process.
 *
 * This file runs before node_modules and dist exist: plain JavaScript, node built-ins only. In order: the version of
 * Node, the packages, the build, redis-server (only for commands that start a Redis), and chromium (only for tests). What is
 * there already costs a few milliseconds and prints nothing; what is missing prints one line a step.
 *
 * All that is for a checkout, which has the build's program (tools/build.mjs). The npm package has the build instead:
 * there this file installs, compiles and writes nothing, and only checks that Node and Redis are new enough.
 *
 * Several processes may start at once: packages and build are made under a lock, and each becomes effective by a rename at
 * its end, so that no process reads an incomplete one.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** A package never has it. */
const isCheckout = existsSync(join(root, 'tools', 'build.mjs'));
const nodeNeeded = [20, 19];
const redisMajorNeeded = 7;
/** Longer than the unit of time of any file system. */
const settledMs = 3000;
/** Commands that start a private Redis unless REDIS_URL names one. Checks always start their own. */
const commandsWithRedis = ['up', 'demo', 'bench'];

/** The tiers of `npm test` whose tests need none. */
const tiersWithoutRedis = ['fast', 'worlds'];
/** Commands that know what to do without one (cli/start/no-redis.ts). */
const commandsThatAdapt = ['up', 'check'];
/** A terminal and npm both send us a Ctrl-C: a second one within this time is the same one. */
const sameSignalMs = 700;
/** The shell's word for "interrupted". */
const interruptedCode = 130;
/** For npm or a package manager that has been asked to stop. */
const stopGraceMs = 3000;
/** A browser's first start on a busy machine. */
const browserStartMs = 30_000;

class SetupFailure extends Error {}
/** There is no suitable redis-server, and none can be installed. */
class NoRedis extends SetupFailure {}

const say = (line) => process.stderr.write(`${line}\n`);
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const readJson = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
};

async function main() {
  interruption.begin();
  checkNode();
  const args = process.argv.slice(2);
  const development = args[0] === '--development';
  if (development) args.shift();
  const command = args.find((arg) => !arg.startsWith('-'));

  if (isCheckout) {
    await ensurePackages();
    await ensureBuild();
  } else {
    checkPackaged();
  }
  // Scenarios against processes of their own: they start a private Redis whatever REDIS_URL says.
  const live = command === 'scenario' && args.some((arg) => arg === '--live');
  const embedded = command === 'up' && args.includes('--embedded');
  const tests = development && !tiersWithoutRedis.includes(args[args.indexOf('--tier') + 1]);
  const needsRedis = tests || live || (commandsWithRedis.includes(command) && !embedded && !process.env.REDIS_URL);
  const isHelp = args.includes('--help') || args.includes('-h');
  if (needsRedis && !isHelp) await ensureRedisFor(command);
  if (tests && !isHelp && globalThis.signmeshNoRedis === undefined) await ensureChromium();

  // A signal that came during synchronous work is delivered when the event loop polls: between two immediates, not before the first.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  interruption.check();
  interruption.end();
  process.argv.splice(2, process.argv.length, ...args);
  await import('../dist/cli/main.js');
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > nodeNeeded[0] || (major === nodeNeeded[0] && minor >= nodeNeeded[1])) return;
  throw new SetupFailure(
    `Node.js ${nodeNeeded.join('.')} or newer is needed; this is ${process.versions.node} (${process.execPath}).`,
  );
}

/** What npm packs of a checkout, from a git URL for one, has no build, and nothing to make one from. */
function checkPackaged() {
  if (existsSync(join(root, 'dist', 'cli', 'main.js'))) return;
  throw new SetupFailure(
    `the package in ${root} contains no build: install it from a tarball that "npm run package" made in a checkout.`,
  );
}

// --- packages ------------------------------------------------------------------------------------------------------

/**
 * The stamp lies inside node_modules, so that deleting or replacing node_modules removes it too. `npm ci`
 * deletes node_modules first and writes its own lock last: an interrupted install has neither.
 */
async function ensurePackages() {
  const manifest = readJson(join(root, 'package.json'));
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const wanted = sha256(lockText, JSON.stringify([manifest.dependencies, manifest.devDependencies]));
  const stamp = join(root, 'node_modules', '.signmesh-stamp');
  const current = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;
  if (current()) return;
  await underLock('packages', async () => {
    if (current()) return;
    if (!installedByNpm(JSON.parse(lockText))) {
      await step('packages', 'installing with npm ci', npmCommand(), [
        'ci',
        '--include=dev',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
      ]);
    }
    replaceFile(stamp, wanted);
  });
}

/** Whether a manual install finished and has exactly the locked versions: a package too many would be found before a locked one. */
function installedByNpm(lock) {
  const installed = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages;
  if (!installed || Object.keys(installed).some((path) => lock.packages?.[path] === undefined)) return false;
  for (const [path, wanted] of Object.entries(lock.packages ?? {})) {
    if (path === '') continue;
    const found = installed[path];
    // Packages for other platforms are in the lock and never on the disk.
    if (found === undefined && wanted.optional) continue;
    if (found?.version !== wanted.version || found.integrity !== wanted.integrity) return false;
    if (!existsSync(join(root, path, 'package.json'))) return false;
  }
  return true;
}

/** npm of the Node that runs us, when npm started us; else the one on the PATH. */
function npmCommand() {
  const script = process.env.npm_execpath;
  if (script?.endsWith('npm-cli.js') && existsSync(script)) return [process.execPath, script];
  return ['npm'];
}

// --- build ---------------------------------------------------------------------------------------------------------

async function ensureBuild() {
  const dist = join(root, 'dist');
  if (isCurrent(dist)) return;
  await underLock('build', async () => {
    if (isCurrent(dist)) return;
    // As deep as dist: source maps name the sources relative to their own place.
    const made = join(root, `.dist-${randomUUID()}`);
    const old = join(root, '.setup', `old-${randomUUID()}`);
    try {
      await step('build', 'bundling', [process.execPath, join(root, 'tools', 'build.mjs')], [made]);
      if (existsSync(dist)) renameSync(dist, old);
      renameSync(made, dist);
    } finally {
      rmSync(made, { recursive: true, force: true });
      rmSync(old, { recursive: true, force: true });
    }
  });
}

/**
 * Whether every file that the build read is what it was. By content, not by time: a fresh clone compares right. A file whose
 * size and times are those of an earlier comparison is not read again.
 */
function isCurrent(dist) {
  const inputs = readJson(join(dist, '.stamp'));
  if (inputs === undefined) return false;
  const comparedFile = join(root, '.setup', 'compared.json');
  const before = readJson(comparedFile) ?? {};
  const compared = {};
  const nowMs = Date.now();
  for (const [path, digest] of Object.entries(inputs)) {
    try {
      const file = join(root, path);
      const { size, mtimeMs, ctimeMs } = statSync(file);
      const state = `${size} ${mtimeMs} ${ctimeMs} ${digest}`;
      if (before[path] !== state && sha256Hex(readFileSync(file)) !== digest) return false;
      // A file that has just changed might change again at what the file system calls the same time.
      if (nowMs - Math.max(mtimeMs, ctimeMs) > settledMs) compared[path] = state;
    } catch {
      return false;
    }
  }
  if (Object.entries(compared).some(([path, state]) => before[path] !== state)) retain(comparedFile, compared);
  return true;
}

/** Saves work of the next start; a checkout that cannot be written to does without. */
function retain(path, value) {
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, JSON.stringify(value));
  } catch {}
}

// --- redis-server --------------------------------------------------------------------------------------------------

/** A command that adapts reads why there is none. */
async function ensureRedisFor(command) {
  try {
    await ensureRedis();
  } catch (error) {
    if (!(error instanceof NoRedis) || !commandsThatAdapt.includes(command)) throw error;
    globalThis.signmeshNoRedis = error.message;
  }
}

async function ensureRedis() {
  const named = process.env.SIGNMESH_REDIS_SERVER;
  // A program that a person named is never replaced by something else.
  if (named) return checkRedis(named, SetupFailure);
  if (!onPath('redis-server')) await installRedis();
  checkRedis('redis-server', NoRedis);
}

function checkRedis(program, Unsuitable) {
  const result = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const version = /\bv=(\d+)\.[\d.]+/.exec(result.stdout ?? '');
  if (result.error || !version) {
    throw new Unsuitable(`${program} does not run as a redis-server. Set SIGNMESH_REDIS_SERVER to one, or REDIS_URL.`);
  }
  if (Number(version[1]) < redisMajorNeeded) {
    throw new Unsuitable(
      `Redis ${redisMajorNeeded} or newer is needed; ${program} is ${version[0].slice(2)}. ` +
        'Set SIGNMESH_REDIS_SERVER to a newer redis-server, or REDIS_URL to a running one.',
    );
  }
}

const redisPackages = { brew: ['redis'], 'apt-get': ['redis-server'], dnf: ['redis'], apk: ['redis'] };

async function installRedis() {
  const missing = (why) =>
    new NoRedis(
      `redis-server is not on this machine${why}. Install Redis ${redisMajorNeeded} or newer (package "redis-server" ` +
        'or "redis"), or set SIGNMESH_REDIS_SERVER to its program or REDIS_URL to a running one.',
    );
  await install('redis-server', redisPackages, missing);
}

/** Packages of a program by the manager that knows them. `missing`: the error that says why it is not installed. */
async function install(program, packages, missing) {
  // Who adds a package to a project has not asked for changes to the system.
  if (!isCheckout) throw missing('');
  const manager = Object.keys(packages).find(onPath);
  if (!manager) throw missing('');
  // Homebrew refuses to run as root and needs none; the others do.
  const asRoot = manager === 'brew' ? [] : rootPrefix();
  if (!asRoot) throw missing(', and only root may install it');
  try {
    if (manager === 'apt-get') return await aptInstall(program, packages[manager], asRoot);
    const words = { brew: ['install', '--quiet'], dnf: ['install', '-y'], apk: ['add'] }[manager];
    await step(program, `installing with ${manager}`, [...asRoot, manager], [...words, ...packages[manager]]);
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    throw missing(`, and ${manager} did not install it: ${error.message.trimEnd().split('\n').at(-1)}`);
  }
}

/**
 * Debian's package starts a system Redis on port 6379 unless policy-rc.d says no. A policy that is there already is
 * the administrator's and stays; ours is removed again.
 */
async function aptInstall(program, packages, asRoot) {
  const policy = '/usr/sbin/policy-rc.d';
  const ours = join(root, '.setup', 'policy-rc.d');
  const placed = !existsSync(policy);
  const run = (...command) => {
    const [name, ...args] = [...asRoot, ...command];
    spawnSync(name, args);
  };
  if (placed) {
    mkdirSync(dirname(ours), { recursive: true });
    writeFileSync(ours, '#!/bin/sh\n# Placed by signmesh while it installs a package: start no service.\nexit 101\n');
    chmodSync(ours, 0o755);
    run('cp', '-p', ours, policy);
  }
  const environment = ['env', 'DEBIAN_FRONTEND=noninteractive'];
  // Another program may be installing: the machine's own updates, or a second start.
  const patient = ['-o', 'DPkg::Lock::Timeout=120'];
  const words = [...environment, 'apt-get', ...patient, 'install', '-y', '-q', '--no-install-recommends', ...packages];
  try {
    await step(program, 'installing with apt-get', asRoot, words).catch(async (error) => {
      if (!(error instanceof SetupFailure)) throw error;
      // No package lists yet, or old ones: fetch them, once.
      await step(program, 'updating the package lists', asRoot, [...environment, 'apt-get', 'update', '-q']);
      await step(program, 'installing with apt-get', asRoot, words);
    });
  } finally {
    if (placed) run('rm', '-f', policy);
  }
}

// --- chromium ------------------------------------------------------------------------------------------------------

const chromiumPackages = { 'apt-get': ['chromium'], dnf: ['chromium'], apk: ['chromium'] };

/**
 * Tests open pages in it (test/support/chromium.ts). Without one that starts they do not run, and `npm test` reads why: a container
 * may hold the program and not let it run.
 */
async function ensureChromium() {
  const missing = (why) =>
    new SetupFailure(
      `chromium is not on this machine${why}. Install the package "chromium", or set CHROMIUM_PATH to a browser's program.`,
    );
  try {
    const known = process.env.CHROMIUM_PATH || ['chromium', 'chromium-browser', 'google-chrome'].find(onPath);
    if (!known) await install('chromium', chromiumPackages, missing);
    const browser = known || 'chromium';
    const words = ['--headless', '--no-sandbox', '--disable-gpu', '--dump-dom', 'about:blank'];
    const { status } = spawnSync(browser, words, { stdio: 'ignore', timeout: browserStartMs });
    if (status !== 0)
      throw new SetupFailure(`${browser} does not start here. Set CHROMIUM_PATH to a browser's program that does.`);
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    globalThis.signmeshNoChromium = error.message;
    process.env.CHROMIUM_PATH = 'none';
  }
}

/** The words to put before a command that needs root; undefined: root is not to be had without a password. */
function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return onPath('sudo') && spawnSync('sudo', ['-n', 'true']).status === 0 ? ['sudo', '-n'] : undefined;
}

function onPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      const path = join(folder || '.', program);
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

// --- steps and locks -----------------------------------------------------------------------------------------------

/** Runs one command, tells how long it has taken while it runs, and shows its output only if it fails. */
async function step(name, what, prefix, args) {
  const begin = performance.now();
  const [program, ...rest] = [...prefix, ...args];
  say(`  ${name.padEnd(14)} ${what} …`);
  const progress = setInterval(() => say(`  ${name.padEnd(14)} ${what} … ${seconds(begin)}`), 5000);
  const output = [];
  // In a group of its own, so that what it has started ends with it.
  const child = spawn(program, rest, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const release = interruption.govern(child);
  child.stdout.on('data', (data) => output.push(data));
  child.stderr.on('data', (data) => output.push(data));
  try {
    const ending = await new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(signal ?? code));
    });
    interruption.check();
    if (ending === 0) return say(`  ${name.padEnd(14)} ready (${seconds(begin)})`);
    const tail = Buffer.concat(output).toString().trimEnd().split('\n').slice(-40).join('\n');
    throw new SetupFailure(`${name}: "${[program, ...rest].join(' ')}" failed (${ending}).\n${tail}`);
  } finally {
    clearInterval(progress);
    release();
  }
}

class Interrupted extends Error {}

/**
 * SIGINT, SIGTERM and SIGHUP during set-up: the first one ends the command that runs, and set-up removes its locks and ends; a
 * second one ends all at once. The command that follows has handlers of its own.
 */
class Interruption {
  #signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  #firstMs;
  #child;
  #onSignal = (signal) => {
    const nowMs = performance.now();
    if (this.#firstMs === undefined) {
      this.#firstMs = nowMs;
      say(`Stopping: ${signal}.`);
      this.#end('SIGTERM');
      setTimeout(() => this.#end('SIGKILL'), stopGraceMs).unref();
    } else if (nowMs - this.#firstMs >= sameSignalMs) {
      this.#end('SIGKILL');
      process.exit(interruptedCode);
    }
  };

  begin() {
    for (const signal of this.#signals) process.on(signal, this.#onSignal);
  }

  end() {
    for (const signal of this.#signals) process.off(signal, this.#onSignal);
  }

  /** Throws Interrupted after a signal. */
  check() {
    if (this.#firstMs !== undefined) throw new Interrupted();
  }

  /** Returns what releases the child. */
  govern(child) {
    this.#child = child;
    if (this.#firstMs !== undefined) this.#end('SIGTERM');
    return () => {
      this.#child = undefined;
    };
  }

  #end(signal) {
    const child = this.#child;
    if (child?.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // It has ended, or it runs as root: then it ends by itself, and we do not wait for it.
      child.emit('close', null, signal);
    }
  }
}

/** A lock file that holds its owner's process id; a dead owner's lock is taken over. */
async function underLock(name, work) {
  const folder = join(root, '.setup');
  mkdirSync(folder, { recursive: true });
  const lock = join(folder, `${name}.lock`);
  const mine = join(folder, `${name}.${randomUUID()}`);
  writeFileSync(mine, String(process.pid));
  let waiting = false;
  try {
    while (!tryLink(mine, lock)) {
      const owner = ownerOf(lock);
      if (owner !== undefined && !isAlive(owner)) {
        // Only one of several waiters gets to move this very file away.
        const stale = `${mine}.stale`;
        try {
          renameSync(lock, stale);
          // Between reading and moving, another waiter may have taken over: then give the live lock back.
          if (ownerOf(stale) !== owner) tryLink(stale, lock);
          rmSync(stale, { force: true });
        } catch {}
        continue;
      }
      if (!waiting) say(`  ${name.padEnd(14)} another process does this; waiting …`);
      waiting = true;
      interruption.check();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    try {
      await work();
    } finally {
      rmSync(lock, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

function tryLink(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function ownerOf(lock) {
  try {
    return Number(readFileSync(lock, 'utf8'));
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function replaceFile(path, text) {
  const temporary = `${path}.${randomUUID()}`;
  writeFileSync(temporary, text);
  renameSync(temporary, path);
}

function sha256Hex(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function sha256(...texts) {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('hex');
}

const interruption = new Interruption();
try {
  // First of all: the process that started us may end before set-up does (cli/start/parent-watch.ts).
  globalThis.signmeshParentPid = process.ppid;
  await main();
} catch (error) {
  if (error instanceof Interrupted) process.exit(interruptedCode);
  // What the command itself throws is a bug and keeps its stack; what set-up says is one clear line.
  if (!(error instanceof SetupFailure)) throw error;
  say(`signmesh: ${error.message}`);
  process.exitCode = 1;
}
