/**
 * The ready-made things of the sandbox: one tenant, its two tokens, a key for each scheme. They come from a seed, so that every
 * fresh start has the same keys, as local chains do. The default seed is public: every reader of this file can compute those
 * keys. They exist for that purpose, and this is why no one may send anything of value there.
 *
 * From a secret seed set-up derives one secret a node, puts it into that node's folder and keeps the seed nowhere: no process, and
 * no file, can compute another node's shares. Directories that an earlier version made keep their seed in sandbox.json.
 */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { seedOfNode } from '../../core/crypto/polynomial.ts';
import { newToken } from '../../gateway/auth/token-format.ts';
import type { KeyScheme } from '../../proto/key-schemes.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { readIfThere, writeOnce } from '../common/files.ts';
import { readSecret, secretFiles } from './cluster-material.ts';

export const sandboxTenant = 'tn_sandbox';
/** DKG sessions whose polynomials come from the seed. */
export const sandboxSessions = {
  secp256k1: 'sandbox-secp256k1',
  ed25519: 'sandbox-ed25519',
  bip340: 'sandbox-bip340',
} as const;
/** The only scheme that each of their keys signs with. */
export const sandboxSchemes: Readonly<Record<string, KeyScheme>> = {
  [sandboxSessions.secp256k1]: 'mock_ecdsa',
  [sandboxSessions.ed25519]: 'frost_ed25519',
  [sandboxSessions.bip340]: 'frost_bip340',
};

const publicSeedText = 'signmesh sandbox, public seed 1: never send anything of value here';
const publicToken = 'svc_sk_test_sandboxTokenForEveryoneToUse001PqAfG';
const publicApproverToken = 'svc_sk_test_approverTokenForEveryoneToUse015dpyB';

export interface Sandbox {
  readonly kind: 'public' | 'text' | 'random';
  /** 32 bytes, of the public seed; secret in a directory that an earlier version made. undefined: each node has its own. */
  readonly seed?: Uint8Array | undefined;
  /** The bearer token of the banner. */
  readonly token: string;
  /** A second token of the same tenant: it approves requests of the first. */
  readonly approverToken: string;
}

/** With its seed, at set-up. */
export type NewSandbox = Sandbox & { readonly seed: Uint8Array };

/**
 * Reads the sandbox of a data directory; makes it from the choice if there is none, with the secrets of these nodes, whose folders
 * exist. `choice` undefined: the existing one, else the public seed. Throws a Failure when the directory was made from another seed.
 */
export function ensureSandbox(dataDir: string, choice: string | undefined, nodeIds: readonly number[] = []): Sandbox {
  const path = join(dataDir, 'sandbox.json');
  const sandbox = parse(readIfThere(path) ?? make(dataDir, path, newSandbox(choice), nodeIds));
  if (choice === undefined || seedMatches(sandbox, choice)) return sandbox;
  const was = { public: 'the public seed', text: 'another seed text', random: 'a random seed' }[sandbox.kind];
  throw new Failure(
    `${dataDir} was made with ${was}. Leave --seed out to keep it, or choose another --data-dir (or remove this one).`,
    exitCodes.failed,
  );
}

/** The secrets first: a start that died in between makes the rest, from another random seed if that was the choice. */
function make(dataDir: string, path: string, sandbox: NewSandbox, nodeIds: readonly number[]): string {
  const own = sandbox.kind === 'public' ? [] : nodeIds;
  for (const id of own) {
    const secret = Buffer.from(nodeSeed(sandbox, id)).toString('hex');
    writeOnce(join(dataDir, secretFiles.nodeSandbox(id)), `${secret}\n`);
  }
  return writeOnce(path, serialize(sandbox));
}

/** The seed of one node's polynomials of the ready-made keys. */
export function nodeSeed({ kind, seed }: Pick<NewSandbox, 'kind' | 'seed'>, nodeId: number): Uint8Array {
  return kind === 'public' ? seed : seedOfNode(seed, nodeId);
}

/** What a node of a data directory deals the ready-made keys from; undefined: this data directory has no sandbox. */
export function readNodeSeed(dataDir: string, nodeId: number): Uint8Array | undefined {
  const own = readIfThere(join(dataDir, secretFiles.nodeSandbox(nodeId)));
  if (own !== undefined) return readSecret(dataDir, secretFiles.nodeSandbox(nodeId));
  const sandbox = readSandbox(dataDir);
  if (sandbox === undefined || sandbox.seed !== undefined) return sandbox?.seed;
  // Never from anything else: the node would deal other keys than at set-up.
  return readSecret(dataDir, secretFiles.nodeSandbox(nodeId));
}

/** undefined: this data directory has no sandbox. */
export function readSandbox(dataDir: string): Sandbox | undefined {
  const content = readIfThere(join(dataDir, 'sandbox.json'));
  return content === undefined ? undefined : parse(content);
}

/** `choice`: a text, "random", or undefined for the public seed. */
export function newSandbox(choice: string | undefined): NewSandbox {
  if (choice === undefined) return complete({ kind: 'public', seed: seedOf(publicSeedText), token: publicToken });
  if (choice === 'random') {
    return complete({ kind: 'random', seed: randomBytes(32), token: newToken('sandbox', randomBytes) });
  }
  const seed = seedOf(choice);
  return complete({ kind: 'text', seed, token: newToken('sandbox', seededBytes(seed, 'signmesh/sandbox/token/v1')) });
}

/** The seed gives the approver's token, also for an older file; the copy in the file is for people. */
function complete(sandbox: Omit<NewSandbox, 'approverToken'>): NewSandbox {
  const { kind, seed } = sandbox;
  const random = seededBytes(seed, 'signmesh/sandbox/approver/v1');
  return { ...sandbox, approverToken: kind === 'public' ? publicApproverToken : newToken('sandbox', random) };
}

/** Whether it was made from that choice. */
export function seedMatches(sandbox: Sandbox, choice: string): boolean {
  if (choice === 'random') return sandbox.kind === 'random';
  if (sandbox.kind === 'random') return false;
  // A seed text gives one token.
  return sandbox.token === newSandbox(choice).token || Buffer.from(sandbox.seed ?? []).equals(seedOf(choice));
}

function seedOf(text: string): Uint8Array {
  return createHash('sha256').update('signmesh/sandbox/seed/v1\0').update(text).digest();
}

/** The same bytes for the same seed: HKDF-Expand, split in order into the lengths that the token code requests. */
function seededBytes(seed: Uint8Array, purpose: string): (length: number) => Uint8Array {
  const stream = new Uint8Array(hkdfSync('sha256', seed, new Uint8Array(0), purpose, 1024));
  let used = 0;
  return (length) => {
    used += length;
    return stream.subarray(used - length, used);
  };
}

function serialize(sandbox: Sandbox): string {
  const { kind, seed, token, approverToken } = sandbox;
  const document = {
    kind,
    ...(kind === 'public' && seed && { seed: Buffer.from(seed).toString('hex') }),
    token,
    approver_token: approverToken,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function parse(content: string): Sandbox {
  try {
    const { kind, seed, token, approver_token: approverToken } = JSON.parse(content) as Record<string, unknown>;
    if (kind !== 'public' && kind !== 'text' && kind !== 'random') throw new Error('kind');
    if (!isToken(token)) throw new Error('token');
    if (seed === undefined && kind !== 'public') {
      if (!isToken(approverToken)) throw new Error('approver_token');
      return { kind, token, approverToken };
    }
    if (typeof seed !== 'string' || !/^[0-9a-f]{64}$/.test(seed)) throw new Error('seed');
    return complete({ kind, seed: Buffer.from(seed, 'hex'), token });
  } catch {
    throw new Failure('sandbox.json in the data directory is damaged. Remove the data directory to start afresh.');
  }
}

function isToken(text: unknown): text is string {
  return typeof text === 'string' && /^svc_sk_test_[0-9A-Za-z]{12,}$/.test(text);
}
