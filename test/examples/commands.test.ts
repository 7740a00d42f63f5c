/**
 * What the documents tell people to run does what they say: the clients of examples/, and the shell blocks of README.md,
 * docs/http-and-grpc.md, docs/signing-api.md and docs/wallet-guide.md, taken out of the pages and run word for word (but for the
 * ports, and fewer seeds of a search) against the shared cluster.
 *
 * In `npm test` the clients that README shows; every client in a thorough run.
 *
 * Where grpcurl is not installed, its block runs with child/grpcurl.mjs in its place, which goes the same way: reflection,
 * then the call.
 */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Transaction } from 'ethers';
import { compactVerify, createLocalJWKSet } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deriveTweak } from '../../core/crypto/derivation.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { runSimulated } from '../../scenarios/runner/simulated-world.ts';
import { temporaryFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';
import { freePort } from '../support/ports.ts';
import { type SharedCluster, sharedCluster } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import { patienceMs } from '../support/until.ts';

const examples = {
  http: new URL('../../examples/http-client.ts', import.meta.url),
  grpc: new URL('../../examples/grpc-client.ts', import.meta.url),
  wallet: new URL('../../examples/wallet-client.ts', import.meta.url),
  vault: new URL('../../examples/vault-client.ts', import.meta.url),
};
const reconciliation = new URL('../../examples/reconciliation.ts', import.meta.url);
const tokens = new URL('../../examples/tokens-client.ts', import.meta.url);
const proposer = new URL('../../examples/treasury-proposer.ts', import.meta.url);
const sha256OfHello = Buffer.from('LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=', 'base64');

let cluster: SharedCluster;
beforeAll(async () => {
  cluster = await sharedCluster();
});
afterAll(() => cluster?.stop());

interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], settings: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const { BASE_URL: _url, GRPC_ADDRESS: _address, TOKEN: _token, ...environment } = process.env;
  // Lines that wait for something that never comes are ended.
  const child = spawn(program, args, { cwd: root, env: { ...environment, ...settings }, timeout: 2 * patienceMs() });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, ...output }));
  });
}

/** The built example, as a person runs it. */
function example(source: URL, args: readonly string[], settings: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const built = join(root, 'dist', relative(root, fileURLToPath(source))).replace(/\.ts$/, '.js');
  return run(process.execPath, [built, ...args], settings);
}

describe('examples/http-client.ts', () => {
  test('makes a key, signs, and shows a signature that verifies', async () => {
    const { exitCode, stdout, stderr } = await example(examples.http, ['--url', cluster.httpUrl]);
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    const said = rows(stdout);
    const digest = Buffer.from(said.digest!, 'hex');
    const verifies = secp256k1.verify(Buffer.from(said.signature!, 'hex'), digest, bytes(said['public key']), {
      prehash: false,
    });
    expect(verifies).toBe(true);
    expect(said.verified).toMatch(/^yes/);
  });

  test('takes address and token from the environment, and says what the service says', async () => {
    const settings = { BASE_URL: cluster.httpUrl, TOKEN: 'svc_sk_live_thisIsNoTokenOfASandbox' };
    const { exitCode, stdout, stderr } = await example(examples.http, [], settings);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^http-client: .* answers 401: .*authentication_failed.*\n$/);
  });

  test('ends with 1 at a port without a listener, and with 2 when it is called wrongly', async () => {
    const unreachable = await example(examples.http, ['--url', `http://127.0.0.1:${await freePort()}`]);
    expect(unreachable.exitCode).toBe(1);
    expect(unreachable.stderr).toMatch(/^http-client: .*ECONNREFUSED/);
    expect((await example(examples.http, ['--colour', 'blue'])).exitCode).toBe(2);
  });
});

describe('examples/grpc-client.ts', () => {
  test('makes a key, signs, and shows a signature that verifies', async () => {
    const { exitCode, stdout, stderr } = await example(examples.grpc, [
      '--address',
      cluster.ready.grpc,
      '--url',
      cluster.httpUrl,
    ]);
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    const said = rows(stdout);
    expect(ed25519.verify(bytes(said.signature), bytes(said.message), bytes(said['public key']))).toBe(true);
    expect(said.verified).toMatch(/^yes/);
  });

  test.runIf(isThorough)('takes address and token from the environment, and says what the service says', async () => {
    const settings = { GRPC_ADDRESS: cluster.ready.grpc, TOKEN: 'unknown' };
    const { exitCode, stdout, stderr } = await example(examples.grpc, [], settings);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^grpc-client: 16 UNAUTHENTICATED: .*\n$/);
  });

  test.runIf(isThorough)('ends with 2 when it is called wrongly', async () => {
    expect((await example(examples.grpc, ['--colour', 'blue'])).exitCode).toBe(2);
  });
});

describe('examples/vault-client.ts', () => {
  test('signs in a vault, meets its policy, and sees its shares deleted', async () => {
    const { exitCode, stdout, stderr } = await example(examples.vault, ['--url', cluster.httpUrl, ...newTenant()]);
    expect([exitCode, stderr]).toEqual([0, '']);
    const said = rows(stdout);
    expect(said.signed).toMatch(/^yes/);
    expect(said.denied).toContain('messages');
    expect(said.archived).toContain('deleted');
  });
});

describe('examples/wallet-client.ts', () => {
  test('makes a wallet, sends twice, once with an approval, and verifies receipts and transactions', async () => {
    const { exitCode, stdout, stderr } = await example(examples.wallet, ['--url', cluster.httpUrl]);
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines.filter((line) => line.startsWith('verified '))).toHaveLength(2);
    expect(lines.filter((line) => line.startsWith('receipt '))).toEqual([
      'receipt      verified: allow',
      'receipt      verified: require_approval',
    ]);
    expect(lines.at(-1)).toBe('wallet       archived');
  });

  test.runIf(isThorough)('takes its settings from the environment, and says what the service says', async () => {
    const settings = { BASE_URL: cluster.httpUrl, TOKEN: 'svc_sk_live_thisIsNoTokenOfASandbox' };
    const { exitCode, stdout, stderr } = await example(examples.wallet, [], settings);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^wallet-client: createProviderConnection: 401 authentication_failed: .*token.*\n$/);
  });

  test.runIf(isThorough)('ends with 2 when it is called wrongly', async () => {
    expect((await example(examples.wallet, ['--colour', 'blue'])).exitCode).toBe(2);
  });
});

describe.runIf(isThorough)('examples/reconciliation.ts', () => {
  test('finds a difference and settles it', async () => {
    const { exitCode, stdout, stderr } = await example(reconciliation, ['--url', cluster.httpUrl]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/amount_mismatch: expected 0.5, actual 0.6\n.* adjusted: the balances agree\n$/);
  });

  test('ends with 2 when it is called wrongly', async () => {
    expect((await example(reconciliation, ['--colour', 'blue'])).exitCode).toBe(2);
  });
});

describe.runIf(isThorough)('examples/treasury-proposer.ts', () => {
  test('proposes a trade, which is checked and carried out', async () => {
    const { exitCode, stdout, stderr } = await example(proposer, ['--url', cluster.httpUrl, ...newTenant()]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(
      /^proposed: .+ basis points above its target.*\ncompleted: sold [\d.]+ \w+, bought [\d.]+ \w+\n$/m,
    );
  });

  test('ends with 2 when it is called wrongly', async () => {
    expect((await example(proposer, ['--colour', 'blue'])).exitCode).toBe(2);
  });
});

describe.runIf(isThorough)('examples/tokens-client.ts', () => {
  test('issues a token, mints it within its reserve alone, and redeems it', async () => {
    const { exitCode, stdout, stderr } = await example(tokens, ['--url', cluster.httpUrl, ...newTenant()]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(
      /^deployed: 0x[0-9a-fA-F]{40}\nrefused: .+\nmint\(8000000000\) .+\nburn\(500000000\) .+\nsupply: 7500, /,
    );
  });

  test('ends with 2 when it is called wrongly', async () => {
    expect((await example(tokens, ['--colour', 'blue'])).exitCode).toBe(2);
  });
});

/** A tenant that no module was granted to yet, as the one of an embedded service's banner. */
function newTenant(): string[] {
  return ['--token', `svc_sk_test_${randomUUID().replaceAll('-', '')}`];
}

/** "name  value" lines. */
function rows(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(text.split('\n').map((line) => [line.slice(0, 12).trim(), line.slice(13)]));
}

function bytes(hex: string | undefined): Buffer {
  return Buffer.from(hex ?? '', 'hex');
}

/** The shell blocks under a heading, up to the next heading of its level or above; of the whole page without one. */
function shellBlocks(path: string, heading?: string): string {
  const page = readFileSync(join(root, path), 'utf8');
  const section = heading === undefined ? page : page.split(/^(?=## )/m).find((text) => text.startsWith(heading));
  const blocks = [...(section ?? '').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block!);
  if (blocks.length === 0) throw new Error(`${path} has no shell block under ${heading}`);
  return blocks
    .join('\n')
    .replaceAll('127.0.0.1:8080', new URL(cluster.httpUrl).host)
    .replaceAll('127.0.0.1:50051', cluster.ready.grpc);
}

const keyOf = (wallet: string) => bytes(cluster.ready.keys.find(({ wallet_id }) => wallet_id === wallet)?.public_key);

describe('README.md', () => {
  test('its lines for curl give a signature of the ready-made key', async () => {
    const { exitCode, stdout, stderr } = await run('sh', ['-euc', shellBlocks('README.md', '## A signature by curl')]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const answer = JSON.parse(stdout) as {
      is_complete: boolean;
      full_signature: string;
      receipt: { reason_code: string };
    };
    expect(answer).toMatchObject({ is_complete: true, receipt: { reason_code: 'SIGNATURE_COMPLETED' } });
    const signature = Buffer.from(answer.full_signature, 'base64');
    expect(secp256k1.verify(signature, sha256OfHello, keyOf('sandbox-secp256k1'), { prehash: false })).toBe(true);
  });

  test('its scenario gives the stated verdict, and its lines for scenarios run', async () => {
    const section = readFileSync(join(root, 'README.md'), 'utf8').split(/^## A fault on purpose$/m)[1]!;
    const own = runSimulated(loadScenario(/^```yaml\n(.*?)^```$/ms.exec(section)![1]!, { file: 'README.yaml' }));
    expect(own.verdict).toEqual({ kind: 'passed' });
    const lines = shellBlocks('README.md', '## A fault on purpose');
    // In `npm test` others run the same: test/cli/scenarios-live.test.ts live scenarios, test/simulation/cluster/search.test.ts
    // `sim --seeds`.
    const tried = isThorough ? lines : lines.replace(/^.* (--live|sim --seeds 20) .*$/gm, '');
    const { exitCode, stdout } = await run('sh', ['-euc', tried]);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(isThorough ? /nothing found/ : /passed/)]);
  });

  test('its clients are those of examples/', () => {
    const lines = shellBlocks('README.md', '## You write a client of the gateway');
    const named = [...lines.matchAll(/^node dist\/(\S+)\.js\b/gm)];
    const sources = Object.values(examples).map((source) => relative(root, fileURLToPath(source)));
    expect(named.map(([, path]) => `${path}.ts`)).toEqual(sources);
  });
});

describe('docs/http-and-grpc.md', () => {
  test('its lines for grpcurl give a signature of the ready-made key', async () => {
    const script = shellBlocks('docs/http-and-grpc.md', '## A signature by grpcurl');
    const { exitCode, stdout, stderr } = await run('sh', ['-euc', script], { PATH: await pathWithGrpcurl() });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const answer = JSON.parse(stdout) as { isComplete: boolean; fullSignature: string };
    expect(answer.isComplete).toBe(true);
    const signature = Buffer.from(answer.fullSignature, 'base64');
    expect(ed25519.verify(signature, Buffer.from('hello'), keyOf('sandbox-ed25519'))).toBe(true);
  });
});

/** The PATH, with the stand-in at its end: a real grpcurl goes first. */
async function pathWithGrpcurl(): Promise<string> {
  const folder = join(temporaryFolder(), 'bin');
  mkdirSync(folder);
  symlinkSync(fileURLToPath(new URL('child/grpcurl.mjs', import.meta.url)), join(folder, 'grpcurl'));
  return [process.env.PATH, folder].join(delimiter);
}

/** A key of the sandbox's own tenant, as the sandbox shows its session. */
async function sandboxKey(sessionId: string): Promise<{ readonly publicKey: Buffer; readonly chainCode: Buffer }> {
  const { body } = await cluster.rest.get<Record<string, string>>(`/v1/sandbox/sessions/${sessionId}`);
  return { publicKey: bytes(body.public_key!), chainCode: bytes(body.chain_code!) };
}

describe('docs/signing-api.md', () => {
  interface Said {
    readonly state?: string;
    readonly verified?: boolean;
    readonly is_complete?: boolean;
    readonly full_signature?: string;
    readonly receipt: { readonly state: string; readonly reason_code: string; readonly message: string };
  }

  test('its lines, run from top to bottom, do what the page says', async () => {
    // Each answer on a line of its own.
    const script = shellBlocks('docs/signing-api.md').replace('-d "$2"\n', '-d "$2"; echo\n');
    const { exitCode, stdout, stderr } = await run('sh', ['-euc', script]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Said);
    expect(answers.map(({ receipt }) => receipt.reason_code)).toEqual([
      'SESSION_ACCEPTED',
      'DKG_COMPLETED',
      'SIGNATURE_COMPLETED',
      'SESSION_ACCEPTED',
      'SHARE_VERIFIED',
      'DKG_COMPLETED',
      'SHARE_ACCEPTED',
      'SIGNATURE_COMPLETED',
      'SESSION_RESUMED',
      'SIGNATURE_COMPLETED',
      'MOCK_FORCED_DENIED',
    ]);
    const [, , signed, , , , , derived] = answers as [Said, Said, Said, ...Said[]];
    const { publicKey } = await sandboxKey('treasury-1');
    const signature = Buffer.from(signed.full_signature ?? '', 'base64');
    expect(secp256k1.verify(signature, sha256OfHello, publicKey, { prehash: false })).toBe(true);
    const parent = await sandboxKey('pairs-1');
    const child = deriveTweak({ curve: 'ed25519', ...parent, path: [0, 7] }).publicKey;
    const frost = Buffer.from(derived!.full_signature ?? '', 'base64');
    expect(ed25519.verify(frost, Buffer.from('hello'), child)).toBe(true);
  });

  test.runIf(isThorough)('run again, its first lines answer as the page says', async () => {
    const script = shellBlocks('docs/signing-api.md', '## In short').replace('-d "$2"\n', '-d "$2"; echo\n');
    const { stdout } = await run('sh', ['-euc', `${script}\necho "$OPENED"`]);
    const codes = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as Said).receipt.reason_code);
    expect(codes).toEqual(['DUPLICATE_SESSION', 'DKG_COMPLETED', 'SIGNATURE_COMPLETED', 'DUPLICATE_INTENT']);
  });
});

describe('docs/wallet-guide.md', () => {
  test('its lines, run from top to bottom, do what the page says', async () => {
    const { exitCode, stdout, stderr } = await run('sh', ['-euc', shellBlocks('docs/wallet-guide.md')]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => (line.startsWith('{') ? JSON.parse(line) : line));
    expect(lines).toMatchObject([
      { provider: 'sandbox', status: 'connected', test_wallets: [{}, {}, {}] },
      expect.stringMatching(/^pcn_/),
      { provider: 'self_hosted', external_id: 'erp-7', status: 'active' },
      { wallets: expect.arrayContaining([expect.objectContaining({ name: 'Sandbox ETH' })]) },
      { wallets: [{ name: 'Treasury' }], has_more: false },
      { dry_run: true, decision: 'allow', sufficient_funds: true },
      expect.stringMatching(/^one intent: txi_/),
      { transaction_intents: [{ external_id: expect.stringMatching(/^rent-/) }] },
      { status: 'completed', asset: 'ETH', amount: '0.25' },
      { name: 'petty-cash', mode: 'enforce', warnings: [] },
      'require_approval',
      'pending_approval',
      { error: { code: 'insufficient_scope', details: [{ issue: 'initiator_may_not_approve' }] } },
      'approved',
      { error: { code: 'provider_rejected' } },
      'FAILED_ON_CHAIN',
      'denied',
      { events: expect.arrayContaining([expect.objectContaining({ type: 'transaction_intent.completed' })]) },
      { events: expect.arrayContaining([expect.objectContaining({ type: 'wallet.created' })]) },
      { status: 'enabled', secret: expect.stringMatching(/^whsec_/) },
      'archived',
      { wallets: [{ status: 'archived', archive_reason: 'the guide is over' }] },
    ]);

    const [, , wallet, , , , , , intent] = lines;
    const transaction = Transaction.from(intent.provider_details.raw_transaction);
    expect(transaction).toMatchObject({ hash: intent.provider_tx_id, from: wallet.addresses[0].address });
    const jwks = await (await fetch(new URL('/v1/.well-known/jwks.json', cluster.httpUrl))).json();
    const { payload } = await compactVerify(intent.policy_receipt, createLocalJWKSet(jwks as never));
    expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({ sub: intent.id, decision: 'allow' });
  });
});
