/**
 * The package as its users get it: packed from this checkout, and installed in an empty project outside it. In a thorough run npm
 * installs it, with dependencies from its cache, else from the registry that this machine is set up with; in `npm test` it is
 * unpacked, beside links to those packages of this checkout that its package.json names.
 */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../../../cli/support/up-process.ts';
import { isThorough } from '../../../support/thorough.ts';

/** An install over the network on a busy machine. */
const npmMsMax = 600_000;

export interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a stranger's shell has: nothing of the npm that started these tests, but for where it fetches and caches. */
export function shellEnvironment(): NodeJS.ProcessEnv {
  const npmOwn = (name: string) => /^npm_/.test(name) && !/^npm_config_(registry|cache|userconfig)$/.test(name);
  const ours = (name: string) => name === 'REDIS_URL' || /^(SIGNMESH|VITEST|NODE_OPTIONS$|NODE_ENV$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !npmOwn(name) && !ours(name)));
}

/** Never rejects: how it ended is for the test. */
export function run(folder: string, program: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const options = { cwd: folder, env: { ...shellEnvironment(), ...more }, timeout: npmMsMax, maxBuffer: 64 * 2 ** 20 };
  return new Promise<Ended>((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      const exitCode = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1;
      resolve({ exitCode, stdout, stderr });
    });
  });
}

async function npm(folder: string, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(folder, 'npm', args);
  if (exitCode !== 0) throw new Error(`npm ${args.join(' ')} ended with ${exitCode}:\n${stdout}\n${stderr}`);
  return stdout;
}

export interface Packed {
  readonly tarball: string;
  readonly bytes: number;
  /** Paths in the package, sorted. */
  readonly files: readonly string[];
}

/** As `npm run package` does, into `folder`. The build is current: whatever ran these tests made it. */
export async function pack(folder: string): Promise<Packed> {
  const made = join(folder, 'package');
  // For the compiler: less CPU for more memory.
  const packing = await run(root, process.execPath, ['tools/package.mjs', made], { GOGC: '400' });
  if (packing.exitCode !== 0) throw new Error(`tools/package.mjs: ${packing.stdout}${packing.stderr}`);
  const said = await npm(root, ['pack', made, '--json', '--pack-destination', folder]);
  interface Told {
    readonly filename: string;
    readonly size: number;
    readonly files: readonly { readonly path: string }[];
  }
  // Older npm tells a list, newer an object by name.
  const { filename, size, files } = Object.values(JSON.parse(said) as Record<string, Told>)[0]!;
  return { tarball: join(folder, filename), bytes: size, files: files.map(({ path }) => path).sort() };
}

/** An empty project that has installed the tarball, and the test programs of installed/ beside it. */
export async function install(folder: string, tarball: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'stranger', version: '1.0.0', private: true, type: 'module' }),
  );
  if (isThorough) await npm(folder, ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball]);
  else await unpack(join(folder, 'node_modules'), tarball);
  // Tools are this repository's: what is tried is the package, not an install of what its example uses besides.
  for (const tool of ['vitest', '@noble']) {
    symlinkSync(join(root, 'node_modules', tool), join(folder, 'node_modules', tool));
  }
  cpSync(join(dirname(dirname(fileURLToPath(import.meta.url))), 'installed'), folder, { recursive: true });
}

/** The package, its command, and what it depends on. */
async function unpack(modules: string, tarball: string): Promise<void> {
  const own = join(modules, 'signmesh');
  mkdirSync(own, { recursive: true });
  const { exitCode, stderr } = await run(modules, 'tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
  if (exitCode !== 0) throw new Error(stderr);
  const { bin, dependencies } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
  chmodSync(join(own, bin.signmesh), 0o755);
  const links = [['.bin/signmesh', join(own, bin.signmesh)]];
  for (const name of Object.keys(dependencies)) links.push([name, join(root, 'node_modules', name)]);
  for (const [name, target] of links) {
    mkdirSync(dirname(join(modules, name!)), { recursive: true });
    symlinkSync(target!, join(modules, name!));
  }
}

/** Every file below a folder with its size and time of change. */
export function listing(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => ({ path, stat: statSync(join(folder, path)) }))
    .filter(({ stat }) => stat.isFile())
    .map(({ path, stat }) => `${path} ${stat.size} ${stat.mtimeMs}`)
    .sort();
}
