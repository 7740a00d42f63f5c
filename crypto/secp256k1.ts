/**
 * The operations of secp256k1 that crypto/ uses: libsecp256k1, or JavaScript where no binary fits this machine.
 *
 * The binaries are those of the npm package secp256k1, which the build copies beside its bundles. The package itself stays a
 * development dependency: its own fallback brings `elliptic`, to everything that installs it.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import wrapped from 'secp256k1/lib/index.js';
import { javascriptSecp256k1, type Secp256k1 } from './secp256k1-js.ts';

const load = createRequire(import.meta.url);

/** libsecp256k1; undefined: no binary runs here. `folder`: with a folder for each platform. */
export function nativeSecp256k1(folder = binaries()): Secp256k1 | undefined {
  // glibc's binary does not load under musl, nor musl's under glibc.
  for (const name of ['secp256k1.node', 'secp256k1.glibc.node', 'secp256k1.musl.node']) {
    const file = join(folder, `${platform()}-${arch()}`, name);
    if (!existsSync(file)) continue;
    try {
      const addon = load(file) as { Secp256k1: new () => object };
      return wrapped(new addon.Secp256k1()) as Secp256k1;
    } catch {}
  }
  return undefined;
}

/** The build's copy; in a checkout without a build, the package's own. */
function binaries(): string {
  const copied = fileURLToPath(new URL('../native/secp256k1/', import.meta.url));
  try {
    return existsSync(copied) ? copied : join(dirname(load.resolve('secp256k1/package.json')), 'prebuilds');
  } catch {
    return copied;
  }
}

const native = nativeSecp256k1();

export const secp256k1: Secp256k1 = native ?? javascriptSecp256k1;

/** See `cryptoBackend` in group.ts. */
export const secp256k1Backend: 'native' | 'js' = native === undefined ? 'js' : 'native';
