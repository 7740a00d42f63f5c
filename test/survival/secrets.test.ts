/**
 * Secrets stay where they belong: a full run at the most talkative log level, then a search of everything that left the
 * processes for every share, polynomial, seed, key, token and nonce. That the search can find is shown first.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJson } from '@bufbuild/protobuf';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { sandboxTenant } from '../../cli/cluster-files/sandbox.ts';
import { lagrangeCoefficients } from '../../core/crypto/polynomial.ts';
import {
  ApprovalMode,
  KeystoreType,
  MockDirective,
  SignatureShareResponseSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { nodeWaits } from '../support/busy-machine.ts';
import type { SigningApi } from '../support/client.ts';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { type Found, Needles } from './support/needles.ts';
import { addNodeSecrets } from './support/node-secrets.ts';

describe('the search', () => {
  const secret = Buffer.from('a1b2c3d4e5f60718293a4b5c6d7e8f90fedcba98765432100123456789abcdef', 'hex');
  const needles = new Needles();
  needles.add('planted', secret);
  const reversed = Buffer.from(secret).reverse();
  const within = (before: number) =>
    Buffer.concat([Buffer.alloc(before, 0x55), secret, Buffer.alloc(5, 0x66)]).toString('base64');

  test.each<readonly [string, string | Uint8Array]>([
    ['hex', `{"share":"${secret.toString('hex')}"}`],
    ['upper-case hex', secret.toString('hex').toUpperCase()],
    ['base64', secret.toString('base64')],
    ['base64url', secret.toString('base64url')],
    ['base64 at the second alignment', within(1)],
    ['base64 at the third alignment', within(2)],
    ['a decimal number', `k=${BigInt(`0x${secret.toString('hex')}`)}n`],
    ['a little-endian decimal number', String(BigInt(`0x${reversed.toString('hex')}`))],
    ['little-endian hex', reversed.toString('hex')],
    ['an array', JSON.stringify([...secret])],
    ['a Buffer as JSON', JSON.stringify(secret)],
    ['a Uint8Array as JSON', JSON.stringify(new Uint8Array(secret))],
    ['an inspected array', [...secret].join(', ')],
    ['raw bytes', Buffer.concat([Buffer.from('x'), secret])],
  ])('finds a secret as %s', (_, haystack) => {
    expect(needles.search('haystack', haystack)).not.toEqual([]);
  });

  test('finds nothing where nothing is', () => {
    expect(needles.search('haystack', within(0).slice(0, 20) + secret.toString('hex').slice(20))).toEqual([]);
  });
});

describe.sequential('after a full run', () => {
  const digest = Buffer.alloc(32, 0x42);
  const needles = new Needles();
  /** Everything that a client was answered. */
  const answered: string[] = [];
  const signatures: { readonly message: Uint8Array; readonly signature: Uint8Array }[] = [];
  const storeFields = new Set<string>();
  const witness = 'the witness of a human, who signs off';
  const policyToken = 'a policy token that only the caller may read';
  const strangersToken = 'svc_sk_test_wrongTokenOfAStranger42';
  let cluster: TestCluster;

  beforeAll(async () => {
    cluster = await startCluster({
      nodes: 3,
      nodesApart: true,
      environment: {
        SIGNMESH_SEED: 'random',
        SIGNMESH_LOG_LEVEL: 'debug',
        ...nodeWaits(700, 200),
      },
    });
    await fullRun();
    await cluster.untilHealth('ok');
    await collectSecrets();
  });
  afterAll(() => cluster?.stop());

  /** Keys, signatures, refusals, failures and recoveries, through HTTP and gRPC. */
  async function fullRun(): Promise<void> {
    const api = cluster.http(cluster.token, (text) => answered.push(text));
    const made = [
      ['key-secp256k1', 'secp256k1'],
      ['key-schnorr', 'secp256k1'],
      ['key-ed25519', 'ed25519'],
    ] as const;
    for (const [key, curve] of made) {
      await api.initiateDkg({ sessionId: key, threshold: 2, totalNodes: 3, derivation: { curve } });
      // In the middle of it: polynomials and dealt shares are in the stores now, and later no more.
      await api.exchangeDkgShares({ sessionId: key, senderNodeId: 1, recipientNodeId: 2 });
      await api.exchangeDkgShares({ sessionId: key, senderNodeId: 3, recipientNodeId: 1 });
      await api.exchangeDkgShares({ sessionId: key, senderNodeId: 2, recipientNodeId: 3 });
      for (const id of [1, 2, 3])
        for (const field of await addNodeSecrets(cluster, id, needles)) storeFields.add(field);
      await api.exchangeDkgShares({ sessionId: key });
    }
    await signEverything(api);
    await beRefused(api);
    const grpc = cluster.grpc();
    const begun = await grpc.initiateSigning({
      transactionIntentId: 'grpc',
      walletId: 'key-ed25519',
      messageHash: digest,
    });
    const signed = await grpc.submitSignatureShare({ signingSessionId: begun.signingSessionId });
    answered.push(JSON.stringify(toJson(SignatureShareResponseSchema, signed)));
    await grpc.submitSignatureShare({ signingSessionId: 'nothing' });

    // Failures with stack traces, restarts, resumptions.
    const late = await api.initiateSigning({
      transactionIntentId: 'late',
      walletId: 'key-ed25519',
      messageHash: digest,
    });
    const release = await Promise.all([cluster.hold('node-1'), cluster.hold('node-2')]);
    const failed = await api.submitSignatureShare({ signingSessionId: late.signingSessionId });
    expect(failed.receipt!.reasonCode).toBe('QUORUM_UNAVAILABLE');
    await cluster.back('redis', await cluster.kill('redis'));
    await cluster.back('coordinator', await cluster.kill('coordinator'));
    for (const letGo of release) letGo();
    await cluster.untilHealth('ok');
    const { resumeToken } = failed.checkpoint!;
    needles.addText('resume token', resumeToken);
    await api.resumeSession({ sessionId: late.signingSessionId, resumeToken });
    expect((await api.submitSignatureShare({ signingSessionId: late.signingSessionId })).isComplete).toBe(true);
  }

  async function signEverything(api: SigningApi): Promise<void> {
    for (const [walletId, keystoreType] of [
      ['key-secp256k1', KeystoreType.MOCK_THRESHOLD],
      ['key-schnorr', KeystoreType.MPC_FROST],
      ['key-ed25519', KeystoreType.MPC_FROST],
      ['sandbox-secp256k1', KeystoreType.MOCK_THRESHOLD],
      ['sandbox-bip340', KeystoreType.MPC_FROST],
      ['sandbox-ed25519', KeystoreType.MPC_FROST],
    ] as const) {
      for (const derivationPath of ['', 'm/0/7']) {
        const begun = await api.initiateSigning({
          transactionIntentId: `${walletId}${keystoreType}${derivationPath}`,
          walletId,
          keystoreType,
          messageHash: digest,
          derivation: { derivationPath },
          approvalMode: ApprovalMode.HUMAN_REQUIRED,
          policyApprovalToken: Buffer.from(policyToken),
          context: { payload: Buffer.from(policyToken) },
        });
        const sessionId = begun.signingSessionId;
        const { resumeToken } = begun.checkpoint!;
        await api.resumeSession({ sessionId, resumeToken, humanApprovalWitness: Buffer.from(witness) });
        await api.submitSignatureShare({ signingSessionId: sessionId, nodeId: 2 });
        const signed = await api.submitSignatureShare({ signingSessionId: sessionId });
        expect(signed.isComplete).toBe(true);
        const isMock = keystoreType === KeystoreType.MOCK_THRESHOLD && derivationPath === '';
        if (isMock && walletId === 'key-secp256k1') {
          signatures.push({ message: digest, signature: signed.fullSignature });
        }
      }
    }
  }

  async function beRefused(api: SigningApi): Promise<void> {
    const request = { transactionIntentId: 'refused', walletId: 'key-secp256k1', messageHash: digest };
    const begun = await api.initiateSigning(request);
    const partialSignature = Buffer.alloc(32, 0x11);
    await api.submitSignatureShare({ signingSessionId: begun.signingSessionId, nodeId: 1, partialSignature });
    await api.initiateSigning({ ...request, transactionIntentId: 'd', mockDirective: MockDirective.FORCE_DENIED });
    await api.initiateSigning({ ...request, transactionIntentId: 'x', derivation: { derivationPath: 'm/0/1h' } });
    await api.resumeSession({ sessionId: begun.signingSessionId, resumeToken: 'not a token' });
    const raw = async (init: RequestInit) => {
      const answer = await fetch(`${cluster.httpUrl}/v1/signing/share`, { method: 'POST', ...init });
      answered.push(JSON.stringify([...answer.headers]), await answer.text());
      return answer.status;
    };
    const authorization = `Bearer ${cluster.token}`;
    const json = { 'content-type': 'application/json' };
    expect(await raw({ headers: { ...json, authorization: `Bearer ${strangersToken}!` }, body: '{}' })).toBe(401);
    expect(await raw({ headers: { ...json, authorization }, body: `{"partial_signature": "${witness}` })).toBe(400);
    expect(await raw({ headers: { ...json, authorization }, body: JSON.stringify({ node_id: policyToken }) })).toBe(
      400,
    );
  }

  async function collectSecrets(): Promise<void> {
    const { dataDir } = cluster;
    for (const id of cluster.nodeIds) {
      for (const field of await addNodeSecrets(cluster, id, needles)) storeFields.add(field);
      needles.add(`identity seed of node ${id}`, readSecret(dataDir, secretFiles.nodeIdentity(id)));
      needles.add(`storage key of node ${id}`, readSecret(dataDir, secretFiles.nodeStorage(id)));
    }
    for (const name of [
      'join',
      'coordinatorIdentity',
      'coordinatorResume',
      'gatewayIdentity',
      'gatewayToken',
      'gatewayReceipt',
      'gatewayRecord',
    ] as const) {
      needles.add(name, readSecret(dataDir, secretFiles[name]));
    }
    for (const id of cluster.nodeIds)
      needles.add(`sandbox secret ${id}`, readSecret(dataDir, secretFiles.nodeSandbox(id)));
    needles.addText('redis password', new URL(cluster.redisUrl()).password);
    needles.addText('witness', witness);
    needles.addText('policy token', policyToken);
    needles.addText('a stranger’s token', strangersToken);
    for (const { message, signature } of signatures) await addNonceOf(message, signature);
  }

  /** The group key, from t shares, and with it the mock nonce of a signature: k = s⁻¹(m + r·x), or its negative. */
  async function addNonceOf(message: Uint8Array, signature: Uint8Array): Promise<void> {
    const shares = new Map<number, bigint>();
    for (const id of [1, 2]) {
      const own = new Needles();
      const found: bigint[] = [];
      own.add = (name, bytes) => {
        if (name.includes(`key/${sandboxTenant}/key-secp256k1 `))
          found.push(BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
      };
      await addNodeSecrets(cluster, id, own);
      shares.set(id, found[0]!);
    }
    const order = secp256k1.Point.Fn.ORDER;
    const lambdas = lagrangeCoefficients('secp256k1', [1, 2]);
    const key = [...shares].reduce((sum, [id, share]) => (sum + lambdas.get(id)! * share) % order, 0n);
    const integer = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
    const [r, s] = [integer(signature.subarray(0, 32)), integer(signature.subarray(32))];
    const k = (secp256k1.Point.Fn.inv(s) * ((integer(message) + r * key) % order)) % order;
    // That it is the nonce: R = k·G has r as its abscissa.
    expect(secp256k1.Point.BASE.multiply(k).x % order).toBe(r);
    for (const nonce of [k, order - k]) {
      needles.addScalar('mock nonce', nonce);
      needles.addScalar('inverse of a mock nonce', secp256k1.Point.Fn.inv(nonce));
    }
    needles.addScalar('group key', key);
  }

  function nothing(found: readonly Found[]): void {
    expect(found.map(({ secret, form, where }) => `${secret} as ${form} in ${where}`)).toEqual([]);
  }

  test('the secrets of every kind are known to the search', () => {
    expect([...storeFields].sort()).toEqual(['box_seed', 'polynomial', 'sealing_seed', 'share', 'signing_share']);
    expect(needles.size).toBeGreaterThan(60);
    expect(signatures).not.toHaveLength(0);
  });

  test('what is public is found where secrets are looked for', () => {
    const known = new Needles();
    known.add('a public key', Buffer.from(cluster.ready.keys[0]!.public_key, 'hex'));
    expect(known.search('the output of up', cluster.output)).not.toEqual([]);
    const boot = new Needles();
    const started = cluster.records('coordinator', 'coordinator started');
    expect(started).toHaveLength(2);
    boot.addText('a boot id', String(started[1]!.boot));
    expect(boot.search('a log', cluster.log('node-1'))).not.toEqual([]);
  });

  test('no log holds one', () => {
    const logs = cluster.logs();
    expect(logs.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['coordinator.log', 'gateway.log', 'node-3.log']),
    );
    expect(cluster.log('node-1')).toContain('signer.partial.signed');
    needles.addText('the operator’s token', cluster.token);
    // The line of every request is among what was searched, refused ones too.
    const gateway = cluster.log('gateway');
    for (const kind of ['"reason_code":"SIGNATURE_COMPLETED"', '"status":401', '"door":"grpc"']) {
      expect(gateway).toContain(kind);
    }
    for (const { name, text } of logs) nothing(needles.search(name, text));
  });

  test('nothing that `up` wrote does, but for the token of its banner', () => {
    const { output, token } = cluster;
    expect(output).toContain(token);
    nothing(needles.search('the output of up', output.replaceAll(token, '')));
  });

  test('no answer does', () => {
    expect(answered.length).toBeGreaterThan(60);
    const text = answered.join('\n').replaceAll(/"resume_token":"[^"]*"/g, '');
    nothing(needles.search('answers', text));
  });

  test('Redis does not, neither its keys nor its files', async () => {
    const redis = new Redis(cluster.redisUrl());
    const names = await redis.keys('*');
    expect(names.some((name) => name.includes('session:sig_'))).toBe(true);
    for (const name of names) {
      const value = await readKey(redis, name);
      nothing(needles.search(`Redis ${name}`, `${name}\n`));
      nothing(needles.search(`Redis ${name}`, value));
    }
    redis.disconnect();
    const folder = join(cluster.dataDir, 'redis', 'appendonlydir');
    for (const file of readdirSync(folder)) nothing(needles.search(file, readFileSync(join(folder, file))));
  });

  test('no command line does', () => {
    const pids = ['redis', 'coordinator', 'gateway', 'node-1'].map((role) => cluster.ready.pids[role]!);
    for (const pid of [cluster.ready.pids.up!, ...pids, cluster.pid('coordinator')!]) {
      try {
        nothing(needles.search(`command line of ${pid}`, readFileSync(`/proc/${pid}/cmdline`)));
      } catch (error) {
        // A process that the run killed, or a system without /proc.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  });

  test('the stores of the nodes are encrypted', () => {
    for (const id of cluster.nodeIds) {
      const folder = join(cluster.dataDir, `node-${id}`, 'store');
      for (const file of readdirSync(folder))
        nothing(needles.search(`${id}/${file}`, readFileSync(join(folder, file))));
    }
  });
});

async function readKey(redis: Redis, name: string): Promise<Buffer> {
  const type = await redis.type(name);
  const parts = await {
    string: async () => [await redis.getBuffer(name)],
    hash: async () =>
      Object.entries(await redis.hgetallBuffer(name)).flatMap(([field, value]) => [Buffer.from(field), value]),
    list: () => redis.lrangeBuffer(name, 0, -1),
    set: () => redis.smembersBuffer(name),
    zset: () => redis.zrangeBuffer(name, '0', '-1'),
    // It has expired since it was listed.
    none: async () => [],
    stream: async () => [Buffer.from(JSON.stringify(await redis.xrange(name, '-', '+')))],
  }[type]!();
  return Buffer.concat(parts.map((part) => part ?? Buffer.alloc(0)));
}
