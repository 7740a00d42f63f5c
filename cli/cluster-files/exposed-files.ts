/**
 * Secret files of a role that other users of the host can read or change, and a data directory that they can write to. signmesh
 * makes files with mode 0600 and directories with 0700; a copy, an archive or an existing directory may have other modes.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../settings/config.ts';
import type { Role } from '../settings/variables.ts';
import { clusterFolder, credentialKeysDir, secretFiles } from './cluster-material.ts';
import { readSandbox } from './sandbox.ts';

const byOthers = 0o066;
const writableByOthers = 0o022;

/** One sentence that names each file and the command that repairs all; undefined: there is none. `nodeIds`: of a node's process. */
export function exposureWarning(role: Role, settings: Settings, nodeIds: readonly number[]): string | undefined {
  const exposed = [
    ...secretsOf(role, settings, nodeIds).filter((path) => isOpen(path, byOthers)),
    ...[settings.SIGNMESH_DATA_DIR].filter((path) => isOpen(path, writableByOthers)),
  ];
  if (exposed.length === 0) return undefined;
  const names = exposed.map((path) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`));
  return `Other users of this host can read or change ${names.join(', ')}. Run: chmod go-rwx ${names.join(' ')}`;
}

/** The files that the role reads; some may not exist. */
function secretsOf(role: Role, settings: Settings, nodeIds: readonly number[]): readonly string[] {
  const { SIGNMESH_DATA_DIR: dataDir, SIGNMESH_CLUSTER: cluster } = settings;
  const own = clusterFolder(dataDir, cluster);
  const sandbox = readSandbox(dataDir);
  const tokens = sandbox === undefined || sandbox.kind === 'public' ? [] : [join(dataDir, 'sandbox.json')];
  const seed = sandbox?.seed === undefined ? [] : tokens;
  const credentials = keysIn(join(dataDir, credentialKeysDir));
  switch (role) {
    case 'coordinator':
      return [join(own, secretFiles.join), ...keysIn(join(own, 'coordinator'))];
    case 'node':
      return [
        join(own, secretFiles.join),
        ...nodeIds.flatMap((id) => keysIn(join(own, `node-${id}`))),
        ...chosen(settings, 'SIGNMESH_STORAGE_KEY_FILE', 'SIGNMESH_PKCS11_PIN_FILE', 'SIGNMESH_VENDOR_SECRET_FILE'),
        ...seed,
      ];
    case 'gateway':
      return [
        join(dataDir, secretFiles.join),
        ...keysIn(join(dataDir, 'gateway')),
        ...credentials,
        ...chosen(settings, 'SIGNMESH_TLS_KEY'),
        ...tokens,
      ];
    case 'worker':
      return [join(dataDir, secretFiles.gatewayRecord), ...credentials];
    default:
      return [];
  }
}

type FileVariable =
  | 'SIGNMESH_STORAGE_KEY_FILE'
  | 'SIGNMESH_PKCS11_PIN_FILE'
  | 'SIGNMESH_VENDOR_SECRET_FILE'
  | 'SIGNMESH_TLS_KEY';

function chosen(settings: Settings, ...names: readonly FileVariable[]): readonly string[] {
  return names.flatMap((name) => settings[name] ?? []);
}

function keysIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.key'))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function isOpen(path: string, bits: number): boolean {
  // Windows has no such modes.
  if (process.platform === 'win32') return false;
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & bits) !== 0;
}
