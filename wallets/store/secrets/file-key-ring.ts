/**
 * The key ring in a directory of the data directory, one file a key: `1.key`, `2.key` and so on, 64 hex digits each. The
 * highest number is current. All gateways of an installation see the same directory. No key leaves it: errors contain only
 * files and ids.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ports, Timers } from '../../../core/actors/contract.ts';
import type { KeyRing, WrappingKey } from './key-ring.ts';

/** The name of a key's file. */
const keyFilePattern = /^([1-9]\d{0,8})\.key$/;

/** The interval at which a gateway checks for a newer current key. */
const recheckMs = 10_000;
/** The shortest interval between searches on the disk for an unknown id. */
const missRecheckMs = 250;

/**
 * Reads the directory at once. Throws an Error that names what is missing or damaged, never a key. Later it only checks for
 * newer keys, and never throws.
 */
export function fileKeyRing(
  directory: string,
  { timers, random }: Pick<Ports, 'random'> & { readonly timers: Pick<Timers, 'elapsedMs'> },
): KeyRing {
  let ring = readKeys(directory);
  let readAtMs = timers.elapsedMs();
  const reread = (): void => {
    readAtMs = timers.elapsedMs();
    try {
      ring = readKeys(directory);
    } catch {
      // The keys in memory stay in use while the directory cannot be read.
    }
  };
  return {
    random,
    current() {
      if (timers.elapsedMs() - readAtMs >= recheckMs) reread();
      return ring.current;
    },
    find(id) {
      const known = ring.keys.get(id);
      // Another process may have made a key meanwhile.
      if (known !== undefined || timers.elapsedMs() - readAtMs < missRecheckMs) return known;
      reread();
      return ring.keys.get(id);
    },
  };
}

/** Ids of the keys in a directory, ascending. */
export function keyIds(directory: string): number[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    throw new Error(`the credential keys in ${directory} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  return names
    .flatMap((name) => keyFilePattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

interface Keys {
  readonly keys: ReadonlyMap<string, WrappingKey>;
  readonly current: WrappingKey;
}

function readKeys(directory: string): Keys {
  const keys = new Map<string, WrappingKey>();
  let current: WrappingKey | undefined;
  for (const number of keyIds(directory)) {
    current = { id: String(number), key: readKey(join(directory, `${number}.key`)) };
    keys.set(current.id, current);
  }
  if (current === undefined) throw new Error(`there is no credential key in ${directory}`);
  return { keys, current };
}

function readKey(path: string): Uint8Array {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  if (!/^[0-9a-f]{64}\n?$/.test(text)) throw new Error(`${path} is damaged: it must hold 64 hex digits`);
  return Buffer.from(text.trim(), 'hex');
}
