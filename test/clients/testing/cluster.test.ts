/**
 * The library for tests of one's own: a simulated cluster, one with ports and, in a thorough run, a live one do the same, and say
 * the same.
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  CallFailed,
  CeremonyFailed,
  cluster,
  type Fault,
  ReceiptState,
  type TestCluster,
} from '../../../clients/testing/index.ts';
import { makeOwnFolder } from '../../../clients/testing/own-folder.ts';
import { isAlive } from '../../support/alive.ts';
import { RestClient } from '../../support/rest.ts';
import { isThorough, runs } from '../../support/thorough.ts';
import { patienceMs } from '../../support/until.ts';

const kinds = isThorough ? (['simulated', 'listening', 'live'] as const) : (['simulated', 'listening'] as const);

describe.each(kinds)('a %s cluster', (kind: 'simulated' | 'listening' | 'live') => {
  let custody: TestCluster;
  beforeAll(async () => {
    custody = await cluster({ live: kind === 'live', listen: kind === 'listening', receiver: true });
  });
  afterEach(() => custody.heal());
  afterAll(() => custody.stop());

  test('makes keys and signatures that another library verifies', async () => {
    expect([custody.world, custody.nodes]).toEqual([kind === 'simulated' ? kind : 'live', 5]);
    const key = await custody.makeKey({ threshold: 2, totalNodes: 4 });
    const ecdsa = await custody.sign(key, 'one');
    expect(secp256k1.verify(ecdsa.signature, ecdsa.signed, key.publicKey, { prehash: false })).toBe(true);
    const schnorrKey = await custody.makeKey({ threshold: 2, totalNodes: 4 });
    const bip340 = await custody.sign(schnorrKey, 'two', { keystore: 'MPC_FROST' });
    expect(schnorr.verify(bip340.signature, bip340.signed, schnorrKey.publicKey.subarray(1))).toBe(true);
    const again = await custody.sign(schnorrKey, 'three');
    expect(schnorr.verify(again.signature, again.signed, schnorrKey.publicKey.subarray(1))).toBe(true);
    const edwards = await custody.makeKey({ curve: 'ed25519' });
    const { signature, signed } = await custody.sign(edwards, 'four');
    expect(ed25519.verify(signature, signed, edwards.publicKey)).toBe(true);
  });

  test('replaces a signer that dies before it answers', async () => {
    const key = await custody.makeKey();
    const crash = await custody.crash('node/*', { at: { point: 'partial_reply' } });
    const { signature } = await custody.sign(key, 'pay');
    expect([signature.length, await crash.triggerCount()]).toEqual([64, 1]);
  });

  test('names a signer that lies, by its session and by its events', async () => {
    const key = await custody.makeKey();
    await custody.inject({ fault: 'bad_partial', target: 'node/2' });
    const sessions = await Promise.all([1, 2, 3, 4, 5].map((count) => custody.sign(key, `payment ${count}`)));
    const facts = await Promise.all(sessions.map(({ sessionId }) => custody.session(sessionId)));
    expect(new Set(facts.flatMap((one) => one?.culprits ?? []))).toEqual(new Set([2]));
    const events = await custody.events();
    const blamed = events.flatMap(({ object }) => ('culprits' in object ? (object.culprits as number[]) : []));
    expect(new Set(blamed)).toEqual(new Set([2]));
  });

  test('tells what a node would submit, and does not submit it', async () => {
    // Of all nodes, with node 2, which a smaller key leaves out for a while: it has just lied.
    const key = await custody.makeKey({ threshold: 2, totalNodes: 5 });
    const signing = { transactionIntentId: 'played', walletId: key.id, messageHash: new Uint8Array(32).fill(9) };
    const { signingSessionId } = await custody.initiateSigning(signing);
    const right = await custody.previewPartial(signingSessionId, 2);
    for (const name of ['2', 'node-2', 'node/2']) {
      expect(await custody.previewPartial(signingSessionId, name)).toEqual(right);
    }
    await expect(custody.previewPartial(signingSessionId, 'worker')).rejects.toThrow('there is no node worker');
    const wrong = Uint8Array.from(right, (byte, index) => (index === 31 ? byte ^ 1 : byte));
    const codes: string[] = [];
    for (const partialSignature of [wrong, right, right]) {
      const answer = await custody.submitSignatureShare({ signingSessionId, nodeId: 2, partialSignature });
      codes.push(answer.receipt!.reasonCode);
    }
    expect(codes).toEqual(['INVALID_PARTIAL_SIGNATURE', 'SHARE_ACCEPTED', 'DUPLICATE_SHARE']);
    expect((await custody.submitSignatureShare({ signingSessionId })).isComplete).toBe(true);
  });

  test('lets a session expire by the clock', async () => {
    const key = await custody.makeKey();
    const signing = { transactionIntentId: 'late', walletId: key.id, messageHash: new Uint8Array(32).fill(7) };
    const { signingSessionId } = await custody.initiateSigning(signing);
    await custody.advance(16 * 60_000);
    const late = await custody.submitSignatureShare({ signingSessionId });
    expect(late.receipt?.reasonCode).toBe('SESSION_EXPIRED');
  });

  test('says why a ceremony did not come to its end', async () => {
    const key = await custody.makeKey({ threshold: 4, totalNodes: 5 });
    await custody.inject({ fault: 'crash', target: ['node/1', 'node/2'], restart_after_ms: null });
    const refused: unknown = await custody.sign(key, 'pay').catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CeremonyFailed);
    expect((refused as CeremonyFailed).receipt.reasonCode).toBe('QUORUM_UNAVAILABLE');
    expect((refused as CeremonyFailed).receipt.state).toBe(ReceiptState.BACKEND_FAILED);
    await expect(custody.inject({ fault: 'bad_partial', target: 'node/77' })).rejects.toThrow(/node\/77/);
  });

  test('a snapshot brings back what was there, and the nonces of then are void', async () => {
    const key = await custody.makeKey();
    const snapshot = await custody.takeSnapshot();
    const later = await custody.makeKey();
    const { sessionId } = await custody.sign(key, 'forgotten');
    await custody.restoreSnapshot(snapshot);
    expect([await custody.session(sessionId), await custody.session(later.id)]).toEqual([undefined, undefined]);
    const again = await custody.sign(key, 'forgotten');
    expect(secp256k1.verify(again.signature, again.signed, key.publicKey, { prehash: false })).toBe(true);
  });

  test('delivers its events to a receiver, and contradicts nothing', async () => {
    await custody.inject({ fault: 'receiver_status', status: 503, for_ms: 300 });
    await custody.makeKey();
    const types = await custody.until(async () => {
      const delivered = await custody.delivered();
      // A delivery that was refused comes again later: their order is open.
      return ['accepted', 'completed'].every((what) => delivered.includes(`dkg.session.${what}`))
        ? delivered
        : undefined;
    });
    expect(types).toContain('dkg.session.accepted');
    expect(custody.violations()).toEqual([]);
    expect((await custody.recording()).length).toBeGreaterThan(20);
  });

  test('refuses what makes no sense, with the same words in both worlds', async () => {
    const fault = (fields: object) => custody.inject(fields as Parameters<typeof custody.inject>[0]);
    await expect(fault({ fault: 'bad_parital', target: 'node/1' })).rejects.toThrow('did you mean bad_partial?');
    await expect(fault({ fault: 'pause', target: 'node/1' })).rejects.toThrow(/^for_ms is missing/);
    await expect(fault({ fault: 'crash', target: 'node/1', restartAfterMs: 5 })).rejects.toThrow(
      /^restartAfterMs: there is no field "restartAfterMs" here; did you mean restart_after_ms\?/,
    );
    await expect(custody.advance(-1)).rejects.toThrow(RangeError);
    await expect(custody.wait(0.5)).rejects.toThrow(RangeError);
    await expect(custody.restoreSnapshot('none')).rejects.toThrow(/snapshot/);
    const sign = (...args: unknown[]) => custody.sign(...(args as Parameters<typeof custody.sign>));
    await expect(sign('treasury', 'x')).rejects.toThrow(/^key takes a key as makeKey gives it/);
    const key = { id: 'k', curve: 'ed25519' };
    await expect(sign(key, { pay: 5 })).rejects.toThrow(/^message takes a text or bytes/);
    await expect(sign(key, 'x', { keystore: 'MPC_FORST' })).rejects.toThrow(/^keystore takes MOCK_THRESHOLD/);
    // What the sandbox refuses is an answer too, and no test waits for ever.
    if (kind !== 'simulated') await expect(custody.advance(1e15)).rejects.toThrow(/advance_ms/);
    await custody.advance(0);
    await custody.sign(await custody.makeKey(), 'unharmed');
  });

  test('a reset leaves nothing behind', async () => {
    const key = await custody.makeKey();
    await custody.reset();
    expect(await custody.session(key.id)).toBeUndefined();
    await custody.sign(await custody.makeKey(), 'afresh');
  });

  describe.runIf(kind !== 'simulated')('from outside', () => {
    test('tells where it is and what to show it; the second principal’s approval counts', async () => {
      const post = async (path: string, body: object, token = custody.token) => {
        const answer = await new RestClient(custody.url, token).post<{ id: string; status?: string }>(path, body);
        return { code: answer.status, ...answer.body };
      };
      const rules = [{ id: 'two-people', effect: 'require_approval', when: 'true', approvals: { quorum: 1 } }];
      expect(await post('/v1/policies', { name: 'two-people', rules })).toMatchObject({ code: 201 });
      const connection = { provider: 'self_hosted', name: 'cluster', credentials: {} };
      const { id: connectionId } = await post('/v1/provider-connections', connection);
      const wallet = { name: 'first', provider_connection_id: connectionId, network: 'eip155:11155111' };
      const { id: walletId } = await post('/v1/wallets', { ...wallet, policy: 'two-people' });
      const destination = { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' };
      const intents = `/v1/wallets/${walletId}/transaction-intents`;
      const created = await post(intents, { asset: 'ETH', amount: '0.25', destination });
      expect(created).toMatchObject({ code: 201, status: 'pending_approval' });
      const approve = `${intents}/${created.id}/approve`;
      expect(await post(approve, {})).toMatchObject({ code: 403 });
      expect(await post(approve, {}, custody.approverToken)).toMatchObject({ code: 200, status: 'approved' });
      const client = new Client(custody.grpc, credentials.createInsecure());
      await new Promise<void>((resolve, reject) => {
        client.waitForReady(Date.now() + patienceMs(), (error) => (error ? reject(error) : resolve()));
      });
      client.close();
    });

    test.runIf(kind === 'live').each<Fault>([
      { fault: 'pause', target: 'gateway', for_ms: 1_000 },
      { fault: 'partition', target: 'gateway', for_ms: 1_000 },
      { fault: 'redis_gone', for_ms: 1_500 },
      { fault: 'crash', target: 'coordinator' },
    ])('answers all the same when the fault strikes what carries the answer: %j', async (fault) => {
      const key = await custody.makeKey({ threshold: 2, totalNodes: 3 });
      const { id, triggerCount, strikes } = await custody.inject(fault);
      expect(id).toMatch(new RegExp(`^${fault.fault}-`));
      expect([await triggerCount(), await strikes()]).toEqual([1, 1]);
      await custody.heal();
      const { signature } = await custody.sign(key, 'afterwards');
      expect(signature).toHaveLength(64);
    });

    test.runIf(kind === 'live')('answers a crash of the gateway in short words, too', async () => {
      const key = await custody.makeKey({ threshold: 2, totalNodes: 3 });
      const { triggerCount, strikes } = await custody.crash('gateway');
      expect([await triggerCount(), await strikes()]).toEqual([1, 1]);
      const { signature } = await custody.sign(key, 'afterwards, too');
      expect(signature).toHaveLength(64);
    });
  });
});

test('a simulated cluster has no gRPC address, and says what has one', async () => {
  const custody = await cluster();
  expect(() => custody.grpc).toThrow('a simulated cluster has no grpc: take one with ports, cluster({ listen: true })');
  expect(custody.url).toBe('http://signmesh.test');
});

const startedAtOnce = runs(1, 2);
test('live clusters start at once; what a killed test leaves behind, the next one clears away', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'signmesh-leftovers-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const living = await makeOwnFolder(parent);
  const program = fileURLToPath(new URL('./child/live-clusters.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, String(startedAtOnce)], {
    env: { ...process.env, TMPDIR: parent },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', () => reject(new Error('the program ended before it had clusters')));
  });
  const started = JSON.parse(line) as readonly { readonly url: string; readonly token: string }[];
  expect(new Set(started.map(({ url }) => url)).size).toBe(startedAtOnce);
  const signatures = await Promise.all(
    started.map(async ({ url, token }) => {
      const custody = await cluster({ live: url, token });
      const key = await custody.makeKey({ threshold: 2, totalNodes: 2 });
      const { signature } = await custody.sign(key, 'at once');
      await custody.stop();
      return signature.length;
    }),
  );
  expect(signatures).toEqual(started.map(() => 64));
  const folders = readdirSync(parent).map((name) => join(parent, name));
  const abandoned = folders.filter((folder) => !living.dataDir.startsWith(folder));
  const pids = abandoned.flatMap((folder) => {
    const ready = JSON.parse(readFileSync(join(folder, 'data/run/ready.json'), 'utf8'));
    return Object.values<number>(ready.pids);
  });
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  const next = await makeOwnFolder(parent);
  expect([abandoned.length, abandoned.filter((folder) => existsSync(folder))]).toEqual([startedAtOnce, []]);
  expect(pids.filter(isAlive)).toEqual([]);
  // That of a process that lives is left alone, and so is what has no owner yet.
  mkdirSync(join(parent, 'signmesh-test-just-made'));
  const last = await makeOwnFolder(parent);
  const left = [living, next, last].map(({ dataDir }) => basename(dirname(dataDir)));
  expect(readdirSync(parent).sort()).toEqual([...left, 'signmesh-test-just-made'].sort());
  for (const folder of [living, next, last]) folder.remove();
  expect(readdirSync(parent)).toEqual(['signmesh-test-just-made']);
});

// A live client waits for half a minute before it gives a call up; the deadline itself is tested at the gateway.
test('a call without an answer is told apart from a refusal', async () => {
  const custody = await cluster();
  await custody.inject({ fault: 'drop', target: 'gateway', at: { point: 'call' }, count: 1 });
  const lost: unknown = await custody.initiateDkg({ sessionId: 'lost' }).catch((error: unknown) => error);
  expect(lost).toBeInstanceOf(CallFailed);
});

test('refuses options that contradict each other, by their names', async () => {
  await expect(cluster({ lives: true } as object)).rejects.toThrow(/^cluster has no option lives; one of live, token/);
  await expect(cluster('http://127.0.0.1:1' as never)).rejects.toThrow(/^the options of cluster must be an object/);
  await expect(cluster({ live: '127.0.0.1:8080', token: 'svc_sk_test_x' })).rejects.toThrow(/^live must be/);
  await expect(cluster({ nodes: 1 })).rejects.toThrow(/nodes/);
  await expect(cluster({ token: 'svc_sk_test_x' })).rejects.toThrow(/token/);
  await expect(cluster({ live: 'http://127.0.0.1:1' })).rejects.toThrow(/token/);
  await expect(cluster({ live: true, listen: true })).rejects.toThrow(/^listen is for simulated clusters/);
});
