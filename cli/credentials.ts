/**
 * `signmesh credentials`: the keys that seal the secrets that tenants entrust to us. A rotation makes the next key and wraps
 * every sealed field under it, while gateways serve; they see the new key within ten seconds.
 */

import { randomBytes } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { systemPorts } from '../core/actors/live/ports.ts';
import { RedisTenantStore } from '../wallets/store/redis-tenant-store.ts';
import { fileKeyRing, keyIds } from '../wallets/store/secrets/file-key-ring.ts';
import { credentialKeysDir, readRoster, readSecret, secretFiles } from './cluster-files/cluster-material.ts';
import { errorText, exitCodes, Failure } from './common/failure.ts';
import { writeOnce } from './common/files.ts';
import { runSubcommand } from './common/subcommands.ts';
import { type RewrapReport, rewrapAll } from './credential-rotation.ts';
import { redisUrlFor, withRedis } from './redis/redis-address.ts';
import { sealOnce } from './redis/seal-records.ts';
import { loadSettings, type Settings } from './settings/config.ts';

interface Flags {
  readonly dataDir?: string;
  readonly json?: boolean;
}

/** Sealed answers of idempotent requests live for a day; an hour more for clocks that differ. */
const keyAgeMsMin = 25 * 3_600_000;

/** Resolves with an exit code: 1 when a sealed field does not open. Throws a Failure. */
export async function run(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const program = makeCommand((code) => {
    exitCode = code;
  });
  return (await runSubcommand(program, args)) ?? exitCode;
}

function makeCommand(end: (exitCode: number) => void): Command {
  const program = new Command('signmesh credentials')
    .description('Rotate the keys that seal provider credentials and webhook secrets.')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      'after',
      `\nThe keys are in ${credentialKeysDir}/ of the data directory, the same on every host that runs a gateway: copy a\nnew key to the others at once. Old keys stay until "prune" finds that no record needs them.`,
    );
  const command = (name: string, description: string, work: (flags: Flags) => Promise<number>): void => {
    program
      .command(name)
      .description(description)
      .option('--data-dir <path>', 'data directory of the cluster (SIGNMESH_DATA_DIR)')
      .option('--json', 'one JSON document on standard output')
      .action(async (flags: Flags) => end(await work(flags)));
  };
  command('rotate', 'make the next key and re-encrypt every record’s key under it; repeatable', rotate);
  command(
    'rewrap',
    're-encrypt every record’s key under the newest key; completes an interrupted rotation',
    rewrapOnly,
  );
  command('prune', 'remove unused old keys, a day after they were replaced', prune);
  return program;
}

async function rotate(flags: Flags): Promise<number> {
  const settings = readSettings(flags);
  const url = redisUrlFor(settings);
  const directory = keyDirectory(settings);
  const key = Math.max(...ids(directory)) + 1;
  // Check every field before making a key.
  return withRedis(url, async (redis) => {
    writeOnce(join(directory, `${key}.key`), `${randomBytes(32).toString('hex')}\n`);
    const report = await rewrapWith(redis, settings);
    return tell(flags, { made_key: key }, [`key ${key} is made and current`], report);
  });
}

async function rewrapOnly(flags: Flags): Promise<number> {
  const settings = readSettings(flags);
  const report = await withRedis(redisUrlFor(settings), (redis) => rewrapWith(redis, settings));
  return tell(flags, {}, [], report);
}

async function prune(flags: Flags): Promise<number> {
  const settings = readSettings(flags);
  const directory = keyDirectory(settings);
  const report = await withRedis(redisUrlFor(settings), (redis) => rewrapWith(redis, settings));
  const removed = report.broken.length > 0 ? [] : pruneKeys(directory, report.keysInUse, Date.now());
  const kept = ids(directory);
  const lines = removed.length === 0 ? ['no key can be removed yet'] : [`removed: ${removed.join(', ')}`];
  return tell(flags, { removed_keys: removed, kept_keys: kept }, [...lines, `kept: ${kept.join(', ')}`], report);
}

/** Removes unused keys whose successor is a day old. The newest always stays. */
export function pruneKeys(directory: string, inUse: readonly string[], nowMs: number): number[] {
  const all = ids(directory);
  const removable = all.filter((id, index) => {
    const successor = all[index + 1];
    if (successor === undefined || inUse.includes(String(id))) return false;
    // Until then a client may ask for an answer that was sealed under the old key.
    return nowMs - statSync(join(directory, `${successor}.key`)).mtimeMs >= keyAgeMsMin;
  });
  for (const id of removable) rmSync(join(directory, `${id}.key`));
  return removable;
}

async function rewrapWith(redis: import('ioredis').Redis, settings: Settings): Promise<RewrapReport> {
  const { SIGNMESH_DATA_DIR: dataDir } = settings;
  try {
    await sealOnce(dataDir, redis);
    const recordKey = readSecret(dataDir, secretFiles.gatewayRecord);
    const store = new RedisTenantStore(redis, { ...systemPorts, recordKey });
    return await rewrapAll(redis, store, fileKeyRing(keyDirectory(settings), systemPorts));
  } catch (error) {
    throw new Failure(
      `Some records are not yet encrypted under the new key: ${errorText(error)}. Run "signmesh credentials rewrap" again.`,
    );
  }
}

function tell(flags: Flags, facts: object, lines: readonly string[], report: RewrapReport): number {
  const { tenants, records, rewrapped, broken } = report;
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ ...facts, tenants, records, rewrapped, broken })}\n`);
  } else {
    const counts = `${rewrapped} of ${records} records of ${tenants} tenants were re-encrypted`;
    process.stdout.write(`${[...lines, counts].join('\n')}\n`);
  }
  for (const record of broken) process.stderr.write(`signmesh: no key decrypts the secrets of ${record}\n`);
  return broken.length === 0 ? exitCodes.ok : exitCodes.failed;
}

function readSettings({ dataDir }: Flags): Settings {
  const overrides = dataDir !== undefined && { SIGNMESH_DATA_DIR: dataDir };
  const { settings, warnings } = loadSettings({ ...process.env, ...overrides });
  for (const warning of warnings) process.stderr.write(`signmesh: ${warning}\n`);
  readRoster(settings.SIGNMESH_DATA_DIR, undefined);
  return settings;
}

function keyDirectory({ SIGNMESH_DATA_DIR }: Settings): string {
  return join(SIGNMESH_DATA_DIR, credentialKeysDir);
}

function ids(directory: string): number[] {
  try {
    const found = keyIds(directory);
    if (found.length > 0) return found;
  } catch (error) {
    throw new Failure(`${errorText(error)}.`);
  }
  throw new Failure(`There is no credential key in ${directory}.`);
}
