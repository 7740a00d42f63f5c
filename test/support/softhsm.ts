/**
 * SoftHSM2 for tests: Debian's package, and the package pkcs11js, which ships sources alone. Both are got once a machine, when
 * that may be; otherwise `softHsm` says in one line what is missing, and the tests that need it are skipped with that line.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const modules = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
];
const load = createRequire(import.meta.url);

export type SoftHsm =
  | { readonly kind: 'ready'; readonly module: string }
  | { readonly kind: 'missing'; readonly why: string };

/** Installs and builds what is missing, if it may. */
export function softHsm(): SoftHsm {
  return alone(() => {
    if (installed() === undefined) run('apt-get', ['install', '-y', '--no-install-recommends', 'softhsm2']);
    const module = installed();
    if (module === undefined) return { kind: 'missing', why: 'SoftHSM2 is missing: install the package softhsm2' };
    const why = buildPkcs11js();
    return why === undefined ? { kind: 'ready', module } : { kind: 'missing', why };
  });
}

/** The module, if its tool is there as well: the two are packages of their own. */
function installed(): string | undefined {
  const tool = (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'softhsm2-util')));
  return tool ? modules.find(existsSync) : undefined;
}

/** Of this user: another's stale lock cannot be removed. */
const lock = join(tmpdir(), `signmesh-softhsm-${userInfo().uid}.lock`);
/** Longer than the longest of what is done under the lock: its owner has died. */
const lockedMsMax = 600_000;
const lockLookMs = 200;

/** Test files run side by side: one at a time installs and builds. */
function alone<T>(work: () => T): T {
  while (!locked()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockLookMs);
  try {
    return work();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function locked(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const madeAtMs = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (madeAtMs !== undefined && Date.now() - madeAtMs > lockedMsMax) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

/** undefined: it is built. */
function buildPkcs11js(): string | undefined {
  let folder: string;
  try {
    folder = dirname(load.resolve('pkcs11js/package.json'));
  } catch {
    return 'pkcs11js is missing: run npm ci with optional packages';
  }
  const binary = join(folder, 'build', 'Release', 'pkcs11.node');
  if (existsSync(binary)) return undefined;
  const gyp = nodeGyp();
  if (gyp === undefined) return 'pkcs11js is not built: npm brings no node-gyp here';
  // The headers of a Node.js that the system installed; otherwise node-gyp fetches them.
  const prefix = dirname(dirname(process.execPath));
  const headers = existsSync(join(prefix, 'include', 'node', 'node.h')) ? [`--nodedir=${prefix}`] : [];
  run(process.execPath, [gyp, 'rebuild', '--silent', ...headers], folder);
  return existsSync(binary) ? undefined : 'pkcs11js cannot be built: it needs python3, make and a C++ compiler';
}

function nodeGyp(): string | undefined {
  const inNpm = join('npm', 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
  const prefix = dirname(dirname(process.execPath));
  return [join(prefix, 'lib', 'node_modules', inNpm), join(prefix, 'node_modules', inNpm)].find(existsSync);
}

function run(command: string, args: readonly string[], cwd?: string): void {
  try {
    execFileSync(command, args, { cwd, stdio: 'ignore', timeout: 240_000 });
  } catch {
    // What is missing afterwards is said by the caller.
  }
}

/** A token of its own in a temporary folder; `delete` removes it. */
export class TestToken {
  readonly label = 'signmesh';
  readonly pin = '835217';
  readonly folder = mkdtempSync(join(tmpdir(), 'signmesh-token-'));
  readonly #tokens = join(this.folder, 'tokens');

  constructor() {
    mkdirSync(this.#tokens);
    writeFileSync(join(this.folder, 'softhsm2.conf'), `directories.tokendir = ${this.#tokens}\nlog.level = ERROR\n`);
    const args = ['--init-token', '--free', '--label', this.label, '--so-pin', '99887766', '--pin', this.pin];
    execFileSync('softhsm2-util', args, { env: { ...process.env, ...this.environment }, stdio: 'ignore' });
  }

  /** What the module's process needs to find it. */
  get environment(): { readonly SOFTHSM2_CONF: string } {
    return { SOFTHSM2_CONF: join(this.folder, 'softhsm2.conf') };
  }

  /** The device is unplugged; `insert` puts it back. */
  remove(): void {
    execFileSync('mv', [this.#tokens, `${this.#tokens}.away`]);
    mkdirSync(this.#tokens);
  }

  insert(): void {
    rmSync(this.#tokens, { recursive: true });
    execFileSync('mv', [`${this.#tokens}.away`, this.#tokens]);
  }

  /** Files of the token and of its objects. */
  get files(): number {
    return readdirSync(this.#tokens, { recursive: true }).length;
  }

  /** Objects in the token, a file each. */
  get objects(): string[] {
    const files = readdirSync(this.#tokens, { recursive: true }) as string[];
    return files.filter((file) => file.endsWith('.object') && !file.endsWith('token.object')).sort();
  }

  destroy(object: string): void {
    rmSync(join(this.#tokens, object));
  }

  delete(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
