/**
 * The operations of secp256k1 that core/crypto/ uses: libsecp256k1, or JavaScript where no binary fits this machine.
 *
 * The binaries are those of the npm package secp256k1, which the build copies beside its bundles. An installed signmesh does not
 * bring the package itself: its own fallback is `elliptic`.
 */
import { createRequire } from 'node:module';
import wrapped from 'secp256k1/lib/index.js';
import { javascriptSecp256k1, type Secp256k1 } from './secp256k1-js.ts';

/** The folder of the copies, from a bundle's own. Only tools/build.mjs defines it. */
declare const copiedBinaries: string | undefined;

const load = createRequire(import.meta.url);

/** By the platform that each is for. One of another platform does not load. */
const binaries = [
  'linux-x64/secp256k1.glibc.node',
  'linux-x64/secp256k1.musl.node',
  'darwin-arm64/secp256k1.node',
  'win32-x64/secp256k1.node',
];

/** libsecp256k1; undefined: none of the binaries in `folder` loads here. */
export function nativeSecp256k1(folder = nativeFolder()): Secp256k1 | undefined {
  for (const binary of binaries) {
    try {
      const addon = load(`${folder}/${binary}`) as { Secp256k1: new () => object };
      return wrapped(new addon.Secp256k1()) as Secp256k1;
    } catch {}
  }
  return undefined;
}

function nativeFolder(): string {
  return typeof copiedBinaries === 'undefined' ? 'secp256k1/prebuilds' : copiedBinaries;
}

const native = nativeSecp256k1();

export const secp256k1: Secp256k1 = native ?? javascriptSecp256k1;

/** See `cryptoBackend` in group.ts. */
export const secp256k1Backend: 'native' | 'js' = native === undefined ? 'js' : 'native';
